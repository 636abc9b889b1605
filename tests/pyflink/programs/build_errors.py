"""Mistakes that are found while the program is built, with Python's exceptions.

compare: exactly
"""

from pyflink.common import Types
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import ProcessFunction


class Same(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


env = StreamExecutionEnvironment.get_execution_environment()
pairs = env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))
plain = env.from_collection([("a", 1)])


def attempt(name, build, kind=Exception):
    try:
        build()
        print(name, "accepted")
    except kind:
        print(name, "refused", "" if kind is Exception else kind.__name__)


attempt("map", lambda: pairs.map(1), TypeError)
attempt("map none", lambda: pairs.map(None), TypeError)
attempt("filter", lambda: pairs.filter("x"), TypeError)
attempt("flat_map", lambda: pairs.flat_map(3), TypeError)
attempt("reduce", lambda: pairs.key_by(lambda x: x).reduce(1), TypeError)
attempt("key_by none", lambda: pairs.key_by(None), TypeError)
attempt("key_by number", lambda: pairs.key_by(0), TypeError)
attempt("keyed process", lambda: pairs.key_by(lambda x: x).process(Same()), TypeError)
attempt("co_map", lambda: pairs.connect(plain).map(lambda x: x), TypeError)
attempt("sum none", lambda: pairs.key_by(lambda x: x).sum(None), TypeError)
attempt("sum float", lambda: pairs.key_by(lambda x: x).sum(1.5), TypeError)
attempt("tag", lambda: OutputTag(""), ValueError)
attempt("tag none", lambda: OutputTag(None), ValueError)
attempt("tag type", lambda: OutputTag("t", 5), TypeError)
attempt("collection", lambda: env.from_collection(None), TypeError)
attempt("parallelism 0", lambda: pairs.map(lambda x: x).set_parallelism(0))
attempt("parallelism -2", lambda: pairs.map(lambda x: x).set_parallelism(-2))
attempt("parallelism text", lambda: pairs.map(lambda x: x).set_parallelism("2"))
attempt("env parallelism 0", lambda: env.set_parallelism(0))
attempt("max parallelism 0", lambda: env.set_max_parallelism(0))
attempt("max parallelism 40000", lambda: env.set_max_parallelism(40000))
attempt("source parallelism", lambda: env.from_collection([1]).set_parallelism(2))
attempt("non parallel", lambda: plain.map(str).force_non_parallel().set_parallelism(2))
attempt("union", lambda: pairs.union(plain))
attempt("project", lambda: plain.project(0))
attempt("project 5", lambda: pairs.project(5))
attempt("uid hash", lambda: pairs.map(str).set_uid_hash("zz"))
attempt("uid hash ok", lambda: pairs.map(str).set_uid_hash("00112233445566778899aabbccddeeff"))
attempt("buffer timeout", lambda: pairs.map(str).set_buffer_timeout(-5))
attempt("sequence", lambda: NumberSequenceSource(5, 1))
attempt("sequence of one", lambda: NumberSequenceSource(5, 5))
attempt("wrong int", lambda: env.from_collection(["a"], Types.INT()))
attempt("short tuple", lambda: env.from_collection([("a",)], pairs.get_type()))
attempt("none as int", lambda: env.from_collection([None], Types.INT()))
attempt(
    "one tag, two types",
    lambda: [
        pairs.map(str).get_side_output(OutputTag("q", type_info))
        for type_info in (Types.INT(), Types.STRING())
    ],
)
split = plain.map(str)
attempt(
    "same tag, two types",
    lambda: [
        split.get_side_output(OutputTag("q", type_info))
        for type_info in (Types.INT(), Types.STRING())
    ],
)
empty = StreamExecutionEnvironment.get_execution_environment()
attempt("empty plan", empty.get_execution_plan)
attempt("empty job", empty.execute)
