"""JDBC URLs."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.settings.secrets import masked

__all__ = ["JdbcUrl"]

_PORTS = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306}
_FORM = "jdbc:postgresql://host:port/database or jdbc:mysql://host:port/database"


@dataclass(frozen=True)
class JdbcUrl:
    """A URL taken apart: `jdbc:<product>://<host>:<port>/<database>?<name>=<value>&...`."""

    product: str
    host: str
    port: int
    database: str
    properties: tuple[tuple[str, str], ...] = ()
    given: str = field(default="", repr=False, compare=False)

    @classmethod
    def parse(cls, url: str) -> JdbcUrl:
        """Take a URL apart."""
        if not isinstance(url, str):
            raise FunctionTypeError(f"a JDBC URL must be a str, not {url!r}")
        shown = masked(repr(url))
        scheme, _, rest = url.partition(":")
        parts = urlsplit(rest)
        if scheme != "jdbc" or not rest or not parts.path.strip("/"):
            raise GraphError(f"{shown} is not a JDBC URL of the form {_FORM}")
        if parts.scheme not in _PORTS:
            raise GraphError(
                f"there is no connector for {parts.scheme!r} in {shown}; the supported ones are "
                f"{', '.join(_PORTS)}"
            )
        try:
            port = parts.port or _PORTS[parts.scheme]
        except ValueError as error:
            raise GraphError(f"{shown}: {error}") from None
        return cls(
            parts.scheme,
            parts.hostname or "localhost",
            port,
            unquote(parts.path.strip("/")),
            tuple(parse_qsl(parts.query)),
            url,
        )

    def __str__(self) -> str:
        # Without its properties, among which a password may be.
        return f"jdbc:{self.product}://{self.host}:{self.port}/{self.database}"
