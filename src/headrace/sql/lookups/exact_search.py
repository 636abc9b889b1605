"""A search that compares all vectors of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from headrace.common.errors import SqlError
from headrace.runtime.operator import Operator
from headrace.sql.lookups.full_cache import Kept, WholeTable
from headrace.sql.lookups.search import SearchOrder, matrix
from headrace.sql.udf.batch_table import BatchTableFunction, Rows, parts

__all__ = ["METRICS", "ExactSearch", "check_metric"]

Matrix = np.ndarray[Any, Any]

_AT_ONCE = 4_000_000
"""How many pairs of vectors are compared together: the matrix of their scores is in memory."""


def _dots(queries: Matrix, vectors: Matrix) -> Matrix:
    found: Matrix = queries @ vectors.T
    return found


def _cosines(queries: Matrix, vectors: Matrix) -> Matrix:
    norms = np.outer(np.linalg.norm(queries, axis=1), np.linalg.norm(vectors, axis=1))
    return np.divide(_dots(queries, vectors), norms, out=np.zeros_like(norms), where=norms > 0)


def _nearness(queries: Matrix, vectors: Matrix) -> Matrix:
    squares = (queries**2).sum(axis=1)[:, None] + (vectors**2).sum(axis=1)[None, :]
    distances = np.sqrt(np.maximum(squares - 2 * _dots(queries, vectors), 0))
    found: Matrix = 1 / (1 + distances)
    return found


METRICS: dict[str, Callable[[Matrix, Matrix], Matrix]] = {
    "cosine": _cosines,
    "dot": _dots,
    "euclidean": _nearness,
}
"""Scores by the option 'metric'; more is better."""


def check_metric(name: str) -> None:
    """Refuses a metric that is not there."""
    if name not in METRICS:
        raise SqlError(f"option 'metric' is one of {', '.join(METRICS)}, not '{name}'")


class ExactSearch(BatchTableFunction):
    """Keeps the table in each subtask; rows without a vector are never found."""

    def __init__(self, table: WholeTable, search: SearchOrder) -> None:
        self._search = search
        self._name = table.name
        self._scores = METRICS[search.options.get("metric", "cosine")]
        self._kept = Kept(table, self._read)

    def open(self, operator: Operator) -> None:
        self._kept.open(operator)

    def _read(self, rows: Iterable[tuple[Any, ...]]) -> tuple[Rows, Matrix]:
        column = self._search.column
        kept = [row for row in rows if row[column] is not None]
        return kept, matrix([row[column] for row in kept])

    def batch(self, rows: Rows) -> list[Rows]:
        kept, vectors = self._kept.current()
        found: list[Rows] = [[] for _ in rows]
        asked = [(place, row[0]) for place, row in enumerate(rows) if row[0] is not None]
        if not kept:
            return found
        for piece in parts(asked, max(_AT_ONCE // len(kept), 1)):
            queries = matrix([vector for _, vector in piece])
            if queries.shape[1] != vectors.shape[1]:
                raise ValueError(
                    f"the vectors of table {self._name} have {vectors.shape[1]} elements, but one "
                    f"with {queries.shape[1]} is searched for"
                )
            for (place, _), scores in zip(piece, self._scores(queries, vectors), strict=True):
                found[place] = [(*kept[i], float(scores[i])) for i in self._best(scores)]
        return found

    def _best(self, scores: Matrix) -> Matrix:
        """Places of the highest scores, best first; equal ones in the order of the table."""
        wanted = self._search.top_k
        places = np.arange(len(scores))
        if wanted < len(scores):
            least = np.partition(scores, -wanted)[-wanted]
            places = np.flatnonzero(scores >= least)
        return places[np.argsort(-scores[places], kind="stable")][:wanted]

    def close(self) -> None:
        pass
