"""Packages of the system that tests need, installed where they may install them."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from functools import cache

_INSTALL_S = 600
_LOOK_S = 1.0


class PackageUnavailableError(Exception):
    """A package is not there and cannot be had."""


def install(*packages: str) -> None:
    """Install packages, if this is root on a Debian."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        names = ", ".join(packages)
        raise PackageUnavailableError(f"not installed, and only root can with apt-get: {names}")
    _update()
    _apt_get("install", "-y", "--no-install-recommends", *packages)


@cache
def _update() -> None:
    """Once for all packages."""
    _apt_get("update")


def _apt_get(command: str, *arguments: str) -> None:
    deadline = time.monotonic() + _INSTALL_S
    while True:
        try:
            done = subprocess.run(
                ["apt-get", "-q", command, *arguments],
                capture_output=True,
                text=True,
                check=False,
                timeout=max(deadline - time.monotonic(), 1),
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            )
        except subprocess.TimeoutExpired:
            raise PackageUnavailableError(
                f"apt-get {command} took longer than {_INSTALL_S} s"
            ) from None
        if done.returncode == 0:
            return
        lines = (done.stderr or done.stdout).strip().splitlines()
        # Another process of the tests, or of the machine, installs something just now.
        if not any("lock" in line for line in lines) or time.monotonic() > deadline:
            raise PackageUnavailableError(f"apt-get {command} failed: {' '.join(lines[-1:])}")
        time.sleep(_LOOK_S)
