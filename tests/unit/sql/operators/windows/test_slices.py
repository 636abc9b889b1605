"""Which windows a time is in, by slices, compared with what windows are."""

from __future__ import annotations

from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.operators.windows.slices import SliceAssigner
from headrace.sql.operators.windows.specs import WindowSlices


@pytest.mark.parametrize(("size", "slide"), [(10, 5), (5, 2), (7, 3), (6, 4), (5, 5)])
@given(time=st.integers(-50, 50), offset=st.integers(-3, 3))
def test_hopping_windows_start_at_multiples_of_the_slide(
    size: int, slide: int, time: int, offset: int
) -> None:
    step = gcd(size, slide)
    assigner = SliceAssigner(WindowSlices("HOP", size, slide, offset, step))
    [end] = assigner.slice_ends([time])
    found = [(assigner.window_start(e), e) for e in assigner.windows_of(end)]
    starts = range(time - size + 1, time + 1)
    assert found == [(s, s + size) for s in starts if (s - offset) % slide == 0]
    assert all(end in assigner.slices_of(e) for _, e in found)
