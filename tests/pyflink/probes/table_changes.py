"""What each row changes, with the kinds of rows and in their order, operator by operator."""

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
TYPES = {"INT": Types.INT(), "STRING": Types.STRING(), "BIGINT": Types.LONG()}
SECOND_WAITS = 0.5 if StreamExecutionEnvironment.__module__.startswith("pyflink") else 0.0


def rows_of(changes, types):
    rows = []
    for change in changes.split(";"):
        kind, *values = change.split()
        values = [None if x == "null" else x for x in values]
        numbers = [
            int(x) if x is not None and t != "STRING" else x
            for x, t in zip(values, types, strict=True)
        ]
        rows.append(Row.of_kind(KINDS[kind], *numbers))
    return rows


def view(name, columns, changes, schema=None, second=False):
    """A table of changes; a second one begins when others have been read to their end."""
    fields = [c.split() for c in columns.split(", ")]
    types = [t for _, t in fields]
    rows = rows_of(changes, types)
    row_type = Types.ROW_NAMED([n for n, _ in fields], [TYPES[t] for t in types])

    def later(number):
        if number < 0:
            return
        if number == 0:
            time.sleep(SECOND_WAITS)
        yield rows[number]

    if second:
        stream = env.from_collection(list(range(-1000, len(rows))), Types.INT())
        stream = stream.flat_map(later, row_type)
    else:
        stream = env.from_collection(rows, row_type)
    if {kind for kind in changes.split() if kind in KINDS} == {"+I"}:
        table = t_env.from_data_stream(stream, *([schema] if schema else []))
    else:
        table = t_env.from_changelog_stream(stream, *([schema] if schema else []))
    if name in t_env.list_temporary_views():
        t_env.drop_temporary_view(name)
    t_env.create_temporary_view(name, table)


def show(*texts):
    """What queries give, one on each line, all in one job: starting one takes most of its time."""
    queries = [line for text in texts for line in text.strip().splitlines()]
    parts = []
    for number, query in enumerate(queries):
        columns = t_env.sql_query(query).get_schema().get_field_names()
        row = ", ".join(f"`{c}`" for c in columns)
        parts.append(f"SELECT {number} AS q, CAST(ROW({row}) AS STRING) AS t FROM ({query})")
    names = {kind: text for text, kind in KINDS.items()}
    with t_env.sql_query(" UNION ALL ".join(parts)).execute().collect() as results:
        rows = [(row[0], f"{names[row.get_row_kind()]} {row[1]}") for row in results]
    for number, query in enumerate(queries):
        print("--", query)
        for found, text in rows:
            if found == number:
                print(text)


def each(words, text):
    """A text with `{}` for each of some words."""
    return "\n".join(text.strip().replace("{}", word) for word in words)


JOINS = ("INNER", "LEFT", "RIGHT", "FULL")
GROWS = "+I a 1; +I b 2; +I a 3; +I null 4; +I a 1; +I b null; +I c 5; +I a 3"
CHANGES = (
    "+I a 1; +I b 2; -U a 1; +U a 3; +I a 4; +I c 7; -D b 2; +I b 6; -U a 4; +U b 4; -D c 7; "
    "-U b 6; +U b 7; -D a 3; +I null 1; -U null 1; +U null 2; -D b 4; +I c null; -D b 7"
)
view("g", "k STRING, v INT", GROWS)
view("c", "k STRING, v INT", CHANGES)
view("l", "k STRING, v INT", "+I a 1; +I b 2; +I null 3; +I c 3")
view("r", "j STRING, w INT", "+I a 10; +I c 30; +I a 11; +I null 40; +I d 50", second=True)
view(
    "lc",
    "k STRING, v INT",
    "+I a 1; +I b 2; -U a 1; +U a 3; -D b 2; +I b 6; +I null 1; -U b 6; +U c 6; -U null 1; +U null 2",
)
view(
    "rc",
    "j STRING, w INT",
    "+I a 10; -U a 10; +U a 20; +I b 30; -D a 20; -U b 30; +U c 5; +I a 4; +I a 4; -D a 4",
    second=True,
)
view("rg", "j STRING, w INT", "+I a 10; +I a 20; +I b 30; +I d 40; +I a 50", second=True)
t_env.create_temporary_view("counts", t_env.sql_query("SELECT k, COUNT(*) AS n FROM l GROUP BY k"))
t_env.create_temporary_view("sums", t_env.sql_query("SELECT j, SUM(w) AS s FROM rg GROUP BY j"))

