"""Packages of the system that a test needs, installed where it may install them."""

from __future__ import annotations

import os
import shutil
import subprocess

_INSTALL_S = 600


class PackageUnavailableError(Exception):
    """A package is not there and cannot be had."""


def install(package: str) -> None:
    """Install a package, if this is root on a Debian."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise PackageUnavailableError(f"the package {package} is not installed, and only root can")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", package]):
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
            raise PackageUnavailableError(
                f"apt-get {command[0]} took longer than {_INSTALL_S} s"
            ) from None
        if done.returncode != 0:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise PackageUnavailableError(f"apt-get {command[0]} failed: {' '.join(last)}")
