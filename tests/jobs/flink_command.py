"""The `flink` command of Flink itself: from the PATH, or installed once into the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "2.3.0"
_PACKAGES = ("apache-flink", "apache-flink-libraries")
_INSTALL_S = 900


class FlinkUnavailableError(Exception):
    """The command cannot be had here; the text says why."""


def flink_command() -> str:
    """The path of the command.

    Raises:
        FlinkUnavailableError: It is not there and cannot be installed.
    """
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise FlinkUnavailableError("the flink command needs Java")
    given = os.environ.get("HEADRACE_FLINK") or shutil.which("flink")
    if given is not None:
        return given
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "headrace" / f"flink-command-{VERSION}"
    command = folder / "pyflink" / "bin" / "flink"
    if not command.exists():
        _install(folder)
    return str(command)


def _install(folder: Path) -> None:
    """The packages with Flink's jars and scripts, without what PyFlink needs beside them."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        target = Path(scratch, "target")
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        command += ["--no-deps", "--only-binary", ":all:", "--target", str(target)]
        command += [f"{package}=={VERSION}" for package in _PACKAGES]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=_INSTALL_S
            )
        except subprocess.TimeoutExpired as error:
            raise FlinkUnavailableError(f"pip took more than {_INSTALL_S} s") from error
        script = target / "pyflink" / "bin" / "flink"
        if done.returncode or not script.exists():
            said = done.stderr.strip().splitlines()[-1:] or ["no flink command in the package"]
            raise FlinkUnavailableError(said[0])
        for tool in script.parent.iterdir():
            tool.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        target.rename(folder)
