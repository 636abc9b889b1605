"""Generated code can be looked at."""

from __future__ import annotations

import logging

import pytest

from headrace.sql.codegen.code import GeneratedCode


def test_code_that_is_loaded_is_in_the_debug_log(caplog: pytest.LogCaptureFixture) -> None:
    code = GeneratedCode("def run(row):\n    return row + one\n", constants=(("one", 1),))
    with caplog.at_level(logging.DEBUG, "headrace.sql.codegen"):
        assert code.load()(2) == 3
    assert any(code.source in message for message in caplog.messages)
