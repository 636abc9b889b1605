"""`headrace doctor`: connects to everything that a program or a file of SQL names."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.planned import PlanReadyError, planned
from headrace.cluster.program_options import add_program, program_of, run_program, settings_of
from headrace.cluster.sql_client.splitting import split_statements
from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.spark_query_source import SparkQuerySource
from headrace.graph.job_graph import build_job_graph
from headrace.graph.specs import OperatorSpec, SinkSpec, SourceSpec
from headrace.graph.stream_graph import StreamGraph
from headrace.sql.operators.joins.specs import LookupJoinSpec

NAME = "doctor"
USAGE = "[options] FILE [args ...]"
SUMMARY = "check the connections that a program or a file of SQL needs"
EPILOG = """\
The program runs up to its first execute(); of a file of SQL, every statement is planned and none
is run. Sources, sinks and tables of lookup joins are then tried from the processes in which slots
would run, without changing anything there. The exit code is 1 if something is missing.

examples:
  headrace doctor job.py
  headrace doctor report.sql
  headrace doctor --here job.py             from this process alone: no Spark is started
  headrace doctor --master spark://host:7077 job.py"""


Results = list[tuple[str, bool, str]]


@dataclass(frozen=True)
class Trial:
    """What to try, and where it was found. Picklable."""

    name: str
    connector: Any

    def result(self) -> tuple[str, bool, str]:
        """The name, whether it was reached, and what was or what is missing."""
        try:
            return self.name, True, self.connector.probe() or "nothing to connect to"
        except HeadraceError as error:
            return self.name, False, str(error)
        except Exception as error:  # noqa: BLE001 - a connector of the user's own
            return self.name, False, f"{type(error).__name__}: {error}"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_program(parser)
    parser.add_argument(
        "--here", action="store_true", help="try from this process instead of Spark's executors"
    )


def run(options: argparse.Namespace) -> int:
    """Try everything; the exit code."""
    program = program_of(options)
    refused: Results = []

    def run_it() -> int:
        if program.path.suffix != ".sql":
            return run_program(program, options)
        refused.extend(_refused(program.path, options))
        return ExitCode.OK

    code, graphs = planned(run_it)
    if code != ExitCode.OK:
        return code
    trials = [trial for graph in graphs for trial in trials_of(graph)]
    if not trials and not refused:
        print("headrace doctor: there is no source or sink to try", file=sys.stderr)
        return ExitCode.FAILED
    return _show(
        refused + (_tried_here(trials) if options.here else _tried_by_spark(trials, options))
    )


def _refused(file: Path, options: argparse.Namespace) -> Results:
    """The statements of a file that cannot be planned; what declares something is carried out."""
    from headrace.table.environment_settings import EnvironmentSettings
    from headrace.table.table_environment import TableEnvironment

    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in settings_of(options).to_dict().items():
        tables.get_config().set(key, value)
    refused: Results = []
    for statement in split_statements(file.read_text("utf-8")):
        try:
            tables.execute_sql(statement)
        except PlanReadyError:
            continue
        except HeadraceError as error:
            refused.append((" ".join(statement.split())[:40], False, str(error)))
    return refused


def trials_of(graph: StreamGraph) -> Iterator[Trial]:
    """The sources, sinks and tables of lookup joins of a program, each once."""
    seen: list[Any] = []
    for vertex in build_job_graph(graph).vertices:
        for operator in vertex.operators:
            for connector in _connectors_of(operator.spec):
                if any(connector is other for other in seen):
                    continue
                seen.append(connector)
                kind = f"{operator.spec.kind}: "
                name = operator.name.removeprefix(kind).removeprefix(kind)
                yield Trial(f"{kind}{name}", connector)


def _connectors_of(spec: OperatorSpec) -> list[Any]:
    match spec:
        case SourceSpec():
            source = spec.source
            # In batch mode, one of them may read several tables.
            return source.tables if isinstance(source, SparkQuerySource) else [source]
        case SinkSpec():
            return [spec.sink]
        case LookupJoinSpec():
            return [spec.table]
    return []


def _tried_here(trials: list[Trial]) -> Results:
    return [trial.result() for trial in trials]


def _tried_by_spark(trials: list[Trial], options: argparse.Namespace) -> Results:
    """Every trial by every executor; the first failure of each counts."""
    import cloudpickle

    from headrace.common import options as declared
    from headrace.spark.session import get_or_create_context

    settings = settings_of(options)
    spark = declared.spark_properties(settings)
    spark["spark.master"] = settings.get(declared.SPARK_MASTER) or "local[1]"
    context = get_or_create_context(spark)
    code = cloudpickle.dumps(trials)
    tasks = max(context.defaultParallelism, 1)
    found = context.parallelize(range(tasks), tasks).map(_task(code)).collect()
    return [next((r for r in of_one if not r[1]), of_one[0]) for of_one in zip(*found, strict=True)]


def _task(code: bytes) -> Callable[[int], Results]:
    def run(_: int) -> Results:
        import cloudpickle

        return [trial.result() for trial in cloudpickle.loads(code)]

    return run


def _show(results: Results) -> int:
    width = max(len(name) for name, _, _ in results)
    for name, reached, text in results:
        print(f"{'ok' if reached else 'FAILED':6}  {name:{width}}  {text}")
    failed = sum(not reached for _, reached, _ in results)
    if failed:
        print(f"{failed} of {len(results)} cannot be reached", file=sys.stderr)
    return ExitCode.FAILED if failed else ExitCode.OK
