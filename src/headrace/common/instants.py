"""Instants, Python's times and their zones."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.common.time import Instant

__all__ = ["instant_of", "local_zone", "utc_time_of"]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def instant_of(time: datetime.datetime) -> Instant:
    """The instant of a time; one without a zone is in UTC."""
    since = (time if time.tzinfo else time.replace(tzinfo=datetime.UTC)) - _EPOCH
    return Instant(since.days * 86_400 + since.seconds, since.microseconds * 1000)


def utc_time_of(instant: Instant) -> datetime.datetime:
    """The time of an instant in UTC, without its nanoseconds."""
    micros = instant.seconds * 1_000_000 + instant.nanos // 1000
    return _EPOCH + datetime.timedelta(microseconds=micros)


def local_zone() -> ZoneInfo:
    """The time zone of this machine, as far as it can be found; else UTC."""
    name = os.environ.get("TZ", "")
    if not name:
        path = str(Path("/etc/localtime").resolve())
        name = path.partition("zoneinfo/")[2] or "UTC"
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")
