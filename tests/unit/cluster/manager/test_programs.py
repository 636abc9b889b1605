"""Uploads: kept under names of our own, and unpacked nowhere else."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from headrace.cluster.manager.programs import Programs, UnknownProgramError
from headrace.common.errors import ConfigurationError


def zipped(**files: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__slash__", "/") + ".py", text)
    return content.getvalue()


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path / "programs", 1000)


def unpacked(programs: Programs, tmp_path: Path, content: bytes, entry: str | None = None) -> str:
    program = programs.add("job.zip", lambda file: file.write(content) and None)
    target = tmp_path / program.id
    target.mkdir()
    return programs.unpack(program.id, target, entry).name


def test_the_file_to_run_is_found(programs: Programs, tmp_path: Path) -> None:
    assert unpacked(programs, tmp_path, zipped(a="", main="")) == "main.py"
    assert unpacked(programs, tmp_path, zipped(only="", deep__slash__x="")) == "only.py"
    assert unpacked(programs, tmp_path, zipped(a="", b=""), "b.py") == "b.py"
    with pytest.raises(ConfigurationError, match=r"no 'c\.py'"):
        unpacked(programs, tmp_path, zipped(a=""), "c.py")
    with pytest.raises(ConfigurationError, match="no Python file at its top"):
        unpacked(programs, tmp_path, zipped(deep__slash__x=""))


def test_nothing_leaves_its_directory(programs: Programs, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="leads out of it"):
        unpacked(programs, tmp_path, zipped(**{"..__slash____slash__evil": ""}))
    with pytest.raises(ConfigurationError, match=r"no '\.\./\.\./x\.py'"):
        unpacked(programs, tmp_path, zipped(a=""), "../../x.py")
    with pytest.raises(ConfigurationError, match="too large when unpacked"):
        unpacked(programs, tmp_path, zipped(a="x" * 2000))
    for wrong in ("../x.py", "x.py", "/etc/passwd", "a" * 32 + "_x.py"):
        with pytest.raises(UnknownProgramError):
            programs.delete(wrong)


def test_programs_are_listed_and_deleted(programs: Programs) -> None:
    program = programs.add("job.py", lambda file: file.write(b"") and None)
    assert [p.name for p in programs.all()] == ["job.py"]
    programs.delete(program.id)
    assert programs.all() == []