# --- groups over rows that are added
show("""
SELECT k, COUNT(*) AS n, COUNT(v) AS m, SUM(v) AS s FROM g GROUP BY k
SELECT k, MIN(v) AS a, MAX(v) AS z, AVG(v) AS m FROM g GROUP BY k
SELECT k, COUNT(DISTINCT v) AS d, SUM(DISTINCT v) AS s FROM g GROUP BY k
SELECT k, COUNT(*) FILTER (WHERE v > 1) AS n, SUM(v) FILTER (WHERE v > 2) AS s FROM g GROUP BY k
SELECT k, FIRST_VALUE(v) AS f, LAST_VALUE(v) AS l FROM g GROUP BY k
SELECT k, LISTAGG(CAST(v AS STRING)) AS t FROM g GROUP BY k
SELECT k, LISTAGG(DISTINCT CAST(v AS STRING), '+') AS t FROM g GROUP BY k
SELECT k, ARRAY_AGG(v) AS t FROM g GROUP BY k
SELECT COUNT(*), MAX(k), SUM(v) FROM g
SELECT k, STDDEV_POP(v) AS s FROM g WHERE k = 'a' GROUP BY k
SELECT DISTINCT k FROM g
SELECT k FROM g GROUP BY k
SELECT COUNT(*) FROM g WHERE v > 100
""")

# --- groups over rows that change
show("""
SELECT k, COUNT(*) AS n, COUNT(v) AS m, SUM(v) AS s FROM c GROUP BY k
SELECT k, MIN(v) AS a, MAX(v) AS z, AVG(v) AS m FROM c GROUP BY k
SELECT k, COUNT(DISTINCT v) AS d, SUM(DISTINCT v) AS s FROM c GROUP BY k
SELECT k, COUNT(*) FILTER (WHERE v > 3) AS n, MAX(v) FILTER (WHERE v < 5) AS s FROM c GROUP BY k
SELECT k, FIRST_VALUE(v) AS f, LAST_VALUE(v) AS l FROM c GROUP BY k
SELECT k, LISTAGG(CAST(v AS STRING)) AS t FROM c GROUP BY k
SELECT k, ARRAY_AGG(v) AS t FROM c GROUP BY k
SELECT COUNT(*), MAX(k), SUM(v), MIN(v) FROM c
SELECT DISTINCT k FROM c
SELECT DISTINCT v FROM c
SELECT v, COUNT(*) FROM c GROUP BY v
""")

# --- filters on groups
show("""
SELECT k, COUNT(*) AS n FROM g GROUP BY k HAVING COUNT(*) > 1
SELECT k, SUM(v) AS s FROM c GROUP BY k HAVING SUM(v) > 4
SELECT k, SUM(v) AS s FROM c GROUP BY k HAVING MAX(v) < 7
SELECT k FROM c GROUP BY k HAVING COUNT(*) > 1
SELECT k, v FROM c WHERE v > 3
SELECT k, v / 4 AS q FROM c
""")

# --- groups of groups
show("""
SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM g GROUP BY k) GROUP BY n
SELECT MAX(s), MIN(s), COUNT(*) FROM (SELECT k, SUM(v) AS s FROM c GROUP BY k)
SELECT SUM(n) FROM (SELECT k, COUNT(*) AS n FROM c GROUP BY k)
SELECT n, LISTAGG(k) FROM (SELECT k, COUNT(*) AS n FROM g WHERE k IS NOT NULL GROUP BY k) GROUP BY n
SELECT COUNT(*) FROM (SELECT DISTINCT v FROM c)
""")

