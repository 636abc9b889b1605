"""What a MySQL or MariaDB server must be set to, and which places its log has."""

from __future__ import annotations

from typing import Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc.mysql_settings import BinlogPosition, MySqlSettings, asked

__all__ = ["check_position", "check_server", "oldest_log"]

# Without these the log does not have whole rows, or not the names and types of their columns.
_NEEDED = {
    "log_bin": "ON",
    "binlog_format": "ROW",
    "binlog_row_image": "FULL",
    "binlog_row_metadata": "FULL",
}
# With these the log has events that nobody here can read. Servers do not know all of them.
_UNREADABLE = {
    "log_bin_compress": "OFF",
    "binlog_transaction_compression": "OFF",
    "binlog_row_value_options": "",
}


def check_server(settings: MySqlSettings, connection: Any) -> None:
    """See whether the log has whole rows, in events that can be read."""
    names = ", ".join(f"'{name}'" for name in (*_NEEDED, *_UNREADABLE))
    sql = f"SHOW GLOBAL VARIABLES WHERE variable_name IN ({names})"
    there = {name: value.upper() for name, value in asked(settings, connection, sql)}
    wanted = _NEEDED | {n: value for n, value in _UNREADABLE.items() if n in there}
    wrong = [n for n, value in wanted.items() if there.get(n) != value]
    if wrong:
        has = ", ".join(f"{n} = {there.get(n, 'missing')}" for n in wrong)
        needs = ", ".join(f"{n} = {wanted[n] or repr('')}" for n in wrong)
        raise HeadraceError(
            f"{settings.url}: the log does not have whole rows, or not in a form that can be "
            f"read, because the server has {has}: set {needs} in its configuration and restart it"
        )


def oldest_log(settings: MySqlSettings, connection: Any) -> BinlogPosition:
    """The first place that the log has."""
    return BinlogPosition(next(iter(_files(settings, connection))), 4)


def check_position(settings: MySqlSettings, connection: Any, position: BinlogPosition) -> None:
    """See whether the log has a place."""
    files = _files(settings, connection)
    oldest = BinlogPosition(next(iter(files)), 4)
    place = f"{position.file}:{position.offset}"
    again = "start the job without its state, to read the tables anew"
    if position.order < oldest.order:
        raise HeadraceError(
            f"{settings.url}: the log begins with {oldest.file}, but is to be read from {place} "
            "on, so changes are lost: keep the log for longer (binlog_expire_logs_seconds), and "
            f"{again}"
        )
    if position.offset > files.get(position.file, -1):
        last, size = list(files.items())[-1]
        raise HeadraceError(
            f"{settings.url}: the log ends with {last}:{size} and does not have {place}, from "
            f"which it is to be read on: it is the log of another server, or began anew; {again}"
        )


def _files(settings: MySqlSettings, connection: Any) -> dict[str, int]:
    """The files of the log, from the oldest to the newest, and their sizes."""
    rows = asked(settings, connection, "SHOW BINARY LOGS")
    return {str(name): int(size) for name, size, *_ in rows}
