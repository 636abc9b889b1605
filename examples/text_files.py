"""Reads text files and writes text files: a FileSource, a filter and a FileSink.

Takes the lines of a directory that contain a word and writes them, numbered by length, to another
directory; then prints what was written. Without arguments it makes a directory to play with.
"""

import argparse
import tempfile
from pathlib import Path

from headrace.common import Encoder, Types, WatermarkStrategy
from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import (
    FileSink,
    FileSource,
    OutputFileConfig,
    StreamFormat,
)

FILES = {
    "mill.txt": "the miller opens the gate\nwater runs down the race\nthe wheel turns\n",
    "pond.txt": "the water is high\nducks\nno water is lost\n",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", help="directory to read")
    parser.add_argument("--output", help="directory to write")
    parser.add_argument("--word", default="water", help="which lines to keep")
    arguments = parser.parse_args()

    playground = Path(tempfile.mkdtemp(prefix="headrace-text-files-"))
    source, target = arguments.input, arguments.output or str(playground / "out")
    if source is None:
        source = str(playground / "in")
        Path(source).mkdir()
        for name, text in FILES.items():
            Path(source, name).write_text(text)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)

    lines = env.from_source(
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), source).build(),
        WatermarkStrategy.no_watermarks(),
        "text files",
    )
    word = arguments.word
    (
        lines.filter(lambda line: word in line)
        .map(lambda line: f"{len(line)} {line}", output_type=Types.STRING())
        .sink_to(
            FileSink.for_row_format(target, Encoder.simple_string_encoder())
            .with_output_file_config(
                OutputFileConfig.builder()
                .with_part_prefix("lines")
                .with_part_suffix(".txt")
                .build()
            )
            .build()
        )
    )
    env.execute("text files")

    for file in sorted(Path(target).rglob("lines*.txt")):
        print(file.relative_to(target).name.split("-")[0], "...")
        print(file.read_text(), end="")
    print(f"written to {target}")


if __name__ == "__main__":
    main()
