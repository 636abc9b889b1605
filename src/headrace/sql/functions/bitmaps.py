"""Functions of bitmaps; the aggregates among them are in `headrace.sql.codegen.bitmap_recipes`."""

from __future__ import annotations

from headrace.sql.functions.registry import aggregate, scalar

FUNCTIONS = [
    scalar("BITMAP_BUILD", "ints", "bitmap", "bitmaps:build"),
    scalar("BITMAP_FROM_BYTES", "bytes", "bitmap", "bitmaps:from_bytes"),
    scalar("BITMAP_TO_BYTES", "bitmap", "bytes", "bitmaps:to_bytes"),
    scalar("BITMAP_TO_ARRAY", "bitmap", "ints", "bitmaps:to_array"),
    scalar("BITMAP_TO_STRING", "bitmap", "string", "bitmaps:bitmap_text"),
    scalar("BITMAP_CARDINALITY", "bitmap", "bigint", "len({0})"),
    scalar("BITMAP_AND", "bitmap, bitmap", "bitmap", "({0} & {1})"),
    scalar("BITMAP_OR", "bitmap, bitmap", "bitmap", "({0} | {1})"),
    scalar("BITMAP_XOR", "bitmap, bitmap", "bitmap", "({0} ^ {1})"),
    scalar("BITMAP_ANDNOT", "bitmap, bitmap", "bitmap", "({0} - {1})"),
    aggregate("BITMAP_BUILD_AGG", "int", "bitmap?"),
    aggregate("BITMAP_BUILD_CARDINALITY_AGG", "int", "bigint?"),
    aggregate("BITMAP_AND_AGG", "bitmap", "bitmap?"),
    aggregate("BITMAP_AND_CARDINALITY_AGG", "bitmap", "bigint?"),
    aggregate("BITMAP_OR_AGG", "bitmap", "bitmap?"),
    aggregate("BITMAP_OR_CARDINALITY_AGG", "bitmap", "bigint?"),
    aggregate("BITMAP_XOR_AGG", "bitmap", "bitmap?"),
    aggregate("BITMAP_XOR_CARDINALITY_AGG", "bitmap", "bigint?"),
]
