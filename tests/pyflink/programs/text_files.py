"""Read lines from files and write rows to files, in streaming and in batch mode."""

import os
import re
import tempfile

from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    FileSource,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)

folder = tempfile.mkdtemp()
source = os.path.join(folder, "in")
os.makedirs(os.path.join(source, "deeper"))
for name, text in {
    "a.txt": "x y\nz\n\nlast without an end",
    "b.txt": "carriage\r\nreturn\n",
    ".hidden": "never read\n",
    "_hidden": "never read either\n",
    "deeper/c.txt": "in a folder\n",
}.items():
    with open(os.path.join(source, name), "w", newline="") as file:
        file.write(text)


def read(env):
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), source)
    stream = lines.process_static_file_set().build()
    return env.from_source(stream, WatermarkStrategy.no_watermarks(), "lines")


def sink(name):
    encoder = Encoder.simple_string_encoder()
    return FileSink.for_row_format(os.path.join(folder, name), encoder)


for mode in (RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(mode)
    env.set_parallelism(1)
    out = f"out-{mode.name}"
    lines = read(env)
    print(lines.get_type())
    lines.map(repr).print("line")
    lines.map(lambda line: (line, len(line)), Types.TUPLE([Types.STRING(), Types.INT()])).sink_to(
        sink(out)
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.default_rolling_policy())
        .with_output_file_config(
            OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".txt").build()
        )
        .build()
    )
    lines.filter(lambda line: line == "z").sink_to(sink(out + "-bucket").build())
    env.execute()
    for part in sorted(os.listdir(os.path.join(folder, out))):
        print(bool(re.fullmatch(r"\.?pre-[0-9a-f-]{36}-0\.txt(\.inprogress\..*)?", part)))
        with open(os.path.join(folder, out, part)) as file:
            print(*sorted(file.read().splitlines()), sep="\n")
    buckets = os.listdir(os.path.join(folder, out + "-bucket"))
    print(len(buckets), bool(re.fullmatch(r"\d{4}-\d\d-\d\d--\d\d", buckets[0])))
    parts = os.listdir(os.path.join(folder, out + "-bucket", buckets[0]))
    print(bool(re.fullmatch(r"\.?part-[0-9a-f-]{36}-0(\.inprogress\..*)?", parts[0])))
