"""Record what the real PyFlink gives for the window programs of this folder.

    /path/to/peer/bin/python tests/pyflink/windows/record.py [name ...]

The interpreter must have ``apache-flink`` installed, and its folder must come first on PATH,
because PyFlink starts its workers as plain ``python``. The programs collect their results and print
them in Python, so all of them can run in one process; that saves most of the time. Review the
difference before committing it.
"""

from __future__ import annotations

import io
import runpy
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


def main() -> None:
    names = set(sys.argv[1:])
    for program in sorted(PROGRAMS.glob("*.py")):
        if names and program.stem not in names:
            continue
        printed = io.StringIO()
        try:
            with redirect_stdout(printed):
                runpy.run_path(str(program), run_name="__main__")
        except Exception:
            traceback.print_exc()
            print(f"{program.stem}: failed", flush=True)
            continue
        lines = sorted(printed.getvalue().splitlines())
        program.with_suffix(".out").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        print(f"{program.stem}: {len(lines)} lines", flush=True)


if __name__ == "__main__":
    main()
