"""What each row changes in joins of several tables that run as one."""

import time

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.optimizer.multi-join.enabled", "true")

KINDS = {
    "+I": RowKind.INSERT,
    "-U": RowKind.UPDATE_BEFORE,
    "+U": RowKind.UPDATE_AFTER,
    "-D": RowKind.DELETE,
}
NAMES = {kind: text for text, kind in KINDS.items()}
WAITS = 3.0 if StreamExecutionEnvironment.__module__.startswith("pyflink") else 0.0
ROW = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])


def view(name, place, changes):
    """A table of changes; each begins when those of a lower place have been read to their end."""
    rows = []
    for change in changes.split(";"):
        kind, k, v = change.split()
        rows.append(Row.of_kind(KINDS[kind], None if k == "null" else k, int(v)))

    def later(number):
        if number < 0:
            return
        if number == 0:
            time.sleep(WAITS * place)
        yield rows[number]

    if place:
        numbers = env.from_collection(list(range(-1000 * place, len(rows))), Types.INT())
        stream = numbers.flat_map(later, ROW)
    else:
        stream = env.from_collection(rows, ROW)
    t_env.create_temporary_view(name, t_env.from_changelog_stream(stream))


view("a", 0, "+I x 1; +I y 2; +I null 3; -U x 1; +U x 4; +I z 5; -D y 2; +I x 6")
view("b", 1, "+I x 1; -U x 1; +U x 2; +I y 3; +I z 4; -U z 4; +U z 9; +I null 5; +I z 1; -D z 9")
view("c", 2, "+I x 1; +I w 2; -U x 1; +U x 7; +I z 3; -U z 3; +U z 8; -D x 7; -D z 8; +I z 2")


def show(query):
    """One query in one job: of several in one, Flink takes inner and left joins for the same."""
    print("--", query)
    with t_env.sql_query(query).execute().collect() as results:
        for row in results:
            print(NAMES[row.get_row_kind()], *row)


# --- joins of three tables
for first, second in (("INNER", "INNER"), ("INNER", "LEFT"), ("LEFT", "LEFT")):
    show(
        f"SELECT a.k, a.v, b.v AS w, c.v AS u FROM a {first} JOIN b ON a.k = b.k {second} JOIN c "
        "ON a.k = c.k"
    )
show(
    "SELECT a.k, a.v, b.v AS w, c.v AS u FROM a LEFT JOIN b ON a.k = b.k AND b.v > 2 LEFT JOIN c "
    "ON a.k = c.k AND c.v > a.v"
)
