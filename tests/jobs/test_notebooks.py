"""Objects and the SQL magic in a real notebook, with a kernel of its own."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tools.processes import alive

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

CELLS = (
    """
    %load_ext headrace
    from headrace.datastream import StreamExecutionEnvironment
    from headrace.table import StreamTableEnvironment
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    numbers = t_env.from_elements([(1, "one <b>"), (2, "two")], ["n", "word"])
    numbers
    """,
    """
    %%headrace_sql
    CREATE TABLE endless (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100');
    CREATE TABLE few (id BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '3',
        'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '3');
    SELECT COUNT(*) AS total, SUM(id) AS together FROM few
    """,
    "t_env.from_path('endless')",
    "print(len(t_env.from_path('endless').head(2)))",
    "t_env.from_path('few').show(2)",
    """
    %%headrace_sql
    SELECT nothing FROM few
    """,
    "env.from_collection([1, 2]).map(lambda x: x).name('twice')",
    "t_env.execute_sql('SHOW TABLES')",
    "t_env",
    # A job without an end, which runs when the notebook is closed.
    """
    import os, pathlib, time

    slot = pathlib.Path("slot").absolute()

    def noted(row):
        slot.with_suffix(".new").write_text(str(os.getpid()))
        slot.with_suffix(".new").replace(slot)
        return row

    endless = t_env.to_data_stream(t_env.from_path("endless"))
    endless.map(noted).print()
    client = env.execute_async("endless")
    while not slot.exists():
        time.sleep(0.1)
    """,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the notebook."""
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def outputs(place: Path) -> list[list[dict[str, object]]]:
    cells = [nbformat.v4.new_code_cell(re.sub(r"^ {4}", "", c, flags=re.M).strip()) for c in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    # Those of a cell that failed are looked at by its test.
    resources = {"metadata": {"path": str(place)}}
    client = nbclient.NotebookClient(notebook, timeout=240, allow_errors=True, resources=resources)
    client.execute()
    return [cell["outputs"] for cell in notebook["cells"]]


def _shown(cell: list[dict[str, object]], kind: str = "text/html") -> str:
    """Everything that a cell shows in the end."""
    return "".join(str(o["data"][kind]) for o in cell if "data" in o)  # type: ignore[index]


def test_a_table_that_ends_shows_its_first_rows(outputs: list[list[dict[str, object]]]) -> None:
    shown = _shown(outputs[0])
    assert "<th>n BIGINT</th><th>word STRING</th>" in shown
    assert "<td>1</td><td>one &lt;b&gt;</td>" in shown


def test_the_magic_runs_all_statements_and_shows_the_result(
    outputs: list[list[dict[str, object]]],
) -> None:
    shown = _shown(outputs[1])
    assert "<td>3</td><td>6</td>" in shown
    assert "1 row<" in shown


def test_a_table_without_an_end_shows_its_columns(outputs: list[list[dict[str, object]]]) -> None:
    assert "<th>id BIGINT</th>" in _shown(outputs[2])
    assert "without an end" in _shown(outputs[2])
    assert outputs[3][-1]["text"] == "2\n"


def test_show_prints_the_first_rows(outputs: list[list[dict[str, object]]]) -> None:
    printed = "".join(str(o["text"]) for o in outputs[4])
    assert "2 rows in set" in printed


def test_an_error_of_a_statement_is_short(outputs: list[list[dict[str, object]]]) -> None:
    (only,) = outputs[5]
    assert only["output_type"] == "display_data"
    assert "SqlError" in _shown(outputs[5]) or "nothing" in _shown(outputs[5])
    assert "Traceback" not in _shown(outputs[5])


def test_streams_and_results_show_themselves(outputs: list[list[dict[str, object]]]) -> None:
    assert "<svg" in _shown(outputs[6])
    assert "twice" in _shown(outputs[6])
    assert "<td>few</td>" in _shown(outputs[7])


def test_a_table_environment_shows_its_tables(outputs: list[list[dict[str, object]]]) -> None:
    shown = _shown(outputs[8])
    assert "<td>streaming</td>" in shown
    assert "endless, few" in shown


def test_a_job_ends_with_the_kernel(outputs: list[list[dict[str, object]]], place: Path) -> None:
    assert [o for o in outputs[9] if o["output_type"] == "error"] == []
    slot = int((place / "slot").read_text())
    deadline = time.monotonic() + 60
    while alive(slot) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(slot)
