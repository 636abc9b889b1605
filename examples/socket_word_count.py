"""Counts words that come over a socket, as they come, until the other end closes it.

Start a server that sends lines, then this program, and type:

    nc -lk 9999
    python examples/socket_word_count.py --port 9999

Prints `(word, count so far)` for every word. Ctrl-C ends it.
"""

import argparse

from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--port", type=int, default=9999)
    arguments = parser.parse_args()

    env = StreamExecutionEnvironment.get_execution_environment()
    (
        env.socket_text_stream(arguments.host, arguments.port)
        .flat_map(lambda line: [(word, 1) for word in line.lower().split()])
        .map(lambda pair: pair, output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0])
        .sum(1)
        .print()
    )
    env.execute("socket word count")


if __name__ == "__main__":
    main()
