"""The show of `make demo-kafka`: a broker, a hundred thousand words through it, and exact counts.

It starts a broker of its own, writes lines to a topic, counts their words with
`examples/kafka_word_count.py` exactly once, reads the counts as another program would, and compares
them with its own.
"""

from __future__ import annotations

import collections
import contextlib
import random
import subprocess
import sys
from pathlib import Path

from headrace.common.display.waiting import waiting
from tools.kafka_broker import KafkaUnavailableError, create_topics, running_broker

PROGRAM = Path(__file__).parents[1] / "examples" / "kafka_word_count.py"
WORDS = [
    "stream",
    "state",
    "timer",
    "window",
    "source",
    "sink",
    "epoch",
    "slot",
    "key",
    "checkpoint",
]
LINES = 10_000
WORDS_IN_LINE = 10


def main() -> int:
    try:
        with contextlib.ExitStack() as exits:
            with waiting("starting a Kafka broker, which Maven fetches the first time"):
                broker = exits.enter_context(running_broker())
            servers = broker.bootstrap_servers
            create_topics(servers, ["lines", "counts"])
            written = _write(servers)
            print(f"{servers} has {LINES:,} lines; counting their words ...", flush=True)
            topics = ("--servers", servers, "--source", "lines", "--target", "counts")
            subprocess.run(
                ["headrace", "run", "--live", str(PROGRAM), *topics],
                check=True,
            )
            counted = _read(servers)
    except KafkaUnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    for word, count in counted.most_common(3):
        print(f"{word:>12} {count:,}")
    exact = counted == written
    print(f"{counted.total():,} words, {'each exactly once' if exact else 'AND THAT IS WRONG'}")
    return 0 if exact else 1


def _write(servers: str) -> collections.Counter[str]:
    """Fill the topic of lines; how often each word is in it."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers})
    written: collections.Counter[str] = collections.Counter()
    for _ in range(LINES):
        words = random.choices(WORDS, k=WORDS_IN_LINE)
        written.update(words)
        producer.produce("lines", " ".join(words))
        producer.poll(0)
    producer.flush()
    return written


def _read(servers: str) -> collections.Counter[str]:
    """The last count of each word in the topic of counts, as far as it was committed."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    settings = {
        "bootstrap.servers": servers,
        "group.id": "demo",
        "isolation.level": "read_committed",
        "enable.partition.eof": "true",
    }
    consumer = Consumer(settings)
    partitions = consumer.list_topics("counts").topics["counts"].partitions
    consumer.assign([TopicPartition("counts", p, OFFSET_BEGINNING) for p in partitions])
    counted: collections.Counter[str] = collections.Counter()
    left = len(partitions)
    while left:
        message = consumer.poll(60.0)
        if message is None or message.error() is not None:
            # The end of a partition, or of our patience.
            left -= 1
            continue
        word, count = message.value().decode().split()
        counted[word] = max(counted[word], int(count))
    consumer.close()
    return counted


if __name__ == "__main__":
    sys.exit(main())
