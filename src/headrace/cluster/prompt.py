"""A Python prompt with environments and PyFlink's names, which runs like a program."""

from __future__ import annotations

import builtins
import code
import contextlib
import importlib
import os
import platform
import sys
from types import CodeType, ModuleType

from headrace.cluster.errors import show_error
from headrace.cluster.program import as_main, first_on_path
from headrace.coordination.access.interrupts import INTERRUPTED, cancel_jobs
from headrace.datastream import unexecuted
from headrace.version import __version__

__all__ = ["Prompt"]

_BANNER = f"""\
headrace {__version__}, Python {platform.python_version()}
s_env is a StreamExecutionEnvironment, st_env a StreamTableEnvironment, and the names of
common, datastream, table, its catalogs, expressions and windows are there:

    st_env.from_elements([(1, "a"), (2, "b")], ["n", "t"]).execute().print()
    s_env.from_collection([1, 2]).map(lambda n: n + 1).print()
    s_env.execute()

Ctrl+C cancels what runs, Ctrl+D ends."""


class Prompt:
    """What `headrace shell` runs in place of a program."""

    def run(self) -> None:
        """Read and run statements until the input ends.

        The prompt *is* `__main__` meanwhile: what is defined there can be pickled.
        """
        module = ModuleType("__main__")
        names = vars(module)
        names.update(__builtins__=builtins, __spec__=None)
        with as_main(module), first_on_path(os.getcwd()):
            # Late: it makes the environments, which look at the settings of the command line.
            shell = importlib.import_module("headrace.compat.shell")
            names.update({k: v for k, v in vars(shell).items() if not k.startswith("_")})
            _complete_names(names)
            try:
                _Console(names).interact(_BANNER, exitmsg="")
            finally:
                # At a prompt, what was built and did not run may be an attempt.
                unexecuted.forget()


class _Console(code.InteractiveConsole):
    def runcode(self, code: CodeType) -> None:
        try:
            super().runcode(code)
        except KeyboardInterrupt:
            cancel_jobs()
            print(INTERRUPTED, file=sys.stderr)

    def showtraceback(self) -> None:
        error = sys.exc_info()[1]
        if error is None or error.__traceback__ is None:
            return
        if isinstance(error, KeyboardInterrupt):
            raise error
        # The first frame is that of the console itself.
        show_error(error.with_traceback(error.__traceback__.tb_next))


def _complete_names(names: dict[str, object]) -> None:
    """The tab key completes names, where Python has been built with readline."""
    with contextlib.suppress(ImportError):
        # Late, because Python may have been built without it.
        import readline
        import rlcompleter

        readline.set_completer(rlcompleter.Completer(names).complete)
        readline.parse_and_bind("tab: complete")
