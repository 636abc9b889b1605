"""Streams that are put together, and with which others."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


def records(stream):
    with stream.execute_and_collect() as results:
        return sorted(results, key=str)


def tried(call):
    try:
        return call()
    except Exception as error:
        text = str(error)
        known = [
            w
            for w in ("Cannot union streams of different types", "Cannot connect", "must be")
            if w in text
        ]
        return "refused " + " ".join(known)


pairs = env.from_collection([("a", 1), ("b", 2)], PAIR)
untyped = env.from_collection([("a", 1), ("b", 2)])
by_name = pairs.key_by(lambda v: v[0], Types.STRING())
by_any = pairs.key_by(lambda v: v[0])

# --- unions with keyed streams
print(tried(lambda: records(pairs.union(by_name))))
print(tried(lambda: records(by_name.union(pairs))))
print(tried(lambda: records(by_name.union(by_name))))
print(tried(lambda: records(by_any.union(pairs))))
print(tried(lambda: records(by_any.union(by_any))))
print(tried(lambda: records(untyped.union(untyped.key_by(lambda v: v[0])))))
print(tried(lambda: records(untyped.key_by(lambda v: v[0]).union(untyped))))
print(tried(lambda: records(pairs.union(pairs.map(lambda v: v, PAIR).key_by(lambda v: v[0])))))
print(tried(lambda: records(pairs.union(pairs.map(lambda v: v, PAIR)))))
print(tried(lambda: records(pairs.union(pairs))))
