"""Packages of the system that a test needs, installed where it may install them."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

_INSTALL_S = 600


class PackageUnavailableError(Exception):
    """A package is not there and cannot be had."""


def install(package: str) -> None:
    """Install a package, if this is root on a Debian."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise PackageUnavailableError(f"the package {package} is not installed, and only root can")
    _update()
    _apt_get("install", "-y", "--no-install-recommends", package)


@cache
def _update() -> None:
    """Once for all packages."""
    _apt_get("update")


def _apt_get(command: str, *arguments: str) -> None:
    try:
        done = subprocess.run(
            ["apt-get", "-q", command, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=_INSTALL_S,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
    except subprocess.TimeoutExpired:
        raise PackageUnavailableError(
            f"apt-get {command} took longer than {_INSTALL_S} s"
        ) from None
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise PackageUnavailableError(f"apt-get {command} failed: {' '.join(last)}")
