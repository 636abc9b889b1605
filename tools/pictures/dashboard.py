"""The page of a running job in the dashboard, light and dark, taken by a real browser."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HEADRACE = [sys.executable, "-m", "headrace.cluster.cli"]
PROGRAM = Path(__file__).parents[2] / "examples" / "sensor_alarms.py"
SIZE = {"width": 1280, "height": 900}
RUNNING_MS = {"light": 90_000, "dark": 5_000}


def make(directory: Path) -> None:
    """Run the demo's job with a JobManager, look at it, and end both."""
    # Late: only this picture needs a browser.
    from playwright.sync_api import sync_playwright

    from tests.dashboard.browser import chromium

    with tempfile.TemporaryDirectory() as place:
        started = _headrace(
            "start-cluster", "--json", "--dir", place, "-D", "rest.bind-port=0", "--master",
            "local[2]",
        )  # fmt: skip
        address = f"127.0.0.1:{json.loads(started)['port']}"
        try:
            program = (str(PROGRAM), "--plain", "--seconds", "600", "--rate", "5000")
            # The program ends by itself, but most jobs that people look at do not, and are live.
            settings = (
                *("-D", "execution.carrier=live"),
                *("-D", "execution.checkpointing.interval=5 s"),
            )
            submitted = _headrace("run", "-m", address, "-d", "--json", *settings, *program)
            job = json.loads(submitted)["jobid"]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=str(chromium()), args=["--no-sandbox"]
                )
                for scheme, running in RUNNING_MS.items():
                    page = browser.new_page(viewport=SIZE, color_scheme=scheme)
                    page.goto(f"http://{address}/#/jobs/{job}")
                    page.get_by_text("temperature alarm").first.wait_for(state="attached")
                    # Figures over time need some.
                    page.wait_for_timeout(running)
                    page.screenshot(path=directory / f"dashboard-{scheme}.png")
                browser.close()
        finally:
            _headrace("stop-cluster", "--dir", place)


def _headrace(*arguments: str) -> str:
    done = subprocess.run([*HEADRACE, *arguments], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout
