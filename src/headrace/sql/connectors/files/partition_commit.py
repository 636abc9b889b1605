"""When a partition of files is complete, and what is done then: `sink.partition-commit.*`."""

from __future__ import annotations

import datetime
import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.common.errors import HeadraceError, SqlError
from headrace.sql.connectors.base import TableContext
from headrace.sql.functions.builtin.times import moment, parse_date, parse_moment, parse_timestamp

__all__ = [
    "PartitionCommitPolicy",
    "PartitionCommitSettings",
    "PartitionContext",
    "PartitionTimeExtractor",
    "partition_commit_settings",
    "partition_values",
]

_PREFIX = "sink.partition-commit"
_EXTRACTOR = "partition.time-extractor"
_MICROS_OF_A_DAY = 86_400_000_000


@dataclass(frozen=True)
class PartitionContext:
    """A partition that is complete.

    Attributes:
        catalog_name: Of the table.
        database_name: Of the table.
        table_name: Of the table.
        partition_keys: Names of the partition columns.
        partition_values: Their values in this partition, as text.
        partition_path: Its directory.
    """

    catalog_name: str
    database_name: str
    table_name: str
    partition_keys: tuple[str, ...]
    partition_values: tuple[str, ...]
    partition_path: str


class PartitionCommitPolicy(ABC):
    """What is done with a complete partition: tell somebody, or start what comes next.

    Name a class of yours with `'sink.partition-commit.policy.kind' = 'custom'` and
    `'sink.partition-commit.policy.class' = 'module:Class'`. It is made in the slots with the texts
    of `'sink.partition-commit.policy.class.parameters'`, which are separated by semicolons.
    """

    @abstractmethod
    def commit(self, context: PartitionContext) -> None:
        """Called when all files of the partition are there.

        It is called again after a failure, and when late rows have come.
        """


class PartitionTimeExtractor(ABC):
    """The time of a partition, of its values.

    Name a class of yours with `'partition.time-extractor.kind' = 'custom'` and
    `'partition.time-extractor.class' = 'module:Class'`.
    """

    @abstractmethod
    def extract(
        self, partition_keys: tuple[str, ...], partition_values: tuple[str, ...]
    ) -> datetime.datetime:
        """The time, without a zone."""


@dataclass(frozen=True)
class PatternExtractor(PartitionTimeExtractor):
    """The time in a text that is made of the values: `$dt $hour:00:00`."""

    pattern: str | None = None
    formatter: str | None = None

    def extract(
        self, partition_keys: tuple[str, ...], partition_values: tuple[str, ...]
    ) -> datetime.datetime:
        text = self.pattern or f"${partition_keys[0]}"
        # Longer names first: $hour is not $h with something behind it.
        for key, value in sorted(zip(partition_keys, partition_values, strict=True))[::-1]:
            text = text.replace(f"${key}", value)
        micros = self._parsed(text)
        if micros is None:
            form = self.formatter or "timestamp or date"
            raise HeadraceError(
                f"the time of partition {', '.join(partition_values)} cannot be read: {text!r} "
                f"is not a {form}; set '{_EXTRACTOR}.timestamp-pattern' and "
                f"'{_EXTRACTOR}.timestamp-formatter'"
            )
        return moment(micros)

    def _parsed(self, text: str) -> int | None:
        if self.formatter is not None:
            return parse_moment(text, self.formatter)
        found = parse_timestamp(text)
        if found is None:
            day = parse_date(text)
            found = None if day is None else day * _MICROS_OF_A_DAY
        return found


