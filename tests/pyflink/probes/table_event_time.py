"""What comes of rows with times: in which order, and of rows that come too late."""

import time

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set_local_timezone("UTC")

KINDS = {
    "+I": RowKind.INSERT,
    "-U": RowKind.UPDATE_BEFORE,
    "+U": RowKind.UPDATE_AFTER,
    "-D": RowKind.DELETE,
}
NAMES = {kind: text for text, kind in KINDS.items()}
SECOND_WAITS = 1.0 if StreamExecutionEnvironment.__module__.startswith("pyflink") else 0.0
ROW = Types.ROW_NAMED(
    ["id", "k", "v", "t"], [Types.INT(), Types.STRING(), Types.INT(), Types.INT()]
)


def view(name, delay, text, key=None, second=False):
    """A table of rows `key value second`, whose watermark waits; a second one begins later."""
    rows = []
    for number, change in enumerate(text.split(";")):
        kind, k, v, t = change.split()
        values = [None if x == "null" else x for x in (k, v)]
        rows.append(
            Row.of_kind(KINDS[kind], number, values[0], values[1] and int(values[1]), int(t))
        )

    def later(number):
        if number < 0:
            return
        if number == 0:
            time.sleep(SECOND_WAITS)
        yield rows[number]

    if second:
        stream = env.from_collection(list(range(-1000, len(rows))), Types.INT())
        stream = stream.flat_map(later, ROW)
    else:
        stream = env.from_collection(rows, ROW)
    schema = (
        Schema.new_builder()
        .column("id", "INT")
        .column("k", "STRING NOT NULL" if key else "STRING")
        .column("v", "INT")
        .column("t", "INT")
        .column_by_expression("rt", "TO_TIMESTAMP_LTZ(t * 1000, 3)")
        .watermark("rt", f"rt - INTERVAL '{delay}' SECOND")
    )
    if key:
        schema = schema.primary_key(key)
    if {r.get_row_kind() for r in rows} == {RowKind.INSERT}:
        table = t_env.from_data_stream(stream, schema.build())
    else:
        table = t_env.from_changelog_stream(stream, schema.build())
    t_env.create_temporary_view(name, table)


def show(*queries, by_time=True):
    """What queries give, all in one job; Flink has rows of one time in the order of a hash table."""
    parts = []
    for number, query in enumerate(queries):
        columns = t_env.sql_query(query).get_schema().get_field_names()
        row = ", ".join(f"`{c}`" for c in columns)
        parts.append(f"SELECT {number} AS q, CAST(ROW({row}) AS STRING) AS t FROM ({query})")
    with t_env.sql_query(" UNION ALL ".join(parts)).execute().collect() as results:
        rows = [(row[0], f"{NAMES[row.get_row_kind()]} {row[1]}") for row in results]
    for number, query in enumerate(queries):
        print("--", query)
        found = [text for place, text in rows if place == number]
        print(*(found if by_time else sorted(found)), sep="\n")


view(
    "g",
    1,
    "+I null 1 7; +I b 2 9; +I b 4 14; +I b 3 13; +I null 3 18; +I a 3 17; +I null 1 18; "
    "+I a 4 18; +I b 1 13; +I b 5 19; +I a 3 21; +I null 3 24; +I b 5 25; +I a 4 25; +I a 2 26",
)
view("l", 0, "+I a 1 5; +I b 2 5; +I a 3 8; +I a 4 12; +I c 5 13; +I b 6 20; +I a 7 22")
view(
    "r",
    0,
    "+I a 1 9; +I a 2 13; +I a 3 5; +I b 4 8; +I b 5 3; +I a 6 11; +I a 7 12; +I c 8 20; "
    "+I c 9 14; +I a 10 23; +I b 11 19; +I c 12 12; +I a 13 8; +I a 14 22",
    second=True,
)

# --- the first row of a key
show(
    "SELECT id, k, v, t FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY rt) AS n FROM g) "
    "WHERE n = 1",
    "SELECT id, k, v, t FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY v ORDER BY rt) AS n FROM g) "
    "WHERE n = 1",
    "SELECT id, k, v, t FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, v ORDER BY rt) AS n "
    "FROM g) WHERE n = 1",
    "SELECT COUNT(*), SUM(v) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY rt) AS n "
    "FROM g) WHERE n = 1",
)

# --- late rows of interval joins
bounds = (
    "l.rt BETWEEN r.rt - INTERVAL '2' SECOND AND r.rt + INTERVAL '2' SECOND",
    "l.rt BETWEEN r.rt AND r.rt + INTERVAL '4' SECOND AND l.v <> r.v",
    "l.rt BETWEEN r.rt + INTERVAL '1' SECOND AND r.rt + INTERVAL '2' SECOND",
    "l.rt = r.rt",
)
show(
    *(
        f"SELECT l.id AS a, r.id AS b FROM l {kind} JOIN r ON l.k = r.k AND {bound}"
        for kind in ("INNER", "LEFT", "RIGHT", "FULL")
        for bound in bounds
    ),
    by_time=False,
)

# --- rows of all keys in the order of time
overs = (
    "SELECT id, k, v, t, SUM(v) OVER (PARTITION BY k ORDER BY rt) AS s FROM g",
    "SELECT id, k, v, t, COUNT(*) OVER (PARTITION BY v ORDER BY rt ROWS BETWEEN 1 PRECEDING AND "
    "CURRENT ROW) AS s FROM g",
)
show(*overs, by_time=False)
show(*(f"SELECT t FROM ({query}) WHERE s > 0" for query in overs))

# --- parentheses in patterns
queries = []
for pattern in ("(A B)", "A (B)", "((A) B)", "(A)+ B", "A (B+? C)", "(A B*?) C"):
    variables = "ABC" if "C" in pattern else "AB"
    ids = ", ".join(f"LAST({v}.id) AS {v.lower()}" for v in variables)
    queries.append(
        f"SELECT * FROM g MATCH_RECOGNIZE (PARTITION BY k ORDER BY rt, id MEASURES {ids} "
        f"AFTER MATCH SKIP TO NEXT ROW PATTERN ({pattern}) DEFINE A AS A.v < 4, "
        f"{variables[-1]} AS {variables[-1]}.v > 2) AS m"
    )
show(*queries, by_time=False)
for pattern in ("(A B)+ C", "(A+)? B", "A (B C){2}"):
    query = (
        f"SELECT * FROM g MATCH_RECOGNIZE (ORDER BY rt MEASURES A.id AS a PATTERN ({pattern})) AS m"
    )
    raises(lambda: show(query), Exception)

# --- the first and the last row of a window
show(
    *(
        "SELECT id, k, v, t FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, "
        f"window_end, k ORDER BY {order}) AS n FROM TABLE(TUMBLE(TABLE g, DESCRIPTOR(rt), "
        f"INTERVAL '5' SECOND))) WHERE {places}"
        for order in ("rt", "rt DESC", "rt DESC, id", "v DESC")
        for places in ("n = 1", "n <= 2")
    ),
    by_time=False,
)
