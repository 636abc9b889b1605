"""The examples run and print what their docstrings say."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.cluster.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    code = main(["example", *arguments])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return shown.out.splitlines()


def answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address).close()
    except OSError:
        return False
    return True


def without_subtask(line: str) -> str:
    return re.sub(r"^\d+> ", "", line)


def test_word_count(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [without_subtask(line) for line in run_example(capsys, "word_count")]
    assert len(lines) == len(set(lines)) == 13
    assert {"(the,9)", "(water,2)", "(headrace,1)"} <= set(lines)


def test_table_totals(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_example(capsys, "table_totals") == [
        "Hof: 266 sales, 7847.00 in all",
        "Jena: 267 sales, 7870.00 in all",
        "Ulm: 267 sales, 7883.00 in all",
    ]


def test_best_sellers(capsys: pytest.CaptureFixture[str]) -> None:
    # Windows come from several subtasks, in any order.
    lines = run_example(capsys, "best_sellers")
    assert not [line for line in lines if "-U" in line]
    rows = sorted(line.split() for line in lines if "+I" in line)
    assert [
        (minute, place, item, sold) for _, _, _, minute, _, place, _, item, _, sold, _ in rows
    ] == [
        ("00:00", "1", "apple", "23"),
        ("00:00", "2", "cherry", "23"),
        ("00:01", "1", "elderberry", "23"),
        ("00:01", "2", "apple", "23"),
        ("00:02", "1", "elderberry", "23"),
        ("00:02", "2", "apple", "22"),
    ]


def test_price_dips(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_example(capsys, "price_dips") == [
        "ACME fell from 29 to 27 in 2 steps, then rose to 33",
        "ACME fell from 31 to 24 in 3 steps, then rose to 25",
        "LAMP fell from 14 to 6 in 4 steps, then rose to 10",
    ]


def test_threshold_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run_example(capsys, "threshold_alarm")
    assert [line for line in lines if line.startswith("ALARM> ")] == [
        "ALARM> boiler is at 102.3 degrees",
        "ALARM> engine is at 110.4 degrees",
    ]
    assert "('boiler', 71.5)" in lines
    assert len(lines) == 6


def test_count_average(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_example(capsys, "count_average") == ["('a', 4.0)", "('b', 15.0)", "('a', 8.0)"]


def test_rising_water_level(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run_example(capsys, "rising_water_level")
    assert lines == ["north has been rising for five seconds, since second 2"]


def test_early_window_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_example(capsys, "early_window_results") == [
        "north, seconds 0 to 10: 3 visitors so far",
        "north, seconds 0 to 10: 4 visitors so far",
        "north, seconds 0 to 10: 6 visitors so far",
        "north, seconds 0 to 10: 6 visitors in all",
        "north, seconds 10 to 20: 3 visitors so far",
        "north, seconds 10 to 20: 3 visitors in all",
    ]


def test_night_window(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_example(capsys, "night_window") == [
        "minutes 0 to 10: 3 cars, closed by event time",
        "minutes 10 to 20: 2 cars, closed because nothing came",
        "minutes 30 to 40: 2 cars, closed by event time",
    ]


def test_text_files(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run_example(capsys, "text_files")
    assert sorted(lines[1:-1]) == [
        "16 no water is lost",
        "17 the water is high",
        "24 water runs down the race",
    ]


def test_shape_rules(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run_example(capsys, "shape_rules")
    assert sorted(without_subtask(line) for line in lines) == [
        "rule 'roof over house': blue triangle 3 and blue square 8",
        "rule 'roof over house': blue triangle 5 and blue square 8",
        "rule 'roof over house': red triangle 1 and red square 4",
        "rule 'twins': blue circle 2 and blue circle 6",
    ]


def test_buffering_sink_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run_example(capsys, "buffering_sink")
    assert sum("goes on from a checkpoint" in line for line in lines) == 1
    assert [line for line in lines if line.startswith("batch")] == [
        f"batch {n}: {' '.join(str(n * 10 + i) for i in range(10))}" for n in range(10)
    ]


@contextlib.contextmanager
def server_of(text: str) -> Iterator[int]:
    """A server that sends a text to whoever connects first, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(text.encode())

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def test_socket_word_count(capsys: pytest.CaptureFixture[str]) -> None:
    with server_of("to be or\nnot to be\n") as port:
        arguments = ["--host", "127.0.0.1", "--port", str(port)]
        lines = run_example(capsys, "socket_word_count", *arguments)
    found = Counter(without_subtask(line) for line in lines)
    assert found == Counter(["(to,1)", "(be,1)", "(or,1)", "(not,1)", "(to,2)", "(be,2)"])


