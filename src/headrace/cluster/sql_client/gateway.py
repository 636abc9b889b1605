"""The client whose statements run in a SQL gateway."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from headrace.cluster.client.rest_client import RestClient
from headrace.cluster.sql_client.client import MODE_KEY, Client, check_mode
from headrace.cluster.sql_client.live_table import LiveTable, RowsSoFar
from headrace.cluster.sql_gateway.logical_types import column_type_of
from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import HeadraceError
from headrace.common.option_loading import load_configuration
from headrace.common.settings.table_options import DML_SYNC
from headrace.sql import statements as s
from headrace.sql.parsing import parse_statement
from headrace.sql.plan.expressions import Field, Schema
from headrace.sql.session.tableau import Tableau

__all__ = ["GatewayClient", "configured_gateway"]

_KINDS = ("INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE")
_POLL_S = 0.1
_HEARTBEAT_S = 60.0


def configured_gateway() -> str:
    """The address of the gateway that the configuration names."""
    configuration = load_configuration()
    host = configuration.get(options.SQL_GATEWAY_ADDRESS)
    encrypted = configuration.contains(options.SSL_REST_CERTIFICATE)
    scheme = "https" if encrypted else "http"
    return f"{scheme}://{host}:{configuration.get(options.SQL_GATEWAY_PORT)}"


class GatewayClient(Client):
    """Statements of one session of a gateway.

    Args:
        endpoint: The gateway, as `host:port` or a URL.
        settings: Settings of the session.
        on_terminal: Whether this is a terminal; only then the whole screen is used.
    """

    def __init__(self, endpoint: str, settings: Configuration, on_terminal: bool) -> None:
        super().__init__()
        self._rest = RestClient(endpoint, "SQL gateway", "headrace sql-gateway start")
        self._on_terminal = on_terminal
        body = {"sessionName": "headrace sql-client", "properties": settings.to_dict()}
        handle = self._rest.request("POST", "/v4/sessions", body)["sessionHandle"]
        self._session = f"/v4/sessions/{handle}"
        self._closed = threading.Event()
        threading.Thread(target=self._beat, daemon=True, name="sql-client-heartbeat").start()

    def _beat(self) -> None:
        while not self._closed.wait(_HEARTBEAT_S):
            with contextlib.suppress(HeadraceError):
                self._rest.request("POST", f"{self._session}/heartbeat")

    def _settings(self) -> Configuration:
        return Configuration.from_dict(self._rest.request("GET", self._session)["properties"])

    def candidates(self, before: str) -> Iterator[tuple[str, int]]:
        """What may stand at the cursor, and how many characters before it are replaced."""
        body = {"statement": before, "position": len(before)}
        answer = self._rest.request("GET", f"{self._session}/complete-statement", body)
        for found in answer["candidates"]:
            fits = (n for n in range(len(found), 0, -1) if _ends_with(before, found[:n]))
            yield found, next(fits, 0)

    def statement(self, text: str) -> None:
        """Run a statement and show its result."""
        statement = parse_statement(text)
        if isinstance(statement, s.SetOption) and statement.key == MODE_KEY:
            check_mode(statement.value or "")
        if isinstance(statement, s.Insert | s.StatementSetBlock):
            print("[INFO] Submitting SQL update statement to the cluster...")
        body = {"statement": text}
        handle = self._rest.request("POST", f"{self._session}/statements", body)["operationHandle"]
        operation = f"{self._session}/operations/{handle}"
        try:
            self._show(operation, self._first_page(operation))
        finally:
            self._rest.request("DELETE", f"{operation}/close")

    def _first_page(self, operation: str) -> dict[str, Any]:
        while True:
            page: dict[str, Any] = self._rest.request(
                "GET", f"{operation}/result/0?rowFormat=PLAIN_TEXT"
            )
            if page["resultType"] != "NOT_READY":
                return page
            time.sleep(_POLL_S)

    def _rows(self, page: dict[str, Any]) -> Iterator[tuple[int, list[str | None]]]:
        """The rows of a page and of those after it."""
        while True:
            for row in page["results"]["data"]:
                yield _KINDS.index(row["kind"]), row["fields"]
            if page["resultType"] == "EOS":
                return
            page = self._rest.request("GET", page["nextResultUri"])

    def _show(self, operation: str, page: dict[str, Any]) -> None:
        if page["isQueryResult"]:
            self._show_query(page)
        elif "jobID" in page:
            self.submitted(page["jobID"], self._settings().get(DML_SYNC))
            return
        elif page["resultKind"] == "SUCCESS":
            print("[INFO] Execute statement succeeded.")
        else:
            self._show_rows(page)
        print()

    def _show_rows(self, page: dict[str, Any]) -> None:
        schema, rows = _schema_of(page), list(self._rows(page))
        if schema.names == ["result"] and len(rows) == 1:
            print(rows[0][1][0])
            return
        tableau = Tableau(schema, kinds=False, by_type=False, most_width=1 << 30, texts=True)
        tableau.print(rows, print)

    def _show_query(self, page: dict[str, Any]) -> None:
        settings = self._settings()
        mode = settings.get_string(MODE_KEY, "tableau").lower()
        schema, rows = _schema_of(page), self._rows(page)
        if mode == "tableau" or not self._on_terminal:
            batch = settings.get(options.RUNTIME_MODE) == "BATCH"
            tableau = Tableau(schema, kinds=not batch, texts=True)
            tableau.print(rows, lambda line: print(line, flush=True))
            return
        changelog = mode == "changelog"
        so_far = RowsSoFar(rows, changelog)
        LiveTable(schema, "UTC", so_far, changelog, texts=True).show()
        print("[INFO] Result retrieval cancelled." if not so_far.ended.is_set() else "")

    def wait_for_jobs(self) -> bool:
        """Jobs run in the gateway and go on there."""
        return True

    def close(self) -> None:
        """End the session."""
        self._closed.set()
        with contextlib.suppress(HeadraceError):
            self._rest.request("DELETE", self._session)


def _schema_of(page: dict[str, Any]) -> Schema:
    columns = page["results"]["columns"]
    return Schema(tuple(Field(c["name"], column_type_of(c["logicalType"])) for c in columns))


def _ends_with(text: str, end: str) -> bool:
    return text.lower().endswith(end.lower())
