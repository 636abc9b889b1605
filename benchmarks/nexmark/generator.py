"""Makes the events of Nexmark as Parquet files, the same ones every time.

Of 50 events in a row one is a new person, three are new auctions and 46 are bids. Half of the
bids go to an auction that is hot at the time, most bidders are people who bid often, and most
auctions are opened by people who sell often. Each value is a hash of the number of its event, so
that files do not depend on a library's random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EVENTS_IN_ROUND = 50
AUCTIONS_IN_ROUND = 3
FIRST_PERSON = 1_000
FIRST_AUCTION = 1_000
FIRST_CATEGORY = 10
CATEGORIES = 5
OPEN_AUCTIONS = 100
ACTIVE_PEOPLE = 1_000
SIDE_KEYS = 10_000

CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = ("Phoenix", "Palo Alto", "Boise", "Portland", "Seattle", "Cheyenne", "Bend", "Kent")
FIRST_NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jon", "Kate")
LAST_NAMES = ("Adams", "Brook", "Clark", "Dunn", "Evans", "Ford", "Gray", "Hill", "Irwin")
ITEMS = ("lamp", "chair", "clock", "table", "vase", "stamp", "coin", "bike", "map", "print")


@dataclass(frozen=True)
class Events:
    """How many events there are, how dense in time, and in how many files.

    Attributes:
        count: Persons, auctions and bids together.
        per_second: With at most 1,000 of them each has a time of its own.
        files: How many files each table has.
    """

    count: int
    per_second: int = 10_000
    files: int = 8


def write_tables(folder: str, events: Events) -> dict[str, int]:
    """The tables `person`, `auction` and `bid`, and q13's `side`; how many rows each has."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = np.arange(events.count)
    place = numbers % EVENTS_IN_ROUND
    chosen: dict[str, tuple[Any, Callable[[Any, Events], dict[str, Any]]]] = {
        "person": (place == 0, _persons),
        "auction": ((place > 0) & (place <= AUCTIONS_IN_ROUND), _auctions),
        "bid": (place > AUCTIONS_IN_ROUND, _bids),
    }
    rows: dict[str, int] = {}
    for name, (mine, columns) in chosen.items():
        Path(f"{folder}/{name}").mkdir(parents=True)
        rows[name] = int(mine.sum())
        for part, some in enumerate(np.array_split(numbers[mine], events.files)):
            table = pa.table(columns(some, events))
            pq.write_table(table, f"{folder}/{name}/part-{part}.parquet")
    Path(f"{folder}/side").mkdir()
    keys = range(SIDE_KEYS)
    side = pa.table({"key": pa.array(keys, pa.int64()), "value": [f"side {k}" for k in keys]})
    pq.write_table(side, f"{folder}/side/part-0.parquet")
    return rows


class Draws:
    """Random numbers of events: a hash of the event's number, of its own for each draw."""

    def __init__(self, events: Any) -> None:
        self._events = events.astype("uint64")
        self._draws = 0

    def below(self, limit: Any) -> Any:
        """Whole numbers from 0 up to, but not including, a limit."""
        import numpy as np

        return (self._next() % np.asarray(limit, "uint64")).astype("int64")

    def unit(self) -> Any:
        """Numbers from 0 up to, but not including, 1."""
        return (self._next() >> 11).astype("float64") * 2.0**-53

    def of(self, values: Sequence[str]) -> Any:
        """Some of the texts."""
        import pyarrow as pa

        return pa.array(values).take(pa.array(self.below(len(values))))

    def _next(self) -> Any:
        import numpy as np

        self._draws += 1
        with np.errstate(over="ignore"):
            x = self._events * np.uint64(0x9E3779B97F4A7C15) + np.uint64(self._draws << 40)
            x = (x ^ (x >> 30)) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> 27)) * np.uint64(0x94D049BB133111EB)
            return x ^ (x >> 31)


def _times(events: Any, settings: Events) -> Any:
    return events * 1000 // settings.per_second


def _stamps(millis: Any) -> Any:
    import pyarrow as pa

    return pa.array(millis, pa.timestamp("ms"))


def _extra(draws: Draws) -> Any:
    return draws.of([f"{i * 2_654_435_761 % 2**32:08x}" * 4 for i in range(256)])


