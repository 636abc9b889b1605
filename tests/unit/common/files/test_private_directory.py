"""Directories of known names in places where everybody may make some."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from headrace.common.errors import ConfigurationError
from headrace.common.files.private_directory import private_directory


def test_it_is_made_for_this_user_alone(tmp_path: Path) -> None:
    made = private_directory(tmp_path / "a" / "b")
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert private_directory(made) == made


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    with pytest.raises(ConfigurationError, match="is a link"):
        private_directory(tmp_path / "link")


def test_one_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ConfigurationError, match="others can write"):
        private_directory(tmp_path / "open")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_one_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    os.chown(tmp_path / "theirs", 12345, 12345)
    with pytest.raises(ConfigurationError, match="belongs to another user"):
        private_directory(tmp_path / "theirs")
