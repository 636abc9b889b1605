"""Lines of JSON and CSV as tables, those among them that are not quite right, and back."""

import os
import tempfile

from pyflink.table import EnvironmentSettings, TableEnvironment

folder = tempfile.mkdtemp()
settings = EnvironmentSettings.in_batch_mode()


def tables():
    made = TableEnvironment.create(settings)
    made.get_config().set("parallelism.default", "1").set("table.local-time-zone", "UTC")
    return made


def declared(t_env, name, columns, form, **options):
    given = {f"{form}.{k.replace('__', '.').replace('_', '-')}": v for k, v in options.items()}
    more = "".join(f", '{k}' = '{v}'" for k, v in given.items())
    path = os.path.join(folder, name)
    t_env.execute_sql(
        f"CREATE TABLE {name} ({columns}) WITH "
        f"('connector' = 'filesystem', 'path' = '{path}', 'format' = '{form}'{more})"
    )
    return path


def read(name, lines, columns, form, shown="*", **options):
    t_env = tables()
    path = declared(t_env, name, columns, form, **options)
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
    with t_env.execute_sql(f"SELECT {shown} FROM {name}").collect() as rows:
        for row in rows:
            print(list(row))


def written(name, columns, form, values, **options):
    t_env = tables()
    path = declared(t_env, name, columns, form, **options)
    t_env.execute_sql(f"INSERT INTO {name} {values}").wait()
    for file in sorted(os.listdir(path)):
        with open(os.path.join(path, file), encoding="utf-8") as lines:
            print(lines.read(), end="")


ignored = {"ignore_parse_errors": "true"}

# --- documents of JSON
documents = [
    '{"a": 1, "s": "x"}',
    '[{"a": 2}, {"a": 3, "s": "y"}]',
    "[]",
    "nonsense",
    "5",
    '{"a": 4} and more',
    '{"a": NaN}',
    '{"s": "tab\there"}',
    '{"s": 1e2}',
    '{"s": 12345678901234567890.123456789}',
    '{"s": {"n": [1, null], "t": "\u00e4"}}',
    '{"a": "7", "s": true}',
    '{"a": 1.9}',
    '{"a": "x", "s": "kept"}',
    '{"a": 2147483648}',
]
read("documents", documents, "a INT, s STRING", "json", **ignored)

# --- parts of JSON that do not fit
parts = [
    '{"a": [1, "x", null], "m": {"k": "y", "l": 2}, "r": {"x": "z", "y": 1}}',
    '{"a": {}, "m": {}}',
    '{"r": {}}',
]
columns = "a ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT, y INT>"
shown = "CAST(a AS STRING), m['k'], m['l'], CAST(r AS STRING)"
read("parts", parts, columns, "json", shown, **ignored)

# --- times in JSON
texts = {
    "da": ["2024-02-29", "2024-2-9", "2024", "2024-02-29 00:00:00"],
    "ti": ["01:02:03", "01:02:03.5", "1:2:3", "01:02"],
    "ts": ["2024-01-01 00:00:00", "2024-01-01 00:00:00.123456789", "2024-01-01 00:00"],
    "lz": ["2024-01-01 00:00:00Z", "2024-01-01 00:00:00", "2024-01-01 00:00:00+01:00"],
}
texts["ts"] += ["2024-01-01", "2024-01-01T00:00:00", " 2024-01-01 00:00:00"]
columns = "da DATE, ti TIME(3), ts TIMESTAMP(6), lz TIMESTAMP_LTZ(3)"
shown = ", ".join(f"CAST({name} AS STRING)" for name in texts)
lines = [f'{{"{name}": "{text}"}}' for name, found in texts.items() for text in found]
read("times", lines, columns, "json", shown, **ignored)
texts = ["2024-01-01T00:00:00", "2024-01-01T00:00", "2024-01-01T00:00:00.5", "2024-01-01 00:00:00"]
lines = [f'{{"ts": "{text}", "lz": "{text}{zone}"}}' for text in texts for zone in ("", "Z")]
iso = {**ignored, "timestamp_format__standard": "ISO-8601"}
shown = "CAST(ts AS STRING), CAST(lz AS STRING)"
read("iso", lines, "ts TIMESTAMP(6), lz TIMESTAMP_LTZ(3)", "json", shown, **iso)

# --- lines of CSV
lines = ["1,x", "2", "3,y,", "4,z,more", ",", '5,"a""b"', "b,kept", " 6 , c ", "7,"]
read("lines", lines, "a INT, s STRING", "csv", **ignored)
read("trimmed", lines, "a INT, s STRING", "csv", trim_spaces="true", **ignored)
read("cut", lines, "a INT, s STRING", "csv", ignore_trailing_unmappable="true", **ignored)
read("strict", lines, "a INT, s STRING", "csv", allow_trailing_comma="false", **ignored)
read("whole", lines, "a INT, s STRING", "csv", fail_on_missing_columns="true", **ignored)
read("nothing", lines, "a INT, s STRING", "csv", empty_string_as_null="true", **ignored)

# --- parts of CSV that do not fit
lines = ["1;x;2,1;2,true", "1,x;2,", "1,1;2;3,1", ",1,TRUE"]
columns = "a ARRAY<INT>, r ROW<x INT, y INT>, b BOOLEAN"
read("fields", lines, columns, "csv", "CAST(a AS STRING), CAST(r AS STRING), b", **ignored)

# --- times in CSV
texts = {
    "da": ["2024-02-29", "2024-2-9", "2024"],
    "ti": ["01:02:03", "01:02", "01:02:03.5", "1:2:3"],
    "ts": ["2024-01-01 00:00:00", " 2024-01-01 00:00:00.5 ", "2024-01-01", "2024-1-1 0:0:0"],
    "lz": ["2024-01-01 00:00:00Z", "2024-01-01 00:00:00"],
}
names = list(texts)
columns = "da DATE, ti TIME(3), ts TIMESTAMP(6), lz TIMESTAMP_LTZ(3)"
shown = ", ".join(f"CAST({name} AS STRING)" for name in names)
pairs = [(name, text) for name, found in texts.items() for text in found]
lines = [",".join(text if name == n else "" for n in names) for name, text in pairs]
read("stamps", lines, columns, "csv", shown, **ignored)

# --- decimals that are written
large = "CAST('1234567890123456789012345678.0123456789' AS DECIMAL(38, 10))"
values = f"SELECT {large}, CAST(1000 AS DECIMAL(10, 0)), CAST(3.20 AS DECIMAL(10, 2))"
columns = "a DECIMAL(38, 10), b DECIMAL(10, 0), c DECIMAL(10, 2)"
written("large_json", columns, "json", values)
written("plain_json", columns, "json", values, encode__decimal_as_plain_number="true")
written("large_csv", columns, "csv", values)

# --- texts that are quoted in CSV
values = "SELECT * FROM (VALUES ('a b'), ('a\\b'), ('it''s'), ('x'), ('a;b'), ('a,b')) AS v(s)"
written("quoted", "s STRING", "csv", values)
