"""Values to and from JSON, CSV, Avro and Arrow: one family of converters for streams and tables.

A declared type, a `TypeInformation` of a stream or a `DataType` of a table, has a `Shape`
(`headrace.formats.shapes`). A module for each format compiles the shape into functions once; these
then run for every value and look nothing up. Streams and tables hold some values differently, a
timestamp as a `datetime` or as microseconds: `Values` says how.
"""

from __future__ import annotations

from headrace.formats import streams as _streams  # noqa: F401 - shapes learn of TypeInformation
