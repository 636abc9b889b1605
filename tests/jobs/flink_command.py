"""The `flink` command of Flink itself: from the PATH, or installed once into the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "2.3.0"
_GATEWAY = f"flink-sql-gateway-{VERSION}.jar"
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
    folder = _cache() / f"flink-command-{VERSION}"
    command = folder / "pyflink" / "bin" / "flink"
    if not command.exists():
        _install(folder)
    return str(command)


def sql_client_command() -> tuple[str, dict[str, str]]:
    """The path of Flink's SQL client, and the environment that it needs.

    The Python packages have it without the classes that it shares with Flink's gateway; those are
    a jar of their own, which Maven fetches once.

    Raises:
        FlinkUnavailableError: It is not there and cannot be installed.
    """
    script = Path(os.path.realpath(flink_command())).with_name("sql-client.sh")
    if not script.exists():
        raise FlinkUnavailableError(f"there is no {script}")
    beside = sorted((script.parents[1] / "opt").glob("flink-sql-gateway-*.jar"))
    jar = beside[0] if beside else _cache() / "jars" / _GATEWAY
    if not jar.exists():
        _fetch(f"org.apache.flink:flink-sql-gateway:{VERSION}", jar)
    # What stands there goes to the end of the class path.
    return str(script), {**os.environ, "HADOOP_CLASSPATH": str(jar)}


def _cache() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "headrace"


def _fetch(artifact: str, jar: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise FlinkUnavailableError(f"{jar.name} is fetched by Maven, and there is no mvn")
    jar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=jar.parent) as scratch:
        command = [maven, "--batch-mode", "--quiet", "dependency:copy", f"-Dartifact={artifact}"]
        command.append(f"-DoutputDirectory={scratch}")
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=_INSTALL_S
            )
        except subprocess.TimeoutExpired as error:
            raise FlinkUnavailableError(f"Maven took more than {_INSTALL_S} s") from error
        if done.returncode or not Path(scratch, jar.name).exists():
            said = done.stdout.strip().splitlines()[:1] or ["Maven brought nothing"]
            raise FlinkUnavailableError(said[0])
        Path(scratch, jar.name).replace(jar)


def _install(folder: Path) -> None:
    """The packages with Flink's jars and scripts, without what PyFlink needs beside them."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        target = Path(scratch, "target")
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        command += ["--no-deps", "--no-compile", "--only-binary", ":all:", "--target", str(target)]
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
