"""Places in the log of MySQL, as snapshots have them."""

from __future__ import annotations

import pickle
from dataclasses import replace

from headrace.datastream.connectors.cdc.mysql_settings import BinlogPosition


class _Saved:
    """Pickled as a place of the version before, which knew no XA transactions."""

    def __reduce__(self) -> tuple[object, ...]:
        return object.__new__, (BinlogPosition,), ["log.7", 4, 2]


def test_places_come_back_from_snapshots() -> None:
    place = BinlogPosition("log.7", 4, 2, BinlogPosition("log.6", 8))
    assert pickle.loads(pickle.dumps(place)) == place


def test_places_come_back_from_snapshots_of_the_version_before() -> None:
    place = pickle.loads(pickle.dumps(_Saved()))
    assert place == BinlogPosition("log.7", 4, 2)
    assert replace(place, changes=0) == BinlogPosition("log.7", 4)
