"""`python -m headrace.compat FILE [args]` runs a PyFlink program unchanged."""

from __future__ import annotations

import sys

from headrace.cluster.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", "--pyflink", *sys.argv[1:]], prog="python -m headrace.compat"))
