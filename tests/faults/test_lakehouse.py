"""A table of a lakehouse when the slot is killed that writes to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.connectors.lakehouse import DeltaLakeTable, LakehouseSink
from tests.faults import killed_slots
from tests.faults.live_process_carrier import EITHER_CARRIER

deltalake = pytest.importorskip("deltalake")


@EITHER_CARRIER
def test_each_row_is_there_once(tmp_path: Path, carrier: Any) -> None:
    row = Types.ROW_NAMED(["id"], [Types.INT()])
    path = str(tmp_path / "numbers")
    sink = LakehouseSink(DeltaLakeTable(path))
    killed_slots.check_sink(
        lambda s: s.map(Row, row).sink_to(sink),
        lambda: deltalake.DeltaTable(path).to_pyarrow_table()["id"].to_pylist(),
        tmp_path,
        carrier=carrier,
    )
