"""Statements that hypothesis draws: joins, aggregates, windows, subqueries, sets.

Each is a pair of texts, ours and Spark's, which are the same but for windows. The tables `t` and
`u` have the same columns and rows.
"""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["Pair", "statements"]

Pair = tuple[str, str]

_NUMBERS = ("id", "price", "qty")
_COMPARISONS = ("=", "<>", "<", ">=")
_JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
_SETS = ("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")


def numbers(table: str) -> st.SearchStrategy[str]:
    """Whole numbers, or NULL."""
    column = st.sampled_from(_NUMBERS).map(lambda name: f"{table}.{name}")
    leaf = column | st.integers(-2, 6).map(str)
    return st.one_of(
        leaf,
        st.tuples(column, st.sampled_from("+-*"), leaf).map(" ".join).map(lambda x: f"({x})"),
        st.tuples(column, leaf).map(lambda p: f"COALESCE({p[0]}, {p[1]})"),
        st.tuples(predicates(table, 1), column, leaf).map(
            lambda p: f"CASE WHEN {p[0]} THEN {p[1]} ELSE {p[2]} END"
        ),
        st.sampled_from([f"CHAR_LENGTH({table}.item)", f"ABS({table}.price - {table}.qty)"]),
    )


def predicates(table: str, depth: int = 2) -> st.SearchStrategy[str]:
    """Conditions on the rows of a table."""
    column = st.sampled_from(_NUMBERS).map(lambda name: f"{table}.{name}")
    leaf = st.one_of(
        st.tuples(column, st.sampled_from(_COMPARISONS), st.integers(0, 5).map(str)).map(" ".join),
        st.tuples(column, st.sampled_from(_COMPARISONS), column).map(" ".join),
        column.map(lambda name: f"{name} IS NOT NULL"),
        st.sampled_from(
            [
                f"{table}.item LIKE 'a%'",
                f"UPPER({table}.item) <> 'AB'",
                f"{table}.item IN ('a', 'b')",
                f"{table}.price BETWEEN 1 AND 4",
                f"{table}.price IS DISTINCT FROM {table}.qty",
                f"{table}.weight > 0",
            ]
        ),
    )
    if depth == 0:
        return leaf
    below = predicates(table, depth - 1)
    both = st.tuples(below, st.sampled_from(["AND", "OR"]), below).map(" ".join)
    return leaf | both.map(lambda x: f"({x})") | below.map(lambda x: f"NOT ({x})")


def subqueries(table: str) -> st.SearchStrategy[str]:
    """Conditions with a query of `u` in them, of which some look at the row outside."""
    inner = predicates("u", 1)
    column = st.sampled_from(_NUMBERS)
    return st.one_of(
        st.tuples(st.sampled_from(["", "NOT "]), column, inner).map(
            lambda p: f"{p[0]}EXISTS (SELECT 1 FROM u WHERE u.{p[1]} = {table}.{p[1]} AND {p[2]})"
        ),
        st.tuples(column, inner).map(
            lambda p: f"{table}.{p[0]} IN (SELECT u.{p[0]} FROM u WHERE {p[1]})"
        ),
        st.tuples(column, inner).map(
            lambda p: f"{table}.{p[0]} > (SELECT MIN(u.{p[0]}) FROM u WHERE {p[1]})"
        ),
        st.tuples(column, column).map(
            lambda p: f"{table}.{p[0]} >= (SELECT COUNT(*) FROM u WHERE u.{p[1]} = {table}.{p[1]})"
        ),
    )


