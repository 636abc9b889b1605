"""A client of schema registries: Confluent's, and those that have its interface."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from headrace.common.errors import HeadraceError

__all__ = ["SchemaRegistry", "framed", "unframed"]

_CONTENT = "application/vnd.schemaregistry.v1+json"
_TIMEOUT_S = 30.0
_MAGIC = b"\0"


def framed(schema_id: int) -> bytes:
    """What stands before a message of a schema."""
    return _MAGIC + schema_id.to_bytes(4, "big")


def unframed(message: bytes) -> tuple[int, bytes]:
    """The id of the schema of a message, and the rest of it."""
    if message[:1] != _MAGIC or len(message) < 5:
        raise ValueError(
            "Unknown data format. Magic number does not match: it does not begin with the id of a "
            "schema of a registry"
        )
    return int.from_bytes(message[1:5], "big"), message[5:]


@dataclass(frozen=True)
class SchemaRegistry:
    """Where schemas are.

    Attributes:
        urls: Servers of one registry, without users: they are in errors. Those after the first
            are asked if it is away.
        user: `name:password` for basic authentication.
        token: For bearer authentication.
        trusted: A PEM file with the authorities that may have signed the server's certificate.
        certificate: A PEM file with the client's own certificate and key.
        password: That of the key.
    """

    urls: tuple[str, ...]
    user: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    trusted: str | None = None
    certificate: str | None = None
    password: str | None = field(default=None, repr=False)

    def probe(self) -> None:
        """See whether it answers, for `headrace doctor`."""
        self._ask("schemas/types", "the list of types of schemas")

    def schema(self, schema_id: int) -> Any:
        """The schema with an id, parsed."""
        found = self._ask(f"schemas/ids/{schema_id}", f"schema {schema_id}")
        return json.loads(found["schema"])

    def register(self, subject: str, schema: Any) -> int:
        """The id of a schema, which becomes the newest version of a subject if it is not one."""
        body = json.dumps({"schema": json.dumps(schema, separators=(",", ":"))}).encode()
        path = f"subjects/{quote(subject, safe='')}/versions"
        return int(self._ask(path, f"the schema of subject {subject!r}", body)["id"])

    def _ask(self, path: str, what: str, body: bytes | None = None) -> Any:
        away = []
        for url in self.urls:
            try:
                request = Request(f"{url.rstrip('/')}/{path}", body, self._headers())
                with urlopen(request, timeout=_TIMEOUT_S, context=self._tls(url)) as answer:
                    return json.load(answer)
            except HTTPError as error:
                if error.code < 500:
                    raise _refused(url, what, error) from error
                away.append(f"{url}: {error}")
            except (URLError, OSError, HTTPException, ValueError) as error:
                away.append(f"{url}: {getattr(error, 'reason', error)}")
        raise HeadraceError(
            f"{what} cannot be had from the schema registry: {'; '.join(away)}. Check the option "
            "'url' of the format, and whether the registry runs"
        )

    def _headers(self) -> Mapping[str, str]:
        headers = {"Content-Type": _CONTENT, "Accept": f"{_CONTENT}, application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        elif self.user is not None:
            headers["Authorization"] = f"Basic {base64.b64encode(self.user.encode()).decode()}"
        return headers

    def _tls(self, url: str) -> ssl.SSLContext | None:
        if not url.startswith("https:"):
            return None
        context = ssl.create_default_context(cafile=self.trusted)
        if self.certificate is not None:
            context.load_cert_chain(self.certificate, password=self.password)
        return context


def _refused(url: str, what: str, error: HTTPError) -> HeadraceError:
    try:
        reason = json.load(error)["message"]
    except (ValueError, LookupError, TypeError):
        reason = error.reason
    advice = {
        401: "; set 'basic-auth.user-info' or 'bearer-auth.token' of the format",
        403: "; the user lacks the right to do this",
        404: "; was the message written with another registry?",
        409: "; change the table so that it is compatible, or use another 'subject'",
    }.get(error.code, "")
    return HeadraceError(
        f"the schema registry at {url} has refused {what}: {error.code} {reason}{advice}"
    )
