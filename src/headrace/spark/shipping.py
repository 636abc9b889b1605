"""Brings the directories of a job's Python dependencies to the executors of a cluster."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from pyspark import SparkContext

_SKIPPED = "__pycache__"


def ship(context: SparkContext, paths: Iterable[str]) -> dict[str, str]:
    """Hand files and directories to Spark; the names under which executors find them."""
    shipped = {}
    for path in dict.fromkeys(paths):
        source = Path(path)
        # Executors fetch it when they come, so it stays as long as the application.
        directory = Path(tempfile.mkdtemp(prefix="headrace-", dir=context._temp_dir))
        # Spark tells files apart by their names alone.
        if source.is_dir():
            archive = directory / f"{directory.name}.zip"
            _zip(source, archive)
            context.addArchive(str(archive))
            shipped[path] = archive.name
        elif source.exists():
            copy = directory / f"{directory.name}{source.suffix}"
            shutil.copyfile(source, copy)
            context.addFile(str(copy))
            shipped[path] = copy.name
    return shipped


def _zip(directory: Path, archive: Path) -> None:
    """With links followed: a package may be a link to where the user has it."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for parent, names, files in os.walk(directory, followlinks=True):
            if _SKIPPED in names:
                names.remove(_SKIPPED)
            for name in files:
                found = os.path.join(parent, name)
                file.write(found, os.path.relpath(found, directory))
