"""Formats of rows in text and bytes: `'format' = 'json'` in WITH finds one here."""

from __future__ import annotations

from headrace.sql.formats.base import Decoder, Encoder, FormatOptions, decoder_for, encoder_for

__all__ = ["Decoder", "Encoder", "FormatOptions", "decoder_for", "encoder_for"]
