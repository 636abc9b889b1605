"""Run probes: many small pieces of PyFlink programs in one process, and note what each one prints.

    python tests/pyflink/probe_runner.py [--pyflink] RESULT.json PROBES.py ...

A file of probes begins with a preamble, which runs once, and continues with pieces that begin with
a line ``# --- name``. Each piece runs in its own copy of the preamble's names. What a piece prints
is its result; an exception that it does not catch ends its result with ``raises TYPE``. ``raises``
is there for pieces that look at the words of an exception:

    raises(lambda: DataTypes.CHAR("x"), TypeError, "length")

prints ``TypeError: length`` if the exception is one of that type with those words in its text.
With ``--pyflink`` the interpreter's own PyFlink is used, otherwise headrace, whose jobs then run
in this process.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_HEAD = re.compile(r"^# --- (.+)$", re.MULTILINE)


def raises(call: Callable[[], object], kind: type[BaseException], *words: str) -> None:
    """Print what is expected of the exception, or else what came instead of it."""
    try:
        result = call()
    except BaseException as error:
        text = str(error)
        if isinstance(error, kind) and all(word in text for word in words):
            print(f"{kind.__name__}: {' ... '.join(words)}")
        else:
            print(f"another exception: {type(error).__name__}: {text}")
    else:
        print(f"no exception but {result!r}")


def pieces(text: str) -> tuple[str, dict[str, str]]:
    """The preamble and the pieces by name; lines keep their numbers for tracebacks."""
    preamble, *parts = _HEAD.split(text)
    line = preamble.count("\n")
    found: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if name in found:
            raise ValueError(f"two probes are called {name!r}")
        found[name] = "\n" * line + body
        line += body.count("\n")
    return preamble, found


def results(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The name of each piece of a file, with the lines that it prints."""
    preamble, found = pieces(path.read_text("utf-8"))
    names: dict[str, Any] = {"raises": raises, "__name__": "probes", "__file__": str(path)}
    exec(compile(preamble, str(path), "exec"), names)
    for name, body in found.items():
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(body, str(path), "exec"), dict(names))
            except Exception as error:
                print(f"raises {type(error).__name__}")
                sys.stderr.write(f"{path.name}: {name}: {type(error).__name__}: {error}\n")
        yield name, printed.getvalue().splitlines()


def main() -> None:
    real = sys.argv[1] == "--pyflink"
    result, *files = sys.argv[1 + real :]
    with contextlib.ExitStack() as running:
        if not real:
            sys.path.insert(0, str(Path(__file__).parents[2]))
            from headrace.compat import install
            from tests.pyflink.in_process import jobs_in_process

            install()
            running.enter_context(jobs_in_process())
        found = {Path(f).stem: dict(results(Path(f))) for f in files}
    text = json.dumps(found, indent=1, ensure_ascii=False)
    Path(result).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
