"""Keys of many kinds, a KeySelector, keys that are not hashable, and a key on a key."""

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import KeySelector


class First(KeySelector):
    def get_key(self, value):
        return value[0]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("b", 4)])
pairs.key_by(First()).sum(1).print("selector")
pairs.key_by(lambda p: p[0], key_type=Types.STRING()).sum(1).print("typed")
pairs.key_by(lambda p: (p[0], True)).sum(1).print("tuple")
pairs.key_by(lambda p: [p[0]]).sum(1).print("list")
pairs.key_by(lambda p: {"k": p[0]}).sum(1).print("dict")
pairs.key_by(lambda p: Row(p[0], 1)).sum(1).print("row")
pairs.key_by(lambda p: None).sum(1).print("none")
pairs.key_by(lambda p: p[1] > 2).sum(1).print("bool")
pairs.key_by(lambda p: p[1] / 2 > 1).sum(1).print("float")
pairs.key_by(lambda p: p[0]).key_by(lambda p: p[1] % 2).sum(1).print("twice")
pairs.key_by(lambda p: p[0]).filter(lambda p: p[1] > 1).map(lambda p: p[1]).print("unkeyed")
env.execute()
