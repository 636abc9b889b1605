"""What a run needs of a Spark that somebody else has started for it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headrace.common.files.rolling_log import LogLimit
from headrace.version import __version__

__all__ = ["SparkRequest"]

# Variables that differ from terminal to terminal, or from call to call, and that nobody computes
# with. The working directory has a field of its own.
_OF_NO_ACCOUNT = re.compile(
    r"_|SHLVL|PWD|OLDPWD|COLUMNS|LINES|WINDOWID|TERM.*|COLORTERM|TMUX.*|STY|VTE_VERSION"
    r"|SSH_(CLIENT|CONNECTION|TTY)|XDG_SESSION_.*|JPY_.*|PYTHONUNBUFFERED|PS1|HEADRACE_IDLE_.*"
)


@dataclass(frozen=True)
class SparkRequest:
    """A run that wants a Spark; two that are equal can have the same one, one after the other.

    Attributes:
        settings: `spark.*` settings of the user.
        log_size: How much of Spark's log is kept.
        log_kept: The number of older parts of it.
        java: The program and its release.
        spark: Where Spark is.
        version: Of headrace, and where it is.
        python: The interpreter.
        directory: The working directory.
        environment: Variables.
    """

    settings: dict[str, str]
    log_size: int
    log_kept: int
    java: str
    spark: str
    version: str
    python: str
    directory: str
    environment: dict[str, str]

    @classmethod
    def of_this_process(
        cls, settings: Mapping[str, str], log_limit: LogLimit, java: str, spark: str
    ) -> SparkRequest:
        """What this process would start."""
        return cls(
            settings=dict(settings),
            log_size=log_limit.size,
            log_kept=log_limit.kept,
            java=os.path.realpath(java),
            spark=os.path.realpath(spark),
            version=f"{__version__} {Path(__file__).parents[2]}",
            python=_interpreter(),
            directory=os.getcwd(),
            environment={k: v for k, v in os.environ.items() if not _OF_NO_ACCOUNT.fullmatch(k)},
        )

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> SparkRequest:
        """What `to_json` gave."""
        return cls(**given)

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)

    @property
    def log_limit(self) -> LogLimit:
        return LogLimit(self.log_size, self.log_kept)

    def difference(self, other: SparkRequest) -> str:
        """The first thing in which two differ, in words for a log."""
        mine, theirs = self.to_json(), other.to_json()
        for name in mine:
            if mine[name] != theirs[name]:
                return name
        return ""

    def line(self) -> bytes:
        """As one line of text."""
        return json.dumps(self.to_json()).encode() + b"\n"


def _interpreter() -> str:
    """This one, which `python` and `python3` and a script's first line name differently."""
    usual = os.path.join(os.path.dirname(sys.executable), "python")
    with contextlib.suppress(OSError):
        if os.path.samefile(usual, sys.executable):
            return usual
    return sys.executable
