"""Run many PyFlink programs in one interpreter, one after the other.

    python tests/pyflink/driver.py RESULTS.jsonl [--pyflink | --in-process | --lines=N] PROGRAM ...

Starting Python and Spark for every program would take minutes. Each program runs as
``python -m headrace.compat PROGRAM`` does, with ``--in-process`` without Spark, and with
``--lines`` only until a job has printed so many lines; with ``--pyflink`` as ``python PROGRAM``
does, in an environment that has the real one. Standard output is a file from the beginning, so
that what a JVM or a worker writes there is caught as well. One JSON line for each program is
appended to the results as soon as it has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

LIMIT_S = 240


class ProgramTimeoutError(BaseException):
    """Not an Exception: a program that catches those must still be stopped."""


def _too_long(_signal: int, _frame: object) -> None:
    raise ProgramTimeoutError(f"not done after {LIMIT_S} seconds")


def _start(program: str, real: bool) -> None:
    if real:
        sys.argv = [program]
        runpy.run_path(program, run_name="__main__")
    else:
        sys.argv = ["headrace.compat", program]
        runpy.run_module("headrace.compat", run_name="__main__", alter_sys=True)


def _written(file: int, since: int) -> str:
    size = os.fstat(file).st_size - since
    return os.pread(file, size, since).decode("utf-8", "replace")


def run(program: str, output: int, complaints: int, real: bool) -> dict[str, object]:
    """Run one program and say what it printed, how long it took and how it failed, if it did."""
    error = None
    known = set(sys.modules)
    before, complained = os.fstat(output).st_size, os.fstat(complaints).st_size
    began = time.perf_counter()
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LIMIT_S)
    try:
        _start(program, real)
    except SystemExit as stop:
        if stop.code:
            error = f"exit with {stop.code}\n{_written(complaints, complained)[-3000:]}"
    except BaseException:
        error = traceback.format_exc()
    finally:
        signal.alarm(0)
    took = time.perf_counter() - began
    # What a program imported from a temporary folder must not be found by the next one.
    for name in set(sys.modules) - known:
        if name.startswith("brought_"):
            del sys.modules[name]
    sys.stdout.flush()
    text = _written(output, before)
    return {"program": program, "output": text, "error": error, "seconds": round(took, 2)}


def _jobs(mode: str) -> contextlib.AbstractContextManager[None]:
    """Where jobs run."""
    if mode in ("", "--pyflink"):
        return contextlib.nullcontext()
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.pyflink.in_process import jobs_in_process

    return jobs_in_process(int(mode.partition("=")[2] or 0) or None)


def _catch(descriptor: int) -> int:
    """Let a descriptor, and what inherits it, append to a file; returns one to read that with."""
    # Not closed: it is there until the process ends.
    file, path = tempfile.mkstemp()
    # All writers append: the JVM and the workers have descriptors of their own.
    os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), descriptor)
    os.unlink(path)
    return file


def main() -> None:
    results, *arguments = sys.argv[1:]
    mode = "".join(a for a in arguments if a.startswith("--"))
    programs = [a for a in arguments if not a.startswith("--")]
    output, complaints = _catch(1), _catch(2)
    with open(results, "a", encoding="utf-8") as file, _jobs(mode):
        for program in programs:
            file.write(json.dumps(run(program, output, complaints, mode == "--pyflink")) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
