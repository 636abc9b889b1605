"""`headrace top`: all running jobs, live."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
import time
from typing import Any

from headrace.cluster.argument_types import above_zero, count
from headrace.cluster.client.jobs import Jobs, add_job_manager, duration_text, jobs_of
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.terminal_panel import BOLD, DIM, colours_wanted, is_live_terminal
from headrace.cluster.terminal_panel import panel_below_output as panel
from headrace.common.errors import HeadraceError
from headrace.coordination.bodies.jobs import ListedJob

NAME = "top"
USAGE = "[options]"
SUMMARY = "watch all running jobs: rates, load, event time"
EPILOG = """\
On a terminal the table is redrawn in place; anywhere else lines are printed. Ctrl-C ends it.

examples:
  headrace top
  headrace top -n 1 --json               the figures of now, for a script"""

_COLUMNS = ("job", "state", "running for", "in/s", "out/s", "busy", "behind", "name")
_WIDTHS = (8, 10, 11, 10, 10, 5, 9, 0)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "-i",
        "--interval",
        type=above_zero,
        default=1.0,
        metavar="SECONDS",
        help="how often (default 1)",
    )
    parser.add_argument("-n", "--times", type=count, metavar="N", help="how many times, then end")
    parser.add_argument("--json", action="store_true", help="print JSON, one line each time")
    add_job_manager(parser)


def run(options: argparse.Namespace) -> int:
    """Show the jobs until it is enough."""
    jobs = jobs_of(options)
    times = itertools.count() if options.times is None else range(options.times)
    with contextlib.ExitStack() as exits:
        live = is_live_terminal(sys.stdout) and not options.json
        shown = exits.enter_context(panel()) if live else None
        exits.enter_context(contextlib.suppress(KeyboardInterrupt))
        for turn in times:
            if turn:
                time.sleep(options.interval)
            rows = [figures_of(jobs, job) for job in jobs.overview() if job.end_time < 0]
            if options.json:
                print(json.dumps(rows), flush=True)
            elif shown is not None:
                bold, dim = (BOLD, DIM) if colours_wanted() else ("", "")
                head = f" {len(rows)} running  {time.strftime('%H:%M:%S')}  Ctrl-C ends"
                shown.show(
                    [(bold, head), (dim, _row(_COLUMNS)), *(("", _row(cells_of(r))) for r in rows)]
                )
            else:
                print("\n".join([_row(_COLUMNS), *(_row(cells_of(r)) for r in rows)]), flush=True)
    return ExitCode.OK


def figures_of(jobs: Jobs, job: ListedJob) -> dict[str, Any]:
    """What is shown of a job; a dash stands for what it does not tell at the moment."""
    figures = {"jid": job.jid, "name": job.name, "state": job.state, "duration": job.duration}
    # It may end right now, or still be starting.
    with contextlib.suppress(HeadraceError, IndexError, ValueError):
        rates = [vertex.rates for vertex in jobs.details(job.jid).vertices]
        watermarks = [r.watermark for r in rates if r.watermark is not None]
        figures |= {
            # What sources read is what they hand on, and what sinks write is what comes to them.
            "records-in": max(rates[0].records_in, rates[0].records_out),
            "records-out": max(rates[-1].records_in, rates[-1].records_out),
            "max-busy": max(r.max_busy or 0.0 for r in rates),
            "watermark": min(watermarks, default=None),
        }
    return figures


def cells_of(figures: dict[str, Any]) -> tuple[str, ...]:
    """Its line of the table."""
    known = "records-in" in figures
    return (
        figures["jid"][:8],
        figures["state"],
        duration_text(figures["duration"]),
        f"{figures['records-in']:,.0f}" if known else "-",
        f"{figures['records-out']:,.0f}" if known else "-",
        f"{figures['max-busy']:.0%}" if known else "-",
        _behind(figures.get("watermark")),
        figures["name"],
    )


def _behind(watermark_ms: int | None) -> str:
    """How far event time is behind now; data that was recorded long ago says nothing by it."""
    lag_ms = time.time() * 1000 - (watermark_ms or 0)
    return duration_text(int(lag_ms)) if 0 <= lag_ms < 86_400_000 else "-"


def _row(cells: tuple[str, ...]) -> str:
    left = (0, 1, len(cells) - 1)
    shown = [
        f"{cell:{width}}" if index in left else f"{cell:>{width}}"
        for index, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    ]
    return " " + "  ".join(shown).rstrip()