def _people(draws: Draws, rounds: Any, often_of: int) -> Any:
    """Ids of persons: mostly of one who does it often, else of anybody who is active."""
    import numpy as np

    often = rounds // 100 * 100
    anybody = rounds - draws.below(np.minimum(rounds + 1, ACTIVE_PEOPLE))
    return FIRST_PERSON + np.where(draws.below(often_of) > 0, often, anybody)


def _persons(events: Any, settings: Events) -> dict[str, Any]:
    import pyarrow.compute as pc

    draws = Draws(events)
    first, last = draws.of(FIRST_NAMES), draws.of(LAST_NAMES)
    return {
        "id": FIRST_PERSON + events // EVENTS_IN_ROUND,
        "name": pc.binary_join_element_wise(first, last, " "),
        "emailAddress": pc.binary_join_element_wise(first, last, "@"),
        "creditCard": draws.of([f"{i:04d} {i * 7 % 10_000:04d}" for i in range(1_000)]),
        "city": draws.of(CITIES),
        "state": draws.of(STATES),
        "dateTime": _stamps(_times(events, settings)),
        "extra": _extra(draws),
    }


def _auctions(events: Any, settings: Events) -> dict[str, Any]:
    draws = Draws(events)
    rounds, place = events // EVENTS_IN_ROUND, events % EVENTS_IN_ROUND
    times = _times(events, settings)
    # On average as long as it takes until a hundred auctions are open.
    length = 2 * OPEN_AUCTIONS * EVENTS_IN_ROUND // AUCTIONS_IN_ROUND * 1000 // settings.per_second
    first_bid = _price(draws)
    return {
        "id": FIRST_AUCTION + rounds * AUCTIONS_IN_ROUND + place - 1,
        "itemName": draws.of(ITEMS),
        "description": draws.of([f"{a} {b}" for a in ("a fine", "an old", "a new") for b in ITEMS]),
        "initialBid": first_bid,
        "reserve": first_bid + _price(draws),
        "dateTime": _stamps(times),
        "expires": _stamps(times + 1 + draws.below(max(length, 1))),
        "seller": _people(draws, rounds, 4),
        "category": FIRST_CATEGORY + draws.below(CATEGORIES),
        "extra": _extra(draws),
    }


def _bids(events: Any, settings: Events) -> dict[str, Any]:
    import numpy as np

    draws = Draws(events)
    rounds = events // EVENTS_IN_ROUND
    latest = (rounds + 1) * AUCTIONS_IN_ROUND - 1
    # The hot auction changes with every hundredth new one; others are among the open ones.
    other = latest - draws.below(np.minimum(latest + 1, OPEN_AUCTIONS))
    auction = np.where(draws.below(2) > 0, latest // 100 * 100, other)
    channel, url = _channels(draws)
    return {
        "auction": FIRST_AUCTION + auction,
        "bidder": _people(draws, rounds, 4),
        "price": _price(draws),
        "channel": channel,
        "url": url,
        "dateTime": _stamps(_times(events, settings)),
        "extra": _extra(draws),
    }


def _price(draws: Draws) -> Any:
    import numpy as np

    return np.rint(10.0 ** (draws.unit() * 6) * 100).astype(np.int64)


def _channels(draws: Draws) -> tuple[Any, Any]:
    """Half of the bids come by a large channel, the others by one of many with an id."""
    import numpy as np
    import pyarrow as pa

    small = 1_000
    names = [*CHANNELS, *(f"channel-{i}" for i in range(small))]
    base = "https://auctions.example/{:03d}/{:03d}/{:03d}/item.htm?query=1"
    urls = [base.format(i, i * 7 % 1_000, i * 13 % 1_000) for i in range(len(CHANNELS))]
    # Some of them do not say their id.
    ids = ["" if i % 10 == 0 else f"&channel_id={i * 7_919 % 1_000_003}" for i in range(small)]
    urls += [base.format(i, i * 7 % 1_000, i * 13 % 1_000) + ids[i] for i in range(small)]
    large = draws.below(len(CHANNELS))
    chosen = np.where(draws.below(2) > 0, large, len(CHANNELS) + draws.below(small))
    return pa.array(names).take(pa.array(chosen)), pa.array(urls).take(pa.array(chosen))
