"""Options that begin with `connector.`: tables of older programs, read as today's options."""

from __future__ import annotations

from headrace.common.errors import SqlError

__all__ = ["IGNORE_FIRST_LINE", "modern_options"]

IGNORE_FIRST_LINE = "csv.ignore-first-line"
"""An option of older CSV tables that has no successor in Flink: files have a line of names."""

_COMMON = {
    "connector.type": "connector",
    "connector.path": "path",
    "connector.topic": "topic",
    "connector.startup-mode": "scan.startup.mode",
    "connector.startup-timestamp-millis": "scan.startup.timestamp-millis",
    "connector.sink-partitioner": "sink.partitioner",
    "connector.url": "url",
    "connector.table": "table-name",
    "connector.driver": "driver",
    "connector.username": "username",
    "connector.password": "password",
    "connector.write.flush.max-rows": "sink.buffer-flush.max-rows",
    "connector.write.flush.interval": "sink.buffer-flush.interval",
    "connector.write.max-retries": "sink.max-retries",
    "connector.hosts": "hosts",
    "connector.index": "index",
    "connector.document-type": "document-type",
    "connector.key-delimiter": "document-id.key-delimiter",
    "connector.flush-on-checkpoint": "sink.flush-on-checkpoint",
    "connector.bulk-flush.max-actions": "sink.bulk-flush.max-actions",
    "connector.bulk-flush.max-size": "sink.bulk-flush.max-size",
    "connector.bulk-flush.interval": "sink.bulk-flush.interval",
    "connector.bulk-flush.backoff.type": "sink.bulk-flush.backoff.strategy",
    "connector.bulk-flush.backoff.max-retries": "sink.bulk-flush.backoff.max-retries",
    "connector.bulk-flush.backoff.delay": "sink.bulk-flush.backoff.delay",
    "connector.connection-path-prefix": "connection.path-prefix",
    "format.type": "format",
}
_IGNORED = frozenset(
    {
        "connector.connection-max-retry-timeout",
        "connector.is-bounded",
        "connector.key-null-literal",
        "connector.property-version",
        "connector.version",
        "format.derive-schema",
        "format.line-delimiter",
        "format.property-version",
        "update-mode",
    }
)


def modern_options(options: dict[str, str], table: str) -> dict[str, str]:
    """A table's options with today's keys; themselves if they have those already."""
    if "connector.type" not in options:
        return options
    if options["connector.type"] == "elasticsearch":
        options = _with_hosts_and_version(options)
    found: dict[str, str] = {}
    name = options.get("format.type")
    if name == "csv":
        found["csv.ignore-trailing-unmappable"] = "true"
    for key, value in options.items():
        if key in _IGNORED or key.startswith("schema."):
            continue
        if key in _COMMON:
            found[_COMMON[key]] = value
        elif key.startswith("connector.properties."):
            _property(found, options, key, value)
        elif key.startswith("format.") and name is not None:
            found[f"{name}.{key.removeprefix('format.')}"] = value
        elif key.startswith("connector."):
            raise SqlError(
                f"the legacy option {key!r} of table {table} is not known; declare the table with "
                "'connector' = '...' and that connector's options"
            )
        else:
            found[key] = value
    return found


def _property(found: dict[str, str], options: dict[str, str], key: str, value: str) -> None:
    """`connector.properties.x`, or the older pair `connector.properties.0.key` and `.value`."""
    rest = key.removeprefix("connector.properties.")
    number, _, part = rest.partition(".")
    if not number.isdigit() or part not in ("key", "value"):
        found[f"properties.{rest}"] = value
    elif part == "key":
        found[f"properties.{value}"] = options.get(f"connector.properties.{number}.value", "")


def _with_hosts_and_version(options: dict[str, str]) -> dict[str, str]:
    """Options of Elasticsearch, whose name has its version now, and whose hosts are one text."""
    found: dict[str, str] = {}
    hosts: dict[int, dict[str, str]] = {}
    for key, value in options.items():
        number, _, part = key.removeprefix("connector.hosts.").partition(".")
        if number.isdigit() and part in ("hostname", "port", "protocol"):
            hosts.setdefault(int(number), {"protocol": "http", "port": "9200"})[part] = value
        else:
            found[key] = value
    if hosts:
        written = [f"{h['protocol']}://{h.get('hostname', '')}:{h['port']}" for h in hosts.values()]
        found["connector.hosts"] = ";".join(written)
    version = options.get("connector.version", "7")
    found["connector.type"] = f"elasticsearch-{version}"
    if version != "6":
        found.pop("connector.document-type", None)
    handler = found.get("connector.failure-handler")
    if handler in ("fail", "retry-rejected"):
        del found["connector.failure-handler"]
    if handler == "retry-rejected":
        found.setdefault("connector.bulk-flush.backoff.type", "exponential")
    return found
