"""Functions of bitmaps, as methods of expressions."""

from __future__ import annotations

from typing import Any

from headrace.table.expression_nodes import ExpressionBase, called, unary

__all__ = ["BitmapFunctions"]


class BitmapFunctions(ExpressionBase):
    """Sets of whole numbers of 32 bits without sign."""

    bitmap_build = unary("bitmapBuild", "BITMAP_BUILD", "The bitmap of an array's numbers.")
    bitmap_from_bytes = unary(
        "bitmapFromBytes", "BITMAP_FROM_BYTES", "The bitmap that bytes stand for."
    )
    bitmap_to_bytes = unary("bitmapToBytes", "BITMAP_TO_BYTES", "In Roaring's portable format.")
    bitmap_to_array = unary("bitmapToArray", "BITMAP_TO_ARRAY", "The numbers in order.")
    bitmap_to_string = unary("bitmapToString", "BITMAP_TO_STRING", "As `{1,3,5}`.")
    bitmap_cardinality = unary("bitmapCardinality", "BITMAP_CARDINALITY", "How many numbers.")
    bitmap_build_agg = unary("bitmapBuildAgg", "BITMAP_BUILD_AGG", "The bitmap of all numbers.")
    bitmap_build_cardinality_agg = unary(
        "bitmapBuildCardinalityAgg", "BITMAP_BUILD_CARDINALITY_AGG", "How many different numbers."
    )
    bitmap_and_agg = unary("bitmapAndAgg", "BITMAP_AND_AGG", "What all bitmaps have.")
    bitmap_and_cardinality_agg = unary(
        "bitmapAndCardinalityAgg", "BITMAP_AND_CARDINALITY_AGG", "How many numbers all have."
    )
    bitmap_or_agg = unary("bitmapOrAgg", "BITMAP_OR_AGG", "What any bitmap has.")
    bitmap_or_cardinality_agg = unary(
        "bitmapOrCardinalityAgg", "BITMAP_OR_CARDINALITY_AGG", "How many numbers any has."
    )
    bitmap_xor_agg = unary("bitmapXorAgg", "BITMAP_XOR_AGG", "What an odd number of bitmaps has.")
    bitmap_xor_cardinality_agg = unary(
        "bitmapXorCardinalityAgg",
        "BITMAP_XOR_CARDINALITY_AGG",
        "How many numbers an odd number of bitmaps has.",
    )

    def bitmap_and(self, bitmap2: Any) -> Any:
        """What both bitmaps have."""
        return type(self)(*called("bitmapAnd", "BITMAP_AND", self, bitmap2))

    def bitmap_or(self, bitmap2: Any) -> Any:
        """What one of two bitmaps has."""
        return type(self)(*called("bitmapOr", "BITMAP_OR", self, bitmap2))

    def bitmap_xor(self, bitmap2: Any) -> Any:
        """What only one of two bitmaps has."""
        return type(self)(*called("bitmapXor", "BITMAP_XOR", self, bitmap2))

    def bitmap_andnot(self, bitmap2: Any) -> Any:
        """What the other bitmap does not have."""
        return type(self)(*called("bitmapAndnot", "BITMAP_ANDNOT", self, bitmap2))
