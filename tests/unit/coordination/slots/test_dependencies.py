from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.coordination.slots.dependencies import PythonDependencies, prepare

METADATA = "Metadata-Version: 2.1\nName: tiny-dep\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def tiny_wheel(directory: Path) -> Path:
    """A wheel with one module, made by hand: no network and no build tool is needed."""
    directory.mkdir(exist_ok=True)
    wheel = directory / "tiny_dep-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("tiny_dep.py", "ANSWER = 42\n")
        file.writestr("tiny_dep-1.0.dist-info/METADATA", METADATA)
        file.writestr("tiny_dep-1.0.dist-info/WHEEL", WHEEL)
        file.writestr("tiny_dep-1.0.dist-info/RECORD", "")
    return wheel


def settings(**values: object) -> Configuration:
    configuration = Configuration()
    for name, value in values.items():
        configuration.set_string(f"python.{name}", str(value))
    return configuration


def python(dependencies: PythonDependencies, code: str) -> str:
    """What a process prints that has the dependencies first on its path."""
    setup = f"import sys; sys.path[:0] = {list(dependencies.python_path)!r}; "
    return subprocess.run(
        [sys.executable, "-c", setup + code],
        capture_output=True,
        text=True,
        check=True,
        cwd=dependencies.working_directory,
    ).stdout.strip()


def test_nothing_is_needed_by_default() -> None:
    assert prepare(Configuration()) == PythonDependencies()


def test_modules_packages_and_archives_of_code(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("x = 1\n")
    (tmp_path / "neighbour.py").write_text("x = 2\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("x = 3\n")
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory" / "four.py").write_text("x = 4\n")
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as file:
        file.writestr("five.py", "x = 5\n")
    wheel = tiny_wheel(tmp_path / "wheels")
    names = ["one.py", "package", "directory", "code.zip"]
    files = ",".join([*(str(tmp_path / n) for n in names), str(wheel)])
    found = prepare(settings(files=files), tmp_path / "cache")
    code = "import one, package, four, five, tiny_dep; print(one.x, package.x, four.x, five.x)"
    assert python(found, code) == "1 3 4 5"
    with pytest.raises(subprocess.CalledProcessError):
        python(found, "import neighbour")
    assert prepare(settings(files=files), tmp_path / "cache") == found
    assert found.last_python_path == (str(tmp_path / "package"),)


def test_a_changed_module_is_shipped_as_it_is_now(tmp_path: Path) -> None:
    module = tmp_path / "one.py"
    for version in ("1", "2"):
        module.write_text(f"x = {version}\n")
        found = prepare(settings(files=module), tmp_path / "cache")
        assert python(found, "import one; print(one.x)") == version


@pytest.mark.slow
def test_requirements_are_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_wheel(tmp_path / "packages")
    (tmp_path / "requirements.txt").write_text("tiny-dep\n")
    value = f"{tmp_path / 'requirements.txt'}#{tmp_path / 'packages'}"
    found = prepare(settings(requirements=value), tmp_path / "cache")
    assert python(found, "import tiny_dep; print(tiny_dep.ANSWER)") == "42"

    monkeypatch.setattr(subprocess, "run", None)
    assert prepare(settings(requirements=value), tmp_path / "cache") == found


def test_a_failed_installation_shows_what_pip_said_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "requirements.txt").write_text("no-such-thing==1\n")
    value = f"{tmp_path / 'requirements.txt'}#{tmp_path / 'packages'}"
    with pytest.raises(ConfigurationError, match="No matching distribution found") as caught:
        prepare(settings(requirements=value), tmp_path / "cache")
    assert caught.value.key == "python.requirements"
    assert [p.suffix for p in (tmp_path / "cache" / "requirements").iterdir()] == [".lock"]


def test_archives_are_unpacked_in_a_working_directory(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as file:
        file.writestr("a.txt", "zip")
        run = zipfile.ZipInfo("bin/run")
        run.external_attr = 0o100755 << 16
        file.writestr(run, "#!/bin/sh\necho ran\n")
        link = zipfile.ZipInfo("bin/link")
        link.external_attr = 0o120777 << 16
        file.writestr(link, "run")
    (tmp_path / "b.txt").write_text("tar")
    with tarfile.open(tmp_path / "more.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "b.txt", "b.txt")
    found = prepare(
        settings(archives=f"{tmp_path / 'data.zip'},{tmp_path / 'more.tar.gz'}#more/here"),
        tmp_path / "cache",
    )
    assert found.working_directory is not None
    code = "print(open('data.zip/a.txt').read(), open('more/here/b.txt').read())"
    assert python(found, code) == "zip tar"
    ran = subprocess.run(
        [f"{found.working_directory}/data.zip/bin/link"], capture_output=True, check=True
    )
    assert ran.stdout == b"ran\n"
    found.close()
    assert not Path(found.working_directory).exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"files": "/no/such.py"}, "no file"),
        ({"files": "{tmp}/data.bin"}, "neither a .py file"),
        ({"requirements": "/no/such.txt"}, "no file"),
        ({"archives": "/no/such.zip"}, "no file"),
        ({"archives": "{tmp}/data.bin"}, "neither a zip nor a tar"),
        ({"archives": "{tmp}/ok.zip#../up"}, "must be relative"),
        ({"archives": "{tmp}/ok.zip#/etc"}, "must be relative"),
    ],
)
def test_errors_name_the_option(tmp_path: Path, values: dict[str, str], message: str) -> None:
    (tmp_path / "data.bin").write_bytes(b"x" * 2000)
    with zipfile.ZipFile(tmp_path / "ok.zip", "w"):
        pass
    given = {k: v.replace("{tmp}", str(tmp_path)) for k, v in values.items()}
    with pytest.raises(ConfigurationError, match=message) as caught:
        prepare(settings(**given), tmp_path / "cache")
    assert caught.value.key == f"python.{next(iter(values))}"


