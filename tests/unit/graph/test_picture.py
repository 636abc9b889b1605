"""The picture of a job graph: every chain and every way between them is in it, once."""

from __future__ import annotations

from xml.etree import ElementTree

from headrace.common import Types
from headrace.datastream import OutputTag, StreamExecutionEnvironment

SVG = "{http://www.w3.org/2000/svg}"


def _program() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_collection([1, 2, 3]).name("numbers <&>")
    sums = numbers.key_by(lambda x: x % 2, Types.INT()).reduce(lambda a, b: a + b).name("sums")
    sums.print().name("print")
    return env


def _texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_chains_are_boxes_and_edges_are_arrows() -> None:
    svg = _program().picture()
    root = ElementTree.fromstring(svg)
    assert len(root.findall(f"{SVG}rect")) == 2
    assert len(root.findall(f"{SVG}path")) == 1
    texts = _texts(svg)
    assert "Source: numbers <&>" in texts
    assert texts.count("parallelism 2") == 1
    assert "hash" in texts
    xs = [float(rect.get("x", "")) for rect in root.findall(f"{SVG}rect")]
    assert xs[0] < xs[1]


def test_side_outputs_name_their_tag() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_collection([1]).map(lambda x: x)
    stream.get_side_output(OutputTag("late", Types.INT())).map(lambda x: x).disable_chaining()
    assert "forward, late" in _texts(env.picture())


def test_a_stream_shows_what_it_is_computed_from_also_after_the_program_has_run() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    doubled = env.from_collection([1]).map(lambda x: 2 * x).name("doubled")
    doubled.map(lambda x: x).name("not of it").print()
    env.get_stream_graph(clear=True)
    shown = doubled._repr_html_()
    assert "doubled" in shown
    assert "not of it" not in shown


def test_an_environment_shows_its_settings() -> None:
    env = _program()
    env.enable_checkpointing(5000)
    shown = env._repr_html_()
    assert "every 5000 ms" in shown
    assert "<svg" in shown
    fresh = StreamExecutionEnvironment.get_execution_environment()
    assert "<svg" not in fresh._repr_html_()
