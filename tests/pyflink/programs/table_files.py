"""Files and archives of table programs reach their functions, also by configuration."""

import os
import sys
import tempfile
import zipfile

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import ScalarFunction, udf, udtf

folder = tempfile.mkdtemp()


def stored(name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


module = stored("brought_numbers.py", "FACTOR = 7\n")
stored("files/brought_words/__init__.py", "NAME = 'package'\n")
with zipfile.ZipFile(os.path.join(folder, "data.zip"), "w") as archive:
    archive.writestr("inner/words.txt", "from the archive")
with zipfile.ZipFile(os.path.join(folder, "zipped.zip"), "w") as archive:
    archive.writestr("brought_zipped.py", "TEXT = 'zipped'\n")

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.add_python_file(module)
t_env.add_python_file(os.path.join(folder, "files"))
t_env.add_python_file(os.path.join(folder, "zipped.zip"))
t_env.add_python_archive(os.path.join(folder, "data.zip"))
t_env.add_python_archive(os.path.join(folder, "data.zip"), "renamed")


@udf(result_type=DataTypes.STRING())
def use(i):
    import brought_numbers
    import brought_words
    import brought_zipped

    with open("data.zip/inner/words.txt") as file:
        text = file.read()
    with open("renamed/inner/words.txt") as file:
        same = file.read() == text
    return f"{i * brought_numbers.FACTOR} {brought_words.NAME} {brought_zipped.TEXT} {text} {same}"


class Opened(ScalarFunction):
    def open(self, function_context):
        import brought_numbers

        self.factor = brought_numbers.FACTOR

    def eval(self, i):
        return i * self.factor


@udtf(result_types=[DataTypes.INT()])
def times(i):
    import brought_numbers

    yield from range(brought_numbers.FACTOR, brought_numbers.FACTOR + i)


@udf(result_type=DataTypes.BIGINT(), func_type="pandas")
def scaled(i):
    import brought_numbers

    return i * brought_numbers.FACTOR


numbers = t_env.from_elements([(1,), (2,)], ["i"])
for query in (
    numbers.select(use(col("i"))),
    numbers.select(udf(Opened(), result_type=DataTypes.BIGINT())(col("i")), scaled(col("i"))),
    numbers.join_lateral(times(col("i")).alias("n")),
):
    with query.execute().collect() as results:
        for row in results:
            print(row)

# The same by configuration, and a function that SQL names.
stored(
    "more/brought_sql.py",
    """
from pyflink.table import DataTypes
from pyflink.table.udf import udf


@udf(result_type=DataTypes.INT())
def more(i):
    return i + 100
""",
)
t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set("python.files", os.path.join(folder, "more"))
t_env.get_config().set("python.archives", os.path.join(folder, "data.zip") + "#again")
sys.path.insert(0, os.path.join(folder, "more"))
t_env.execute_sql("CREATE TEMPORARY FUNCTION more AS 'brought_sql.more' LANGUAGE PYTHON")
t_env.execute_sql("SELECT more(x) AS y FROM (VALUES (1), (2)) AS t (x)").print()


@udf(result_type=DataTypes.STRING())
def read(i):
    with open("again/inner/words.txt") as file:
        return file.read()


t_env.from_elements([(1,)], ["i"]).select(read(col("i")).alias("r")).execute().print()
