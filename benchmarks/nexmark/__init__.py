"""Nexmark: an auction site's persons, auctions and bids, and queries over them.

`python -m benchmarks nexmark` runs the queries that need no join. The generator follows the
published description of the benchmark; it is written for this project.
"""
