"""Where Spark's Python workers take PySpark from."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.spark.python_daemon import prefer_installed


@pytest.mark.parametrize("home", ["site/pyspark", "spark"])
def test_archives_are_left_out_if_the_same_pyspark_is_installed(tmp_path: Path, home: str) -> None:
    """Another Spark, with which an installed PySpark does not go together, has only its archive."""
    (tmp_path / "site" / "pyspark").mkdir(parents=True)
    (tmp_path / "site" / "pyspark" / "__init__.py").touch()
    archive = str(tmp_path / home / "python" / "lib" / "pyspark.zip")
    path = [archive, str(tmp_path / "mine.zip"), str(tmp_path / "site")]
    expected = path[1:] if home == "site/pyspark" else list(path)
    prefer_installed(path, str(tmp_path / home))
    assert path == expected