def test_sensor_alarms_ends_with_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run_example(capsys, "sensor_alarms", "--seconds", "3", "--rate", "2000", "--plain")
    text = "\n".join(lines)
    assert re.search(r"^records read +6,000 in [\d.]+ s, [\d,]+ a second$", text, re.MULTILINE)
    assert re.search(r"^epochs +[\d,]+, median \d+ ms$", text, re.MULTILINE)
    assert re.search(r"^rising alarms +\d+$", text, re.MULTILINE)
    assert re.search(r"^hot readings +\d+$", text, re.MULTILINE)
    assert any("records/s" in line and "watermark" in line for line in lines)


def test_the_demo_loses_a_process_and_no_reading(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--seconds", "4", "--rate", "2000", "--plain", "--no-dashboard"]) == 0
    shown = capsys.readouterr().out
    assert "Of 8,000 readings 8,000 were counted: each exactly once." in shown
    assert "Try next:" in shown


def test_the_demo_is_shown_in_a_dashboard_and_in_the_terminal(tmp_path: Path) -> None:
    """In a process of its own: its jobs are those of a JobManager, which ends with it."""
    command = [sys.executable, "-m", "headrace.cluster.cli", "demo", "--rate", "500", "--plain"]
    with subprocess.Popen(
        [*command, "--seconds", "6"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as demo:
        assert demo.stdout is not None
        shown = iter(demo.stdout)
        address = re.fullmatch(r"dashboard  (.+)/#/jobs/([0-9a-f]{32})\n", next(shown))
        assert address is not None
        assert any("records/s" in line and "watermark" in line for line in shown)
        with urllib.request.urlopen(f"{address[1]}/jobs/{address[2]}") as answer:
            assert json.load(answer)["name"] == "sensor alarms"
        rest = list(shown)
    assert demo.returncode == 0
    assert any("3,000 were counted: each exactly once." in line for line in rest)
    deadline = time.monotonic() + 60
    while answers(f"{address[1]}/overview"):
        assert time.monotonic() < deadline, "the JobManager goes on without its demo"
        time.sleep(0.2)
    while left := list(tmp_path.glob("headrace-demo-*")):
        assert time.monotonic() < deadline, f"the demo leaves {left}"
        time.sleep(0.2)


def test_the_report_in_sql_ranks_three_sensors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", str(EXAMPLES / "sensor_report.sql")]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if re.match(r"\| (\+I )?", line)]
    assert len(rows) > 3


def test_top_sensors(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(run_example(capsys, "top_sensors")) == [
        "second 10: a 6, b 5, c 2",
        "second 15: a 4, d 3, b 2",
        "second 20: d 3",
        "second 5: b 3, a 2, c 1",
    ]


def test_kafka_word_count(capsys: pytest.CaptureFixture[str], kafka: Any) -> None:
    """Run twice: the second run reads only what came after the first, and counts from one again."""
    lines, counts = kafka.topic(2), kafka.topic()
    arguments = ("--servers", kafka.servers, "--source", lines, "--target", counts)
    kafka.write(lines, ["to be or", "not to be"])
    run_example(capsys, "kafka_word_count", *arguments)
    first = ["be 1", "be 2", "not 1", "or 1", "to 1", "to 2"]
    kafka.wait_for_values(counts, first)
    assert kafka.committed("word-count", lines) == 2
    kafka.write(lines, ["to"], 1)
    run_example(capsys, "kafka_word_count", *arguments)
    kafka.wait_for_values(counts, [*first, "to 1"])
