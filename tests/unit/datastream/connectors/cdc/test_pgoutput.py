"""Messages of pgoutput, byte by byte."""

from __future__ import annotations

import struct

import pytest

from headrace.datastream.connectors.cdc import pgoutput as pg
from headrace.datastream.connectors.cdc.postgres import TransactionSnapshot
from headrace.datastream.connectors.cdc.postgres_log import LogTransaction, WalPosition
from headrace.datastream.connectors.cdc.postgres_settings import parsed_lsn


def row(*values: bytes | pg.Unchanged | None) -> bytes:
    parts = [struct.pack("!h", len(values))]
    for value in values:
        if isinstance(value, bytes):
            parts.append(b"t" + struct.pack("!i", len(value)) + value)
        else:
            parts.append(b"n" if value is None else b"u")
    return b"".join(parts)


NUMBER = struct.pack("!I", 4_000_000_000)

MESSAGES = [
    (b"I" + NUMBER + b"N" + row(b"1", None), pg.Insert(4_000_000_000, [b"1", None])),
    (
        b"U" + NUMBER + b"N" + row(b"1", pg.UNCHANGED),
        pg.Update(4_000_000_000, None, [b"1", pg.UNCHANGED]),
    ),
    (
        b"U" + NUMBER + b"O" + row(b"1", b"long") + b"N" + row(b"2", pg.UNCHANGED),
        pg.Update(4_000_000_000, [b"1", b"long"], [b"2", pg.UNCHANGED]),
    ),
    (b"D" + NUMBER + b"K" + row(b"1", None), pg.Delete(4_000_000_000, [b"1", None])),
    (
        b"B" + struct.pack("!qqI", 17, 1_000, 4_294_967_295),
        pg.Begin(17, 946_684_800_001, 4_294_967_295),
    ),
    (b"C" + struct.pack("!Bqqq", 0, 17, 42, 1_000), pg.Commit(42)),
    (
        b"R" + NUMBER + b"public\0" + "bücher\0".encode() + b"f" + struct.pack("!h", 2)
        + b"\1id\0" + struct.pack("!Ii", 23, -1) + b"\0title\0" + struct.pack("!Ii", 25, -1),
        pg.Relation(
            4_000_000_000,
            "public",
            "bücher",
            "f",
            (pg.RelationColumn("id", 23), pg.RelationColumn("title", 25)),
        ),
    ),
    (b"T" + struct.pack("!iBII", 2, 0, 7, 8), pg.Truncate((7, 8))),
    (b"O" + struct.pack("!q", 1) + b"elsewhere\0", None),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), MESSAGES, ids=[m[:1].decode() for m, _ in MESSAGES])
def test_a_message_is_decoded(data: bytes, message: pg.Message | None) -> None:
    assert pg.decode(data) == message


def test_a_place_in_the_log_has_a_text() -> None:
    assert pg.lsn_text(parsed_lsn("16/B374D848")) == "16/B374D848"


@pytest.mark.parametrize(
    ("xid", "seen"), [(9, True), (10, False), (11, True), (14, False), (19, True), (20, False)]
)
@pytest.mark.parametrize("era", [0, 1 << 32, (1 << 33) - 15])
def test_a_chunk_knows_the_transactions_that_it_saw(xid: int, seen: bool, era: int) -> None:
    text = f"{era + 10}:{era + 20}:{era + 10},{era + 14}"
    snapshot = TransactionSnapshot.parse(text, lsn=100)
    in_log = (era + xid) & 0xFFFFFFFF
    assert snapshot.contains(LogTransaction(in_log, commit_lsn=99)) is seen
    assert not snapshot.contains(LogTransaction(in_log, commit_lsn=100))
    assert snapshot.is_before(WalPosition(100))
    assert not snapshot.is_before(WalPosition(99))


def test_a_snapshot_without_running_transactions_has_all_before_it() -> None:
    snapshot = TransactionSnapshot.parse("20:20:", lsn=100)
    assert snapshot.contains(LogTransaction(19, 50))
    assert not snapshot.contains(LogTransaction(20, 50))
