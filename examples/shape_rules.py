"""Finds pairs of shapes of one colour by rules that come as a stream themselves: broadcast state.

A rule says which shape is to be followed by which. Rules are broadcast: every subtask knows all of
them. Items are keyed by colour, so that items of one colour meet. Prints, in any order,

    rule 'roof over house': red triangle 1 and red square 4
    rule 'twins': blue circle 2 and blue circle 6
    rule 'roof over house': blue triangle 3 and blue square 8
    rule 'roof over house': blue triangle 5 and blue square 8
"""

from typing import NamedTuple

from headrace.common import Types
from headrace.datastream import (
    KeyedBroadcastProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import MapStateDescriptor


class Rule(NamedTuple):
    """A pair of shapes to look for, one after the other."""

    name: str
    first: str
    second: str


class Item(NamedTuple):
    """A coloured shape."""

    colour: str
    shape: str
    number: int


RULES = [Rule("roof over house", "triangle", "square"), Rule("twins", "circle", "circle")]
ITEMS = [
    Item("red", "triangle", 1), Item("blue", "circle", 2), Item("blue", "triangle", 3),
    Item("red", "square", 4), Item("blue", "triangle", 5), Item("blue", "circle", 6),
    Item("red", "square", 7), Item("blue", "square", 8),
]  # fmt: skip

RULE_STATE = MapStateDescriptor("rules", Types.STRING(), Types.PICKLED_BYTE_ARRAY())


class MatchRules(KeyedBroadcastProcessFunction):
    """Keeps, for each colour and rule, the items that wait for their second half."""

    def open(self, runtime_context: RuntimeContext):
        self.waiting = runtime_context.get_map_state(
            MapStateDescriptor("waiting", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_broadcast_element(self, value: Rule, ctx: KeyedBroadcastProcessFunction.Context):
        ctx.get_broadcast_state(RULE_STATE).put(value.name, value)

    def process_element(self, value: Item, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext):
        for name, rule in ctx.get_broadcast_state(RULE_STATE).items():
            waiting = self.waiting.get(name) or []
            if value.shape == rule.second and waiting:
                for first in waiting:
                    yield f"rule {name!r}: {described(first)} and {described(value)}"
                waiting = []
            # No else: in a rule for two of a kind, the second of a pair is the first of the next.
            if value.shape == rule.first:
                waiting = [*waiting, value]
            if waiting:
                self.waiting.put(name, waiting)
            else:
                self.waiting.remove(name)


def described(item: Item) -> str:
    return f"{item.colour} {item.shape} {item.number}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    rules = env.from_collection(RULES).broadcast(RULE_STATE)
    (
        env.from_collection(ITEMS)
        .key_by(lambda item: item.colour)
        .connect(rules)
        .process(MatchRules(), Types.STRING())
        .print()
    )
    env.execute("shape rules")


if __name__ == "__main__":
    main()