def aggregates(table: str) -> st.SearchStrategy[str]:
    number = numbers(table)
    condition = predicates(table, 0)
    return st.one_of(
        st.just("COUNT(*)"),
        st.tuples(st.sampled_from(["SUM", "MIN", "MAX", "COUNT"]), number).map(
            lambda p: f"{p[0]}({p[1]})"
        ),
        st.tuples(st.sampled_from(["SUM", "COUNT"]), number).map(
            lambda p: f"{p[0]}(DISTINCT {p[1]})"
        ),
        st.tuples(number, condition).map(lambda p: f"SUM({p[0]}) FILTER (WHERE {p[1]})"),
        st.just(f"MAX({table}.item)"),
        # The last digits depend on the order of rows.
        st.tuples(st.sampled_from(["VAR_POP", "STDDEV_SAMP"]), number).map(
            lambda p: f"{p[0]}(CAST({p[1]} AS DOUBLE)) > 1.00003E0"
        ),
        st.tuples(number, st.sampled_from([(9, 2), (18, 0), (30, 6)])).map(
            lambda p: f"SUM(CAST({p[0]} AS DECIMAL({p[1][0]}, {p[1][1]})))"
        ),
    )


def _joined() -> st.SearchStrategy[str]:
    """`t` and `u` side by side, perhaps with `u` once more."""
    two = st.tuples(
        st.sampled_from(_JOINS), st.sampled_from(_NUMBERS), st.none() | predicates("u", 1)
    ).map(lambda p: f"t {p[0]} u ON t.{p[1]} = u.{p[1]}" + (f" AND {p[2]}" if p[2] else ""))
    third = st.tuples(st.sampled_from(_JOINS), st.sampled_from(["t", "u"]))
    three = st.tuples(two, third).map(lambda p: f"{p[0]} {p[1][0]} u AS w ON {p[1][1]}.id = w.id")
    return two | three


