"""Looks settings over: values that cannot be, earlier names, and keys that nothing reads."""

from __future__ import annotations

import difflib
import logging

from headrace.common.configuration import Configuration
from headrace.common.options import DEPRECATED, OPTIONS, PREFIXES, find

__all__ = ["check"]

logger = logging.getLogger(__name__)

_FLINK_PREFIXES = (
    "akka.", "blob.", "classloader.", "cleanup-strategy.", "client.", "cluster.", "containerized.",
    "env.", "events.", "execution.", "fs.", "heartbeat.", "high-availability.", "historyserver.",
    "io.", "jobmanager.", "jobstore.", "kubernetes.", "metrics.", "parallelism.", "pekko.",
    "pipeline.", "process.", "python.", "queryable-state.", "resourcemanager.", "rest.",
    "restart-strategy.", "s3.", "security.", "slot.", "sql-client.", "sql-gateway.", "state.",
    "table.", "task.", "taskmanager.", "traces.", "web.", "yarn.", "zookeeper.",
)  # fmt: skip

_FEW_CHARACTERS = 2
"""By so many characters a misspelt key differs from the one that is meant.

No key of Flink 2.3 that headrace lacks is as close to one that it has.
"""

_reported: set[str] = set()


def check(configuration: Configuration) -> None:
    """Reads every declared option that is set, and logs each odd key once in a process.

    An earlier name of an option counts, and is worth a warning. A key that Flink has but headrace
    has no use for is worth an information; any other unknown key is probably a slip of the pen, so
    it is a warning, with the nearest known key if one is near.

    Raises:
        ConfigurationError: A declared option has a value that it cannot have.
    """
    for key in sorted(configuration.key_set()):
        option = find(key)
        if option is not None:
            configuration.get(option)
        if key not in _reported and key not in OPTIONS:
            _reported.add(key)
            _report(key, configuration)


def _report(key: str, configuration: Configuration) -> None:
    option = DEPRECATED.get(key)
    if option is not None and configuration.contains_key(option.key):
        logger.warning("option %s is ignored because its current name, %s, is set", key, option.key)
    elif option is not None:
        logger.warning("option %s is deprecated; its current name is %s", key, option.key)
    elif (meant := _nearest(key)) is not None:
        logger.warning("unknown option %s is ignored; did you mean %s?", key, meant)
    elif key.startswith(_FLINK_PREFIXES):
        logger.info("option %s has no effect in headrace", key)
    elif not key.startswith(tuple(PREFIXES)):
        logger.warning("unknown option %s is ignored", key)


def _nearest(key: str) -> str | None:
    """The option that a key is probably meant to be."""
    folded = _folded(key)
    known = {**DEPRECATED, **OPTIONS}
    nearest = min(known, key=lambda name: _differences(folded, _folded(name)))
    if _differences(folded, _folded(nearest)) <= _FEW_CHARACTERS:
        return known[nearest].key
    if key.startswith((*_FLINK_PREFIXES, *PREFIXES)):
        return None
    return next(iter(difflib.get_close_matches(key, OPTIONS, n=1, cutoff=0.8)), None)


def _folded(key: str) -> str:
    return "".join(c for c in key.lower() if c not in ".-_ ")


def _differences(one: str, other: str) -> int:
    """How many characters must be taken out of both to make them equal; large if it is many."""
    if abs(len(one) - len(other)) > _FEW_CHARACTERS:
        return len(one) + len(other)
    blocks = difflib.SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return len(one) + len(other) - 2 * sum(block.size for block in blocks)
