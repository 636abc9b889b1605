"""The interactive client: a prompt with history, completion and several lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.cluster.sql_client.client import Client
from headrace.cluster.sql_client.splitting import is_complete, split_statements

__all__ = ["history_file", "interact"]

_PROMPT, _MORE = "headrace SQL> ", "> "
_WELCOME = "headrace SQL client. HELP; shows the commands, QUIT; leaves. Statements end with ;\n"


def history_file() -> Path:
    """Where the statements of earlier sessions are."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "headrace" / "sql-history"


def interact(client: Client, history: Path) -> None:
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


def _prompt(client: Client, history: Path) -> Any:
    # Late: scripts run without a prompt.
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.key_binding import KeyBindings

    class Names(Completer):
        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Any]:
            for text, replaced in client.candidates(document.text_before_cursor):
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
