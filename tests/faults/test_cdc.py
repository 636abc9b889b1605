"""From the changes of a database into another table, exactly once, though slots are killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.table import EnvironmentSettings, TableEnvironment
from tests.cdc.capturing import Shop
from tools.database_server import MariaDbServer, PostgreSqlServer

LIMIT_S = 240.0
ROWS = 500
SETTINGS = {
    "parallelism.default": "2",
    "execution.checkpointing.interval": "300 ms",
    "execution.epoch.target": "200 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "100 ms",
}

pytestmark = pytest.mark.timeout(1200)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


class Postgres(Shop):
    """A schema of PostgreSQL."""

    def __init__(self, server: PostgreSqlServer) -> None:
        super().__init__(server)
        self.totals = f"{self.name}.totals"

    def source(self) -> str:
        return self.options("orders", scan__incremental__snapshot__chunk__size="20")

    def numbers(self, count: int) -> str:
        return f"generate_series(1, {count}) AS s(n)"


class MariaDb:
    """A database of MariaDB."""

    def __init__(self, server: MariaDbServer) -> None:
        self.server, self.totals = server, "totals"
        self.connection = server.connect()
        self.execute("DROP TABLE IF EXISTS orders, totals")

    def execute(self, sql: str) -> list[Any]:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def table(self, name: str, columns: str, full: bool = True) -> None:
        self.execute(f"CREATE TABLE {name} ({columns})")

    def source(self) -> str:
        server = self.server
        return (
            f"'connector' = 'mysql-cdc', 'hostname' = '127.0.0.1', 'port' = '{server.port}', "
            f"'username' = '{server.user}', 'password' = '{server.password}', 'database-name' = "
            f"'{server.database}', 'table-name' = 'orders', "
            "'scan.incremental.snapshot.chunk.size' = '20'"
        )

    def numbers(self, count: int) -> str:
        return f"(SELECT seq AS n FROM seq_1_to_{count}) AS s"

    def confirmed(self) -> None:
        """The server does not know how far its log was read."""

    def close(self) -> None:
        self.execute("DROP TABLE IF EXISTS orders, totals")
        self.connection.close()


@pytest.fixture(params=["postgresql", "mariadb"])
def shop(request: pytest.FixtureRequest) -> Iterator[Postgres | MariaDb]:
    if request.param == "mariadb":
        pytest.importorskip("pymysqlreplication", reason="pip install 'headrace[mysql-cdc]'")
    server = request.getfixturevalue(request.param)
    shop = Postgres(server) if request.param == "postgresql" else MariaDb(server)
    try:
        yield shop
    finally:
        shop.close()


def test_a_copy_is_exact_though_slots_are_killed(shop: Postgres | MariaDb, tmp_path: Path) -> None:
    server = shop.server
    shop.table("orders", "id INT PRIMARY KEY, item INT, amount BIGINT")
    shop.table("totals", "item INT PRIMARY KEY, amount BIGINT, many BIGINT", full=False)
    shop.execute(f"INSERT INTO orders SELECT n, n % 7, n FROM {shop.numbers(ROWS)}")
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = SETTINGS | {"execution.checkpointing.dir": str(tmp_path / "checkpoints")}
    for key, value in settings.items():
        t_env.get_config().set(key, value)
    t_env.execute_sql(
        "CREATE TABLE orders (id INT, item INT, amount BIGINT, PRIMARY KEY (id) NOT ENFORCED) "
        f"WITH ({shop.source()})"
    )
    t_env.execute_sql(
        "CREATE TABLE totals (item INT, amount BIGINT, many BIGINT, PRIMARY KEY (item) NOT "
        f"ENFORCED) WITH ('connector' = 'jdbc', 'url' = '{server.url}', 'table-name' = "
        f"'{shop.totals}', 'username' = '{server.user}', 'password' = "
        f"'{server.password}')"
    )
    statement = "INSERT INTO totals SELECT item, SUM(amount), COUNT(*) FROM orders GROUP BY item"
    client = t_env.execute_sql(statement).get_job_client()
    assert client is not None
    job: Any = client._handle

    def exact() -> bool:
        expected = "SELECT item, sum(amount), count(*) FROM orders GROUP BY item ORDER BY 1"
        return shop.execute(expected) == shop.execute("SELECT * FROM totals ORDER BY item")

    try:
        wait_for(lambda: bool(shop.execute("SELECT 1 FROM totals LIMIT 1")), "no row was written")
        for number in range(2):
            restarts, new = job.restarts, ROWS * (number + 1)
            shop.execute(f"UPDATE orders SET item = 1, amount = 2 * amount WHERE id % 3 = {number}")
            os.kill(job.attempt.slot_pids[number], signal.SIGKILL)
            shop.execute(f"DELETE FROM orders WHERE id % 11 = {number}")
            shop.execute(f"INSERT INTO orders SELECT n + {new}, 3, 1 FROM {shop.numbers(9)}")
            wait_for(lambda before=restarts: job.restarts > before, "the job did not start again")
            wait_for(exact, "the totals are not those of the orders")
        first = shop.confirmed()
        shop.execute("UPDATE orders SET amount = amount + 1")
        wait_for(exact, "the totals are not those of the orders")
        if first is not None:
            wait_for(lambda: shop.confirmed() != first, "the log is not let go")
    finally:
        client.cancel().result()
