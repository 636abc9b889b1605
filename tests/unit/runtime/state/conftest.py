from __future__ import annotations

import pytest

from tests.unit.runtime.state.backends import BACKENDS, Subtask


@pytest.fixture(params=BACKENDS)
def subtask(request: pytest.FixtureRequest) -> Subtask:
    return Subtask(BACKENDS[request.param])
