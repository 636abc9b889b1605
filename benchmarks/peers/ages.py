"""How old records are, in steps of 0.1 ms: for programs that run in a peer's environment."""

import json
import os
import time
from collections import Counter

STEP_NS = 100_000


class Ages:
    """Counts the ages of records that were due after a time."""

    def __init__(self, directory, since_ns):
        self.directory, self.since_ns = directory, since_ns
        self.counts = Counter()

    def add(self, due_ns):
        if due_ns >= self.since_ns:
            self.counts[(time.time_ns() - due_ns) // STEP_NS] += 1

    def save(self, name):
        with open(os.path.join(self.directory, str(name)), "w") as file:
            json.dump(self.counts, file)


def saved(directory):
    """What all have saved."""
    counts = Counter()
    for name in os.listdir(directory):
        with open(os.path.join(directory, name)) as file:
            counts.update({int(step): n for step, n in json.load(file).items()})
    return counts


def percentile(counts, share):
    """In milliseconds."""
    left = share * sum(counts.values())
    for step in sorted(counts):
        left -= counts[step]
        if left <= 0:
            return (step + 1) * STEP_NS / 1e6
    return 0.0


def summary(counts, seconds):
    """One line of JSON."""
    return json.dumps(
        {
            "records_per_s": sum(counts.values()) / seconds,
            "p50_ms": percentile(counts, 0.5),
            "p99_ms": percentile(counts, 0.99),
        }
    )
