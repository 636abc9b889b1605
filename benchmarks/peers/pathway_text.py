"""Groups the rows of CSV or JSON files with Pathway, and prints the seconds that it took.

python pathway_text.py FORMAT FOLDER
"""

import json
import sys
import time

import pathway as pw


class Row(pw.Schema):
    k: int
    v: int
    amount: float
    item: str


def main():
    format_, folder = sys.argv[1:3]
    read = pw.io.csv.read if format_ == "csv" else pw.io.jsonlines.read
    table = read(folder, schema=Row, mode="static")
    groups = table.groupby(table.k).reduce(
        table.k, n=pw.reducers.count(), total=pw.reducers.sum(table.v)
    )
    pw.io.null.write(groups)
    began = time.perf_counter()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)


if __name__ == "__main__":
    main()
