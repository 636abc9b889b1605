"""A person at the dashboard: submits a job, watches it, takes a savepoint, ends it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.dashboard.conftest import JobManager, Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Locator, LocatorAssertions, Page

# The first test of all may have to install a browser, or the packages of the build.
pytestmark = pytest.mark.timeout(900)

Visit = Callable[..., Visitor]
ACCESSIBILITY = (Path(__file__).parent / "accessibility.js").read_text()


def soon(locator: Locator) -> LocatorAssertions:
    from playwright.sync_api import expect

    return expect(locator)


def records_out(page: Page) -> Locator:
    """The figure of the source in the table of vertices."""
    table = page.get_by_role("table", name="Vertices of the job")
    titles = table.get_by_role("columnheader").all_inner_texts()
    row = table.get_by_role("row").filter(has_text="Source: clicks")
    return row.get_by_role("cell").nth(titles.index("Records out") - 1)


def test_the_life_of_a_job(
    visit: Visit, job_manager: JobManager, program: Path, tmp_path: Path
) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open("")
    page.get_by_role("link", name="Submit a job").click()
    page.get_by_label("Python file or zip").set_input_files(program)
    page.get_by_label("Parallelism").fill("1")
    page.get_by_label("Settings").fill("execution.checkpointing.interval: 1 s")
    page.get_by_role("button", name="Run", exact=True).click()

    state = page.get_by_label("State of the job")
    soon(state).to_have_text("running")
    soon(page.get_by_role("heading", level=1)).to_have_text("Clicks")
    job = page.url.rpartition("/")[2]
    assert job in [j["jid"] for j in job_manager.get("/jobs/overview")["jobs"]]

    soon(page.get_by_role("button", name="Source: clicks")).to_be_visible()
    figure = records_out(page)
    soon(figure).not_to_have_text("0")
    soon(figure).not_to_have_text(figure.inner_text())

    page.get_by_role("button", name="Savepoint", exact=True).click()
    page.get_by_role("dialog").get_by_label("Directory").fill(str(tmp_path / "savepoints"))
    page.get_by_role("dialog").get_by_role("button", name="Take savepoint").click()
    notices = page.get_by_role("status").filter(has_text="Savepoint completed")
    soon(notices).to_be_visible()
    path = notices.locator("code").inner_text()
    assert Path(path.removeprefix("file://")).is_relative_to(tmp_path)
    assert Path(path.removeprefix("file://")).exists()

    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Back").click()
    soon(page.get_by_role("dialog")).to_have_count(0)
    assert job_manager.get(f"/jobs/{job}")["state"] == "RUNNING"

    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the job").click()
    soon(state).to_have_text("canceled")
    soon(page.get_by_role("group", name="Actions on the job")).to_have_count(0)
    assert job_manager.get(f"/jobs/{job}")["state"] == "CANCELED"


def test_a_vertex_opens_with_the_keyboard(visit: Visit, job: str) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open(f"jobs/{job}")
    vertex = page.get_by_role("button", name=re.compile("^count"))
    vertex.focus()
    page.keyboard.press("Enter")
    table = page.get_by_role("table", name=re.compile("Subtasks of count"))
    soon(table.get_by_role("row")).to_have_count(3)
    soon(vertex).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="Close the vertex").click()
    soon(table).to_have_count(0)


def test_a_question_is_left_with_escape(visit: Visit, job: str) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open(f"jobs/{job}")
    button = page.get_by_role("button", name="Rescale")
    button.click()
    soon(page.get_by_role("dialog", name="Change the parallelism")).to_be_visible()
    soon(page.get_by_label("Parallelism", exact=True)).to_have_value("2")
    page.keyboard.press("Escape")
    soon(page.get_by_role("dialog")).to_have_count(0)
    soon(button).to_be_focused()


def test_checkpoints_have_a_history(visit: Visit, job: str) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open(f"jobs/{job}/checkpoints")
    table = page.get_by_role("table", name="History of checkpoints")
    soon(table.get_by_text("completed").first).to_be_visible()


def test_the_log_shows_what_functions_wrote(visit: Visit, job: str) -> None:
    visitor = visit()
    visitor.open(f"jobs/{job}/log")
    soon(visitor.page.get_by_role("log")).to_contain_text("('ada', 100)")


def test_epochs_are_shown_one_by_one(visit: Visit, job: str) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open(f"jobs/{job}")
    strip = page.get_by_role("slider", name="Epoch")
    soon(strip).to_be_visible()
    strip.focus()
    page.keyboard.press("Home")
    first = strip.get_attribute("aria-valuenow")
    page.keyboard.press("ArrowRight")
    soon(strip).not_to_have_attribute("aria-valuenow", first or "")
    phases = page.get_by_role("list", name=re.compile("Phases of epoch"))
    soon(phases).to_contain_text("level 0")


def test_a_job_in_epochs_is_shown_over_time(visit: Visit, job: str) -> None:
    visitor = visit()
    visitor.open(f"jobs/{job}")
    read = visitor.page.get_by_role("figure", name="Records from sources")
    soon(read).to_contain_text(re.compile(r"read \d"))
    soon(read.get_by_role("list", name="Time").get_by_role("listitem").first).to_have_text(
        re.compile(r"^\d\d:\d\d")
    )
    visitor.open("")
    line = visitor.page.get_by_role("img", name=re.compile("Records a second of Clicks"))
    soon(line.first).to_be_visible()


def test_totals_make_room_on_a_phone(visit: Visit, job: str) -> None:
    visitor = visit(viewport={"width": 390, "height": 844})
    visitor.open(f"jobs/{job}")
    table = visitor.page.get_by_role("table", name="Vertices of the job")
    soon(table.get_by_role("columnheader", name="Busy")).to_be_visible()
    soon(table.get_by_role("columnheader", name="Records in")).to_have_count(0)


def test_a_live_job_is_shown_over_time(
    visit: Visit, job_manager: JobManager, program: Path
) -> None:
    live = job_manager.submit(program, **{"execution.carrier": "live"})
    visitor = visit()
    page = visitor.page
    visitor.open(f"jobs/{live}")
    shown = page.get_by_role("figure", name="Latency from source to sink")
    soon(shown).to_contain_text(re.compile(r"median \d.*99th percentile \d"))
    for title in ("Records from sources", "Alignment of barriers", "Channel usage"):
        soon(page.get_by_role("figure", name=title)).to_contain_text(re.compile(r"\d"))
    soon(page.get_by_role("slider", name="Epoch")).to_have_count(0)
    (counting,) = (v for v in job_manager.get(f"/jobs/{live}")["vertices"] if "count" in v["name"])
    names = ["buffers.inPoolUsage", "buffers.outPoolUsage", "checkpointAlignmentTime"]
    path = f"/jobs/{live}/vertices/{counting['id']}/subtasks/metrics?get={','.join(names)}"
    assert [found["id"] for found in job_manager.get(path)] == names
    job_manager.headrace("cancel", "-m", job_manager.address, live)


def test_the_diagnosis_stands_at_the_top(visit: Visit, job: str) -> None:
    visitor = visit()
    visitor.open(f"jobs/{job}")
    soon(visitor.page.get_by_role("region", name="Diagnosis")).to_contain_text(
        re.compile(r"\w.*\.")
    )


def test_records_can_be_looked_at(visit: Visit, job: str) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open(f"jobs/{job}")
    page.get_by_role("button", name="Source: clicks").click()
    page.get_by_role("link", name="Records", exact=True).click()
    table = page.get_by_role("table", name=re.compile("Records that left"))
    soon(table).to_contain_text("('ada', 1)")
    page.get_by_role("button", name="Hold").click()
    soon(page.get_by_role("button", name="Resume")).to_be_visible()


def test_a_flame_graph_names_functions(visit: Visit, job: str) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open(f"jobs/{job}")
    page.get_by_role("button", name="Source: clicks").click()
    page.get_by_role("link", name="Flame graph").click()
    table = page.get_by_role("table", name=re.compile("Functions with the most self"))
    soon(table).to_contain_text("one_each")


def test_watermarks_and_configuration_are_told(visit: Visit, job: str) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open(f"jobs/{job}/watermarks")
    soon(page.get_by_role("table", name="Watermarks of subtasks")).to_contain_text("clicks")
    visitor.open(f"jobs/{job}/configuration")
    soon(page.get_by_role("table", name="Checkpoints")).to_contain_text("exactly once")
    visitor.open("executors")
    soon(page.get_by_role("table", name=re.compile("Slots of"))).to_contain_text("Clicks")


def test_an_executor_shows_logs_and_threads(visit: Visit, job: str) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open("executors")
    page.get_by_role("link", name="Logs").click()
    soon(page.get_by_role("table", name="Log files")).to_contain_text(f"{job}-slot-")
    page.get_by_role("link", name=f"{job}-slot-").first.click()
    soon(page.get_by_role("log")).to_contain_text(re.compile(r"\('\w+', \d+00\)"))
    page.get_by_role("link", name="Threads").click()
    slot = page.get_by_text(re.compile("slot 0.*MainThread"))
    soon(slot.first).to_be_visible()
    slot.first.click()
    soon(page.get_by_label(re.compile("^Stack of .*MainThread")).first).to_contain_text(
        "process.py"
    )


ROUTES = (
    "",
    "submit",
    "executors",
    "executors/driver/logs",
    "executors/driver/threads",
    "jobmanager",
    "jobmanager/logs",
    "jobmanager/threads",
)
JOB_ROUTES = ("", "/checkpoints", "/watermarks", "/exceptions", "/configuration", "/log")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_read_by_everybody(visit: Visit, job: str, scheme: str) -> None:
    visitor = visit(color_scheme=scheme, viewport={"width": 390, "height": 844})
    page = visitor.page
    found = {}
    for route in [*ROUTES, *(f"jobs/{job}{tab}" for tab in JOB_ROUTES)]:
        visitor.open(route)
        soon(page.get_by_role("heading", level=1)).to_be_visible()
        soon(page.get_by_text(re.compile("^Loading"))).to_have_count(0)
        problems: list[str] = page.evaluate(ACCESSIBILITY)
        too_wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if too_wide > 0:
            problems.append(f"{too_wide} px too wide for a phone")
        if problems:
            found[route] = problems
    assert found == {}


def test_colours_can_be_chosen(visit: Visit) -> None:
    visitor = visit(color_scheme="light")
    page = visitor.page
    visitor.open("")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    toggle = page.get_by_role("button", name=re.compile("^Colours"))
    toggle.click()
    toggle.click()
    assert page.evaluate(colour) != light
    page.reload()
    soon(toggle).to_have_accessible_name(re.compile("dark"))
    assert page.evaluate(colour) != light


def test_a_job_that_is_not_there_is_said_so(visit: Visit) -> None:
    visitor = visit()
    visitor.open(f"jobs/{'0' * 32}")
    soon(visitor.page.get_by_text("There is no job")).to_be_visible()
