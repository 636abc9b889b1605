"""PyFlink's examples with Kafka, as they are but for the address of the broker."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kafka.broker import Kafka
from tests.pyflink.child import run_programs
from tests.pyflink.peer_examples import ExamplesUnavailableError, examples_folder

_WORDS = [(1, "hi"), (2, "hello"), (3, "hi"), (4, "hello"), (5, "hi"), (6, "hello"), (6, "hello")]
_ROWS = [f"+I[{number},{word}]" for number, word in _WORDS]
_EVENTS = [
    '{"id": 1, "country": "USA"}',
    '{"id": 2, "country": "Canada"}',
    '{"id": 3, "country": "Germany"}',
]
_EXTRACTOR = "kafka_row_field_extractor_example"

EXAMPLES = {
    "kafka_json_format": ("test_json_topic", _ROWS),
    "kafka_csv_format": ("test_csv_topic", _ROWS),
    "kafka_avro_format": ("test_avro_topic", _ROWS),
    "kafka_bytearray_format": ("test_bytearray_topic", _EVENTS),
    _EXTRACTOR: ("row-extractor-example", []),
}


@pytest.fixture(scope="module")
def results(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the examples print until they have printed what they read."""
    try:
        examples = examples_folder() / "datastream" / "connectors"
    except ExamplesUnavailableError as error:
        pytest.skip(f"PyFlink's examples cannot be had here: {error}")
    found = {}
    for rows in (_ROWS, _EVENTS, []):
        folder = tmp_path_factory.mktemp("kafka")
        programs = []
        for name, (topic, wanted) in EXAMPLES.items():
            if wanted == rows:
                kafka.topic(name=topic)
                text = (examples / f"{name}.py").read_text("utf-8")
                programs.append(folder / f"{name}.py")
                programs[-1].write_text(text.replace("localhost:9092", kafka.servers), "utf-8")
        for program, result in run_programs(programs, folder, f"--lines={len(rows)}").items():
            found[program.stem] = result
    return found


@pytest.mark.parametrize("name", [name for name, (_, rows) in EXAMPLES.items() if rows])
def test_what_was_written_is_read(name: str, results: dict[str, dict[str, Any]]) -> None:
    assert not results[name]["error"], results[name]["error"]
    lines = [line.partition("> ")[2] for line in results[name]["output"].splitlines()]
    assert sorted(line for line in lines if line) == sorted(EXAMPLES[name][1])


def test_fields_of_a_row_are_key_and_value(
    kafka: Kafka, results: dict[str, dict[str, Any]]
) -> None:
    assert not results[_EXTRACTOR]["error"], results[_EXTRACTOR]["error"]
    records = kafka.read(EXAMPLES[_EXTRACTOR][0])
    assert [r.key() for r in records] == [b"user-001", b"user-002", b"user-001", b"user-003"]
    assert records[0].value() == b'{"type": "purchase", "item": "laptop", "price": 999.99}'
