"""Figures of a running job and how they are drawn."""

from __future__ import annotations

import io
import os
import re

import pytest

from headrace.cluster.live_figures import LiveFigures, OperatorRates
from headrace.cluster.live_view import LiveView, OperatorTable
from headrace.cluster.terminal_panel import Panel
from headrace.common.job_listener import EpochStatistics, OperatorStatistics
from headrace.datastream import StreamExecutionEnvironment

NO_WATERMARK = -(1 << 63)
END = (1 << 63) - 1


def epoch(number: int, read: int, total: int, watermark: int = NO_WATERMARK) -> EpochStatistics:
    operators = (
        OperatorStatistics("Source: numbers", 2, total, total, watermark),
        OperatorStatistics("a rather long name of an operator", 2, total, total // 2, watermark),
    )
    return EpochStatistics(number, 100.0 * number, read, (1.0,), operators)


class Screen:
    """What a terminal shows that is written to: enough of one for the panel's codes."""

    def __init__(self) -> None:
        self.written = io.StringIO()

    def lines(self) -> list[str]:
        rows, row = [""], 0
        for token in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|\n|[^\x1b\n]+", self.written.getvalue()):
            if token == "\n":
                row += 1
                rows += [""] * (row == len(rows))
            elif token.endswith("F") and token.startswith("\x1b"):
                row -= int(token[2:-1])
            elif token == "\x1b[J":
                rows[row:] = [""]
            elif not token.startswith("\x1b"):
                rows[row] += token
        return rows[:-1]


class TestFigures:
    def test_rates_are_those_of_the_last_two_seconds(self) -> None:
        figures = LiveFigures()
        total = 0
        for second in range(1, 11):
            read = 100 if second <= 5 else 1000
            total += read
            figures.add(epoch(second, read, total), now_s=float(second))
        assert figures.records == total == 5500
        assert figures.records_per_s == pytest.approx(1000)
        source, second_one = figures.operators()
        assert source.in_per_s == pytest.approx(1000)
        assert second_one.out_per_s == pytest.approx(500)
        assert figures.median_epoch_ms == pytest.approx(550)
        assert figures.running_s == pytest.approx(9.1)

    def test_first_epoch_has_a_mean_rate(self) -> None:
        figures = LiveFigures()
        figures.add(epoch(1, 100, 100), now_s=5.0)
        assert figures.records_per_s == pytest.approx(1000)

    def test_a_restart_counts_from_zero_and_not_backwards(self) -> None:
        figures = LiveFigures()
        figures.add(epoch(1, 1000, 1000), now_s=1.0)
        figures.add(epoch(2, 1000, 2000), now_s=2.0)
        assert not figures.restarted
        figures.add(epoch(3, 100, 100), now_s=3.0)
        assert figures.restarted
        assert [o.in_per_s for o in figures.operators()] == [0, 0]
        figures.add(epoch(4, 300, 400), now_s=4.0)
        assert [o.in_per_s for o in figures.operators()] == [300, 300]
        assert figures.records == 2400

    def test_watermark(self) -> None:
        figures = LiveFigures()
        assert figures.watermark is None
        figures.add(epoch(1, 1, 1), now_s=1.0)
        assert figures.watermark is None
        figures.add(epoch(2, 1, 2, watermark=1234), now_s=2.0)
        assert figures.watermark == 1234
        assert not figures.at_end
        figures.add(epoch(3, 1, 3, watermark=END), now_s=3.0)
        assert figures.watermark is None
        assert figures.at_end


class TestPanel:
    def test_output_scrolls_above_the_panel(self) -> None:
        screen = Screen()
        panel = Panel(screen.written, lambda: os.terminal_size((40, 10)))
        panel.show([("", "one"), ("", "two")])
        panel.scroll("alarm 1\n")
        panel.show([("", "uno")])
        panel.scroll("alarm 2\nalarm 3\n")
        assert screen.lines() == ["alarm 1", "alarm 2", "alarm 3", "uno"]
        panel.leave()
        panel.scroll("after\n")
        assert screen.lines()[-2:] == ["uno", "after"]

    def test_lines_never_wrap_and_never_fill_the_screen(self) -> None:
        screen = Screen()
        panel = Panel(screen.written, lambda: os.terminal_size((10, 4)))
        panel.show([("", "x" * 50)] * 9)
        panel.show([("", "y" * 50)] * 9)
        assert screen.lines() == ["y" * 8 + "~"] * 3


class TestOperatorTable:
    @pytest.mark.parametrize(
        ("width", "lines"),
        [
            (
                70,
                [
                    " operator                        in       in/s        out      out/s",
                    " temperature alarm   x2   1,234,567     20,000         12          3",
                ],
            ),
            (
                56,
                [
                    " operator                              in/s      out/s",
                    " temperature alarm           x2      20,000          3",
                ],
            ),
        ],
    )
    def test_a_narrow_terminal_has_the_rates_alone(self, width: int, lines: list[str]) -> None:
        table = OperatorTable(width)
        rates = OperatorRates("temperature alarm", 2, 1_234_567, 12, 20_000.0, 3.0)
        assert [table.head(), table.row(rates)] == lines
        assert all(len(line) < width for line in lines)


class TestPlainView:
    def test_prints_lines_and_a_summary(self, capsys: pytest.CaptureFixture[str]) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        with LiveView(env) as view:
            assert env.get_job_listeners() == [view]
            view.on_epoch(epoch(1, 100, 100, watermark=5))
            view.on_epoch(epoch(2, 100, 200))
        shown = capsys.readouterr().out.splitlines()
        assert shown[0] == "starting Spark ..."
        assert len(shown) == 2
        assert "100 so far | epoch 1 (100 ms) | watermark 5" in shown[1]
        assert view.summary({"alarms": 3}).splitlines()[1:] == [
            "epochs        2, median 150 ms",
            "alarms        3",
        ]

    def test_watches_every_environment_when_asked_to(self) -> None:
        with LiveView.of_all_jobs() as view:
            assert StreamExecutionEnvironment.listeners_of_all == [view]
        assert StreamExecutionEnvironment.listeners_of_all == []
        assert view.summary() == "no epoch ran"
