"""The archive of Spark's classes: who uses it, who writes it, and what never breaks a start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.spark.class_archive import ClassArchive, archive_options

WRITE = "-XX:ArchiveClassesAtExit="
USE = "-XX:SharedArchiveFile="


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    return ClassArchive(tmp_path, "/usr/bin/java", str(tmp_path))


def test_it_is_used_once_it_was_written(archive: ClassArchive) -> None:
    assert archive.options() == (f"{WRITE}{archive.path}",)
    archive.path.write_bytes(b"\xa8\xba\x0b\xf0 and classes")
    assert archive.options()[0] == f"{USE}{archive.path}"


def test_half_of_one_is_not_used(archive: ClassArchive) -> None:
    # The header comes last, and until then there is a hole.
    archive.path.write_bytes(bytes(4096) + b"classes")
    assert archive.options() == ()
    long_ago = archive.path.stat().st_mtime - 3600
    os.utime(archive.path, (long_ago, long_ago))
    assert archive.options() == (f"{WRITE}{archive.path}",)


def test_one_that_was_cut_off_is_written_again(archive: ClassArchive) -> None:
    archive.path.write_bytes(b"\xa8\xba\x0b\xf0" + bytes(4096))
    assert archive.options()[0] == f"{USE}{archive.path}"
    os.truncate(archive.path, 1000)
    os.utime(archive.path, (0, 0))
    assert archive.options() == (f"{WRITE}{archive.path}",)
    archive.path.write_bytes(b"\xa8\xba\x0b\xf0" + bytes(5000))
    assert archive.options()[0] == f"{USE}{archive.path}"


def test_one_process_writes_it(archive: ClassArchive, tmp_path: Path) -> None:
    assert archive.options() == (f"{WRITE}{archive.path}",)
    program = (
        "from pathlib import Path; from headrace.spark.class_archive import ClassArchive; "
        f"here = {str(tmp_path)!r}; "
        "print(ClassArchive(Path(here), '/usr/bin/java', here).options())"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert other.stdout == "()\n", other.stderr


def test_archives_of_many_versions_do_not_pile_up(archive: ClassArchive, tmp_path: Path) -> None:
    for age in range(5):
        old = tmp_path / f"spark-{age}.jsa"
        old.touch()
        os.utime(old, (1000 - age, 1000 - age))
    archive.options()
    assert sorted(p.name for p in tmp_path.glob("*.jsa")) == ["spark-0.jsa", "spark-1.jsa"]


def test_archives_that_were_used_a_moment_ago_stay(archive: ClassArchive, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"spark-{number}.jsa").touch()
    archive.options()
    assert len(list(tmp_path.glob("*.jsa"))) == 5


def test_java_and_spark_have_their_own(tmp_path: Path) -> None:
    paths = {
        ClassArchive(tmp_path, java, str(tmp_path / spark)).path
        for java in ("/a/bin/java", "/b/bin/java")
        for spark in ("4.3", "4.4")
    }
    assert len(paths) == 4


def test_an_environment_that_was_made_anew_has_another(tmp_path: Path) -> None:
    jar = tmp_path / "jars" / "spark-core_2.13-4.3.0.jar"
    jar.parent.mkdir()
    jar.touch()
    before = ClassArchive(tmp_path, "/usr/bin/java", str(tmp_path)).path
    assert ClassArchive(tmp_path, "/usr/bin/java", str(tmp_path)).path == before
    os.utime(jar, (1000, 1000))
    assert ClassArchive(tmp_path, "/usr/bin/java", str(tmp_path)).path != before


def test_a_cache_that_cannot_be_used_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert archive_options("/usr/bin/java", str(tmp_path)) == ()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "open"))
    assert archive_options("/usr/bin/java", str(tmp_path)) == ()


def test_none_where_a_directory_with_files_is_on_the_class_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    monkeypatch.setenv("HEADRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SPARK_CONF_DIR", str(conf))
    assert len(archive_options("/usr/bin/java", str(tmp_path))) == 1
    (conf / "spark-defaults.conf").touch()
    assert archive_options("/usr/bin/java", str(tmp_path)) == ()
