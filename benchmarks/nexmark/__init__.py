"""Nexmark: an auction site's persons, auctions and bids, and queries over them.

`python -m benchmarks nexmark` runs all queries, `nexmark-state` measures what some of them keep.
The generator follows the published description of the benchmark; it is written for this
project.
"""
