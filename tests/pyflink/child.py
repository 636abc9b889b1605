"""Run programs in one child process, because starting one is most of the time that one takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def run_programs(programs: list[Path], folder: Path, *flags: str) -> dict[Path, dict[str, Any]]:
    """What ``driver.py`` says of each program; `flags` say where jobs run."""
    results = folder / "results.jsonl"
    results.touch()
    command = [sys.executable, str(HERE / "driver.py"), str(results), *flags, *map(str, programs)]
    log = folder / "stderr.log"
    with log.open("w") as stderr:
        subprocess.run(command, stdout=stderr, stderr=stderr, timeout=1200, check=False, cwd=folder)
    ran = map(json.loads, results.read_text("utf-8").splitlines())
    found = {Path(result["program"]): result for result in ran}
    tail = log.read_text("utf-8", "replace")[-3000:]
    died = {"output": "", "error": f"the driver ended before it; its log ends with:\n{tail}"}
    return {program: found.get(program, died) for program in programs}
