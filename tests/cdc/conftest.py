"""A schema of PostgreSQL for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cdc.capturing import Shop
from tools.database_server import PostgreSqlServer


@pytest.fixture
def shop(postgresql: PostgreSqlServer) -> Iterator[Shop]:
    shop = Shop(postgresql)
    try:
        yield shop
    finally:
        shop.close()
