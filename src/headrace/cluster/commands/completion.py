"""`headrace completion`: prints a script that completes commands and options in a shell."""

from __future__ import annotations

import argparse

from headrace.cluster.completion import SHELLS, script_for
from headrace.cluster.exit_codes import ExitCode

NAME = "completion"
USAGE = "bash|zsh|fish"
SUMMARY = "print a script that completes commands and options in a shell"
EPILOG = """\
examples:
  source <(headrace completion bash)                                     this shell
  headrace completion bash > ~/.local/share/bash-completion/completions/headrace
  headrace completion zsh > "${fpath[1]}/_headrace"
  headrace completion fish > ~/.config/fish/completions/headrace.fish"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(options: argparse.Namespace) -> int:
    """Print the script; the exit code."""
    print(script_for(options.shell, options.parser))
    return ExitCode.OK
