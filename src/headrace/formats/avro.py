"""Avro: records in binary form, by a schema. Needs `pip install 'headrace[avro]'`."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

from headrace.common.errors import HeadraceError

__all__ = ["fastavro", "record_reader", "record_writer"]


def fastavro() -> Any:
    """The library, or an error that says how to get it."""
    try:
        import fastavro
    except ImportError:
        raise HeadraceError(
            "Avro needs the package fastavro: pip install 'headrace[avro]'"
        ) from None
    _complete(fastavro)
    return fastavro


@cache
def _complete(library: Any) -> None:
    """Gives the library the codecs for which it wants packages of its own: Arrow has them."""
    readers, writers = library.read._read.BLOCK_READERS, library.write._write.BLOCK_WRITERS
    read, write = readers["null"], writers["null"]
    for codec, (compress, decompress) in _CODECS.items():
        readers[codec] = _reading(read, decompress)
        writers[codec] = _writing(write, compress)


def _reading(read: Any, decompress: Callable[[bytes], bytes]) -> Any:
    return lambda source: io.BytesIO(decompress(read(source).read()))


def _writing(write: Any, compress: Callable[[bytes], bytes]) -> Any:
    return lambda target, block, level: write(target, compress(block), level)


_CHECKSUM = 4


def _snappy(block: bytes) -> bytes:
    import pyarrow as pa

    packed: bytes = pa.Codec("snappy").compress(block, asbytes=True)
    return packed + zlib.crc32(block).to_bytes(_CHECKSUM, "big")


def _from_snappy(data: bytes) -> bytes:
    import pyarrow as pa

    packed, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
    block: bytes = pa.Codec("snappy").decompress(packed, _length(packed), asbytes=True)
    if zlib.crc32(block).to_bytes(_CHECKSUM, "big") != checksum:
        raise ValueError("a block does not have the checksum that was written with it")
    return block


def _length(packed: bytes) -> int:
    """The length that snappy writes first, seven bits to a byte."""
    length = 0
    for place, byte in enumerate(packed):
        length |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            break
    return length


def _zstandard(block: bytes) -> bytes:
    import pyarrow as pa

    packed: bytes = pa.Codec("zstd").compress(block, asbytes=True)
    return packed


def _from_zstandard(data: bytes) -> bytes:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        block: bytes = stream.read()
    return block


_CODECS = {"snappy": (_snappy, _from_snappy), "zstandard": (_zstandard, _from_zstandard)}


def record_reader(schema: Any, whole: bool = False) -> Callable[[bytes], Any]:
    """A function from a message without a header to a record of a parsed schema.

    Args:
        schema: What fastavro made of the schema.
        whole: Whether the record must be the whole message. Otherwise fields that a newer schema
            has after the last one are passed over, as in Flink.
    """
    read = fastavro().schemaless_reader

    def record(message: bytes) -> Any:
        stream = io.BytesIO(message)
        found = read(stream, schema, None)
        if whole and stream.read(1):
            raise ValueError(f"{len(message) - stream.tell() + 1} bytes are left over")
        return found

    return record


def record_writer(schema: Any) -> Callable[[Any], bytes]:
    """A function from a record of a parsed schema to a message without a header."""
    write = fastavro().schemaless_writer

    def message(record: Any) -> bytes:
        stream = io.BytesIO()
        write(stream, schema, record)
        return stream.getvalue()

    return message
