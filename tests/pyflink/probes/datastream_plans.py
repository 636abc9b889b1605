"""What `get_execution_plan()` shows: keys, the ends of keyed streams, writers and committers."""

import json

from pyflink.common import Types
from pyflink.common.serialization import Encoder
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink
from pyflink.datastream.functions import KeyedCoProcessFunction


class Both(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        yield value

    def process_element2(self, value, ctx):
        yield value


def numbers(env):
    return env.from_collection([1, 2], Types.INT())


def texts(env):
    return numbers(env).map(str, Types.STRING())


def keyed(env):
    return numbers(env).key_by(lambda x: x, Types.INT())


def files():
    return FileSink.for_row_format("file:///tmp/none", Encoder.simple_string_encoder()).build()


def show(build):
    """Each operator of a program with what it reads."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    build(env)
    nodes = json.loads(env.get_execution_plan())["nodes"]
    names = {node["id"]: node["type"] for node in nodes}
    for node in sorted(nodes, key=lambda n: n["type"]):
        inputs = [(names[p["id"]], p["ship_strategy"]) for p in node.get("predecessors", [])]
        print(node["type"], node["pact"], node["parallelism"], inputs)


# --- a keyed stream is printed where its keys are
show(lambda env: keyed(env).print())

# --- a keyed stream is filtered
show(lambda env: keyed(env).filter(lambda x: True).print())

# --- a keyed stream is reduced
show(lambda env: keyed(env).reduce(lambda a, b: a).print())

# --- a keyed stream is read with another parallelism
show(lambda env: keyed(env).filter(lambda x: True).set_parallelism(3).print())

# --- keyed streams are united
show(lambda env: keyed(env).union(keyed(env)).print())

# --- a keyed stream and another are united
show(lambda env: keyed(env).union(numbers(env)).print())

# --- a sink with a committer
show(lambda env: texts(env).sink_to(files()))

# --- a sink with a committer and a name
show(lambda env: texts(env).sink_to(files()).name("out"))

# --- a sink with a committer and a parallelism
show(lambda env: texts(env).sink_to(files()).set_parallelism(3).name("out"))
