"""Asynchronous lookups with a cache and retries, then a join of two keyed streams."""

import asyncio

from pyflink.common import Row, Time, Types
from pyflink.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from pyflink.datastream.async_retry_predicates import has_exception_predicate
from pyflink.datastream.async_retry_strategies import FixedDelayRetryStrategy
from pyflink.datastream.functions import KeyedCoProcessFunction, RuntimeContext
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

CLICK = Types.ROW_NAMED(["user", "page"], [Types.INT(), Types.STRING()])


def named_type():
    return Types.ROW_NAMED(
        ["user", "page", "country"], [Types.INT(), Types.STRING(), Types.STRING()]
    )


class Lookup(AsyncFunction):
    def open(self, runtime_context: RuntimeContext):
        self.failed = set()
        self.countries = {1: "NO", 2: "PT"}

    async def async_invoke(self, click):
        await asyncio.sleep(0.02 * click.user)
        if click.user == 2 and click.page not in self.failed:
            self.failed.add(click.page)
            raise ConnectionError("try again")
        return [Row(user=click.user, page=click.page, country=self.countries.get(click.user))]

    def timeout(self, click):
        return [Row(user=click.user, page=click.page, country="?")]


class Join(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.name = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", named_type()))

    def process_element1(self, click, ctx):
        name = self.name.value()
        if name is None:
            self.waiting.add(click)
        else:
            yield self._joined(name, click)

    def process_element2(self, user, ctx):
        self.name.update(user[1])
        for click in self.waiting:
            yield self._joined(user[1], click)
        self.waiting.clear()

    def _joined(self, name, click):
        return f"{name} of {click.country} at {click.page}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
clicks = env.from_collection(
    [Row(1, "/"), Row(2, "/a"), Row(3, "/b"), Row(1, "/c"), Row(2, "/d")], type_info=CLICK
)
users = env.from_collection(
    [(1, "Ada"), (2, "Bob"), (4, "Eve")], type_info=Types.TUPLE([Types.INT(), Types.STRING()])
)
retry = FixedDelayRetryStrategy(3, 10, None, has_exception_predicate)
named = AsyncDataStream.unordered_wait_with_retry(
    clicks, Lookup(), Time.seconds(30), retry, capacity=2, output_type=named_type()
)
named.key_by(lambda click: click.user).connect(users.key_by(lambda user: user[0])).process(
    Join(), Types.STRING()
).print()
env.execute("enrichment")
