"""The documentation is complete and consistent, as far as that shows without Spark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.doc_pages import ROOT, Block, check_page, program, python_blocks

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]

# Pages whose Python blocks are run, here or under tests/jobs.
RUN = {
    "README.md",
    "docs/apis.md",
    "docs/async-io.md",
    "docs/broadcast-state.md",
    "docs/catalogs.md",
    "docs/data-generator.md",
    "docs/exactly-once.md",
    "docs/files.md",
    "docs/joins.md",
    "docs/metrics.md",
    "docs/process-table-functions.md",
    "docs/spark-tables.md",
    "docs/sql-gateway.md",
    "docs/sql-lookups.md",
    "docs/sql-models.md",
    "docs/sql.md",
    "docs/state-evolution.md",
    "docs/state-processor.md",
    "docs/testing.md",
    "docs/tutorial.md",
    "docs/windows.md",
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("text", TEXTS, ids=name_of)
def test_relative_links_lead_somewhere(text: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text.read_text(encoding="utf-8"))
    assert [t for t in targets if not (text.parent / t).exists()] == []


@pytest.mark.parametrize("text", TEXTS, ids=name_of)
def test_every_python_block_is_run_somewhere(text: Path) -> None:
    assert not python_blocks(text) or name_of(text) in RUN


@pytest.mark.parametrize("text", TEXTS, ids=name_of)
def test_python_blocks_compile(text: Path) -> None:
    compile(program(python_blocks(text)), str(text), "exec")


@pytest.mark.parametrize(
    "page",
    [
        "apis.md",
        "async-io.md",
        "broadcast-state.md",
        "catalogs.md",
        "data-generator.md",
        "files.md",
        "joins.md",
        "metrics.md",
        pytest.param("sql-gateway.md", marks=pytest.mark.slow),
        "state-evolution.md",
        "testing.md",
        "windows.md",
    ],
)
def test_pages_that_need_no_spark_show_what_they_print(page: str, tmp_path: Path) -> None:
    check_page(DOCS / page, tmp_path)


def test_modules_that_stand_for_concepts_of_flink_are_there() -> None:
    text = (DOCS / "flink-concepts.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", text):
        path = ROOT / "src" / "headrace" / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


CONCEPTS = """
session mode, per-job mode, application mode, slot sharing group, chaining, rebalance, rescale,
shuffle, global, forward, partition_custom, rolling aggregates, rich functions, RuntimeContext,
state descriptors, accumulators, ProcessFunction, KeyedProcessFunction, layers of the API,
window_all, incremental aggregation, FoldingState, mapWithState, iterations, interval, timeout,
minimum pause, max-concurrent-checkpoints, tolerable failures, retained, num-retained,
local recovery, at most once, replayable sources, idempotent sinks, write-ahead log, PROCTIME,
WATERMARK FOR, SOURCE_WATERMARK, append-only, retract, upsert, GROUPING SETS, ROLLUP, CUBE,
count windows, state time to live, local and global aggregation, split distinct, FILTER, uid,
object reuse, latency markers, latency tracking, RocksDB, data generator, asynchronous I/O,
Spark Streaming, CDC, Delta, Iceberg, barrier, savepoints, broadcast state, evictors, late elements,
queryable state, key groups, two-phase commit, back pressure, data skew, mini-batch
"""
"""What the page of Flink's concepts has to name."""


@pytest.mark.parametrize("concept", re.split(r",\s+", CONCEPTS.strip()))
def test_each_concept_of_flink_is_named(concept: str) -> None:
    text = (DOCS / "flink-concepts.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if concept.lower() in line.lower()]
    assert [row for row in rows if row.startswith("| ")], concept


def test_the_readme_shows_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme


def test_every_make_target_in_the_texts_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    for text in TEXTS:
        named = re.findall(r"(?:^|`)make ([a-z][a-z -]*)", text.read_text("utf-8"), re.MULTILINE)
        for target in " ".join(re.split(r" {2,}", n)[0] for n in named).split():
            assert target in targets, f"{name_of(text)} names `make {target}`"


def test_blocks_keep_their_lines_and_outputs(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n```python\nx = 1\n```\n\nthen\n\n```python\nprint(x)\n```\n\n```text\n1\n```\n"
    )
    blocks = python_blocks(page)
    assert blocks == [Block(4, ("x = 1",), None), Block(10, ("print(x)",), ("1",))]
    assert program(blocks).splitlines()[3] == "x = 1"
    assert program(blocks).splitlines()[9] == "print(x)"
