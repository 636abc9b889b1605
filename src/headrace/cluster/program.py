"""Runs a user's file as the main program of this process, as `python FILE` would."""

from __future__ import annotations

import builtins
import contextlib
import difflib
import importlib.util
import io
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

from headrace.cluster.errors import UsageError
from headrace.datastream import unexecuted


@dataclass(frozen=True)
class Program:
    """A file, or a module by name, with its arguments and what it imports from elsewhere."""

    path: Path
    arguments: tuple[str, ...] = ()
    package: str = ""
    imports: tuple[str, ...] = ()

    @staticmethod
    def of_file(file: str, arguments: Sequence[str] = (), imports: Sequence[str] = ()) -> Program:
        """The program in a file, or in the `__main__.py` of a directory."""
        path = Path(file)
        if path.is_dir():
            path = path / "__main__.py"
        if not path.is_file():
            raise UsageError(f"there is no file {str(path)!r}{_nearest(path)}")
        return Program(path, tuple(arguments), imports=tuple(imports))

    @staticmethod
    def of_module(name: str, arguments: Sequence[str] = (), imports: Sequence[str] = ()) -> Program:
        """The program in a module that can be imported from the working directory or the path."""
        with first_on_path(os.getcwd(), *imports):
            try:
                spec = importlib.util.find_spec(name)
                if spec is not None and spec.submodule_search_locations is not None:
                    spec = importlib.util.find_spec(f"{name}.__main__")
            except ModuleNotFoundError:
                spec = None
        if spec is None or spec.origin is None:
            raise UsageError(
                f"there is no module {name!r} to run; --pyFiles says where it is, if that is "
                "neither the working directory nor the path"
            )
        package = spec.name.rpartition(".")[0] or "."
        return Program(Path(spec.origin), tuple(arguments), package, tuple(imports))

    def run(self) -> None:
        """Run it to its end. It *is* `__main__` meanwhile: what it defines can be pickled."""
        code = self._code()
        module = ModuleType("__main__")
        vars(module).update(__file__=str(self.path), __builtins__=builtins, __spec__=None)
        directory = str(self.path.resolve().parent)
        if self.package:
            # As `python -m` does it: the working directory, and the package for relative imports.
            directory = os.getcwd()
            vars(module)["__package__"] = self.package.removeprefix(".")
        with (
            as_main(module),
            _arguments([str(self.path), *self.arguments]),
            first_on_path(directory, *self.imports),
        ):
            try:
                exec(code, vars(module))
            except BaseException:
                unexecuted.forget()
                raise

    def _code(self) -> CodeType:
        with io.open_code(str(self.path)) as file:
            source = file.read()
        return compile(source, str(self.path), "exec", dont_inherit=True)


@contextlib.contextmanager
def as_main(module: ModuleType) -> Iterator[None]:
    """Let a module be `__main__`."""
    previous = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.modules["__main__"] = previous


@contextlib.contextmanager
def _arguments(arguments: list[str]) -> Iterator[None]:
    previous, sys.argv = sys.argv, arguments
    try:
        yield
    finally:
        sys.argv = previous


@contextlib.contextmanager
def first_on_path(*directories: str) -> Iterator[None]:
    """Import from these directories before all others."""
    sys.path[:0] = directories
    try:
        yield
    finally:
        for directory in directories:
            with contextlib.suppress(ValueError):
                sys.path.remove(directory)


def _nearest(path: Path) -> str:
    directory = path.parent
    names = [p.name for p in directory.glob("*.py")] if directory.is_dir() else []
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {str(directory / close[0])!r}?" if close else ""
