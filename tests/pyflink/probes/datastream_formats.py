"""Parquet, ORC and Avro, whose jars PyFlink must be given to record this."""

import datetime
import os
import tempfile
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
from pyflink.common import Configuration, Instant, Row, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink, FileSource
from pyflink.datastream.formats.avro import (
    AvroBulkWriters,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from pyflink.datastream.formats.orc import OrcBulkWriters
from pyflink.datastream.formats.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from pyflink.table import DataTypes

folder = tempfile.mkdtemp()
row_type = DataTypes.ROW(
    [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING())]
)
record = AvroSchema.parse_string(
    '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
)
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)


def read(path, kind, **settings):
    declared = DataTypes.ROW([DataTypes.FIELD("f", kind)])
    rows = ParquetColumnarRowInputFormat(declared, **settings)
    stream = env.from_source(
        FileSource.for_bulk_file_format(rows, path).build(),
        WatermarkStrategy.no_watermarks(),
        "read",
    )
    with stream.map(lambda r: shown(r[0]), Types.STRING()).execute_and_collect() as results:
        print(*results, sep="\n")


def shown(value):
    text = value
    if isinstance(value, datetime.datetime):
        text = (value.astimezone(datetime.UTC) if value.tzinfo else value).isoformat()
    return f"{type(value).__name__} {text!r}"


def written(name, kind, type_info, *values):
    path = os.path.join(folder, name)
    declared = DataTypes.ROW([DataTypes.FIELD("f", kind)])
    rows = env.from_collection([Row(f=v) for v in values], Types.ROW_NAMED(["f"], [type_info]))
    writers = ParquetBulkWriters.for_row_type(declared, utc_timestamp=True)
    rows.sink_to(FileSink.for_bulk_format(path, writers).build())
    env.execute()
    return path


# --- an instant that is written and read
instants = [Instant.of_epoch_milli(1614834367123), Instant(0, 5000000)]
kind = DataTypes.TIMESTAMP_LTZ(3)
path = written("ltz", kind, Types.INSTANT(), *instants)
read(path, kind, is_utc_timestamp=True)

# --- old timestamps of Parquet
times = pa.table({"f": pa.array([datetime.datetime(2021, 3, 4, 5, 6, 7)], pa.timestamp("us"))})
path = os.path.join(folder, "int96.parquet")
pq.write_table(times, path, use_deprecated_int96_timestamps=True)
read(path, DataTypes.TIMESTAMP(6), is_utc_timestamp=True)
read(path, DataTypes.TIMESTAMP_LTZ(6), is_utc_timestamp=True)

# --- decimals and arrays in Parquet
kind = DataTypes.DECIMAL(10, 2)
read(written("decimal", kind, Types.BIG_DEC(), Decimal("1.05"), Decimal("1.055")), kind)
kind = DataTypes.ARRAY(DataTypes.STRING())
read(written("array", kind, Types.OBJECT_ARRAY(Types.STRING()), ["a", "b"], []), kind)

# --- formats that are refused
words = "row_type must be an instance of RowType"
raises(lambda: OrcBulkWriters.for_row_type(5), TypeError, words)
raises(lambda: OrcBulkWriters.for_row_type(None), TypeError, words)
raises(lambda: ParquetBulkWriters.for_row_type(5), TypeError, "Unsupported data type: 5")
raises(lambda: ParquetColumnarRowInputFormat(None), TypeError, "Unsupported data type: None")
raises(lambda: ParquetColumnarRowInputFormat(row_type, batch_size="a"), Exception)
for take in (
    AvroBulkWriters.for_generic_record,
    AvroParquetReaders.for_generic_record,
    AvroParquetWriters.for_generic_record,
    GenericRecordAvroTypeInfo,
):
    raises(lambda: take(None), Exception)
raises(lambda: AvroSchema.parse_string("{"), Exception)
raises(lambda: AvroSchema.parse_string('{"type": "nix"}'), Exception)
raises(lambda: AvroSchema.parse_string(None), Exception)
raises(lambda: AvroSchema.parse_file(os.path.join(folder, "none.avsc")), Exception)
for schema in (AvroRowDeserializationSchema, AvroRowSerializationSchema):
    raises(lambda: schema(), TypeError, "record_class or avro_schema_string should be specified")
    raises(lambda: schema(avro_schema_string="{"), Exception, "Could not parse Avro schema string.")
    raises(lambda: schema(record_class="a.b.C"), Exception)

# --- formats with settings
OrcBulkWriters.for_row_type(row_type, Configuration(), Configuration())
ParquetColumnarRowInputFormat(row_type, Configuration(), 10, True, False)
AvroParquetWriters.for_generic_record(record)
print("made")
