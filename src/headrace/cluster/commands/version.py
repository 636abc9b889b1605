"""`headrace version`: the versions of headrace and of what it stands on."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
from importlib import metadata

from headrace.cluster.exit_codes import ExitCode
from headrace.version import __version__

NAME = "version"
USAGE = "[options]"
SUMMARY = "show the versions of headrace, Python, Spark and Java"
EPILOG = "Include this in bug reports."


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the versions."""
    versions = {
        "headrace": __version__,
        "python": platform.python_version(),
        "pyspark": _installed("pyspark"),
        "java": _java(),
        "platform": platform.platform(),
    }
    if options.json:
        print(json.dumps(versions, indent=2))
    else:
        for name, version in versions.items():
            print(f"{name:10}{version or 'not found'}")
    return ExitCode.OK


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None or not os.path.exists(java):
        return None
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(.+?)"(.*)', shown.stderr)
    return f"{found[1]}{found[2]} ({java})" if found else None
