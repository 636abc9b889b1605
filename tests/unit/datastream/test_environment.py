from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common import Configuration
from headrace.common.errors import ConfigurationError
from headrace.datastream import StreamExecutionEnvironment


def environment(**settings: str) -> StreamExecutionEnvironment:
    named = {key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(named))


def test_a_buffer_timeout_that_is_off_is_minus_one() -> None:
    assert environment().get_buffer_timeout() == 100
    assert environment(execution__buffer_timeout="5 ms").get_buffer_timeout() == 5
    assert environment(execution__buffer_timeout__enabled="false").get_buffer_timeout() == -1


def test_files_of_the_configuration_have_a_name_and_a_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"pipeline\.cached-files has a name and a path"):
        environment(pipeline__cached_files=f"path:{tmp_path}")
    with pytest.raises(ValueError, match="there is no file"):
        environment(pipeline__cached_files="name:cities,path:/no/such")
