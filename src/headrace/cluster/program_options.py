"""The options that every command which runs a user's program has, and what they do to it."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any, Protocol

from headrace.cluster.argument_types import count
from headrace.cluster.errors import UsageError, show_error
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.program import Program
from headrace.common import options as declared
from headrace.common.configuration import Configuration
from headrace.common.errors import JobCancelledError
from headrace.common.option_loading import settings_from_arguments
from headrace.common.settings.checks import check
from headrace.compat import install
from headrace.coordination.access.interrupts import INTERRUPTED, cancel_jobs, wait_for_jobs
from headrace.coordination.slots.dependencies import import_paths
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

_PYTHON_DRIVER = "org.apache.flink.client.python.PythonDriver"
"""The class that means a Python program."""


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Options for settings of the jobs."""
    group = parser.add_argument_group("settings")
    group.add_argument(
        "-p",
        "--parallelism",
        type=count,
        metavar="N",
        help="parallelism of operators that do not set their own",
    )
    group.add_argument(
        "-D",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="any setting, may be repeated; `headrace config --options` lists them",
    )
    group.add_argument(
        "--master",
        metavar="URL",
        help="Spark master: local[2], spark://host:7077, yarn, k8s://... (default: local[*])",
    )


def add_program(parser: argparse.ArgumentParser) -> None:
    """Options that say which program to run."""
    add_settings(parser)
    group = parser.add_argument_group("program")
    group.add_argument(
        "--pyflink",
        action="store_true",
        help="let `import pyflink` find headrace, here and in slots",
    )
    group.add_argument("-py", "--python", metavar="FILE", help="the program; the same as FILE")
    group.add_argument(
        "-pym", "--pyModule", metavar="MODULE", help="the program, as a module's name"
    )
    group.add_argument(
        "-pyfs",
        "--pyFiles",
        metavar="PATHS",
        help="Python files for the program and the workers, separated by commas",
    )
    group.add_argument(
        "-pypath",
        "--pyPythonPath",
        metavar="PATHS",
        help="directories to import from in the program and the workers, separated by colons",
    )
    group.add_argument(
        "-pyreq", "--pyRequirements", metavar="FILE", help="requirements.txt for the workers"
    )
    group.add_argument(
        "-pyarch",
        "--pyArchives",
        metavar="PATHS",
        help="archives for the workers, separated by commas",
    )
    group.add_argument(
        "-pyexec",
        "--pyExecutable",
        metavar="PATH",
        help="the interpreter of the slots, with the Python version of the program",
    )
    group.add_argument(
        "-pyclientexec",
        "--pyClientExecutable",
        metavar="PATH",
        help="accepted for compatibility with Flink; the program runs in this interpreter",
    )
    group.add_argument(
        "-c", "--class", dest="java_class", metavar="CLASS", help="as in Flink, for Java programs"
    )
    group.add_argument(
        "-C",
        "--classpath",
        dest="classpaths",
        action="append",
        default=[],
        metavar="URL",
        help="as in Flink; jars are not loaded, and headrace has what most of them bring",
    )
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="FILE [args ...]",
        help="the program, and after it its own arguments",
    )


def settings_of(options: argparse.Namespace) -> Configuration:
    """What `-D`, `-p`, `-s`, `-n`, `--master` and the `-py...` options set.

    Raises:
        ConfigurationError: A setting is not written as key=value, or its value cannot be.
    """
    configuration = settings_from_arguments(options.settings)
    if options.parallelism is not None:
        configuration.set(declared.PARALLELISM_DEFAULT, options.parallelism)
    if options.master is not None:
        configuration.set(declared.SPARK_MASTER, options.master)
    elif (getattr(options, "target", None) or "").startswith("yarn"):
        configuration.set(declared.SPARK_MASTER, "yarn")
    _set_python(configuration, options)
    if getattr(options, "classpaths", None):
        configuration.set(declared.CLASSPATHS, options.classpaths)
    if getattr(options, "fromSavepoint", None):
        configuration.set(declared.SAVEPOINT_PATH, options.fromSavepoint)
    if getattr(options, "allowNonRestoredState", False):
        configuration.set(declared.SAVEPOINT_IGNORE_UNCLAIMED, True)
    if getattr(options, "claimMode", None):
        configuration.set(declared.RESTORE_MODE, options.claimMode.upper())
    check(configuration)
    return configuration


