"""Makes the events of Nexmark as Parquet files, the same ones every time.

Of 50 events in a row one is a new person, three are new auctions and 46 are bids. Half of the
bids go to an auction that is hot at the time, and most bidders are people who bid often.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

EVENTS_IN_ROUND = 50
AUCTIONS_IN_ROUND = 3
BIDS_IN_ROUND = 46
FIRST_PERSON = 1_000
FIRST_AUCTION = 1_000
EVENTS_PER_SECOND = 10_000
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
FILES = 8


def write_bids(folder: str, events: int) -> int:
    """The bids among so many events, as files of the table `bid`; how many they are."""
    import numpy as np
    import pyarrow.parquet as pq

    Path(f"{folder}/bid").mkdir(parents=True)
    numbers = np.arange(events)
    numbers = numbers[numbers % EVENTS_IN_ROUND >= EVENTS_IN_ROUND - BIDS_IN_ROUND]
    random = np.random.default_rng(2008)
    for part, chosen in enumerate(np.array_split(numbers, FILES)):
        pq.write_table(_bids(chosen, random), f"{folder}/bid/part-{part}.parquet")
    return len(numbers)


def _bids(events: Any, random: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    count = len(events)
    rounds = events // EVENTS_IN_ROUND
    auctions = (rounds + 1) * AUCTIONS_IN_ROUND
    # The hot auction changes with every hundredth new one; others are among the latest hundred.
    hot = auctions // 100 * 100
    other = np.maximum(auctions - 1 - random.integers(0, 100, count), 0)
    auction = FIRST_AUCTION + np.where(random.random(count) < 0.5, hot, other)
    often = rounds // 100 * 100 + 1
    anybody = np.maximum(rounds - random.integers(0, 1_000, count), 0)
    bidder = FIRST_PERSON + np.where(random.random(count) < 0.75, often, anybody)
    price = np.rint(10.0 ** (random.random(count) * 6) * 100).astype(np.int64)
    channel = random.integers(0, len(CHANNELS), count)
    urls = [f"https://auctions.example/{c}/item.htm?query=1" for c in range(len(CHANNELS))]
    extras = [f"{i:032x}" for i in range(64)]
    times = events * 1000 // EVENTS_PER_SECOND
    return pa.table(
        {
            "auction": auction,
            "bidder": bidder,
            "price": price,
            "channel": pa.array(CHANNELS).take(pa.array(channel)),
            "url": pa.array(urls).take(pa.array(channel)),
            "dateTime": pa.array(times, pa.timestamp("ms")),
            "extra": pa.array(extras).take(pa.array(random.integers(0, 64, count))),
        }
    )
