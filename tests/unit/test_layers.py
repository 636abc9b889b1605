"""The packages import each other only in the direction that the layering table allows.

The API describes, the graph records, the runtime interprets and Spark carries. When a layer truly
changes, change the table here and the one in CONTRIBUTING.md with it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"
PACKAGE = SRC / "headrace"
UNIT_TESTS = Path(__file__).parent

FOUNDATION = frozenset({"common", "metrics", "util", "version"})

# What the runtime may know of the public API: the interfaces that users implement or call.
DATASTREAM_INTERFACES = frozenset(
    {
        "datastream.connectors.base",
        "datastream.functions",
        "datastream.dead_letter",
        "datastream.output_tag",
        "datastream.state",
        "datastream.time_domain",
        "datastream.timerservice",
        "datastream.window",
    }
)

# Layer -> the layers (or single modules) that it may import besides itself and the root package.
ALLOWED: dict[str, frozenset[str]] = {
    "version": frozenset(),
    "common": frozenset({"util"}),
    "metrics": frozenset({"common"}),
    "util": frozenset({"common"}),
    "formats": frozenset({"common"}),
    "graph": FOUNDATION,
    "datastream": FOUNDATION | {"formats", "graph"},
    "runtime": FOUNDATION | {"graph"} | DATASTREAM_INTERFACES,
    "sql": FOUNDATION | {"datastream", "formats", "graph", "runtime"},
    "table": FOUNDATION | {"datastream", "graph", "sql"},
    "coordination": FOUNDATION | {"datastream.connectors.base", "graph", "runtime"},
    "spark": FOUNDATION | {"coordination", "datastream", "graph", "runtime", "state_processor"},
    "state_processor": FOUNDATION | {"coordination", "datastream", "graph", "runtime"},
    "testing": FOUNDATION | {"coordination", "datastream", "graph", "runtime"},
    "queryablestate": FOUNDATION | {"coordination", "datastream"},
    "compat": FOUNDATION | {"cluster", "datastream", "table"},
    "cluster": FOUNDATION
    | {"compat", "coordination", "datastream", "graph", "runtime", "spark", "sql", "table"},
    "__main__": frozenset({"cluster"}),
}

# What a layer may also import inside of a function, or for its annotations. `execute()` hands a
# program over to those who run it, and the writer of a connector works in a slot; describing a
# program loads neither.
ALLOWED_LATE: dict[str, frozenset[str]] = {
    "datastream": frozenset({"coordination", "runtime", "spark"}),
    # Functions of Spark are described and evaluated by Spark.
    "sql": frozenset({"spark.catalyst"}),
    "state_processor": frozenset({"spark"}),
    # Checks of tables run SQL; those of functions do not load it.
    "testing": frozenset({"sql", "table"}),
}

HEAVY = frozenset({"numpy", "pandas", "pyarrow", "pyspark"})
OPTIONAL = frozenset(
    {
        "IPython",
        "confluent_kafka",
        "deltalake",
        "fastavro",
        "prompt_toolkit",
        "psycopg",
        "pyiceberg",
        "pymysql",
        "pymysqlreplication",
        "uvicorn",
    }
)
SLOW_TO_LOAD = frozenset({"fsspec", "yaml"})
# The command line imports all commands, and answers at once: what a command needs, it imports late.
LIGHT_STARTS = ("headrace.cluster.commands.",)
LIGHT_LAYERS = ("common", "metrics", "util", "formats", "graph", "datastream", "runtime")


@dataclass(frozen=True)
class Import:
    """One imported module: where, what, whether that is when the file is imported, or never."""

    file: Path
    line: int
    target: str
    at_import: bool
    for_types: bool = False

    def __str__(self) -> str:
        return f"{self.file.relative_to(SRC)}:{self.line} imports {self.target}"


def layer_of(file: Path) -> str:
    """The layer of a source file; the root package's own file has the empty name."""
    first = file.relative_to(PACKAGE).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@cache
