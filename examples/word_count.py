"""Counts words: flat_map, key_by, reduce, in batch mode.

Prints one line for each word, `(word, count)`. Give it a text to count the words of your own:

    python examples/word_count.py --input README.md
"""

import argparse

from headrace.common import Types
from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

TEXT = [
    "The water comes down the headrace and turns the wheel",
    "the wheel turns the stone and the stone grinds the corn",
    "and the water goes down the tailrace",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--input", help="a text file, or a directory of them")
    arguments = parser.parse_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)

    lines = env.read_text_file(arguments.input) if arguments.input else env.from_collection(TEXT)
    (
        lines.flat_map(lambda line: line.lower().split())
        .map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .print()
    )
    env.execute("word count")


if __name__ == "__main__":
    main()
