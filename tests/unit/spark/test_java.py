"""Which Java is found, and what is said of one that is too old."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common.errors import ConfigurationError
from headrace.spark.session import check_java


@pytest.mark.parametrize(
    ("version", "release"), [("1.8.0_402", 8), ("11.0.22", 11), ("17.0.15", None), ("21", None)]
)
def test_a_java_that_is_too_old_is_called_as_people_call_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, release: int | None
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'java version \"{version}\"' >&2\n")
    java.chmod(0o700)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if release is None:
        assert check_java() == str(java)
        return
    with pytest.raises(ConfigurationError, match=rf"needs Java 17 .* is Java {release}: "):
        check_java()


def test_without_java_it_is_said_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="no java was found on the PATH: install a JDK"):
        check_java()
