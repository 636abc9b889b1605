"""The `headrace` command, also as `python -m headrace`."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Entry point; returns the exit code."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        # Ctrl+C ends the process without a traceback until there is something to clean up.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Late, so that what takes the time comes after that.
    from headrace.cluster import cli

    signal.signal(signal.SIGINT, before)
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
