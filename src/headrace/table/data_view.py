"""Lists and maps: in accumulators, and as state of process table functions."""

from __future__ import annotations

from headrace.sql.udf.data_views import DataView, ListView, MapView

__all__ = ["DataView", "ListView", "MapView"]
