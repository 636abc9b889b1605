"""Calls every endpoint that the OpenAPI description has, with generated requests."""

from __future__ import annotations

from typing import Any

import hypothesis
import schemathesis
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SETTINGS = hypothesis.settings(
    derandomize=True,
    max_examples=2,
    deadline=None,
    database=None,
    phases=[hypothesis.Phase.generate],
    suppress_health_check=list(hypothesis.HealthCheck),
)


def check_all(description: dict[str, Any], url: str, known: dict[str, list[str]]) -> int:
    """Call everything; how many operations there were.

    What changes something gets names that nobody knows; what reads gets those that are there too.

    Args:
        description: The OpenAPI document.
        url: Where the server is.
        known: Names of things by path parameter.
    """
    description["paths"].pop("/cluster", None)
    for operations in description["paths"].values():
        for method, operation in operations.items():
            for parameter in operation["parameters"]:
                names = known.get(parameter["name"])
                if parameter["in"] == "path" and method == "get" and names:
                    parameter["schema"] = {"enum": [*names, "unknown"]}
                if parameter["name"] == "wait":
                    parameter["schema"]["maximum"] = 0.1
    schema = schemathesis.openapi.from_dict(description)
    count = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            _check(operation, url, mode)
        count += 1
    return count


def _check(operation: Any, url: str, mode: GenerationMode) -> None:
    try:
        cases = operation.as_strategy(generation_mode=mode)

        @hypothesis.given(case=cases)
        @SETTINGS
        def call(case: Any) -> None:
            case.call_and_validate(base_url=url, checks=CHECKS, timeout=60)

        call()
    except hypothesis.errors.Unsatisfiable:
        # An endpoint without parameters cannot be called wrongly.
        pass