def _set_python(configuration: Configuration, options: argparse.Namespace) -> None:
    """What the `-py...` options say of workers."""
    files = options.pyFiles.split(",") if getattr(options, "pyFiles", None) else []
    if getattr(options, "pyPythonPath", None):
        files += options.pyPythonPath.split(os.pathsep)
    if files:
        configuration.set(declared.PYTHON_FILES, files)
    if getattr(options, "pyArchives", None):
        configuration.set(declared.PYTHON_ARCHIVES, options.pyArchives.split(","))
    if getattr(options, "pyRequirements", None):
        configuration.set(declared.PYTHON_REQUIREMENTS, options.pyRequirements)
    if getattr(options, "pyExecutable", None):
        configuration.set(declared.PYTHON_EXECUTABLE, options.pyExecutable)


def program_of(options: argparse.Namespace) -> Program:
    """The program that the options name."""
    if options.java_class not in (None, _PYTHON_DRIVER):
        raise UsageError(
            f"-c names a class of a Java program ({options.java_class}); headrace runs Python "
            f"programs: headrace {options.command} FILE [args ...]"
        )
    rest: list[str] = list(options.program)
    if rest[:1] == ["--"]:
        del rest[0]
    if options.python and options.pyModule:
        raise UsageError("give either --python FILE or --pyModule MODULE")
    imports = _imports_of(options)
    if options.pyModule:
        return Program.of_module(options.pyModule, rest, imports)
    if options.python:
        return Program.of_file(options.python, rest, imports)
    if not rest:
        raise UsageError(f"which program? headrace {options.command} FILE [args ...]")
    return Program.of_file(rest[0], rest[1:], imports)


def _imports_of(options: argparse.Namespace) -> list[str]:
    """Where the program itself finds `--pyFiles`, which it may import like its functions."""
    configuration = settings_from_arguments(options.settings)
    _set_python(configuration, options)
    first, last = import_paths(configuration.get(declared.PYTHON_FILES))
    return [*first, *last]


class Runnable(Protocol):
    """What runs as the main program."""

    def run(self) -> None:
        """Run it to its end."""


def run_program(program: Runnable, options: argparse.Namespace) -> int:
    """Run a program with the command line's settings; the exit code."""
    settings = settings_of(options)
    if getattr(options, "pyflink", False):
        install()
        if not options.verbose:
            # A program that shows all logs, as many of PyFlink's examples do, means its own.
            logging.getLogger("headrace").setLevel(logging.WARNING)
    with _command_line(settings):
        try:
            code = _code_of(program)
            if code == ExitCode.OK:
                wait_for_jobs()
        except KeyboardInterrupt:
            cancel_jobs()
            print(INTERRUPTED, file=sys.stderr)
            return ExitCode.INTERRUPTED
        except JobCancelledError as error:
            print(f"{error.message}: {error.job_name!r}", file=sys.stderr)
            return ExitCode.FAILED
        except Exception as error:  # noqa: BLE001 - the user's program; it is shown
            show_error(error, verbose=options.verbose)
            return ExitCode.FAILED
    return code


@contextlib.contextmanager
def _command_line(settings: Configuration) -> Iterator[None]:
    """Put settings where environments of the program look for those of the command line."""
    target = StreamExecutionEnvironment.command_line
    before: dict[str, Any] = dict(target)
    target.update(settings.to_dict())
    try:
        yield
    finally:
        target.clear()
        target.update(before)


def _code_of(program: Runnable) -> int:
    """Run a program; what `python FILE` would make of its end."""
    try:
        program.run()
    except SystemExit as exit:
        ended = exit
    else:
        return ExitCode.OK
    if ended.code is None:
        return ExitCode.OK
    if isinstance(ended.code, int):
        return ended.code
    print(ended.code, file=sys.stderr)
    return ExitCode.FAILED