# --- grouping sets
show("""
SELECT k, v, COUNT(*) FROM g WHERE v < 3 GROUP BY GROUPING SETS ((k), (v), ())
SELECT k, v, COUNT(*) FROM g WHERE v < 3 GROUP BY ROLLUP (k, v)
""")

# --- top-n
for table in ("g", "c"):
    keyed = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS r FROM {table}"
    highest = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM {table}"
    of_all = f"SELECT *, ROW_NUMBER() OVER (ORDER BY v DESC, k) AS r FROM {table}"
    show(f"""
SELECT k, v FROM ({keyed}) WHERE r <= 2
SELECT k, v, r FROM ({keyed}) WHERE r <= 2
SELECT k, v, r FROM ({of_all}) WHERE r <= 3
SELECT k, v FROM ({of_all}) WHERE r <= 3
SELECT k, v, r FROM ({of_all}) WHERE r BETWEEN 2 AND 3
SELECT k, v, r FROM ({highest}) WHERE r = 1
SELECT k, v FROM ({highest}) WHERE r = 1
SELECT k, v, r FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v) AS r FROM {table}) WHERE r < 3
SELECT k, v FROM {table} ORDER BY v, k LIMIT 2
SELECT k, v FROM {table} LIMIT 2
""")

# --- top-n behind others, of rows that are added
show("""
SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v, k) AS r FROM g) WHERE r = 2
SELECT k, v FROM g ORDER BY v DESC, k LIMIT 2 OFFSET 1
SELECT k, v FROM g LIMIT 2 OFFSET 2
""")

# --- top-n of groups
for aggregate, order in [
    ("COUNT(*)", "n DESC"),
    ("COUNT(*)", "n DESC, k"),
    ("COUNT(*)", "n, k"),
    ("SUM(v)", "n DESC, k"),
    ("MAX(v)", "n DESC"),
    ("MIN(v)", "n"),
    ("MIN(v)", "n DESC, k"),
]:
    groups = f"(SELECT k, {aggregate} AS n FROM g GROUP BY k)"
    ranked = f"SELECT *, ROW_NUMBER() OVER (ORDER BY {order}) AS r FROM {groups}"
    show(f"""
SELECT k, n, r FROM ({ranked}) WHERE r <= 2
SELECT k, n FROM ({ranked}) WHERE r <= 2
SELECT k, n, r FROM ({ranked}) WHERE r = 1
SELECT k, n, r FROM ({ranked}) WHERE r BETWEEN 2 AND 3
SELECT k, n FROM {groups} ORDER BY {order} LIMIT 2
""")

# --- top-n of changing groups
for order in ("n DESC, k", "n, k"):
    groups = "(SELECT k, SUM(v) AS n FROM c GROUP BY k)"
    ranked = f"SELECT *, ROW_NUMBER() OVER (ORDER BY {order}) AS r FROM {groups}"
    show(f"""
SELECT k, n, r FROM ({ranked}) WHERE r <= 2
SELECT k, n FROM ({ranked}) WHERE r <= 2
SELECT k, n FROM {groups} ORDER BY {order} LIMIT 2
""")

# --- top-n of groups within others
pairs = "(SELECT k, v, COUNT(*) AS n FROM g GROUP BY k, v)"
keyed = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) AS r FROM {pairs}"
valued = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY v ORDER BY n DESC) AS r FROM {pairs}"
counted = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY n ORDER BY k, v) AS r FROM {pairs}"
filtered = f"(SELECT * FROM {pairs} WHERE n > 1)"
show(f"""
SELECT k, v, n, r FROM ({keyed}) WHERE r <= 2
SELECT k, v, n FROM ({keyed}) WHERE r <= 1
SELECT k, n FROM ({keyed}) WHERE r <= 2
SELECT v, k, n, r FROM ({valued}) WHERE r <= 2
SELECT n, k, v, r FROM ({counted}) WHERE r <= 2
SELECT k, v, n FROM {filtered} ORDER BY n DESC, k LIMIT 2
SELECT k, v, n FROM {pairs} ORDER BY n DESC, k LIMIT 3
""")

