from __future__ import annotations

import copy
import pickle

import pytest

from headrace.common import errors
from headrace.common.errors import (
    CheckpointError,
    CheckpointFailureReason,
    ConfigurationError,
    HeadraceError,
    JobCancelledError,
    JobExecutionError,
    SqlError,
    shorten_repr,
)

FULL = JobExecutionError(
    "ValueError: no such city",
    job_id="ab" * 16,
    job_name="cities",
    operator_name="Map",
    operator_uid="to-city",
    subtask=3,
    record="{'zip': 0}",
    user_traceback='Traceback (most recent call last):\n  File "job.py", line 7, in to_city\n',
)


@pytest.mark.parametrize(
    ("name", "bases"),
    [
        ("ConfigurationError", (ValueError,)),
        ("GraphError", (ValueError,)),
        ("FunctionTypeError", (errors.GraphError, TypeError)),
        ("TypeMismatchError", (TypeError,)),
        ("StateError", ()),
        ("StateMigrationError", (errors.StateError,)),
        ("CheckpointError", ()),
        ("SqlError", ()),
        ("JobExecutionError", ()),
        ("JobCancelledError", (JobExecutionError,)),
    ],
)
def test_family(name: str, bases: tuple[type, ...]) -> None:
    error_class = getattr(errors, name)
    assert issubclass(error_class, (HeadraceError,))
    for base in bases:
        assert issubclass(error_class, base)


@pytest.mark.parametrize("name", [n for n in errors.__all__ if n.endswith("Error")])
def test_every_error_survives_pickle(name: str) -> None:
    error_class = getattr(errors, name)
    error = error_class("what happened")
    error.note = ["extra"]
    for restored in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(restored) is error_class
        assert str(restored) == str(error)
        assert restored.args == error.args
        assert restored.note == ["extra"]


@pytest.mark.parametrize(
    "error",
    [
        FULL,
        JobCancelledError("cancelled", job_id="0" * 32),
        CheckpointError("late", CheckpointFailureReason.EXPIRED, checkpoint_id=7),
        SqlError("unexpected FROM", (2, 14)),
        ConfigurationError("bad", key="a.b", value=object),
    ],
    ids=lambda e: type(e).__name__,
)
def test_fields_survive_pickle(error: HeadraceError) -> None:
    restored = pickle.loads(pickle.dumps(error))
    assert vars(restored) == vars(error)
    assert str(restored) == str(error)


def test_user_subclass_with_required_arguments_survives_pickle() -> None:
    restored = pickle.loads(pickle.dumps(_Needy("a", code=5)))
    assert (restored.args, restored.code) == (("a",), 5)


class _Needy(HeadraceError):
    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


def test_job_error_tells_everything() -> None:
    assert str(FULL).splitlines() == [
        "ValueError: no such city",
        "  in operator 'Map' (uid 'to-city'), subtask 3, job 'cities'",
        "  while processing {'zip': 0}",
        "Traceback (most recent call last):",
        '  File "job.py", line 7, in to_city',
    ]
    assert FULL.message == "ValueError: no such city"


def test_job_error_with_nothing_known_is_its_message() -> None:
    assert str(JobExecutionError("Spark is gone")) == "Spark is gone"


def test_sql_error_shows_its_position() -> None:
    assert str(SqlError("unexpected FROM", (2, 14))) == "line 2, column 14: unexpected FROM"
    assert str(SqlError("unexpected FROM")) == "unexpected FROM"


def test_shorten_repr_keeps_both_ends() -> None:
    text = shorten_repr("a" * 500 + "z", limit=40)
    assert len(text) == 40
    assert text.startswith("'aaa")
    assert text.endswith("az'")
    assert shorten_repr([1, 2]) == "[1, 2]"


def test_shorten_repr_survives_a_broken_repr() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shorten_repr(Broken()) == "<Broken whose repr() failed: RuntimeError>"
