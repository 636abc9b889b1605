"""Completion scripts for shells, made from the parsers of the command line."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

__all__ = ["SHELLS", "script_for"]

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class _Command:
    name: str
    about: str
    options: tuple[tuple[tuple[str, ...], str], ...]
    words: tuple[str, ...]


def script_for(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script of a shell."""
    commands = _commands(parser)
    if shell == "bash":
        return _bash(commands)
    return _zsh(commands) if shell == "zsh" else _fish(commands)


def _commands(parser: argparse.ArgumentParser) -> list[_Command]:
    (subparsers,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    about = {a.dest: a.help or "" for a in subparsers._choices_actions}
    return [
        _Command(
            name,
            about.get(name, ""),
            tuple(
                (tuple(a.option_strings), (a.help or "").replace("%%", "%"))
                for a in sub._actions
                if a.option_strings
            ),
            tuple(
                str(choice)
                for a in sub._actions
                if not a.option_strings and a.choices
                for choice in a.choices
            ),
        )
        for name, sub in subparsers.choices.items()
    ]


def _option_names(command: _Command) -> str:
    return " ".join(option for names, _ in command.options for option in names)


def _choices(command: _Command) -> str:
    return " ".join(command.words)


def _bash(commands: list[_Command]) -> str:
    options = "\n".join(f'            {c.name}) words="{_option_names(c)}" ;;' for c in commands)
    choices = "\n".join(f'        {c.name}) words="{_choices(c)}" ;;' for c in commands if c.words)
    names = " ".join(c.name for c in commands)
    return f"""\
_headrace() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))
        return
    fi
    if [[ "$current" == -* ]]; then
        case "${{COMP_WORDS[1]}}" in
{options}
        esac
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{choices}
        *) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o filenames -F _headrace headrace"""


def _zsh(commands: list[_Command]) -> str:
    listed = "\n".join(f"        {_quoted(f'{c.name}:{c.about}')}" for c in commands)
    options = "\n".join(f"        {c.name}) offered=({_option_names(c)}) ;;" for c in commands)
    words = "\n".join(f"        {c.name}) offered=({_choices(c)}) ;;" for c in commands if c.words)
    return f"""\
#compdef headrace
_headrace() {{
    local -a commands offered
    commands=(
{listed}
    )
    if (( CURRENT == 2 )); then
        if [[ "$PREFIX" == -* ]]; then
            compadd -- --help --version
        else
            _describe command commands
        fi
        return
    fi
    if [[ "$PREFIX" == -* ]]; then
        case "$words[2]" in
{options}
        esac
        compadd -- $offered
        return
    fi
    case "$words[2]" in
{words}
        *) _files; return ;;
    esac
    compadd -- $offered
}}
# As a file of fpath it is run at the first key; otherwise it is read by a shell that starts.
if [[ "$funcstack[1]" == _headrace ]]; then
    _headrace "$@"
else
    compdef _headrace headrace
fi"""


def _fish(commands: list[_Command]) -> str:
    lines = [
        "function __headrace_runs",
        "    set -l words (commandline -opc)",
        '    test (count $words) -gt 1; and test "$words[2]" = "$argv[1]"',
        "end",
        "complete -c headrace -f -n __fish_use_subcommand",
        "complete -c headrace -n __fish_use_subcommand -l help -d 'show help'",
        "complete -c headrace -n __fish_use_subcommand -l version -d 'show the version'",
    ]
    for command in commands:
        lines.append(
            f"complete -c headrace -n __fish_use_subcommand -a {command.name} "
            f"-d {_quoted(command.about)}"
        )
        seen = f"-n '__headrace_runs {command.name}'"
        for names, about in command.options:
            flags = " ".join(_fish_flag(name) for name in names)
            lines.append(f"complete -c headrace {seen} {flags} -d {_quoted(about)}")
        if command.words:
            lines.append(f"complete -c headrace {seen} -f -a {_quoted(_choices(command))}")
    return "\n".join(lines)


def _fish_flag(name: str) -> str:
    """A long option, a short one, or one of Flink's with one dash and several letters."""
    if name.startswith("--"):
        return f"-l {name[2:]}"
    return f"-s {name[1:]}" if len(name) == 2 else f"-o {name[1:]}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "'\\''") + "'"
