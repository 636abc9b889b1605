"""`%%headrace_sql` in notebooks: the statements of a cell, with tables that fill while they run."""

from __future__ import annotations

from typing import Any, Protocol

from headrace.cluster.sql_client.live_table import RowsSoFar
from headrace.cluster.sql_client.splitting import split_statements
from headrace.common.display.html import escaped, html_table
from headrace.common.errors import HeadraceError
from headrace.sql.session.result import StatementResult
from headrace.sql.session.tableau import Tableau
from headrace.table import TableEnvironment
from headrace.table.environment_settings import EnvironmentSettings

__all__ = ["add_magics"]

_SHOWN = 100
_REFRESH_S = 0.3


class _Shell(Protocol):
    """What is used of IPython."""

    user_ns: dict[str, Any]

    def register_magic_function(self, function: Any, magic_kind: str, magic_name: str) -> None:
        """Make a magic known."""


def add_magics(shell: Any) -> None:
    """Make `%%headrace_sql` known to a shell of IPython."""
    magic = _SqlMagic(shell)
    shell.register_magic_function(magic.run, "cell", "headrace_sql")


class _SqlMagic:
    """Runs cells in a table environment of the notebook."""

    def __init__(self, shell: _Shell) -> None:
        self._shell = shell
        self._own: TableEnvironment | None = None

    def run(self, line: str, cell: str) -> None:
        """`%%headrace_sql [NAME]`: NAME is the variable with the table environment.

        Without a name it is the only one of the notebook, or a new one if there is none.
        Interrupting the cell ends a query.
        """
        try:
            environment = self._environment(line.strip())
            for statement in split_statements(cell):
                _show(environment.execute_sql(statement.strip().removesuffix(";"))._result)
        except HeadraceError as error:
            # The statement is in view, so a traceback through the library would only hide it.
            _display(f"<pre><strong>{type(error).__name__}</strong>: {escaped(error)}</pre>")

    def _environment(self, name: str) -> TableEnvironment:
        if name:
            found = self._shell.user_ns.get(name)
            if not isinstance(found, TableEnvironment):
                raise HeadraceError(f"{name} is not a table environment of this notebook")
            return found
        known = {
            id(value): value
            for variable, value in self._shell.user_ns.items()
            if isinstance(value, TableEnvironment) and not variable.startswith("_")
        }
        if len(known) > 1:
            raise HeadraceError(
                "the notebook has several table environments; name one: %%headrace_sql t_env"
            )
        if known:
            return next(iter(known.values()))
        if self._own is None:
            self._own = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        return self._own


def _show(result: StatementResult) -> None:
    """Show the rows of a result until there are no more of them."""
    rows = RowsSoFar(result.rows(), changelog=False)
    cells = Tableau(result.schema, result.zone).cells
    rows.start()
    shown: Any = None
    try:
        while True:
            ended = rows.ended.wait(_REFRESH_S)
            last, count = rows.last(_SHOWN)
            below = f"{count:,} row" + ("" if count == 1 else "s") + ("" if ended else " so far")
            below += f", the last {_SHOWN} of them shown" if count > _SHOWN else ""
            html = html_table(result.schema.names, (cells(row) for _, row in last), below)
            shown = _display(html, shown)
            if ended:
                break
    except KeyboardInterrupt:
        result.close()
    if rows.error is not None:
        raise rows.error


def _display(html: str, before: Any = None) -> Any:
    """Show HTML in the notebook, in the place of what was shown before."""
    # IPython is there in notebooks only, and its functions have no types.
    from IPython import display

    shown: Any = display
    if before is None:
        return shown.display(shown.HTML(html), display_id=True)
    before.update(shown.HTML(html))
    return before
