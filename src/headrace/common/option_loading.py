"""Finds the settings of a program in code, command line, environment and files, in this precedence.

A setting made in code wins over one on the command line, that over the environment, that over the
configuration file, and that over the option's default.

* Environment: `HEADRACE_` and the key in capitals with `_` for `.` and `-`, such as
  `HEADRACE_PARALLELISM_DEFAULT=4`, for every declared option. `HEADRACE_PROPERTIES` takes any
  number of further `key: value` lines, for keys that are not declared: `spark.executor.memory: 2g`.
* File: `headrace.yaml` or `config.yaml` in `$HEADRACE_CONF_DIR`, else in `./conf`, else
  `headrace.yaml` in the working directory, else what Flink reads: `flink-conf.yaml` or
  `config.yaml` in `$FLINK_CONF_DIR`. Keys may be flat (`parallelism.default: 4`) or nested.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.common.settings.checks import check
from headrace.common.settings.types import MAP

__all__ = [
    "find_configuration_file",
    "load_configuration",
    "read_configuration_file",
    "settings_from_arguments",
    "settings_from_environment",
]

logger = logging.getLogger(__name__)

_FILE_NAMES = ("headrace.yaml", "config.yaml")
_FLINK_FILE_NAMES = ("flink-conf.yaml", "config.yaml")


def load_configuration(
    code: Configuration | Mapping[str, Any] | None = None,
    arguments: Iterable[str] | Mapping[str, Any] = (),
    environ: Mapping[str, str] | None = None,
    working_directory: str | Path = ".",
    defaults: Mapping[str, Any] | None = None,
) -> Configuration:
    """Puts together the settings from all places; defaults are not written into the result.

    Args:
        code: Settings made by the program.
        arguments: Settings from the command line, as `key=value` texts or as a mapping.
        environ: The environment; that of the process by default.
        working_directory: Where to look for a file if `HEADRACE_CONF_DIR` is not set.
        defaults: Settings that count less than all others.

    Raises:
        ConfigurationError: A file cannot be read, or an option has a value that it cannot have.
    """
    environ = os.environ if environ is None else environ
    merged = Configuration.from_dict(defaults or {})
    file = find_configuration_file(environ, working_directory)
    if file is not None:
        merged.add_all(read_configuration_file(file))
    merged.add_all(settings_from_environment(environ))
    if isinstance(arguments, Mapping):
        merged.add_all(Configuration.from_dict(arguments))
    else:
        merged.add_all(settings_from_arguments(arguments))
    if isinstance(code, Configuration):
        merged.add_all(code)
    elif code is not None:
        merged.add_all(Configuration.from_dict(code))
    check(merged)
    return merged


def find_configuration_file(
    environ: Mapping[str, str], working_directory: str | Path = "."
) -> Path | None:
    """The configuration file that counts, or None."""
    if environ.get("HEADRACE_CONF_DIR"):
        return _file_of_variable("HEADRACE_CONF_DIR", environ, _FILE_NAMES)
    base = Path(working_directory)
    # A bare ./config.yaml is more often the program's own file than ours.
    found = _first_file(base / "conf", _FILE_NAMES) or _first_file(base, _FILE_NAMES[:1])
    if found is None and environ.get("FLINK_CONF_DIR"):
        return _file_of_variable("FLINK_CONF_DIR", environ, _FLINK_FILE_NAMES)
    return found


def _file_of_variable(variable: str, environ: Mapping[str, str], names: tuple[str, ...]) -> Path:
    found = _first_file(Path(environ[variable]), names)
    if found is None:
        raise ConfigurationError(
            f"{variable} is {environ[variable]!r}, but there is no {' or '.join(names)} in it; "
            "create one or unset the variable"
        )
    return found


def _first_file(directory: Path, names: Iterable[str]) -> Path | None:
    return next((directory / name for name in names if (directory / name).is_file()), None)


def read_configuration_file(path: str | Path) -> Configuration:
    """Reads one YAML file with flat or nested keys, or a `flink-conf.yaml`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot read the configuration file {path}: {error}") from error
    if Path(path).name == "flink-conf.yaml":
        return _from_lines(text, path)
    return _from_yaml(text, f"the configuration file {path}")


def _from_lines(text: str, path: str | Path) -> Configuration:
    """Reads what is YAML by its name only: Flink takes each line of it for itself."""
    configuration = Configuration()
    for number, line in enumerate(text.splitlines(), 1):
        setting = line.split("#", 1)[0].strip()
        key, colon, value = setting.partition(": ")
        if colon and key.strip() and value.strip():
            configuration.set_string(key.strip(), value.strip())
        elif setting:
            logger.warning("line %d of %s is ignored: it is not `key: value`", number, path)
    return configuration


def _from_yaml(text: str, where: str) -> Configuration:
    import yaml  # late: slots start without it

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{where} is not valid YAML: {error}") from error
    if content is None:
        return Configuration()
    if not isinstance(content, dict):
        raise ConfigurationError(
            f"{where} must hold `key: value` lines, but holds a {type(content).__name__}"
        )
    flat: dict[str, Any] = {}
    _flatten(content, "", flat)
    return Configuration.from_dict(flat)


def _flatten(content: Mapping[Any, Any], prefix: str, into: dict[str, Any]) -> None:
    for name, value in content.items():
        key = f"{prefix}{name}"
        option = options.find(key)
        is_map = option is not None and option.type is MAP
        if isinstance(value, dict) and not is_map:
            _flatten(value, key + ".", into)
        elif value is not None:
            into[key] = value


def settings_from_environment(environ: Mapping[str, str]) -> Configuration:
    """The settings that environment variables make."""
    configuration = Configuration()
    properties = environ.get("HEADRACE_PROPERTIES")
    if properties:
        configuration.add_all(_from_yaml(properties, "HEADRACE_PROPERTIES"))
    for key in options.OPTIONS:
        value = environ.get(options.environment_variable(key))
        if value is not None:
            configuration.set_string(key, value)
    return configuration


def settings_from_arguments(arguments: Iterable[str]) -> Configuration:
    """The settings in `key=value` texts, as `-D` takes them on the command line."""
    configuration = Configuration()
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(
                f"a setting on the command line must be written as key=value, not {argument!r}"
            )
        configuration.set_string(key.strip(), value.strip())
    return configuration
