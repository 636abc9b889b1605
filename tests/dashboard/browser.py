"""A real Chromium: found on the path, or installed by the system's packages if this is root."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools.debian import PackageUnavailableError, install

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


class BrowserUnavailableError(Exception):
    """There is no browser, and none can be had."""


def chromium() -> Path:
    """The executable of a Chromium."""
    found = _on_path()
    if found is None:
        try:
            install("chromium")
        except PackageUnavailableError as error:
            raise BrowserUnavailableError(
                f"{error}; HEADRACE_TEST_BROWSER may name an executable"
            ) from None
        found = _on_path()
    if found is None:
        raise BrowserUnavailableError("the package chromium was installed, but brought no browser")
    return found


def _on_path() -> Path | None:
    given = os.environ.get("HEADRACE_TEST_BROWSER")
    paths = [given] if given else [shutil.which(name) for name in _NAMES]
    return next((Path(path) for path in paths if path), None)
