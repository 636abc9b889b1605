"""The window operator.

`operator` is the general one, for every assigner, trigger and evictor; `merging` keeps track of
windows that merge; `aligned` is the fast one for tumbling and sliding windows in event time with
their usual trigger; `slices` saves it work for windows that overlap; `base` is what both share;
`contents` says what a window holds and `function` what is made of it.
"""

from __future__ import annotations

from headrace.graph.specs import WindowSpec
from headrace.runtime.operator import Operator
from headrace.runtime.operators.window.aligned import AlignedWindowOperator, can_be_aligned
from headrace.runtime.operators.window.operator import WindowOperator


def build_window_operator(spec: WindowSpec) -> Operator:
    """The operator that serves a window spec best."""
    return AlignedWindowOperator(spec) if can_be_aligned(spec) else WindowOperator(spec)
