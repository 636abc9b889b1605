"""Values that are found again, wherever they come from."""

from __future__ import annotations

import math
import pickle

from headrace.runtime.key_groups import canonical_bytes
from headrace.sql import types as t
from headrace.sql.operators.hashable_rows import hashable


def test_nan_is_found_again_after_a_journey() -> None:
    convert = hashable(t.DoubleType())
    here, there = (convert(float("nan")) for _ in range(2))
    arrived = pickle.loads(pickle.dumps(there))
    assert math.isnan(arrived)
    assert {(here, 1): "found"}[arrived, 1] == "found"
    assert here == arrived
    assert canonical_bytes(here) == canonical_bytes(float("nan"))


def test_other_numbers_stay_as_they_are() -> None:
    convert = hashable(t.FloatType())
    assert [convert(x) for x in (1.5, 0.0, None)] == [1.5, 0.0, None]
    assert convert(float("nan")) != 1.5


def test_zeros_are_two_numbers() -> None:
    convert = hashable(t.DoubleType())
    assert len({convert(x) for x in (0.0, -0.0, pickle.loads(pickle.dumps(convert(-0.0))))}) == 2
