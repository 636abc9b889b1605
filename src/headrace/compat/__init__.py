"""Runs PyFlink programs unchanged: `import pyflink...` gives headrace's modules.

`headrace run --pyflink job.py` and `python -m headrace.compat job.py` do this for one program and
its slots. A program of your own may call `install()` before its first import of `pyflink`.
"""

from __future__ import annotations

from headrace.compat.alias import install, is_installed, uninstall

__all__ = ["install", "is_installed", "uninstall"]
