"""headrace: stateful stream processing with the model of Apache Flink, carried by Spark."""

from __future__ import annotations

from headrace.version import __version__

__all__ = ["__version__", "load_ipython_extension"]


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext headrace` calls in a notebook: adds the magic `%%headrace_sql`."""
    # Late, so that `import headrace` stays light; a notebook needs all of tables anyway.
    from headrace.cluster.notebook import add_magics

    add_magics(shell)
