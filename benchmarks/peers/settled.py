"""How large the state of a job is: the size of its checkpoints once they no longer grow."""

from __future__ import annotations

import time
from pathlib import Path

_ALIKE = 3


def settled_bytes(folder: str, at_most_s: float = 900) -> int:
    """Bytes of the newest checkpoint under a folder, when three in a row are of one size.

    Flink and headrace both write a checkpoint into a directory `chk-<n>` of its own, with
    `_metadata` as its last file; whole checkpoints are assumed, and one kept at a time.
    """
    end = time.monotonic() + at_most_s
    seen: dict[str, int] = {}
    while time.monotonic() < end:
        for metadata in Path(folder).glob("**/chk-*/_metadata"):
            try:
                files = [f.stat().st_size for f in metadata.parent.rglob("*") if f.is_file()]
            except FileNotFoundError:
                continue  # a newer one has taken its place
            seen.setdefault(metadata.parent.name, sum(files))
        newest = [seen[name] for name in sorted(seen, key=lambda n: int(n[4:]))][-_ALIKE:]
        if len(newest) == _ALIKE and max(newest) - min(newest) <= max(newest) // 1000:
            return newest[-1]
        time.sleep(0.2)
    raise TimeoutError(f"checkpoints in {folder} still grow: {seen}")
