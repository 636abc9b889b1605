"""The execution plan: which nodes there are, and how data is shipped between them."""

import json

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import CoMapFunction


class Tag(CoMapFunction):
    def map1(self, value):
        return str(value)

    def map2(self, value):
        return value


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
sequence = env.from_source(NumberSequenceSource(0, 9), WatermarkStrategy.no_watermarks(), "seq")
chain = sequence.map(lambda x: x, Types.LONG()).name("first").filter(lambda x: True).name("second")
chain.rescale().map(str, Types.STRING()).name("third").print("x")
letters = env.from_collection(["a"], Types.STRING()).name("letters")
chain.connect(letters).map(Tag(), Types.STRING()).name("both").print()
chain.key_by(lambda x: x, Types.LONG()).sum(0).name("summed").set_parallelism(1).print()

nodes = {node["id"]: node for node in json.loads(env.get_execution_plan())["nodes"]}
for node in nodes.values():
    # Operators in between may be shown one by one or as a chain.
    assert node["contents"] == node["type"]
    if node["pact"] != "Operator":
        print(node["type"], node["pact"])


def find(name):
    return next(node for node in nodes.values() if name in node["type"])


for name in ("Source: seq", "Source: letters", "first", "third", "both", "summed"):
    node = find(name)
    strategies = [p["ship_strategy"] for p in node.get("predecessors", [])]
    print(name, node["parallelism"], "predecessors" in node, strategies)
print(sum(node["pact"] == "Data Sink" for node in nodes.values()))
print(sorted({node["type"] for node in nodes.values() if node["pact"] == "Data Sink"}))
print(sorted(find("third")["predecessors"][0]))
