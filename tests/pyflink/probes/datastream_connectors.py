"""What files, sequences and formats of text are told, and which words refuse what is wrong."""

import tempfile

from pyflink.common import Duration, Types
from pyflink.common.serialization import Encoder, RowFieldExtractorSchema, SimpleStringSchema
from pyflink.datastream.connectors.file_system import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSplitAssignerProvider,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from pyflink.datastream.connectors.hybrid_source import HybridSource
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from pyflink.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from pyflink.table import DataTypes

folder = tempfile.mkdtemp()
encoder = Encoder.simple_string_encoder()
row = Types.ROW([Types.INT(), Types.STRING()])


def source():
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder)


def columns():
    return CsvSchema.builder()


# --- sources of files
made = (
    source()
    .monitor_continuously(Duration.of_seconds(1))
    .process_static_file_set()
    .set_file_enumerator(FileEnumeratorProvider.default_non_splittable_file_enumerator())
    .set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
    .build()
)
print(isinstance(made, FileSource))

# --- sources of files that are refused
line = StreamFormat.text_line_format()
raises(lambda: FileSource.for_record_stream_format(line), Exception, "paths must not be empty")
raises(lambda: FileSource.for_record_stream_format(line, 5), Exception)
raises(lambda: FileSource.for_record_stream_format(line, [folder]), Exception)
raises(lambda: FileSource.for_record_stream_format("x", folder), Exception)
raises(lambda: FileSource.for_bulk_file_format(line, folder), Exception)
for millis in (0, -1):
    interval = Duration.of_millis(millis)
    raises(
        lambda: source().monitor_continuously(interval), Exception, "discoveryInterval must be > 0"
    )
raises(lambda: source().monitor_continuously(None), Exception)
raises(lambda: source().set_file_enumerator(None), Exception)
raises(lambda: source().set_split_assigner(None), Exception)

# --- sinks of files
rows = FileSink.for_row_format(folder, encoder)
rows = rows.with_bucket_check_interval(1000)
rows = rows.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
rows = rows.with_rolling_policy(RollingPolicy.default_rolling_policy(1024, 1000, 1000))
rows = rows.with_output_file_config(OutputFileConfig("a", "b"))
compaction = FileCompactStrategy.builder().set_size_threshold(1).set_num_compact_threads(2).build()
rows = rows.enable_compact(compaction, FileCompactor.concat_file_compactor(b"\n"))
print(isinstance(rows.disable_compact().build(), FileSink))
streaming = StreamingFileSink.for_row_format(folder, encoder).with_bucket_check_interval(1)
print(isinstance(streaming.build(), StreamingFileSink))
print(isinstance(RollingPolicy.on_checkpoint_rolling_policy(), OnCheckpointRollingPolicy))
print(isinstance(RollingPolicy.default_rolling_policy(), DefaultRollingPolicy))

# --- names of files
print(OutputFileConfig("a", "b").get_part_prefix(), OutputFileConfig("a", "b").get_part_suffix())
config = OutputFileConfig.builder().build()
print(config.get_part_prefix(), repr(config.get_part_suffix()))
config = OutputFileConfig.builder().with_part_prefix("p").with_part_suffix(".s").build()
print(config.get_part_prefix(), config.get_part_suffix())
raises(lambda: OutputFileConfig(None, "b"), Exception)
raises(lambda: OutputFileConfig(1, 2), Exception)
raises(lambda: OutputFileConfig(), TypeError)

# --- sinks of files that are refused
raises(lambda: FileSink.for_row_format(None, encoder), Exception)
raises(lambda: FileSink.for_row_format("", encoder), Exception)
raises(lambda: FileSink.for_row_format(folder, None), Exception)
raises(lambda: FileSink.for_row_format(folder, encoder).with_rolling_policy(None), Exception)
raises(lambda: FileSink.for_row_format(folder, encoder).with_bucket_assigner(None), Exception)
raises(lambda: FileSink.for_row_format(folder, encoder).with_output_file_config(None), Exception)
raises(lambda: FileSink.for_row_format(folder, encoder).enable_compact(None, None), Exception)
for size in (0, -1, "1", 1.5, None):
    raises(lambda: RollingPolicy.default_rolling_policy(size), Exception)
raises(lambda: RollingPolicy.default_rolling_policy(1, 0), Exception)
raises(lambda: RollingPolicy.default_rolling_policy(1, 1, 0), Exception)
raises(lambda: BucketAssigner.date_time_bucket_assigner("yyyy", "No/Zone"), Exception)
raises(lambda: BucketAssigner.date_time_bucket_assigner(None), Exception)

# --- compaction that is refused
strategy = FileCompactStrategy.builder
raises(lambda: strategy().build(), Exception, "At least one trigger condition must be configured")
raises(
    lambda: strategy().enable_compaction_on_checkpoint(0),
    Exception,
    "Number of checkpoints before compaction should be more than 0",
)
raises(
    lambda: strategy().set_num_compact_threads(0), Exception, "Compact threads should be more than"
)
raises(lambda: FileCompactor.concat_file_compactor("\n"), Exception)

