"""A real Chromium: found on the path, or installed by the system's packages if this is root."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_INSTALL_S = 600


class BrowserUnavailableError(Exception):
    """There is no browser, and none can be had."""


def chromium() -> Path:
    """The executable of a Chromium."""
    found = _on_path()
    if found is None:
        _install()
        found = _on_path()
    if found is None:
        raise BrowserUnavailableError("the package chromium was installed, but brought no browser")
    return found


def _on_path() -> Path | None:
    given = os.environ.get("HEADRACE_TEST_BROWSER")
    paths = [given] if given else [shutil.which(name) for name in _NAMES]
    return next((Path(path) for path in paths if path), None)


def _install() -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise BrowserUnavailableError(
            "no Chromium is on the path; install the package chromium, or set "
            "HEADRACE_TEST_BROWSER to its executable"
        )
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        try:
            done = subprocess.run(
                ["apt-get", "-q", *command],
                capture_output=True,
                text=True,
                check=False,
                timeout=_INSTALL_S,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            raise BrowserUnavailableError(
                f"apt-get {command[0]} took longer than {_INSTALL_S} s"
            ) from None
        if done.returncode != 0:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise BrowserUnavailableError(f"apt-get {command[0]} failed: {' '.join(last)}")
