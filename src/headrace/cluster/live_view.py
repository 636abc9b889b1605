"""Shows a job while it runs: rates of its operators, watermark and epochs."""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType

from headrace.cluster.live_figures import LiveFigures, OperatorRates
from headrace.cluster.manager.attachment import dashboard_of
from headrace.cluster.terminal_panel import (
    BOLD,
    DIM,
    GREEN,
    Panel,
    colours_wanted,
    is_live_terminal,
    panel_below_output,
)
from headrace.common.job_client import JobClient
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_listener import EpochStatistics, JobListener
from headrace.common.job_status import JobStatus
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

_REDRAW_S = 0.2
_SPARKS = "▁▂▃▄▅▆▇█"
_COLUMNS = ("in", "in/s", "out", "out/s")
_RATES = ("in/s", "out/s")
"""What is left of the columns in a narrow terminal."""
_LEAST_NAME, _MOST_NAME = 12, 30
_CELL_WIDTH, _BESIDE = 11, 8


class LiveView(JobListener):
    """A live display of the jobs of an environment.

    On a terminal it is redrawn in place at the bottom, and what the job prints scrolls above it;
    anywhere else a line is printed every second. `NO_COLOR` is honoured.

    Example:
        >>> with LiveView(env) as view:
        ...     env.execute("my job")
        >>> print(view.summary())
    """

    def __init__(
        self, environment: StreamExecutionEnvironment | None = None, *, plain: bool = False
    ) -> None:
        self._environment = environment
        self._plain = plain or not is_live_terminal(sys.stdout)
        self._panel: Panel | None = None
        self._exits = contextlib.ExitStack()
        self._ended = threading.Event()
        self._entered_s = 0.0
        self._told_s = 0.0
        self._lock = threading.Lock()
        self._rates: deque[float] = deque(maxlen=30)
        self._rated_s = 0.0
        self._state = "starting Spark"
        self._client: JobClient | None = None
        self._dashboard: str | None = None
        self.figures = LiveFigures()

    @classmethod
    def of_all_jobs(cls, *, plain: bool = False) -> LiveView:
        """A display of every job that this process runs."""
        return cls(None, plain=plain)

    def __enter__(self) -> LiveView:
        self._entered_s = time.monotonic()
        if self._environment is not None:
            self._environment.register_job_listener(self)
        else:
            StreamExecutionEnvironment.listeners_of_all.append(self)
        if self._plain:
            print("starting Spark ...", flush=True)
        else:
            self._panel = self._exits.enter_context(panel_below_output())
            threading.Thread(target=self._redraw, daemon=True, name="headrace-live").start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self in StreamExecutionEnvironment.listeners_of_all:
            StreamExecutionEnvironment.listeners_of_all.remove(self)
        if self._panel is not None:
            self._note_end()
            self._draw()
        self._exits.close()

    # JobListener.

    def on_job_submitted(self, job_client: JobClient | None, error: BaseException | None) -> None:
        """Note that the job was started."""
        self._state = "starting slots" if error is None else "could not be started"
        self._client = job_client
        if job_client is not None:
            self._dashboard = dashboard_of(str(job_client.get_job_id()))

    def on_epoch(self, statistics: EpochStatistics) -> None:
        """Take the figures of an epoch."""
        now = time.monotonic()
        with self._lock:
            self._state = "running"
            self.figures.add(statistics, now)
            if now - self._rated_s >= 1.0 and self.figures.running_s > 2.0:
                self._rated_s = now
                self._rates.append(self.figures.records_per_s)
        if self._plain and now - self._told_s >= 1.0:
            self._told_s = now
            print(self._plain_line(), flush=True)

    def on_job_executed(
        self, result: JobExecutionResult | None, error: BaseException | None
    ) -> None:
        """Note how the job ended."""
        self._state = "finished" if error is None else "ended"

    def _note_end(self) -> None:
        """See whether the job is over: its listeners may be told of that later."""
        status = None if self._client is None else self._client.get_job_status().result()
        if status is not None and status.is_terminal_state():
            self._state = "finished" if status is JobStatus.FINISHED else "ended"
            # A JobManager of this job alone is soon gone.
            self._dashboard = None

    # Drawing.

    def _redraw(self) -> None:
        while not self._ended.wait(_REDRAW_S):
            self._draw()

    def _draw(self) -> None:
        assert self._panel is not None
        self._panel.show(self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        counted = self._accumulators()
        with self._lock:
            elapsed = time.monotonic() - self._entered_s
            if self.figures.epochs == 0:
                return [("", ""), (self._style(BOLD), f" {self._state} ... {elapsed:.0f} s")]
            figures = self.figures
            table = OperatorTable(shutil.get_terminal_size().columns)
            return [
                ("", ""),
                (
                    self._style(BOLD),
                    f" {self._state} {figures.running_s:.1f} s | {_epochs(figures)}",
                ),
                (self._style(GREEN), f" {_rate(figures)}  {self._sparks()}"),
                ("", f" {_event_time(figures)}"),
                *([(self._style(BOLD), f" {counted}")] if counted else []),
                (self._style(DIM), table.head()),
                *(("", table.row(o)) for o in figures.operators()),
                *([("", f" dashboard  {self._dashboard}")] if self._dashboard else []),
            ]

    def _accumulators(self) -> str:
        """What the program itself counts."""
        found = {} if self._client is None else self._client.get_accumulators().result()
        return "   ".join(f"{name}: {_readable(value)}" for name, value in sorted(found.items()))

    def _style(self, style: str) -> str:
        return style if colours_wanted() else ""

    def _sparks(self) -> str:
        if not self._rates or (sys.__stdout__ is None or "utf" not in sys.__stdout__.encoding):
            return ""
        top = max(self._rates) or 1.0
        return "".join(_SPARKS[min(int(r / top * 7.99), 7)] for r in self._rates)

    def _plain_line(self) -> str:
        figures = self.figures
        return (
            f"{figures.running_s:5.1f} s | {_rate(figures)} | {_epochs(figures)} | "
            f"{_event_time(figures)}"
        )

    def summary(self, more: Mapping[str, object] | None = None) -> str:
        """What the job did, in a few lines; `more` is added to them."""
        figures = self.figures
        if figures.epochs == 0:
            return "no epoch ran"
        again = ", including any read again" if figures.restarted else ""
        rows: dict[str, object] = {
            "records read": f"{figures.records:,} in {figures.running_s:.1f} s, "
            f"{figures.mean_records_per_s:,.0f} a second{again}",
            "epochs": f"{figures.epochs:,}, median {figures.median_epoch_ms:.0f} ms",
            **(more or {}),
        }
        width = max(map(len, rows))
        return "\n".join(f"{name:{width}}  {_readable(value)}" for name, value in rows.items())


def _readable(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _epochs(figures: LiveFigures) -> str:
    return f"epoch {figures.epochs} ({figures.durations_ms[-1]:.0f} ms)"


def _rate(figures: LiveFigures) -> str:
    so_far = "including any read again" if figures.restarted else "so far"
    return f"{figures.records_per_s:,.0f} records/s, {figures.records:,} {so_far}"


def _event_time(figures: LiveFigures) -> str:
    if figures.at_end:
        return "end of input"
    watermark = figures.watermark
    if watermark is None:
        return "no watermark yet"
    lag_s = time.time() - watermark / 1000
    if not 0 <= lag_s < 86_400 * 365:
        return f"watermark {watermark}"
    at = datetime.fromtimestamp(watermark / 1000)
    return f"watermark {at:%H:%M:%S}.{at.microsecond // 100_000} ({lag_s:.1f} s behind now)"


class OperatorTable:
    """The operators, in the width of a terminal."""

    def __init__(self, width: int) -> None:
        whole = width >= _LEAST_NAME + _BESIDE + _CELL_WIDTH * len(_COLUMNS)
        self._columns = _COLUMNS if whole else _RATES
        left = width - _BESIDE - _CELL_WIDTH * len(self._columns)
        self._name_width = min(max(left, _LEAST_NAME), _MOST_NAME)

    def head(self) -> str:
        return self._line("operator", "", dict(zip(_COLUMNS, _COLUMNS, strict=True)))

    def row(self, o: OperatorRates) -> str:
        cells = (
            f"{o.records_in:,}",
            f"{o.in_per_s:,.0f}",
            f"{o.records_out:,}",
            f"{o.out_per_s:,.0f}",
        )
        return self._line(o.name, f"x{o.parallelism}", dict(zip(_COLUMNS, cells, strict=True)))

    def _line(self, name: str, parallelism: str, cells: dict[str, str]) -> str:
        width = self._name_width
        shown = name if len(name) <= width else name[: width - 1] + "~"
        numbers = "".join(f"{cells[column]:>{_CELL_WIDTH}}" for column in self._columns)
        return f" {shown:{width}} {parallelism:>3} {numbers}"
