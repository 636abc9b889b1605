"""Programs that were uploaded to a JobManager, and their unpacking for a job."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from headrace.common.errors import ConfigurationError, HeadraceError

__all__ = ["Programs", "UnknownProgramError", "UploadedProgram"]

_NAME = re.compile(r"[\w][\w. -]*\.(py|zip)")
_ID = re.compile(r"[0-9a-f]{32}_[\w][\w. -]*\.(py|zip)")
_MANY_FILES = 10_000
_LONGEST_NAME = 150
"""Bytes: with the id before it and `.json` behind it, a file system must take it."""


class UnknownProgramError(HeadraceError):
    """No such program was uploaded."""


@dataclass(frozen=True)
class UploadedProgram:
    """A Python file, or a zip with one at its top."""

    id: str
    name: str
    uploaded: int


class Programs:
    """A directory of uploads. Names of clients are never used as paths."""

    def __init__(self, directory: Path, largest: int) -> None:
        self._directory = directory
        self._largest = largest
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def add(self, name: str, write: Callable[[BinaryIO], None]) -> UploadedProgram:
        """Keep a program that `write` writes."""
        if not _NAME.fullmatch(name) or len(name.encode(errors="replace")) > _LONGEST_NAME:
            raise ConfigurationError(
                f"a program must be a .py or .zip file with a plain name, not {name!r}"
            )
        program = UploadedProgram(f"{secrets.token_hex(16)}_{name}", name, int(time.time() * 1000))
        path = self._directory / program.id
        with path.open("wb") as file:
            write(file)
        if name.endswith(".zip") and not zipfile.is_zipfile(path):
            path.unlink()
            raise ConfigurationError(f"{name} is not a zip file")
        (self._directory / f"{program.id}.json").write_text(json.dumps(asdict(program)))
        return program

    def all(self) -> list[UploadedProgram]:
        """What was uploaded, the newest first."""
        found = [
            UploadedProgram(**json.loads(f.read_text())) for f in self._directory.glob("*.json")
        ]
        return sorted(found, key=lambda p: p.uploaded, reverse=True)

    def delete(self, program_id: str) -> None:
        """Forget a program; jobs that run it have a copy."""
        path = self._path(program_id)
        path.unlink()
        (self._directory / f"{program_id}.json").unlink(missing_ok=True)

    def unpack(self, program_id: str, target: Path, entry: str | None) -> Path:
        """Copy a program to a directory; the file to run.

        Args:
            program_id: What to unpack.
            target: An empty directory.
            entry: The file of a zip to run; `__main__.py`, `main.py` or its only file otherwise.
        """
        path = self._path(program_id)
        if path.suffix == ".py":
            shutil.copyfile(path, target / path.name.partition("_")[2])
            return target / path.name.partition("_")[2]
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > _MANY_FILES or sum(m.file_size for m in members) > self._largest:
                raise ConfigurationError(f"{path.name} is too large when unpacked")
            for member in members:
                inside = (target / member.filename).resolve()
                if not inside.is_relative_to(target.resolve()):
                    raise ConfigurationError(f"{path.name} has a path that leads out of it")
            archive.extractall(target)
        return self._entry(target, entry)

    @staticmethod
    def _entry(target: Path, entry: str | None) -> Path:
        top = sorted(target.glob("*.py"))
        names = [entry] if entry else ["__main__.py", "main.py", *(p.name for p in top[:1])]
        for name in names:
            found = (target / name).resolve()
            if found.is_relative_to(target.resolve()) and found.is_file():
                return found
        raise ConfigurationError(
            f"the zip has no {entry!r}" if entry else "the zip has no Python file at its top level"
        )

    def _path(self, program_id: str) -> Path:
        path = self._directory / program_id
        if not _ID.fullmatch(program_id) or not path.is_file():
            raise UnknownProgramError(f"there is no program {program_id!r}")
        return path
