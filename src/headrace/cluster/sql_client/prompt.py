"""The interactive client: a prompt with history, completion and several lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headrace.cluster.errors import UsageError
from headrace.cluster.sql_client.session import ClientSession
from headrace.cluster.sql_client.splitting import is_complete, split_statements
from headrace.common import options as declared
from headrace.common.errors import HeadraceError
from headrace.sql.functions import builtin_registry

__all__ = ["candidates", "history_file", "interact"]

_PROMPT, _MORE = "headrace SQL> ", "> "
_WELCOME = "headrace SQL client. HELP; shows the commands, QUIT; leaves. Statements end with ;\n"
_KEYWORDS = """
ALTER AND AS BEGIN BETWEEN BY CASE CAST CATALOG CATALOGS CLEAR COLUMNS COUNT CREATE CUMULATE CURRENT
DATABASE DATABASES DESCRIBE DESCRIPTOR DISTINCT DROP ELSE END EXECUTE EXISTS EXIT EXPLAIN EXTENDED
FROM FULL FUNCTION FUNCTIONS GROUP HAVING HELP HOP IF IN INSERT INTERVAL INTO IS JOB JOBS JOIN
LATERAL LIKE LIMIT LOAD METADATA MODULE MODULES NOT NULL ON OR ORDER OVER OVERWRITE PARTITION
PARTITIONED PARTITIONS PRIMARY QUIT RENAME RESET ROW SAVEPOINT SELECT SESSION SET SHOW STATEMENT
STOP TABLE TABLES TEMPORARY THEN TO TUMBLE UNION UNLOAD USE VALUES VIEW VIEWS VIRTUAL WATERMARK WHEN
WHERE WITH
"""


def history_file() -> Path:
    """Where the statements of earlier sessions are."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "headrace" / "sql-history"


def candidates(client: ClientSession, before: str) -> Iterator[tuple[str, int]]:
    """What may stand at the cursor, and how many characters before it are replaced."""
    setting = re.search(r"\b(?:SET|RESET)\s+'([\w.-]*)$", before, re.IGNORECASE)
    if setting is not None:
        keys = [*declared.OPTIONS, "sql-client.execution.result-mode", "table.dml-sync"]
        yield from ((k, len(setting[1])) for k in sorted(keys) if k.startswith(setting[1]))
        return
    found = re.search(r"[\w$]*$", before)
    word = found[0] if found else ""
    if not word:
        return
    for name in _names(client):
        if name.lower().startswith(word.lower()):
            yield name, len(word)
    capital = word.isupper() or not word.islower()
    for keyword in [*_KEYWORDS.split(), *builtin_registry().names()]:
        if keyword.startswith(word.upper()):
            yield (keyword if capital else keyword.lower()), len(word)


def _names(client: ClientSession) -> Iterable[str]:
    catalogs = client.session.catalogs
    try:
        tables = catalogs.list_tables()
    except HeadraceError:
        tables = []
    columns: set[str] = set()
    for table in tables:
        entry = catalogs.find_table((table,))
        columns |= {c.name for c in entry.columns} if entry is not None else set()
    here = catalogs.catalog(catalogs.current_catalog).list_databases()
    functions = catalogs.user_functions()
    return sorted({*tables, *columns, *here, *catalogs.registry.names(), *functions})


def interact(client: ClientSession, history: Path) -> None:
    """Ask for statements until QUIT or the end of the input."""
    ask = _prompt(client, history)
    print(_WELCOME)
    while not client.finished:
        try:
            text = ask()
        except KeyboardInterrupt:
            continue
        except EOFError:
            break
        for statement in split_statements(text):
            client.run(statement)
            if client.finished:
                break


def _prompt(client: ClientSession, history: Path) -> Any:
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import Completer, Completion
        from prompt_toolkit.history import FileHistory
        from prompt_toolkit.key_binding import KeyBindings
    except ImportError as error:
        raise UsageError(
            "the interactive SQL client needs prompt_toolkit: pip install 'headrace[sql-client]'; "
            "-f FILE and -e STATEMENT work without it"
        ) from error

    class Names(Completer):
        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Any]:
            for text, replaced in candidates(client, document.text_before_cursor):
                yield Completion(text, start_position=-replaced)

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        """Run what is complete; otherwise go on in the next line."""
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    history.parent.mkdir(parents=True, exist_ok=True)
    session: Any = PromptSession(
        history=FileHistory(str(history)),
        completer=Names(),
        complete_while_typing=False,
        key_bindings=keys,
        multiline=True,
        prompt_continuation=_MORE.rjust(len(_PROMPT)),
    )
    return lambda: session.prompt(_PROMPT)
