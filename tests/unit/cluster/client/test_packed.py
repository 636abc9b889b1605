"""What goes with a program to a JobManager."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from headrace.cluster.client.rest_client import packed


def test_packages_keep_their_name_and_other_directories_are_imported_from(tmp_path: Path) -> None:
    for name in ("job.py", "shop/__init__.py", "shop/prices.py", "library/grain.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    _, content = packed(tmp_path / "job.py", [tmp_path / "shop", tmp_path / "library"])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.namelist() == ["job.py", "shop/__init__.py", "shop/prices.py", "grain.py"]