# --- bulk formats that are refused
bulk = CsvBulkWriters.for_schema(columns().add_string_column("a").build())
words = "rolling_policy must be OnCheckpointRollingPolicy for bulk format"
for policy in (RollingPolicy.default_rolling_policy(), None):
    sink = FileSink.for_bulk_format(folder, bulk)
    raises(lambda: sink.with_rolling_policy(policy), ValueError, words)
raises(lambda: FileSink.for_bulk_format(folder, None), Exception)
raises(lambda: CsvBulkWriters.for_schema(None), Exception)
raises(lambda: CsvReaderFormat.for_schema(None), Exception)

# --- sequences and sources after each other
raises(lambda: NumberSequenceSource(10, 1), Exception, "'from' must be <= 'to'")
for first in ("a", 1.5, None, True):
    raises(lambda: NumberSequenceSource(first, 2), Exception)
hybrid = HybridSource.builder(NumberSequenceSource(1, 5)).add_source(NumberSequenceSource(6, 9))
print(isinstance(hybrid.build(), HybridSource))
raises(lambda: HybridSource.builder(None), Exception)
raises(lambda: HybridSource.builder(NumberSequenceSource(1, 5)).add_source("x"), Exception)

# --- schemas of text
raises(lambda: SimpleStringSchema("no-such"), Exception)
raises(lambda: SimpleStringSchema(None), Exception)
raises(lambda: RowFieldExtractorSchema(-1), ValueError, "Field index must be non-negative, got: -1")
raises(lambda: RowFieldExtractorSchema(None), TypeError)
raises(lambda: RowFieldExtractorSchema("a"), TypeError)

# --- columns of CSV
schema = (
    columns()
    .add_string_column("a")
    .add_number_column("b")
    .add_number_column("c", DataTypes.DOUBLE())
    .add_boolean_column("d")
    .add_array_column("e", "#", DataTypes.INT())
    .build()
)
print(schema, len(schema), schema.size())
print(repr(schema) == str(schema))
settings = (
    columns()
    .add_columns_from(schema)
    .set_use_header()
    .set_skip_first_data_row()
    .set_allow_comments()
    .set_column_separator("|")
    .set_quote_char("'")
    .set_escape_char("\\")
    .set_null_value("null")
    .set_any_property_name("x")
)
print(len(settings), settings.size(), settings.build())
print(settings.clear_columns().build())
print(columns().add_array_column("a", "#").remove_array_element_separator(0).build())
print(columns().add_number_column("a", DataTypes.DECIMAL(5, 2)).build())

# --- columns of CSV that are refused
raises(lambda: columns().set_column_separator("ab"), ValueError, "must be a single char, got ab")
raises(lambda: columns().set_escape_char(""), ValueError, "Escape char must be a single char")
raises(lambda: columns().set_quote_char("ab"), ValueError, "Quote char must be a single char")
for name in ("set_column_separator", "set_escape_char", "set_quote_char"):
    raises(lambda: getattr(columns(), name)(5), TypeError)
raises(lambda: columns().add_array_column("a", ";", "x"), Exception)
raises(lambda: columns().add_number_column("a", 5), Exception)
raises(lambda: columns().add_columns_from(None), Exception)
raises(lambda: columns().add_array_column("a").remove_array_element_separator(7), Exception)

# --- rows of CSV and JSON that are refused
raises(lambda: CsvRowDeserializationSchema.Builder(Types.INT()), Exception)
raises(lambda: CsvRowSerializationSchema.Builder(Types.INT()), Exception)
raises(lambda: CsvRowDeserializationSchema.Builder(row).set_field_delimiter(""), Exception)
raises(lambda: CsvRowSerializationSchema.Builder(row).set_quote_character(""), Exception)
raises(
    lambda: CsvRowSerializationSchema.Builder(row).set_line_delimiter("ab"),
    Exception,
    "Unsupported new line delimiter. Only \\n, \\r, \\r\\n, or empty string are supported",
)
both = JsonRowDeserializationSchema.builder().type_info(row).fail_on_missing_field()
raises(
    lambda: both.ignore_parse_errors().build(),
    Exception,
    "JSON format doesn't support failOnMissingField and ignoreParseErrors are both true",
)
raises(lambda: JsonRowDeserializationSchema.builder().build(), Exception)
raises(
    lambda: JsonRowDeserializationSchema.builder().json_schema("{").build(),
    Exception,
    "Invalid JSON schema.",
)
raises(
    lambda: JsonRowDeserializationSchema.builder().json_schema('{"type": "nix"}').build(),
    Exception,
    "Unsupported type 'nix' in node: <root>",
)
raises(lambda: JsonRowSerializationSchema.builder().build(), TypeError, "Typeinfo should be set")
