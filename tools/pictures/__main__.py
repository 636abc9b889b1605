"""`python -m tools.pictures [NAME ...]`: makes all pictures, or some of them."""

from __future__ import annotations

import sys

from tools.pictures import PICTURES, make

if __name__ == "__main__":
    make(sys.argv[1:] or list(PICTURES))
