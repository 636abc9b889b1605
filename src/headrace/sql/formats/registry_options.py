"""Options of formats whose schemas are in a registry, and messages that begin with their ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from headrace.common.errors import SqlError
from headrace.formats.avro import fastavro, record_reader, record_writer
from headrace.formats.schema_registry import SchemaRegistry, framed, unframed
from headrace.sql.formats.base import FormatOptions

__all__ = ["OPTIONS", "RegisteredReader", "registered_writer", "registry_of", "written_schema"]

OPTIONS = (
    "url",
    "subject",
    "schema",
    "basic-auth.credentials-source",
    "basic-auth.user-info",
    "bearer-auth.credentials-source",
    "bearer-auth.token",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.truststore.location",
    "ssl.truststore.password",
)


def registry_of(options: FormatOptions) -> SchemaRegistry:
    """The registry that the options of a format name."""
    urls, user = _urls(options)
    values = options.values
    source = options.choice("basic-auth.credentials-source", "USER_INFO", ("USER_INFO", "URL"))
    if source == "USER_INFO":
        if user is not None:
            raise SqlError(
                f"'{options.name}.url' has a user and password; to use them, set "
                f"'{options.name}.basic-auth.credentials-source' = 'URL'"
            )
        user = values.get("basic-auth.user-info")
    elif user is None:
        raise SqlError(f"'{options.name}.url' has no user and password: http://user:password@...")
    options.choice("bearer-auth.credentials-source", "STATIC_TOKEN", ("STATIC_TOKEN",))
    return SchemaRegistry(
        urls,
        user,
        values.get("bearer-auth.token"),
        values.get("ssl.truststore.location"),
        values.get("ssl.keystore.location"),
        values.get("ssl.keystore.password"),
    )


def _urls(options: FormatOptions) -> tuple[tuple[str, ...], str | None]:
    """The servers, and the user and password that stand before their names."""
    urls, users = [], set()
    for url in options.required("url").split(","):
        parts = urlsplit(url.strip())
        user, at, host = parts.netloc.rpartition("@")
        shown = parts._replace(netloc=host).geturl()
        if parts.scheme not in ("http", "https") or not _is_host(host) or "@" in shown:
            # It is not shown: what is not understood may be a password.
            raise SqlError(
                f"'{options.name}.url' must be http://host:port or https://host:port, or several "
                "separated by commas; characters such as / and @ of a password are %2F and %40"
            )
        urls.append(shown)
        if at:
            users.add(unquote(user))
    if len(users) > 1:
        raise SqlError(f"'{options.name}.url' must have one user and password, for all servers")
    return tuple(urls), users.pop() if users else None


def _is_host(text: str) -> bool:
    try:
        parts = urlsplit(f"//{text}")
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class RegisteredReader:
    """Reads records, each by the schema that it was written with."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._readers: dict[int, Callable[[bytes], Any]] = {}

    def __call__(self, message: bytes) -> Any:
        schema_id, record = unframed(message)
        read = self._readers.get(schema_id)
        if read is None:
            schema = fastavro().parse_schema(self._registry.schema(schema_id))
            read = self._readers[schema_id] = record_reader(schema)
        return read(record)


def written_schema(options: FormatOptions, derived: Any) -> Any:
    """The schema that is registered: that of the option, if it has the types of the table."""
    given = options.values.get("schema")
    if given is None:
        return derived
    try:
        schema = json.loads(given)
        fastavro().parse_schema(schema)
    except Exception as error:
        raise SqlError(f"'{options.name}.schema' is not a schema of Avro: {error}") from error
    if _types(schema) != _types(derived):
        raise SqlError(
            f"Schema provided for '{options.name}' format does not match the table, whose schema "
            f"is {json.dumps(derived)}"
        )
    return schema


def _types(schema: Any) -> Any:
    """A schema without names of records, defaults and comments."""
    if isinstance(schema, list):
        return [_types(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    kept = ("type", "logicalType", "precision", "scale", "items", "values", "size", "symbols")
    found = {k: _types(v) for k, v in schema.items() if k in kept}
    if "fields" in schema:
        found["fields"] = [(f["name"], _types(f["type"])) for f in schema["fields"]]
    return found["type"] if len(found) == 1 else found


def registered_writer(options: FormatOptions, schema: Any) -> Callable[[Any], bytes]:
    """Writes records after the id of a schema, which is registered when the first one comes."""
    registry, subject = registry_of(options), options.values.get("subject")
    if subject is None:
        raise SqlError(f"Option {options.name}.subject is required for serialization")
    write = record_writer(fastavro().parse_schema(schema))
    head: bytes | None = None

    def message(record: Any) -> bytes:
        nonlocal head
        if head is None:
            head = framed(registry.register(subject, schema))
        return head + write(record)

    return message
