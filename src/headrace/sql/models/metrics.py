"""How well predictions fit: the metrics of ML_EVALUATE."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.functions.registry import FunctionKind
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import string_type
from headrace.sql.udf.binding import FunctionBinding

__all__ = ["TASKS", "metrics_function"]


class Metrics(ABC):
    """An aggregate function of labels and predictions; pairs with a NULL do not count."""

    #: All metrics, by their names in the result.
    names: tuple[str, ...]

    #: Types of predictions that it can judge, and what they are called.
    takes: tuple[type[DataType], ...] = (DataType,)
    taken = "values"

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = wanted

    def open(self, function_context: Any) -> None:  # noqa: B027 - there is nothing to open
        pass

    def close(self) -> None:  # noqa: B027
        pass

    @abstractmethod
    def create_accumulator(self) -> Any:
        """Sums, or counts."""

    @abstractmethod
    def add(self, accumulator: Any, label: Any, prediction: Any, times: int) -> None:
        """Count a pair; -1 times takes it back."""

    @abstractmethod
    def values(self, accumulator: Any) -> dict[str, float]:
        """All metrics, where there is a pair."""

    def accumulate(self, accumulator: Any, label: Any, prediction: Any) -> None:
        if label is not None and prediction is not None:
            self.add(accumulator, label, prediction, 1)

    def retract(self, accumulator: Any, label: Any, prediction: Any) -> None:
        if label is not None and prediction is not None:
            self.add(accumulator, label, prediction, -1)

    def get_value(self, accumulator: Any) -> dict[str, float]:
        if not self.count(accumulator):
            return {}
        found = self.values(accumulator)
        return {name: float(found[name]) for name in self._wanted}

    @abstractmethod
    def count(self, accumulator: Any) -> int:
        """How many pairs there are."""

    @abstractmethod
    def merge(self, accumulator: Any, others: Any) -> None:
        """Add other accumulators."""


class _Sums(Metrics):
    """The first of the sums is the number of pairs."""

    @abstractmethod
    def parts(self, label: Any, prediction: Any) -> Sequence[float]:
        """What a pair adds to the other sums."""

    def create_accumulator(self) -> list[float]:
        return []

    def add(self, accumulator: list[float], label: Any, prediction: Any, times: int) -> None:
        self._plus(accumulator, [times, *(times * p for p in self.parts(label, prediction))])

    def merge(self, accumulator: list[float], others: Any) -> None:
        for other in others:
            self._plus(accumulator, other)

    def _plus(self, accumulator: list[float], more: Sequence[float]) -> None:
        if more:
            old = accumulator or [0.0] * len(more)
            accumulator[:] = [a + b for a, b in zip(old, more, strict=True)]

    def count(self, accumulator: list[float]) -> int:
        return int(accumulator[0]) if accumulator else 0


class Regression(_Sums):
    """Errors of numbers."""

    names = ("mae", "mse", "rmse", "r2")
    takes = (t.NumericType,)
    taken = "numbers"

    def parts(self, label: Any, prediction: Any) -> Sequence[float]:
        y, error = float(label), float(prediction) - float(label)
        return abs(error), error * error, y, y * y

    def values(self, accumulator: list[float]) -> dict[str, float]:
        count, absolute, squared, y, y_squared = accumulator
        spread = y_squared - y * y / count
        r2 = 1 - squared / spread if spread > 0 else math.nan
        mse = squared / count
        return {"mae": absolute / count, "mse": mse, "rmse": math.sqrt(max(mse, 0)), "r2": r2}


class Embedding(_Sums):
    """How near vectors are."""

    names = ("mean_cosine_similarity", "mean_euclidean_distance")
    takes = (t.ArrayType,)
    taken = "arrays of numbers"

    def parts(self, label: Any, prediction: Any) -> Sequence[float]:
        a, b = list(map(float, label)), list(map(float, prediction))
        norms = math.hypot(*a) * math.hypot(*b)
        cosine = sum(map(operator.mul, a, b)) / norms if norms else 0.0
        return cosine, math.dist(a, b)

    def values(self, accumulator: list[float]) -> dict[str, float]:
        return dict(zip(self.names, [x / accumulator[0] for x in accumulator[1:]], strict=True))


class TextGeneration(_Sums):
    """How much texts have in common: whole, and word by word (ROUGE-1)."""

    names = ("exact_match", "rouge1_f1")
    takes = (t.CharType, t.VarCharType)
    taken = "texts"

    def parts(self, label: Any, prediction: Any) -> Sequence[float]:
        words, said = Counter(label.lower().split()), Counter(prediction.lower().split())
        both = (words & said).total()
        length = words.total() + said.total()
        return float(label == prediction), 2 * both / length if length else 1.0

    def values(self, accumulator: list[float]) -> dict[str, float]:
        return dict(zip(self.names, [x / accumulator[0] for x in accumulator[1:]], strict=True))


class _Counts(Metrics):
    """How often each pair of a label and a prediction came."""

    def create_accumulator(self) -> dict[tuple[Any, Any], int]:
        return {}

    def add(self, accumulator: Any, label: Any, prediction: Any, times: int) -> None:
        pair = (label, prediction)
        accumulator[pair] = accumulator.get(pair, 0) + times
        if not accumulator[pair]:
            del accumulator[pair]

    def merge(self, accumulator: Any, others: Any) -> None:
        for other in others:
            for (label, prediction), times in other.items():
                self.add(accumulator, label, prediction, times)

    def count(self, accumulator: Any) -> int:
        return sum(accumulator.values())

    def sides(self, accumulator: Any) -> tuple[Counter[Any], Counter[Any]]:
        """How often each label came, and each prediction."""
        labels: Counter[Any] = Counter()
        predictions: Counter[Any] = Counter()
        for (label, prediction), times in accumulator.items():
            labels[label] += times
            predictions[prediction] += times
        return labels, predictions


class Classification(_Counts):
    """How often the right class was said; the last three are means over the classes."""

    names = ("accuracy", "precision", "recall", "f1")

    def values(self, accumulator: Any) -> dict[str, float]:
        labels, predictions = self.sides(accumulator)
        classes = labels.keys() | predictions.keys()
        right = {c: accumulator.get((c, c), 0) for c in classes}
        precision = {c: _share(right[c], predictions[c]) for c in classes}
        recall = {c: _share(right[c], labels[c]) for c in classes}
        f1 = [_share(2 * right[c], labels[c] + predictions[c]) for c in classes]
        return {
            "accuracy": sum(right.values()) / self.count(accumulator),
            "precision": sum(precision.values()) / len(classes),
            "recall": sum(recall.values()) / len(classes),
            "f1": sum(f1) / len(classes),
        }


class Clustering(_Counts):
    """How well clusters fit classes, whatever the clusters are called."""

    names = ("purity", "adjusted_rand_index")

    def values(self, accumulator: Any) -> dict[str, float]:
        most: dict[Any, int] = {}
        for (_, cluster), times in accumulator.items():
            most[cluster] = max(most.get(cluster, 0), times)
        count = self.count(accumulator)
        together = sum(math.comb(times, 2) for times in accumulator.values())
        labels, clusters = (
            sum(math.comb(k, 2) for k in s.values()) for s in self.sides(accumulator)
        )
        expected = _share(labels * clusters, math.comb(count, 2))
        best = (labels + clusters) / 2
        index = 1.0 if best == expected else (together - expected) / (best - expected)
        return {"purity": sum(most.values()) / count, "adjusted_rand_index": index}


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


TASKS: dict[str, type[Metrics]] = {
    "REGRESSION": Regression,
    "CLUSTERING": Clustering,
    "CLASSIFICATION": Classification,
    "EMBEDDING": Embedding,
    "TEXT_GENERATION": TextGeneration,
}


def metrics_function(task: str, wanted: str | None, prediction: DataType) -> FunctionBinding:
    """The aggregate function of a task; `wanted` names some of its metrics, with commas."""
    kind = TASKS[task]
    if not isinstance(prediction, kind.takes):
        raise SqlError(
            f"the task {task} is about {kind.taken}, but the model's output is "
            f"{prediction.sql_text()}"
        )
    names = kind.names if wanted is None else tuple(w.strip().lower() for w in wanted.split(","))
    unknown = [name for name in names if name not in kind.names]
    if unknown:
        raise SqlError(
            f"{task} has no metric '{unknown[0]}'. Its metrics are: {', '.join(kind.names)}"
        )
    result = t.MapType(string_type(), t.DoubleType())
    function = kind(names)
    return FunctionBinding(
        function, "ML_EVALUATE", FunctionKind.AGGREGATE.name, None, result, None, "general", True
    )
