"""What the command line says when something goes wrong."""

from __future__ import annotations

import sys
from typing import TextIO

from headrace.common.display.errors import full_text, short_text, wants_everything
from headrace.compat import is_installed


class UsageError(Exception):
    """The command cannot be carried out as it was given; the message says what to do."""


def show_error(
    error: BaseException, *, verbose: bool = False, stream: TextIO | None = None
) -> None:
    """Write an error of a user's program, without frames of headrace unless `verbose`."""
    stream = stream or sys.stderr
    if verbose or wants_everything():
        print(full_text(error), end="", file=stream)
    else:
        print(short_text(error, "headrace run --verbose"), end="", file=stream)
    hint = _hint(error)
    if hint:
        print(hint, file=stream)


_INSTEAD = {
    "_j_stream_execution_environment": "env.configure(configuration) and env.get_configuration() "
    "set and read its settings",
    "_j_tenv": "t_env.get_config() and t_env.execute_sql(statement) do most of it",
    "_j_configuration": "Configuration has a method for each type of setting, and from_dict()",
}
_JAVA_METHODS = ("get_java_type_info", "get_java_function")


def _hint(error: BaseException) -> str | None:
    if isinstance(error, AttributeError):
        name = error.name or ""
        if is_installed() and (name.startswith("_j_") or name in _JAVA_METHODS):
            instead = _INSTEAD.get(name, "call methods of the object itself, or leave it out")
            return f"there is no Java behind headrace, and no {name}: {instead}"
        return None
    if not isinstance(error, ImportError):
        return None
    name = error.name or ""
    if (
        name.startswith("headrace")
        and is_installed()
        and not isinstance(error, ModuleNotFoundError)
    ):
        what = name.replace("headrace", "pyflink", 1)
        return f"headrace does not have this name of {what} yet; docs/coverage.md lists what it has"
    if name.split(".")[0] == "pyflink" and not is_installed():
        return "this is a PyFlink program: run it with headrace run --pyflink FILE"
    return None
