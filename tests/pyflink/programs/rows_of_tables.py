"""Rows of tables as streams that are printed, and functions of tables with files of the program."""

import datetime
import os
import tempfile
import zipfile

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, StreamTableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udf

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "brought_module.py"), "w") as file:
    file.write("FACTOR = 7\n")
with open(os.path.join(folder, "brought_too.py"), "w") as file:
    file.write("NAME = 'set'\n")
with zipfile.ZipFile(os.path.join(folder, "data.zip"), "w") as archive:
    archive.writestr("inner/words.txt", "from the archive")


@udf(result_type=DataTypes.STRING())
def brought(value):
    import brought_module
    import brought_too

    with open("data/inner/words.txt") as file:
        return f"{value * brought_module.FACTOR} {brought_too.NAME} {file.read()}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("python.files", os.path.join(folder, "brought_too.py"))
t_env.add_python_file(os.path.join(folder, "brought_module.py"))
t_env.add_python_archive(os.path.join(folder, "data.zip"), "data")

table = t_env.from_elements(
    [
        (
            1,
            "a",
            1.5,
            True,
            datetime.date(2020, 1, 2),
            datetime.time(3, 4, 5),
            datetime.datetime(2020, 1, 2, 3, 4, 5, 678000),
            [1.0, None],
            {"k": 1},
            Row(1, "x"),
            bytearray(b"xyz"),
        ),
        (None,) * 11,
    ],
    DataTypes.ROW(
        [
            DataTypes.FIELD("i", DataTypes.BIGINT()),
            DataTypes.FIELD("s", DataTypes.STRING()),
            DataTypes.FIELD("d", DataTypes.DOUBLE()),
            DataTypes.FIELD("b", DataTypes.BOOLEAN()),
            DataTypes.FIELD("day", DataTypes.DATE()),
            DataTypes.FIELD("t", DataTypes.TIME()),
            DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)),
            DataTypes.FIELD("xs", DataTypes.ARRAY(DataTypes.DOUBLE())),
            DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
            DataTypes.FIELD(
                "r",
                DataTypes.ROW(
                    [
                        DataTypes.FIELD("x", DataTypes.BIGINT()),
                        DataTypes.FIELD("y", DataTypes.STRING()),
                    ]
                ),
            ),
            DataTypes.FIELD("bin", DataTypes.BYTES()),
        ]
    ),
)
t_env.to_data_stream(table).print("data")
words = t_env.from_elements([("a", 1), ("b", 2), ("a", 3)], ["w", "n"])
counts = words.group_by(col("w")).select(col("w"), col("n").sum.alias("n"))
t_env.to_changelog_stream(counts).print("changelog")
pair = Types.ROW([Types.STRING(), Types.LONG()])
t_env.to_append_stream(words, pair).print("append")
t_env.to_append_stream(words, Types.TUPLE([Types.STRING(), Types.LONG()])).print("tuples")
t_env.to_retract_stream(counts, pair).print("retract")
t_env.to_data_stream(words).map(lambda r: r).print("mapped")
t_env.to_data_stream(words).filter(lambda r: r.n > 1).print("filtered")
t_env.to_data_stream(words.select(brought(col("n")))).print("files")
env.execute()
