"""`headrace config`: the settings that count here, and all that there are."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import textwrap
from typing import Any

from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.program_options import add_settings, settings_of
from headrace.common import options as declared
from headrace.common.configuration import Configuration
from headrace.common.option_loading import (
    find_configuration_file,
    load_configuration,
    read_configuration_file,
    settings_from_environment,
)
from headrace.common.settings.reference import render_markdown
from headrace.common.settings.secrets import without_secrets
from headrace.common.settings.types import text_of

NAME = "config"
USAGE = "[options] [KEY ...]"
SUMMARY = "show the current settings, or all options"
EPILOG = """\
Without a key: what files, environment variables and this command line set, and where. A program
may still set something else.

examples:
  headrace config                       what is set, and where
  headrace config --options             the reference of all options
  headrace config parallelism.default   one option: value, type, default, meaning
  headrace config -p 4 --json           the settings that `headrace run -p 4` would start with"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_settings(parser)
    parser.add_argument("--options", action="store_true", help="list all options")
    parser.add_argument("--markdown", action="store_true", help="with --options: as Markdown")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("key", nargs="*", metavar="KEY", help="describe these options only")


def run(options: argparse.Namespace) -> int:
    """Print settings or the reference."""
    arguments = settings_of(options)
    if options.markdown:
        print(render_markdown(), end="")
    elif options.options or options.key:
        _print_options(_chosen(options.key), load_configuration(None, arguments.to_dict()), options)
    else:
        _print_settings(arguments, options.json)
    return ExitCode.OK


def _chosen(keys: list[str]) -> list[declared.Option[Any]]:
    if not keys:
        return list(declared.OPTIONS.values())
    for key in keys:
        if declared.find(key) is None:
            close = difflib.get_close_matches(key, declared.OPTIONS, n=1, cutoff=0.5)
            suggestion = f"; did you mean {close[0]}?" if close else ""
            raise UsageError(f"there is no option {key}{suggestion}")
    return [option for key in keys if (option := declared.find(key)) is not None]


def _print_options(
    chosen: list[declared.Option[Any]], effective: Configuration, options: argparse.Namespace
) -> None:
    rows = [_described(option, effective) for option in chosen]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        value = "" if row["value"] is None else f" = {row['value']}"
        print(f"{row['key']}{value}")
        default = "no default" if row["default"] is None else f"default {row['default']}"
        print(f"    {row['type']}, {default}")
        print(textwrap.indent(textwrap.fill(row["description"], 92), "    "))


def _described(option: declared.Option[Any], effective: Configuration) -> dict[str, Any]:
    value = None
    if effective.contains(option):
        value = without_secrets({option.key: text_of(effective.get(option))})[option.key]
    kind = option.type.name
    return {
        "key": option.key,
        "type": option.type.expected.removeprefix("one of ") if kind == "Enum" else kind,
        "default": None if option.default is None else text_of(option.default),
        "value": value,
        "description": option.description,
    }


def _print_settings(arguments: Configuration, as_json: bool) -> None:
    places: list[tuple[str, Configuration]] = []
    file = find_configuration_file(os.environ)
    if file is not None:
        places.append((str(file), read_configuration_file(file)))
    places.append(("environment", settings_from_environment(os.environ)))
    places.append(("command line", arguments))
    settings: dict[str, dict[str, str]] = {}
    for place, configuration in places:
        for key, value in without_secrets(configuration.to_dict()).items():
            settings[key] = {"value": value, "from": place}
    load_configuration(None, arguments.to_dict())  # complains about values that cannot be
    if as_json:
        print(json.dumps(settings, indent=2, sort_keys=True))
        return
    if not settings:
        print("nothing is set: all options have their defaults (headrace config --options)")
    for key, setting in sorted(settings.items()):
        print(f"{key} = {setting['value']}    ({setting['from']})")
