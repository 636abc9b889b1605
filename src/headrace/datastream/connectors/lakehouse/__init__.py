"""Tables of Delta Lake and Apache Iceberg: written exactly once, and read as they grow.

Both libraries are extras: `pip install 'headrace[delta]'`, `pip install 'headrace[iceberg]'`.
"""

from __future__ import annotations

from headrace.datastream.connectors.lakehouse.delta import DeltaLakeTable
from headrace.datastream.connectors.lakehouse.iceberg import IcebergTable
from headrace.datastream.connectors.lakehouse.sink import LakehouseSink
from headrace.datastream.connectors.lakehouse.source import LakehouseSource
from headrace.datastream.connectors.lakehouse.table import AsOf, LakeTable

__all__ = [
    "AsOf",
    "DeltaLakeTable",
    "IcebergTable",
    "LakeTable",
    "LakehouseSink",
    "LakehouseSource",
]
