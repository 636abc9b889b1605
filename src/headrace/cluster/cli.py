"""The `headrace` command: runs a subcommand and turns what happens into an exit code."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from headrace.cluster.commands import COMMANDS
from headrace.cluster.errors import UsageError, show_error
from headrace.cluster.exit_codes import EXPLAINED, ExitCode
from headrace.common.errors import ConfigurationError, HeadraceError, UnknownJobError
from headrace.version import __version__

_DESCRIPTION = """\
Stateful stream processing with the model of Apache Flink, on Apache Spark."""

_EPILOG = f"""\
examples:
  headrace demo                         see a live streaming job
  headrace new PROJECT                  make a project to begin with
  headrace run job.py                   run a program
  headrace run --pyflink job.py         run a PyFlink program unchanged
  headrace info job.py                  show how it will run, without running it
  headrace list                         show running jobs; `headrace top` watches them
  headrace stop JOB -p DIRECTORY        end a job with a savepoint; run -s continues from it
  headrace COMMAND --help               help for a command

{EXPLAINED}"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and where help is."""

    def error(self, message: str) -> NoReturn:
        self.exit(ExitCode.USAGE, f"{self.prog}: {message}\n{self.prog} --help lists the options\n")


def build_parser(prog: str = "headrace") -> argparse.ArgumentParser:
    """The parser of the whole command."""
    parser = _Parser(
        prog=prog,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"headrace {__version__}")
    subparsers = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", parser_class=_Parser
    )
    for command in COMMANDS:
        added = subparsers.add_parser(
            command.NAME,
            usage=f"headrace {command.NAME} {command.USAGE}",
            help=command.SUMMARY,
            description=command.SUMMARY[0].upper() + command.SUMMARY[1:] + ".",
            epilog=command.EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.configure(added)
        added.add_argument(
            "-v", "--verbose", action="store_true", help="log what happens; show whole tracebacks"
        )
        added.set_defaults(run=command.run, parser=parser, command_parser=added)
    return parser


def main(argv: Sequence[str] | None = None, prog: str = "headrace") -> int:
    """Entry point; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser(prog if argv is None else "headrace")
    unknown = _unknown_command(arguments)
    if unknown is not None:
        print(unknown, file=sys.stderr)
        return ExitCode.USAGE
    try:
        options, unknown_options = parser.parse_known_args(arguments)
        if unknown_options and (
            getattr(options, "python", None) or getattr(options, "pyModule", None)
        ):
            # As in Flink, the arguments of the program begin where options are not known.
            at = arguments.index(unknown_options[0])
            options = parser.parse_args(arguments[:at])
            options.program = arguments[at:]
        elif unknown_options:
            _refuse(unknown_options, getattr(options, "command_parser", parser))
    except SystemExit as ended:
        return int(ended.code or 0)
    if options.command is None:
        parser.print_help()
        return ExitCode.OK
    with _own_log(options.verbose):
        return _guarded(options)


def _guarded(options: argparse.Namespace) -> int:
    try:
        return int(options.run(options))
    except (UsageError, ConfigurationError) as error:
        if options.verbose and isinstance(error, ConfigurationError):
            show_error(error, verbose=True)
        print(f"headrace {options.command}: {error}", file=sys.stderr)
        return ExitCode.USAGE
    except UnknownJobError as error:
        print(f"headrace {options.command}: {error}", file=sys.stderr)
        return ExitCode.NO_JOB
    except HeadraceError as error:
        if options.verbose:
            show_error(error, verbose=True)
        print(f"headrace {options.command}: {error}", file=sys.stderr)
        return ExitCode.FAILED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output, a pager or head, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK


def _unknown_command(arguments: list[str]) -> str | None:
    first = arguments[0] if arguments else "--help"
    names = [command.NAME for command in COMMANDS]
    if first.startswith("-") or first in names:
        return None
    if first.endswith(".py"):
        return f"headrace: to run a program: headrace run {' '.join(arguments)}"
    close = difflib.get_close_matches(first, names, n=1, cutoff=0.5)
    suggestion = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"
    return f"headrace: there is no command {first!r}; {suggestion}"


def _refuse(unknown: list[str], parser: argparse.ArgumentParser) -> NoReturn:
    if not unknown[0].startswith("-"):
        parser.error(f"too many arguments: {' '.join(unknown)}")
    names = [name for name in parser._option_string_actions if name.startswith("--")]
    close = difflib.get_close_matches(unknown[0].partition("=")[0], names, n=1)
    suggestion = f"; did you mean {close[0]}?" if close else ""
    parser.error(f"there is no option {unknown[0]}{suggestion}")


@contextlib.contextmanager
def _own_log(verbose: bool) -> Iterator[None]:
    """Show headrace's own log if that is wanted, and leave its logger as it was.

    The root logger belongs to the user's program.
    """
    logger = logging.getLogger("headrace")
    level, propagate = logger.level, logger.propagate
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    if verbose:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


if __name__ == "__main__":
    sys.exit(main())
