"""Record what the real PyFlink prints for the programs and examples of this folder.

    python tests/pyflink/record.py /path/to/peer/bin/python [name ...]

The interpreter given must have ``apache-flink`` installed. What a program prints goes to
``programs/NAME.out`` or, for PyFlink's own examples, to ``golden/FOLDER/NAME.out``; lines whose
order is not defined are stored sorted, so that a difference means something. Review it before
committing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.pyflink.outputs import comparable, comparison
from tests.pyflink.peer_examples import EXAMPLES, golden_file

HERE = Path(__file__).parent


def wanted(python: Path, names: set[str]) -> dict[Path, tuple[Path, str]]:
    """Each program to run, with the file that takes its output and how that is compared."""
    where = "import pyflink, os; print(os.path.dirname(pyflink.__file__))"
    package = subprocess.check_output([str(python), "-c", where], text=True).strip()
    targets = {}
    for name, mode in EXAMPLES.items():
        program = Path(package, "examples", f"{name}.py")
        targets[program] = golden_file(name), mode
    for program in sorted((HERE / "programs").glob("*.py")):
        targets[program] = program.with_suffix(".out"), comparison(program)
    return {program: t for program, t in targets.items() if not names or program.stem in names}


def main() -> int:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    # Not resolved: a virtual environment is found through the link that its python is.
    python = Path(sys.argv[1]).absolute()
    targets = wanted(python, set(sys.argv[2:]))
    # PyFlink starts its workers as plain `python`: the peer's must come first.
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}
    failures = 0
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as results:
        command = [str(python), str(HERE / "driver.py"), results.name, "--pyflink"]
        subprocess.run([*command, *map(str, targets)], env=environment, check=False)
        for line in results:
            result = json.loads(line)
            target, mode = targets.pop(Path(result["program"]))
            if result["error"]:
                failures += 1
                print(f"not recorded: {target.stem}\n{result['error']}")
                continue
            lines = comparable(result["output"], mode)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
            print(f"{target.relative_to(HERE)}: {len(lines)} lines in {result['seconds']} s")
    for target, _ in targets.values():
        print(f"not recorded: {target.stem}, the driver ended before it")
    return 1 if failures or targets else 0


if __name__ == "__main__":
    sys.exit(main())