# --- over in any order
show("""
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY v) FROM g
SELECT k, v, SUM(v) OVER (ORDER BY v), COUNT(*) OVER (ORDER BY v) FROM g
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY v) FROM c
SELECT k, v, MIN(v) OVER (PARTITION BY k ORDER BY v) FROM g
SELECT k, n, SUM(n) OVER (ORDER BY k) FROM (SELECT k, COUNT(*) AS n FROM g GROUP BY k)
""")

# --- joins of rows that are added
show(
    each(
        JOINS,
        """
SELECT * FROM l {} JOIN r ON l.k = r.j
SELECT * FROM l {} JOIN r ON l.k = r.j AND v + w > 11
SELECT * FROM r {} JOIN l ON l.k = r.j AND v + w > 11
""",
    )
)

# --- joins of rows that change
show(
    each(
        JOINS,
        """
SELECT * FROM lc {} JOIN rc ON lc.k = rc.j
SELECT * FROM rc {} JOIN lc ON lc.k = rc.j
SELECT * FROM lc {} JOIN rc ON lc.k = rc.j AND v + w > 14
SELECT * FROM rc {} JOIN lc ON lc.k = rc.j AND v + w > 14
SELECT * FROM l {} JOIN rc ON l.k = rc.j AND v + w > 14
SELECT * FROM lc {} JOIN r ON lc.k = r.j AND w > 10
""",
    )
)

# --- joins without an equality
show(
    each(
        JOINS,
        """
SELECT * FROM (SELECT v FROM lc WHERE k = 'a') {} JOIN (SELECT w FROM rc WHERE j = 'a') ON v < w
""",
    )
)

# --- joins of groups
show(
    each(
        JOINS,
        """
SELECT counts.k, n, s FROM counts {} JOIN sums ON counts.k = sums.j
SELECT l.k, v, s FROM l {} JOIN sums ON l.k = sums.j
SELECT l.k, v, s FROM l {} JOIN sums ON l.k = sums.j AND s < 60
""",
    ),
    """
SELECT l.k, COUNT(*), SUM(s) FROM l JOIN sums ON l.k = sums.j GROUP BY l.k
SELECT l.k, COUNT(s), MAX(s) FROM l LEFT JOIN sums ON l.k = sums.j GROUP BY l.k
""",
)

# --- semi and anti joins
for left, right in (("l", "r"), ("lc", "rc"), ("lc", "r")):
    show(f"""
SELECT * FROM {left} WHERE k IN (SELECT j FROM {right})
SELECT * FROM {left} WHERE EXISTS (SELECT * FROM {right} WHERE k = j)
SELECT * FROM {left} WHERE NOT EXISTS (SELECT * FROM {right} WHERE k = j)
SELECT * FROM {right} WHERE j IN (SELECT k FROM {left})
SELECT * FROM {right} WHERE NOT EXISTS (SELECT * FROM {left} WHERE k = j)
""")
show("""
SELECT * FROM lc WHERE EXISTS (SELECT * FROM rc WHERE lc.k = rc.j AND v + w > 14)
SELECT * FROM lc WHERE NOT EXISTS (SELECT * FROM rc WHERE lc.k = rc.j AND v + w > 14)
SELECT * FROM rc WHERE NOT EXISTS (SELECT * FROM lc WHERE lc.k = rc.j AND v + w > 14)
SELECT * FROM l WHERE k IN (SELECT j FROM sums WHERE s > 20)
SELECT * FROM l WHERE NOT EXISTS (SELECT * FROM sums WHERE s > 20 AND l.k = sums.j)
""")

