"""The counting program on Spark, started as often as a test has killed it."""

from __future__ import annotations

import time
from pathlib import Path

from tests.faults.counting import assert_exactly_once
from tests.faults.processes import LIMIT_S, Child
from tests.faults.row_files import committed_files, committed_rows


class CountingRuns:
    """Runs of one job, each of which goes on from the last checkpoint of the one before."""

    def __init__(self, master: str, directory: Path) -> None:
        self._master = master
        self._directory = directory
        self._rows = directory / "rows"
        self._drivers: list[Child] = []

    @property
    def driver(self) -> Child:
        return self._drivers[-1]

    def start(self, *how: str) -> None:
        log = self._directory / f"driver-{len(self._drivers)}.log"
        arguments = [self._master, str(self._directory), *how]
        self._drivers.append(Child("tests.faults.counting_on_spark", arguments, log))

    def attempt(self, number: int) -> tuple[int, list[int]]:
        """Driver and slots of an attempt of the present run, once it works."""
        driver, *slots = map(int, self.driver.wait_for("attempt", number).split()[1:])
        return driver, slots

    def last_attempt(self) -> tuple[int, list[int]]:
        """The same of the attempt that came last."""
        return self.attempt(max(len(self.driver.lines("attempt")), 1))

    def wait_for_rows(self) -> None:
        """Wait until further rows are committed."""
        # Not the rows themselves: there are soon so many that looking would be most of the work.
        before = self._commits()
        deadline = time.monotonic() + LIMIT_S
        while self._commits() <= before:
            assert self.driver.process.poll() is None, self.driver.log.read_text()
            assert time.monotonic() < deadline, self.driver.log.read_text()
            time.sleep(0.1)

    def _commits(self) -> int:
        return len(committed_files(self._rows)) if self._rows.exists() else 0

    def finish(self) -> int:
        """Let the job come to its end, and check what was committed; the restarts of this run."""
        (self._directory / "end").touch()
        restarts = int(self.driver.wait_for("finished").split()[1])
        assert_exactly_once(committed_rows(self._rows))
        return restarts

    def end(self) -> None:
        for driver in self._drivers:
            driver.end()
