"""A JobManager with a running job, and a browser that looks at it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.dashboard.browser import BrowserUnavailableError, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

HEADRACE = [sys.executable, "-m", "headrace.cluster.cli"]
LIMIT_S = 150.0
SCREENSHOTS = Path(os.environ.get("HEADRACE_TEST_ARTIFACTS", "artifacts")) / "dashboard"

CLICKS = """
import time

from headrace.common import Duration, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy


class ClickTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


def one_each(click):
    time.sleep(0.002)                   # A sample of the slot's stack finds something to show.
    return (click[0], 1)


def click(i):
    return ("ada" if i % 4 else "bob", int(time.time() * 1000))


env = StreamExecutionEnvironment.get_execution_environment()
source = DataGeneratorSource(click, 10**9, RateLimiterStrategy.per_second(200))
late = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
clicks = env.from_source(source, late.with_timestamp_assigner(ClickTime()), "clicks").uid("clicks")
ones = clicks.map(one_each).name("one each")
counted = ones.key_by(lambda p: p[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).name("count")
counted.uid("count").filter(lambda p: p[1] % 100 == 0).name("hundreds").print().name("output")
env.execute("Clicks")
"""


class JobManager:
    """`headrace start-cluster` in a directory of its own."""

    def __init__(self, directory: Path, environment: dict[str, str] | None = None) -> None:
        self.directory = directory
        self._environment = {**os.environ, **(environment or {})}
        # With room for live jobs; those of a source that ends are not live unless they want it.
        carrier = ["-D", "execution.carrier=auto"]
        settings = ["--master", "local[2]", "-D", "rest.bind-port=18200-18299", *carrier]
        about = self.headrace("start-cluster", "--json", "--dir", str(directory), *settings)
        self.address = f"127.0.0.1:{json.loads(about)['port']}"
        self.url = f"http://{self.address}"

    def headrace(self, *arguments: str) -> str:
        done = subprocess.run(
            [*HEADRACE, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
            env=self._environment,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def submit(self, program: Path, **settings: str) -> str:
        settings = {"execution.checkpointing.interval": "1 s", **settings}
        given = [part for key, value in settings.items() for part in ("-D", f"{key}={value}")]
        said = self.headrace("run", "-d", "-m", self.address, "-p", "2", *given, str(program))
        return said.split()[-1]

    def get(self, path: str) -> Any:
        from headrace.cluster.client.rest_client import RestClient

        return RestClient(self.address).request("GET", path)

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.2)
        logs = [p.read_text() for p in self.directory.glob("**/*.log")]
        raise AssertionError(f"{what}:\n" + "\n".join(logs))

    def stop(self) -> None:
        self.headrace("stop-cluster", "--dir", str(self.directory))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window.

    It ends with the module: as long as it runs, this thread has an event loop, and tests that want
    one of their own would fail.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    try:
        executable = chromium()
    except BrowserUnavailableError as error:
        pytest.skip(str(error))
    arguments = ["--disable-dev-shm-usage", "--disable-gpu"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")  # The sandbox refuses to run as root.
    playwright.expect.set_options(timeout=LIMIT_S * 1000)
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=str(executable), args=arguments)
        yield running
        running.close()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that counts clicks until it is told to end."""
    path = tmp_path_factory.mktemp("program") / "clicks.py"
    path.write_text(CLICKS)
    return path


@pytest.fixture(scope="module")
def job_manager(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobManager]:
    """One for all tests, and only if there is a browser."""
    running = JobManager(tmp_path_factory.mktemp("cluster"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def job(job_manager: JobManager, program: Path) -> str:
    """A job that has read records and taken a checkpoint."""
    submitted = job_manager.submit(program)

    def going() -> bool:
        checkpoints = job_manager.get(f"/jobs/{submitted}/checkpoints").get("counts", {})
        return bool(checkpoints.get("completed"))

    job_manager.wait(going, "the job takes no checkpoint")
    return submitted


class Visitor:
    """A page that notes what a page should not do."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        page.set_default_timeout(LIMIT_S * 1000)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._request)

    def open(self, route: str) -> None:
        self.page.goto(f"{self.url}/#/{route}")

    def _console(self, message: ConsoleMessage) -> None:
        # A job may end while somebody looks at it: what was asked for is not there any more.
        gone = re.search(r"status of (404|409)", message.text)
        if message.type in ("error", "warning") and not gone:
            self.complaints.append(f"{message.type}: {message.text} {message.location.get('url')}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.url}/", "data:")):
            self.complaints.append(f"request to another place: {request.url}")


@pytest.fixture
def open_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Visitor]]:
    """Opens pages; they are photographed if the test fails, and must have behaved."""
    visitors: list[Visitor] = []

    def new(url: str, **settings: Any) -> Visitor:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        visitors.append(Visitor(context.new_page(), url))
        return visitors[-1]

    failed = request.session.testsfailed
    yield new
    complaints = [c for v in visitors for c in v.complaints]
    if complaints or request.session.testsfailed > failed:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        for number, visitor in enumerate(visitors):
            name = f"{request.node.name.replace('/', '-')}-{number}.png"
            visitor.page.screenshot(path=SCREENSHOTS / name, full_page=True)
    for visitor in visitors:
        visitor.page.context.close()
    assert complaints == []


@pytest.fixture
def visit(open_page: Callable[..., Visitor], job_manager: JobManager) -> Callable[..., Visitor]:
    """Opens pages of the JobManager."""
    return lambda **settings: open_page(job_manager.url, **settings)
