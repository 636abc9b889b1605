"""The class-data archive of Spark's JVM, so that it need not load its classes anew at each start.

Much of a start is spent on loading and verifying some ten thousand classes. The first JVM of a user
writes them to an archive as it ends, and later ones map that file into memory. The JVM checks that
the archive is undamaged and belongs to this Java and these jars, and starts as usual if not.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from headrace.common.errors import ConfigurationError
from headrace.common.files.private_directory import private_directory
from headrace.coordination.slots.dependencies import cache_directory

__all__ = ["ClassArchive", "archive_options", "writes_archive"]

_log = logging.getLogger(__name__)

_WRITE = "-XX:ArchiveClassesAtExit="
_KEPT = 3
"""Archives that are kept, for as many environments; each takes about a hundred megabytes."""

_IN_USE_S = 3600.0
"""What was used within this time is kept in any case: who works with several environments in turn
would have their archives written again and again."""

_WRITTEN_S = 600.0
"""A JVM that has begun to write an archive has finished by then, or was killed."""


def archive_options(java: str, spark_home: str) -> tuple[str, ...]:
    """Options of a JVM that is about to start; none where an archive cannot be used."""
    conf = Path(os.environ.get("SPARK_CONF_DIR") or Path(spark_home, "conf"))
    if conf.is_dir() and any(conf.iterdir()):
        _log.info(
            "Spark starts without an archive of its classes: %s has files and is on the class "
            "path, where Java allows archives no directory but empty ones",
            conf,
        )
        return ()
    try:
        directory = private_directory(cache_directory())
        return ClassArchive(directory, java, spark_home).options()
    except (OSError, ConfigurationError) as error:
        _log.info("Spark starts without an archive of its classes: %s", error)
        return ()


def writes_archive(options: Sequence[str]) -> bool:
    """Whether a JVM with these options writes the archive as it ends."""
    return any(option.startswith(_WRITE) for option in options)


class ClassArchive:
    """The archive for one Java and one Spark.

    Args:
        directory: Where archives are kept, of this user alone.
        java: The program that starts Spark's JVM.
        spark_home: Where Spark's jars are.
    """

    def __init__(self, directory: Path, java: str, spark_home: str) -> None:
        self._directory = directory
        key = hashlib.sha256("\n".join(_identity(java, spark_home)).encode()).hexdigest()[:16]
        self.path = directory / f"spark-{key}.jsa"
        self._size = self.path.with_suffix(".size")

    def options(self) -> tuple[str, ...]:
        """For a JVM that is about to start: use the archive, write it at the end, or neither."""
        if self.is_whole():
            # What was used last is kept.
            os.utime(self.path)
            return (
                f"-XX:SharedArchiveFile={self.path}",
                *("-XX:+UnlockDiagnosticVMOptions", "-XX:+VerifySharedSpaces"),
            )
        if self._is_being_written() or not self._claimed():
            return ()
        self._forget_others()
        self._size.unlink(missing_ok=True)
        return (f"{_WRITE}{self.path}",)

    def is_whole(self) -> bool:
        """Whether it was written to its end, and nothing was cut off since.

        The JVM fills in the header last. It notices all other damage by itself, but half a file
        would be its end.
        """
        with contextlib.suppress(FileNotFoundError), self.path.open("rb") as archive:
            if not any(archive.read(4)):
                return False
            size = str(os.fstat(archive.fileno()).st_size)
            if not self._size.exists():
                self._size.write_text(size)
            return self._size.read_text() == size
        return False

    def _is_being_written(self) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return time.time() - self.path.stat().st_mtime < _WRITTEN_S
        return False

    def _claimed(self) -> bool:
        """Whether this process is the one whose JVM writes the archive."""
        claim = os.open(self.path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(claim)
            return False
        # It stays open, and locked, until this process ends.
        return True

    def _forget_others(self) -> None:
        """Make room for another one."""
        archives = sorted(self._directory.glob("spark-*.jsa"), key=lambda p: p.stat().st_mtime)
        for old in archives[: 1 - _KEPT]:
            if time.time() - old.stat().st_mtime > _IN_USE_S:
                old.unlink(missing_ok=True)


def _identity(java: str, spark_home: str) -> Iterator[str]:
    """What an archive belongs to."""
    program = Path(os.path.realpath(java))
    yield str(program)
    release = program.parent.parent / "release"
    yield release.read_text() if release.exists() else ""
    yield os.path.realpath(spark_home)
    for jar in sorted(Path(spark_home, "jars").glob("spark-core*.jar")):
        # The JVM looks at the times, too: an environment that was made anew needs another archive.
        yield f"{jar.name} {jar.stat().st_mtime_ns}"
