"""How Spark is started: its settings arrive, and secrets among them are not for everybody."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest
from pyspark.find_spark_home import _find_spark_home

from headrace.spark.class_archive import ClassArchive
from headrace.spark.session import check_java, get_or_create_session
from tests.examples import ALL
from tests.spark_classes import class_archive

PROGRAM = """
from pathlib import Path
from headrace.spark.session import get_or_create_session
session = get_or_create_session(
    {
        "spark.master": "local[1]",
        "spark.hadoop.fs.s3a.secret.key": "hidden",
        "spark.my.own": "shown",
    }
)
context = session.sparkContext
print(context.getConf().get("spark.hadoop.fs.s3a.secret.key"))
print(context._jsc.hadoopConfiguration().get("fs.s3a.secret.key"))
commands = [
    path.read_text().replace(chr(0), " ")
    for path in Path("/proc").glob("[0-9]*/cmdline")
    if f"{context._gateway.proc.pid}" in path.parts
]
print(commands)
"""


def test_secrets_are_not_on_the_command_line_of_the_jvm() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    in_spark, in_hadoop, commands = done.stdout.splitlines()[-3:]
    assert in_spark == in_hadoop == "hidden"
    assert "spark.my.own=shown" in commands
    assert "hidden" not in commands


MEMORY = """
import os
from headrace.spark.session import get_or_create_session
java = get_or_create_session({}).sparkContext._jvm.java
arguments = java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
print(os.environ["SPARK_DRIVER_MEMORY"], *(a for a in arguments if a.startswith("-Xmx")))
"""


def test_spark_on_this_machine_gets_its_share_of_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SPARK_DRIVER_MEMORY", raising=False)
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    asked, given = run.stdout.split()
    assert given == f"-Xmx{asked}"
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    assert 1024 <= int(asked.removesuffix("m")) <= max(1024, physical // 4)


def test_workers_take_what_the_daemon_has_imported() -> None:
    context = get_or_create_session({}).sparkContext

    def seen(_: int) -> tuple[str, bool]:
        return pyspark.__file__, "headrace.spark.live.tasks" in sys.modules

    assert context.parallelize([0], 1).map(seen).collect() == [(pyspark.__file__, True)]


COUNT = """
from headrace.spark.session import get_or_create_session
print(get_or_create_session({"spark.master": "local[1]"}).sparkContext.range(10).count())
"""


def _classes_from_the_archive(cache: Path) -> int:
    """Start Spark and end it; how many classes of Spark came out of the archive."""
    log = cache.parent / "classes.log"
    environment = {
        **os.environ,
        "HEADRACE_CACHE_DIR": str(cache),
        "SPARK_SUBMIT_OPTS": f"{os.environ['SPARK_SUBMIT_OPTS']} -Xlog:class+load:file={log}",
    }
    done = subprocess.run(
        [sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1:] == ["10"], done.stderr
    lines = log.read_text().splitlines()
    return sum("org.apache.spark" in x and "shared objects file (top)" in x for x in lines)


def _is_written(archive: Path) -> bool:
    """The JVM writes it as it ends, which is after the program has; the first bytes come last."""
    if not archive.exists():
        return False
    with archive.open("rb") as file:
        return any(file.read(4))


def test_later_starts_take_spark_s_classes_from_an_archive(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    shared = class_archive()
    archive = cache / shared.path.name
    if shared.is_whole() and not ALL:
        # Spark's first start with these tests, or before them, wrote it.
        cache.mkdir(0o700)
        shutil.copy2(shared.path, archive)
    else:
        assert _classes_from_the_archive(cache) == 0
        while not _is_written(archive):
            time.sleep(0.1)
    assert _classes_from_the_archive(cache) > 1000
    archive.chmod(0o600)
    with archive.open("r+b") as file:
        file.seek(archive.stat().st_size // 2)
        file.write(os.urandom(1 << 20))
    # A JVM with the damaged archive starts without it; Spark need not be in it to see that.
    java = check_java()
    options = ClassArchive(cache, java, _find_spark_home()).options()
    started = subprocess.run([java, *options, "-version"], capture_output=True, text=True)
    assert started.returncode == 0, started.stderr
