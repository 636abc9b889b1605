"""Whether accumulators merge is a property of the functions, known before any code is written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from headrace.sql.codegen.recipes import RECIPES, Place, merges
from headrace.sql.codegen.writer import CodeWriter
from headrace.sql.physical import local_phases
from headrace.sql.plan.expressions import AggregateCall
from headrace.sql.types import BigIntType


def call_of(name: str) -> AggregateCall:
    function = SimpleNamespace(name=name)
    arguments: dict[str, Any] = {"args": (0,), "arg_types": (BigIntType(),), "constants": (0.5,)}
    call = SimpleNamespace(function=function, type=BigIntType(), distinct=False, **arguments)
    return cast(AggregateCall, call)


@pytest.mark.parametrize("retracts", [False, True])
@pytest.mark.parametrize("name", RECIPES)
def test_what_merges_says_how(name: str, retracts: bool) -> None:
    recipe = RECIPES[name](Place(CodeWriter("UTC"), 1, call_of(name)), retracts)
    assert recipe.merge is not None or not merges(call_of(name), retracts)


def test_a_list_of_values_cannot_take_back_what_it_never_had() -> None:
    assert merges(call_of("LISTAGG"), False)
    assert not merges(call_of("LISTAGG"), True)
    assert merges(call_of("SUM"), True)


def test_the_rule_for_two_phases_writes_no_code() -> None:
    assert not hasattr(local_phases, "aggregate_code")