@dataclass(frozen=True)
class PartitionCommitSettings:
    """What a table says about its partitions.

    Attributes:
        table: Catalog, database and name.
        keys: The partition columns.
        policies: Of `success-file` and `custom`; nothing is committed without one.
        by_watermark: Whether event time decides, and not processing time.
        delay_ms: How long after its time, or its first row, a partition is complete.
        success_file: The name of the empty file.
        policy: A class of the user's, and the texts that it is made with.
        extractor: The time of a partition.
        zone: Of the times of partitions.
    """

    table: tuple[str, ...]
    keys: tuple[str, ...]
    policies: tuple[str, ...] = ()
    by_watermark: bool = False
    delay_ms: int = 0
    success_file: str = "_SUCCESS"
    policy: tuple[str, tuple[str, ...]] | None = None
    extractor: PartitionTimeExtractor = PatternExtractor()
    zone: str = "UTC"

    @property
    def needs_one_writer(self) -> bool:
        """Whether all rows of a partition have to go through one subtask, which then decides."""
        return self.by_watermark or self.delay_ms > 0 or "custom" in self.policies

    def is_due(self, bucket: str, began_ms: int, now_ms: int, watermark: int) -> bool:
        """Whether a partition is complete."""
        if not self.by_watermark:
            return self.delay_ms == 0 or now_ms > began_ms + self.delay_ms
        at = self.extractor.extract(self.keys, partition_values(bucket))
        at = at.replace(tzinfo=ZoneInfo(self.zone))
        return watermark > int(at.timestamp() * 1000) + self.delay_ms

    def custom_policy(self) -> PartitionCommitPolicy | None:
        """The user's policy."""
        if self.policy is None:
            return None
        name, parameters = self.policy
        found: PartitionCommitPolicy = loaded(name)(*parameters)
        return found


def partition_values(bucket: str) -> tuple[str, ...]:
    """The values of `key=value/...`."""
    return tuple(unquote(part.partition("=")[2]) for part in bucket.split("/"))


def loaded(name: str) -> Any:
    """A class by its name, `module:Class` or `module.Class`."""
    module, _, attribute = name.replace(":", ".").rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SqlError(
            f"the class '{name}' cannot be loaded: {error}; name it 'module:Class', and give the "
            "module to the job, with --pyFiles for instance"
        ) from error


def partition_commit_settings(context: TableContext) -> PartitionCommitSettings:
    """Reads the options of a table."""
    trigger = context.option(f"{_PREFIX}.trigger", "process-time")
    if trigger not in ("process-time", "partition-time"):
        raise SqlError(
            f"'{_PREFIX}.trigger' of table {context.name} is process-time or partition-time, not "
            f"'{trigger}'"
        )
    delay = context.duration(f"{_PREFIX}.delay")
    zone = context.option(f"{_PREFIX}.watermark-time-zone") or "UTC"
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise SqlError(f"'{_PREFIX}.watermark-time-zone' is not a time zone: '{zone}'") from None
    policies, policy = _policies(context)
    return PartitionCommitSettings(
        context.path,
        context.partition_keys,
        policies if context.partition_keys else (),
        trigger == "partition-time",
        0 if delay is None else int(delay.total_seconds() * 1000),
        context.option(f"{_PREFIX}.success-file.name") or "_SUCCESS",
        policy,
        _extractor(context),
        zone,
    )


def _policies(
    context: TableContext,
) -> tuple[tuple[str, ...], tuple[str, tuple[str, ...]] | None]:
    given = context.option(f"{_PREFIX}.policy.kind") or ""
    kinds = tuple(kind.strip().lower() for kind in given.split(",") if kind.strip())
    name = context.option(f"{_PREFIX}.policy.class")
    texts = context.option(f"{_PREFIX}.policy.class.parameters")
    for kind in kinds:
        if kind == "metastore":
            raise SqlError(
                "Can not configure a 'metastore' partition commit policy for a file system table. "
                "You can only configure 'metastore' partition commit policy for a hive table."
            )
        if kind not in ("success-file", "custom"):
            raise SqlError(
                f"table {context.name}: Unsupported policy: {kind}. There are success-file and "
                "custom"
            )
    if "custom" not in kinds:
        return kinds, None
    if name is None:
        raise SqlError(f"the policy 'custom' of {context.name} needs '{_PREFIX}.policy.class'")
    loaded(name)
    return kinds, (name, tuple(texts.split(";")) if texts else ())


def _extractor(context: TableContext) -> PartitionTimeExtractor:
    kind = context.option(f"{_EXTRACTOR}.kind", "default")
    name = context.option(f"{_EXTRACTOR}.class")
    pattern = context.option(f"{_EXTRACTOR}.timestamp-pattern")
    formatter = context.option(f"{_EXTRACTOR}.timestamp-formatter")
    if kind == "default":
        return PatternExtractor(pattern, formatter)
    if kind != "custom" or name is None:
        raise SqlError(
            f"'{_EXTRACTOR}.kind' of table {context.name} is default, or custom with "
            f"'{_EXTRACTOR}.class'; it is '{kind}'"
        )
    found: PartitionTimeExtractor = loaded(name)()
    return found