# --- subqueries
show("""
SELECT k, v FROM l WHERE k = 'a' AND v > (SELECT AVG(w) - 20 FROM rg)
SELECT k, v FROM l WHERE v < (SELECT SUM(w) FROM rg WHERE rg.j = l.k)
SELECT k, v, (SELECT MAX(w) FROM rg) FROM l WHERE k = 'a'
SELECT k, v, (SELECT SUM(w) FROM rg WHERE rg.j = l.k) FROM l
SELECT k, EXISTS (SELECT * FROM rg WHERE rg.j = l.k) FROM l
SELECT * FROM lc WHERE k = 'a' AND k NOT IN (SELECT j FROM rc)
SELECT * FROM lc WHERE k IS NULL AND k NOT IN (SELECT j FROM rc)
SELECT * FROM l WHERE k = 'a' AND k NOT IN (SELECT j FROM r)
SELECT * FROM l WHERE k = 'b' AND k NOT IN (SELECT j FROM r)
SELECT * FROM l WHERE k IS NULL AND k NOT IN (SELECT j FROM r)
SELECT * FROM l WHERE v NOT IN (SELECT w FROM r)
""")

# --- intersections and differences
words = ("INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
for left, right in (("l", "r"), ("lc", "rc")):
    show(
        each(words, f"SELECT k FROM {left} {{}} SELECT j FROM {right}"),
        each(words, f"SELECT j FROM {right} {{}} SELECT k FROM {left}"),
    )

# --- subqueries beside or
show("""
SELECT k, v FROM l WHERE v > 2 OR EXISTS (SELECT * FROM r WHERE j = k)
SELECT k, v FROM l WHERE v > 2 OR NOT EXISTS (SELECT * FROM r WHERE j = k)
SELECT k, CASE WHEN EXISTS (SELECT * FROM r WHERE j = k) THEN 1 ELSE 0 END FROM l
SELECT k, v FROM l WHERE k = 'a' AND EXISTS (SELECT * FROM r WHERE w > 20)
""")

# --- subqueries of groups
show("""
SELECT k, COUNT(*) AS n FROM l GROUP BY k HAVING k = 'a' AND COUNT(*) < (SELECT MAX(w) FROM rg)
SELECT k, SUM(v) AS n FROM l GROUP BY k HAVING k IN (SELECT j FROM r)
""")

# --- unions
show("""
SELECT k, SUM(v) FROM (SELECT k, v FROM l UNION ALL SELECT j, w FROM rg) GROUP BY k
SELECT k FROM l UNION SELECT j FROM r
SELECT k FROM lc UNION SELECT j FROM rc
SELECT k, COUNT(*) FROM (SELECT k, v FROM lc UNION ALL SELECT j, w FROM rc) GROUP BY k
""")

# --- conditions above outer joins
show("""
SELECT k, v, s FROM l LEFT JOIN sums ON k = j WHERE s > 20
SELECT k, v, s FROM l LEFT JOIN sums ON k = j WHERE s IS NULL
SELECT k, v, w FROM l FULL JOIN rc ON k = j WHERE v > 1
SELECT k, v, w FROM lc FULL JOIN rc ON k = j WHERE v > 1 AND w > 4
SELECT k, v, s FROM l JOIN sums ON k = j WHERE s > 20 ORDER BY s DESC LIMIT 1
""")

# --- joins below and above others
show("""
SELECT k, n, w FROM counts JOIN r ON k = j
SELECT a.k, a.n, w FROM (SELECT k, n FROM counts ORDER BY n DESC LIMIT 2) AS a LEFT JOIN r ON k = j
SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY w DESC) AS n FROM l JOIN r ON k = j) WHERE n = 1
SELECT k, v, w, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY w DESC) AS n FROM lc LEFT JOIN rc ON k = j) WHERE n <= 2
SELECT k, s FROM (SELECT k, s, ROW_NUMBER() OVER (ORDER BY s DESC) AS n FROM (SELECT k, MAX(w) AS s FROM l JOIN rg ON k = j GROUP BY k)) WHERE n <= 2
SELECT k, COUNT(w), MAX(w) FROM lc LEFT JOIN rc ON k = j GROUP BY k
""")
