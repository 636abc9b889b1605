"""The benchmarks of headrace: run them, print a table and write JSON next to it.

    python -m benchmarks                      all of them
    python -m benchmarks keyed-count start    some
    python -m benchmarks --list               their names

The peers are installed once into environments of their own under ``~/.cache/headrace-bench`` (or
``HEADRACE_BENCH_CACHE``). Everything is compared within one run, in turns, after a warm-up.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import (
    async_io,
    bare,
    cases,
    cdc,
    checkpoints,
    join_state,
    kafka,
    latency,
    metrics,
    parquet,
    recovery,
    sql,
    text,
    windows,
)
from benchmarks.cases import Settings
from benchmarks.measure import Result
from benchmarks.nexmark import cases as nexmark
from benchmarks.peers import environments as peers
from benchmarks.tpch import cases as tpch

CASES = {
    **cases.CASES,
    **windows.CASES,
    **async_io.CASES,
    **parquet.CASES,
    **recovery.CASES,
    **kafka.CASES,
    **cdc.CASES,
    **checkpoints.CASES,
    **metrics.CASES,
    **latency.CASES,
    **sql.CASES,
    **text.CASES,
    **join_state.CASES,
    **nexmark.CASES,
    **tpch.CASES,
}
RESULTS = Path(__file__).parent / "results"


def _load(path: str) -> ModuleType:
    """A yardstick file from elsewhere, under its own name so that workers can import it."""
    name = Path(path).stem
    spec = importlib.util.spec_from_file_location(name, Path(path).absolute())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _versions() -> dict[str, str]:
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    return {
        "headrace": importlib.metadata.version("headrace"),
        "pyspark": importlib.metadata.version("pyspark"),
        "python": platform.python_version(),
        "java": (java.stderr.splitlines() or ["?"])[0],
        "platform": platform.platform(),
        "cores": str(os.cpu_count()),
    }


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def table(results: list[Result]) -> str:
    """The results as aligned text."""
    rows = [("benchmark", "headrace", "compared with", "its figure", "unit", "ratio", "goal", "")]
    for r in results:
        sign = "≥" if r.at_least else "≤"
        goal = "" if r.goal is None else f"{sign} {r.goal:g}"
        met = {True: "met", False: "MISSED", None: ""}[r.met]
        figures = _number(r.ours), _number(r.theirs)
        rows.append((r.name, figures[0], r.peer, figures[1], r.unit, f"{r.ratio:.2f}", goal, met))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    right = {1, 3, 5}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _save(results: list[Result], facts: dict[str, Any], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    document = {**facts, "results": [result.as_json() for result in results]}
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="which benchmarks; all unless given")
    parser.add_argument("--list", action="store_true", help="print the names and leave")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each side after the warm-up")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on numbers of records")
    parser.add_argument(
        "--queries", nargs="+", default=(), help="only these queries of Nexmark or TPC-H"
    )
    parser.add_argument("--yardstick", metavar="PATH", help="a file with other bare loops")
    parser.add_argument("--pyflink-python", metavar="PATH", help="an environment with PyFlink")
    parser.add_argument("--bytewax-python", metavar="PATH", help="an environment with Bytewax")
    parser.add_argument("--pathway-python", metavar="PATH", help="an environment with Pathway")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the JSON file")
    options = parser.parse_args()
    if options.list:
        for name, case in CASES.items():
            print(f"{name:16} {(case.__doc__ or '').splitlines()[0]}")
        return 0
    unknown = set(options.names) - set(CASES)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    settings = Settings(
        yardstick=_load(options.yardstick) if options.yardstick else bare,
        scale=options.scale,
        rounds=options.rounds,
        pyflink_python=options.pyflink_python,
        bytewax_python=options.bytewax_python,
        pathway_python=options.pathway_python,
        queries=tuple(options.queries),
    )
    facts = {
        "command": [sys.executable, "-m", "benchmarks", *sys.argv[1:]],
        "versions": _versions(),
    }
    peers.show(facts["command"])
    print("  " + ", ".join(f"{k} {v}" for k, v in facts["versions"].items()), flush=True)
    return _run(options.names or list(CASES), settings, facts, options.output)


def _run(names: list[str], settings: Settings, facts: dict[str, Any], folder: Path) -> int:
    results: list[Result] = []
    problems: list[str] = []
    for name in names:
        print(f"\n{name}: {(CASES[name].__doc__ or '').splitlines()[0]}", flush=True)
        try:
            for result in CASES[name](settings):
                results.append(result)
                print(table([result]).splitlines()[1], flush=True)
        except peers.PeerUnavailableError as error:
            problems.append(f"{name}: {error}")
            print(f"  not measured: {error}", flush=True)
    print("\n" + table(results))
    path = _save(results, {**facts, "not_measured": problems}, folder)
    print(f"\nwritten to {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
