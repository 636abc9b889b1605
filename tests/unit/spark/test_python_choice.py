"""Which interpreter the slots run with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from headrace.common.errors import ConfigurationError
from headrace.spark.session import choose_python


@pytest.fixture(autouse=True)
def _nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)


def test_the_first_choice_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "")  # put back afterwards
    monkeypatch.delenv("PYSPARK_PYTHON")
    choose_python(sys.executable)
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    choose_python(sys.executable)
    # Another environment, though its interpreter is a link to the same file.
    (tmp_path / "python").symlink_to(sys.executable)
    with pytest.raises(ConfigurationError, match=r"python\.executable names .* but they run with"):
        choose_python(str(tmp_path / "python"))


def test_another_name_of_the_same_one_is_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    choose_python("python")


def test_one_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"/no/such/python, which is not there"):
        choose_python("/no/such/python")
