"""TPC-H's tables as Parquet files, made by `tpchgen-cli`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["generator", "write_tables"]


def generator() -> str | None:
    """The command, which is part of the development environment."""
    here = Path(sys.executable).parent / "tpchgen-cli"
    return str(here) if here.exists() else shutil.which("tpchgen-cli")


def write_tables(folder: str, scale: float) -> None:
    """One file for each table; a scale of 1 is about a gigabyte of text."""
    command = generator()
    if command is None:
        raise FileNotFoundError("tpchgen-cli is not installed: pip install tpchgen-cli")
    subprocess.run([command, "parquet", "-s", str(scale), "-o", folder], check=True)