def _where(*conditions: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    chosen = st.lists(st.one_of(*conditions), max_size=2)
    return chosen.map(lambda found: " WHERE " + " AND ".join(found) if found else "")


def _same(text: st.SearchStrategy[str]) -> st.SearchStrategy[Pair]:
    return text.map(lambda x: (x, x))


@st.composite
def _grouped(draw: st.DrawFn) -> str:
    source = draw(st.just("t") | _joined())
    where = draw(_where(predicates("t"), subqueries("t")))
    # Without keys and rows, batch mode has a row, and a stream has none, as in Flink.
    columns = st.sampled_from(["t.item", "t.price", "t.qty"])
    keys = draw(st.lists(columns, min_size=1, max_size=2, unique=True))
    calls = draw(st.lists(aggregates("t"), min_size=1, max_size=3))
    groups = draw(st.sampled_from(["{}", "{}", "ROLLUP ({})", "CUBE ({})"]))
    groups = groups.format(", ".join(keys))
    text = f"SELECT {', '.join([*keys, *calls])} FROM {source}{where} GROUP BY {groups}"
    return text + draw(st.sampled_from(["", " HAVING COUNT(*) > 1", " HAVING MAX(t.id) > 2"]))


@st.composite
def _plain(draw: st.DrawFn) -> str:
    source = draw(st.just("t") | _joined())
    where = draw(_where(predicates("t"), subqueries("t")))
    column = st.sampled_from(_NUMBERS)
    values = st.tuples(column, column).map(
        lambda p: f"(SELECT MAX(u.{p[0]}) FROM u WHERE u.{p[1]} = t.{p[1]})"
    )
    columns = draw(st.lists(numbers("t") | values, min_size=1, max_size=3))
    distinct = draw(st.sampled_from(["", "DISTINCT "]))
    return f"SELECT {distinct}{', '.join(columns)} FROM {source}{where}"


@st.composite
def _nested(draw: st.DrawFn) -> str:
    where = draw(_where(predicates("t", 1)))
    columns = "item, price, COUNT(*) AS qty, MAX(id) AS id, 0.5 AS weight"
    inner = f"SELECT {columns} FROM t{where} GROUP BY item, price"
    calls = ", ".join(draw(st.lists(aggregates("x"), min_size=1, max_size=2)))
    return f"SELECT x.item, {calls} FROM ({inner}) AS x GROUP BY x.item"


@st.composite
def _over(draw: st.DrawFn) -> str:
    where = draw(_where(predicates("t", 1)))
    key = draw(st.sampled_from(["item", "price"]))
    if draw(st.booleans()):
        number = f"ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY qty DESC, id) AS n"
        return f"SELECT id, n FROM (SELECT id, {number} FROM t{where}) WHERE n <= 2"
    return f"SELECT id, SUM(price) OVER (PARTITION BY {key} ORDER BY id) FROM t{where}"


@st.composite
def _first(draw: st.DrawFn) -> str:
    where = draw(_where(predicates("t", 1), subqueries("t")))
    order = draw(st.sampled_from(["t.id DESC", "t.price NULLS FIRST, t.id", "t.qty DESC, t.id"]))
    count = draw(st.integers(1, 5))
    text = f"SELECT t.id, {draw(numbers('t'))} AS n, t.price, t.qty FROM t{where}"
    # Both have NULL as the least value unless it is said.
    return f"SELECT id, n FROM ({text} ORDER BY {order} LIMIT {count})"


@st.composite
def _sets(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from(_NUMBERS))
    left, right = draw(_where(predicates("t", 1))), draw(_where(predicates("u", 1)))
    word = draw(st.sampled_from(_SETS))
    return f"SELECT t.item, t.{column} FROM t{left} {word} SELECT u.item, u.{column} FROM u{right}"


@st.composite
def _windows(draw: st.DrawFn) -> Pair:
    size = draw(st.sampled_from([5, 10, 30]))
    calls = ", ".join(draw(st.lists(aggregates("t"), min_size=1, max_size=2)))
    key = draw(st.sampled_from(["", ", t.item"]))
    ours, window = draw(
        st.sampled_from(
            [
                (f"TUMBLE(TABLE t, DESCRIPTOR(et), INTERVAL '{size}' SECOND)", ""),
                (
                    f"HOP(TABLE t, DESCRIPTOR(et), INTERVAL '5' SECOND, INTERVAL '{size}' SECOND)",
                    ", '5 seconds'",
                ),
            ]
        )
    )
    window = f"window(et, '{size} seconds'{window})"
    ours = (
        f"SELECT window_start{key}, {calls} FROM TABLE({ours}) AS t "
        f"GROUP BY window_start, window_end{key}"
    )
    theirs = f"SELECT {window}.start{key}, {calls} FROM t GROUP BY {window}{key}"
    return ours, theirs


@st.composite
def _sessions(draw: st.DrawFn) -> Pair:
    gap = draw(st.sampled_from([1, 3, 5]))
    calls = ", ".join(draw(st.lists(aggregates("t"), min_size=1, max_size=2)))
    partition, key = draw(st.sampled_from([("", ""), (" PARTITION BY item", ", t.item")]))
    ours = (
        f"SELECT window_start{key}, {calls} FROM TABLE(SESSION(TABLE t{partition}, "
        f"DESCRIPTOR(et), INTERVAL '{gap}' SECOND)) AS t GROUP BY window_start, window_end{key}"
    )
    window = f"session_window(et, '{gap} seconds')"
    return ours, f"SELECT {window}.start{key}, {calls} FROM t GROUP BY {window}{key}"


@st.composite
def _cumulated(draw: st.DrawFn) -> Pair:
    parts = draw(st.integers(1, 4))
    calls = ", ".join(draw(st.lists(aggregates("t"), min_size=1, max_size=2)))
    key = draw(st.sampled_from(["", ", t.item"]))
    ours = (
        f"SELECT window_start{key}, {calls} FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(et), "
        f"INTERVAL '2' SECOND, INTERVAL '{2 * parts}' SECOND)) AS t "
        f"GROUP BY window_start, window_end{key}"
    )
    begun = f"SELECT *, window(et, '{2 * parts} seconds').start AS begin FROM t"
    each = f"SELECT *, explode(sequence(1, {parts})) AS part FROM ({begun})"
    theirs = (
        f"SELECT begin{key}, {calls} FROM ({each}) AS t "
        f"WHERE begin + part * INTERVAL '2' SECOND > et GROUP BY begin, part{key}"
    )
    return ours, theirs


def statements() -> st.SearchStrategy[Pair]:
    """A statement for us, and for Spark."""
    return st.one_of(
        _same(_grouped()),
        _same(_plain()),
        _same(_nested()),
        _same(_over()),
        _same(_first()),
        _same(_sets()),
        _windows(),
        _sessions(),
        _cumulated(),
    )