def zip_with_a_link(path: Path, target: Path) -> None:
    """A link that leads out, and a file of which it is the directory."""
    with zipfile.ZipFile(path, "w") as file:
        link = zipfile.ZipInfo("out")
        link.external_attr = 0o120777 << 16
        file.writestr(link, str(target))
        file.writestr("out/written", "by the archive")


def tar_with_a_link(path: Path, target: Path) -> None:
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo("out")
        link.type, link.linkname = tarfile.SYMTYPE, str(target)
        tar.addfile(link)
        written = tarfile.TarInfo("out/written")
        tar.addfile(written, io.BytesIO())


def tar_with_a_hard_link(path: Path, target: Path) -> None:
    """A second name of a file outside, and a file of that name."""
    with tarfile.open(path, "w") as tar:
        link = tarfile.TarInfo("second")
        link.type, link.linkname = tarfile.LNKTYPE, f"{'../' * 20}{target}/mine"
        tar.addfile(link)
        content = b"by the archive"
        written = tarfile.TarInfo("second")
        written.size = len(content)
        tar.addfile(written, io.BytesIO(content))


@pytest.mark.parametrize("make", [zip_with_a_link, tar_with_a_link, tar_with_a_hard_link])
def test_an_archive_does_not_write_outside_by_links(
    tmp_path: Path, make: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make(tmp_path / "archive", outside)
    with pytest.raises(ConfigurationError, match="cannot be unpacked"):
        prepare(settings(archives=str(tmp_path / "archive")), tmp_path / "cache")
    assert [p.name for p in outside.iterdir()] == ["mine"]
    assert (outside / "mine").read_text() == "mine"


def test_an_environment_in_an_archive_may_link_to_its_interpreter(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "env.tar", "w") as tar:
        link = tarfile.TarInfo("bin/python")
        link.type, link.linkname = tarfile.SYMTYPE, sys.executable
        tar.addfile(link)
    found = prepare(settings(archives=f"{tmp_path / 'env.tar'}#env"), tmp_path / "cache")
    assert os.readlink(f"{found.working_directory}/env/bin/python") == sys.executable
    found.close()