def is_module(dotted: str) -> bool:
    path = SRC.joinpath(*dotted.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def imported_modules(node: ast.stmt, file: Path) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        package = file.relative_to(SRC).parent.parts
        base = ".".join((*package[: len(package) - node.level + 1], *filter(None, [base])))
    # `from headrace import common` and `from headrace.datastream import state` import modules.
    names = [f"{base}.{alias.name}" for alias in node.names]
    modules = [name for name in names if base.startswith("headrace") and is_module(name)]
    return modules if len(modules) == len(names) else [base, *modules]


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def walk_imports(node: ast.AST, file: Path, at_import: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            for target in imported_modules(child, file):
                yield Import(file, child.lineno, target, at_import)
        elif isinstance(child, ast.expr):
            continue
        elif isinstance(child, ast.If) and is_type_checking(child):
            for found in walk_imports(ast.Module(child.body, []), file, False):
                yield replace(found, for_types=True)
            for statement in child.orelse:
                yield from walk_imports(ast.Module([statement], []), file, at_import)
        else:
            later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from walk_imports(child, file, at_import and not later)


@cache
def imports_of(file: Path) -> list[Import]:
    return list(walk_imports(ast.parse(file.read_text(encoding="utf-8")), file, True))


def module_name(file: Path) -> str:
    return ".".join(file.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


def is_allowed(layer: str, target: str, at_import: bool = True) -> bool:
    inside = target.removeprefix("headrace").removeprefix(".")
    allowed = ALLOWED[layer] | {layer}
    if not at_import:
        allowed |= ALLOWED_LATE.get(layer, frozenset())
    return inside == "" or any(
        inside == entry or inside.startswith(entry + ".") for entry in allowed
    )


def test_every_layer_is_in_the_table() -> None:
    assert {layer_of(file) for file in sources()} - {""} <= ALLOWED.keys()


def test_layers_import_only_what_is_below_them() -> None:
    wrong = [
        found
        for file in sources()
        if (layer := layer_of(file))
        for found in imports_of(file)
        if found.target.split(".")[0] == "headrace"
        and not is_allowed(layer, found.target, found.at_import)
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_the_root_package_imports_no_layer() -> None:
    imported = [f for f in imports_of(PACKAGE / "__init__.py") if f.at_import]
    found = [f for f in imported if f.target.startswith("headrace")]
    assert {f.target.split(".")[1] for f in found if "." in f.target} <= {"version"}


def test_only_the_spark_layer_imports_pyspark() -> None:
    wrong = [
        found
        for file in sources()
        if layer_of(file) != "spark"
        for found in imports_of(file)
        if found.target.split(".")[0] in ("pyspark", "py4j")
        # PyFlink programs catch this one.
        and (layer_of(file), found.target) != ("compat", "py4j.protocol")
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_light_layers_import_nothing_heavy_at_their_top() -> None:
    wrong = [
        found
        for file in sources()
        if layer_of(file) in LIGHT_LAYERS
        for found in imports_of(file)
        if found.at_import and found.target.split(".")[0] in HEAVY
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_importing_a_light_layer_loads_nothing_heavy() -> None:
    """In one process, from the lowest on: what is blamed on a layer, no lower one has loaded."""
    modules = {
        layer: [
            module_name(file)
            for file in sources()
            if layer_of(file) == layer and file.name != "__main__.py"
        ]
        for layer in LIGHT_LAYERS
    }
    program = (
        f"import importlib, sys\nfor layer, modules in {modules!r}.items():\n"
        "    for name in modules: importlib.import_module(name)\n"
        f"    if found := {set(HEAVY)!r} & sys.modules.keys(): sys.exit(f'{{layer}}: {{found}}')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_spark_worker_loads_nothing_of_the_driver() -> None:
    """Nor of what describes a program: Spark starts one after the other, and they pass on bytes."""
    program = (
        "import sys, headrace.spark.tasks, headrace.spark.live.tasks\n"
        "print(*(name for name in sys.modules if name.startswith('headrace.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert "headrace.spark.live.tasks" in loaded
    driver = ("headrace.coordination.slots.", "headrace.datastream", "headrace.graph.job_graph")
    light = "headrace.coordination.slots.heartbeats"
    assert [name for name in loaded if name.startswith(driver) and name != light] == []


def refuse_cycles(needed: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        raise AssertionError(" <- ".join(error.args[1])) from None


def is_declared_late(found: Import) -> bool:
    """Whether a table above says why this import may stand inside of a function."""
    layer = layer_of(found.file)
    return (
        found.target.split(".")[0] in HEAVY | OPTIONAL | SLOW_TO_LOAD
        or module_name(found.file).startswith(LIGHT_STARTS)
        or (
            found.target.startswith("headrace.")
            and layer in ALLOWED_LATE
            and not is_allowed(layer, found.target)
        )
    )


def says_why(found: Import) -> bool:
    """Whether there is a comment above the import, or above the group of imports that it is in."""
    above = reversed(found.file.read_text(encoding="utf-8").splitlines()[: found.line - 1])
    others = (s for line in above if (s := line.strip()) and not s.startswith(("import ", "from ")))
    return next(others).startswith("# ")


def test_a_late_import_says_why() -> None:
    wrong = [
        found
        for file in sources()
        for found in imports_of(file)
        if not (found.at_import or found.for_types or is_declared_late(found) or says_why(found))
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_the_unit_tests_have_the_tree_of_the_sources() -> None:
    folders = [p for p in UNIT_TESTS.rglob("*") if p.is_dir() and p.name != "__pycache__"]
    wrong = [p for p in folders if not (PACKAGE / p.relative_to(UNIT_TESTS)).is_dir()]
    assert not wrong, "\n".join(map(str, wrong))


def test_there_are_no_knots() -> None:
    """Imports inside of functions count too: what needs each other belongs together, or apart."""
    modules = {module_name(file): file for file in sources()}
    refuse_cycles(
        {
            name: {
                found.target
                for found in imports_of(file)
                if found.target in modules and found.target != name and not found.for_types
            }
            for name, file in modules.items()
        }
    )


def loaded_by(name: str, target: str) -> set[str]:
    """What an import loads: the module, and the packages around it that are not around us."""
    parts = target.split(".")
    around = {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return {package for package in around if not f"{name}.".startswith(f"{package}.")}


def test_each_module_can_be_imported_first() -> None:
    """A module loads the packages of what it imports, with all that those import."""
    modules = {module_name(file): file for file in sources()}
    refuse_cycles(
        {
            name: {
                loaded
                for found in imports_of(file)
                if found.target in modules and found.at_import
                for loaded in loaded_by(name, found.target)
            }
            for name, file in modules.items()
        }
    )


def test_imports_are_read_correctly() -> None:
    file = PACKAGE / "runtime" / "operators" / "example.py"
    tree = ast.parse(
        "from typing import TYPE_CHECKING\n"
        "import headrace.graph.specs\n"
        "from ..state import Table\n"
        "from headrace import spark\n"
        "if TYPE_CHECKING:\n"
        "    import numpy\n"
        "try:\n"
        "    import pandas\n"
        "except ImportError:\n"
        "    pass\n"
        "def f():\n"
        "    import pyarrow\n"
    )
    found = [(f.target, f.at_import) for f in walk_imports(tree, file, True)]
    assert ("headrace.graph.specs", True) in found
    assert ("headrace.runtime.state", True) in found
    assert ("numpy", False) in found
    assert ("pandas", True) in found
    assert ("pyarrow", False) in found
    assert not is_allowed("runtime", "headrace.spark.session")
    assert not is_allowed("runtime", "headrace.datastream.data_stream")
    assert not is_allowed("datastream", "headrace.spark.executor")
    assert is_allowed("datastream", "headrace.spark.executor", at_import=False)
    assert is_allowed("runtime", "headrace.datastream.functions")
    assert is_allowed("runtime", "headrace.datastream.window")
