"""Record what the real PyFlink prints for probes.

    python tests/pyflink/record_probes.py /path/to/peer/bin/python [name ...]

The interpreter given must have ``apache-flink`` installed. Results go to ``probes/NAME.json``;
review them before committing. ``datastream_formats`` and ``datastream_kafka`` need jars that are
not part of it in ``HADOOP_CLASSPATH``: ``flink-sql-parquet``, ``flink-sql-orc``,
``flink-sql-avro``, ``flink-shaded-hadoop-2-uber`` and ``flink-sql-connector-kafka``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    python = Path(sys.argv[1]).absolute()
    names = sys.argv[2:] or [p.stem for p in sorted((HERE / "probes").glob("*.py"))]
    # PyFlink starts its workers as plain `python`: the peer's must come first.
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, "PATH": path}
    environment.pop("PYTHONPATH", None)
    with tempfile.NamedTemporaryFile("r", suffix=".json") as result:
        command = [str(python), str(HERE / "probe_runner.py"), "--pyflink", result.name]
        command += [str(HERE / "probes" / f"{name}.py") for name in names]
        subprocess.run(command, env=environment, check=True)
        for name, found in json.load(result).items():
            target = HERE / "probes" / f"{name}.json"
            text = json.dumps(found, indent=1, ensure_ascii=False)
            target.write_text(text + "\n", encoding="utf-8")
            print(f"{target.relative_to(HERE)}: {len(found)} probes")


if __name__ == "__main__":
    main()
