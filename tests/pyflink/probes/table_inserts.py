"""What sinks take: implicit casts, lengths, NULL, other tables."""

import os
import tempfile

from pyflink.table import (
    EnvironmentSettings,
    Schema,
    TableDescriptor,
    TableEnvironment,
)

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set_local_timezone("Asia/Tokyo")
t_env.get_config().set("parallelism.default", "1")
count = 0


def stored(type_, value):
    global count
    count += 1
    folder = tempfile.mkdtemp()
    t_env.execute_sql(
        f"CREATE TEMPORARY TABLE sink{count} (x {type_}) WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv')"
    )
    try:
        t_env.execute_sql(f"INSERT INTO sink{count} SELECT {value}").wait()
    except Exception as error:
        text = str(error)
        for words in [
            "Incompatible types for sink column",
            "do not match",
            "NULL",
            "not comparable",
            "Column types of query result and sink",
            "Cannot apply",
        ]:
            if words in text:
                print(type_, value, "refused:", words)
                return
        print(type_, value, "refused")
        return
    lines = []
    for name in sorted(os.listdir(folder)):
        if not name.startswith("."):
            lines += open(os.path.join(folder, name)).read().splitlines()
    print(type_, value, lines)


descriptor = (
    TableDescriptor.for_connector("datagen")
    .schema(Schema.new_builder().column("a", "INT").build())
    .option("number-of-rows", "1")
    .build()
)

# --- implicit casts in sinks
for type_, value in [
    ("BIGINT", "1"),
    ("INT", "CAST(1 AS BIGINT)"),
    ("DOUBLE", "1"),
    ("INT", "1.5"),
    ("STRING", "1"),
    ("INT", "'1'"),
    ("DECIMAL(5, 2)", "1"),
    ("DECIMAL(3, 1)", "1.25"),
    ("FLOAT", "1.1"),
    ("TINYINT", "300"),
    ("DATE", "TIMESTAMP '2020-01-02 03:04:05'"),
    ("TIMESTAMP(3)", "DATE '2020-01-02'"),
    ("TIMESTAMP(0)", "TIMESTAMP '2020-01-02 03:04:05.678'"),
    ("TIMESTAMP_LTZ(3)", "TIMESTAMP '2020-01-02 03:04:05'"),
    ("TIMESTAMP(3)", "TO_TIMESTAMP_LTZ(0, 3)"),
    ("TIME", "TIME '01:02:03'"),
    ("BOOLEAN", "1"),
    ("STRING", "TRUE"),
    ("BYTES", "'ab'"),
    ("STRING", "x'6162'"),
    ("STRING", "DATE '2020-01-02'"),
    ("DATE", "'2020-01-02'"),
    ("INT", "TRUE"),
    ("BIGINT", "DATE '2020-01-02'"),
]:
    stored(type_, value)

# --- lengths in sinks
for type_, value in [
    ("CHAR(3)", "'abcdef'"),
    ("CHAR(5)", "'ab'"),
    ("VARCHAR(2)", "'abcdef'"),
    ("CHAR(1)", "CAST('abc' AS STRING)"),
]:
    stored(type_, value)
t_env.get_config().set("table.exec.sink.type-length-enforcer", "TRIM_PAD")
for type_, value in [
    ("CHAR(3)", "'abcdef'"),
    ("CHAR(5)", "'ab'"),
    ("VARCHAR(2)", "'abcdef'"),
    ("BINARY(1)", "x'6162'"),
]:
    stored(type_, value)
t_env.get_config().set("table.exec.sink.type-length-enforcer", "ERROR")
for type_, value in [("CHAR(3)", "'abcdef'"), ("VARCHAR(2)", "'ab'")]:
    stored(type_, value)
t_env.get_config().set("table.exec.sink.type-length-enforcer", "IGNORE")

# --- more casts in sinks
for type_, value in [
    ("BIGINT", "INTERVAL '1' DAY"),
    ("INT", "INTERVAL '3' DAY"),
    ("STRING", "INTERVAL '1' DAY"),
    ("DOUBLE", "INTERVAL '1' DAY"),
    ("SMALLINT", "CAST(1 AS TINYINT)"),
    ("SMALLINT", "1"),
    ("DECIMAL(10, 2)", "1.5E0"),
    ("FLOAT", "1.5E0"),
    ("FLOAT", "1"),
    ("DOUBLE", "1.5"),
    ("TIME", "TIMESTAMP '2020-01-02 03:04:05'"),
    ("TIMESTAMP(3)", "TIME '01:02:03'"),
    ("DATE", "TO_TIMESTAMP_LTZ(0, 3)"),
    ("VARCHAR(3)", "CAST('abc' AS STRING)"),
    ("CHAR(3)", "CAST('abc' AS VARCHAR(3))"),
    ("STRING", "CAST('ab' AS CHAR(3))"),
]:
    stored(type_, value)


# --- values that are inserted
def inserted(type_, value):
    global count
    count += 1
    t_env.execute_sql(
        f"CREATE TEMPORARY TABLE sink{count} (x {type_}) WITH ('connector' = 'blackhole')"
    )
    try:
        t_env.execute_sql(f"INSERT INTO sink{count} VALUES ({value})").wait()
        print(type_, value, "taken")
    except Exception as error:
        print(
            type_,
            value,
            "refused"
            if "Incompatible types for sink column 'x' at position 1." in str(error)
            else "otherwise",
        )


for type_, value in [
    ("TINYINT", "3"),
    ("SMALLINT", "300"),
    ("FLOAT", "1.5"),
    ("INT", "1.5"),
    ("STRING", "1"),
    ("DATE", "DATE '2020-01-02'"),
    ("BIGINT", "1"),
    ("DECIMAL(3, 1)", "1.25"),
]:
    inserted(type_, value)
