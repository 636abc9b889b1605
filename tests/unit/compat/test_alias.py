"""The alias under which PyFlink programs find headrace."""

from __future__ import annotations

import importlib
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from headrace import compat
from headrace.common.errors import HeadraceError
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.window import TumblingEventTimeWindows


@pytest.fixture(autouse=True)
def _alias_goes_away() -> Iterator[None]:
    yield
    compat.uninstall()


@pytest.fixture
def _installed(_alias_goes_away: None) -> None:
    compat.install()


@pytest.mark.usefixtures("_installed")
class TestModules:
    def test_are_those_of_headrace(self) -> None:
        pyflink = importlib.import_module("pyflink")
        assert pyflink is sys.modules["headrace"]
        assert importlib.import_module("pyflink.datastream") is sys.modules["headrace.datastream"]

    def test_shell_has_environments_and_names(self) -> None:
        shell = importlib.import_module("pyflink.shell")
        assert isinstance(shell.s_env, StreamExecutionEnvironment)
        assert shell.st_env.from_elements(
            [(1,)], shell.DataTypes.ROW([shell.DataTypes.FIELD("a", shell.DataTypes.INT())])
        )

    def test_give_programs_the_changelogs_that_flink_has_by_default(self) -> None:
        def merged() -> str:
            env = StreamExecutionEnvironment.get_execution_environment()
            return env.get_configuration().get_string("table.exec.mini-batch.enabled", "unset")

        assert merged() == "false"
        compat.uninstall()
        assert merged() == "unset"

    def test_keep_their_own_name_and_spec(self) -> None:
        module = importlib.import_module("pyflink.datastream.window")
        assert module.__name__ == "headrace.datastream.window"
        assert module.__spec__ is not None
        assert module.__spec__.name == "headrace.datastream.window"

    def test_every_form_of_import_works(self) -> None:
        scope: dict[str, object] = {}
        exec(
            "import pyflink.datastream.state\n"
            "import pyflink.datastream as ds\n"
            "from pyflink.datastream import window, StreamExecutionEnvironment as Env\n"
            "from pyflink.datastream.window import TumblingEventTimeWindows as Tumbling\n"
            "from pyflink.common import *\n",
            scope,
        )
        assert scope["Env"] is StreamExecutionEnvironment
        assert scope["Tumbling"] is TumblingEventTimeWindows
        assert scope["window"] is sys.modules["headrace.datastream.window"]
        assert "Types" in scope

    def test_have_the_type_variables_that_editors_import(self) -> None:
        functions = importlib.import_module("pyflink.datastream.functions")
        assert isinstance(functions.OUT, TypeVar)
        assert importlib.import_module("pyflink.table.udf").T is functions.T

    @pytest.mark.parametrize(
        ("program", "instead"),
        [
            ("from pyflink.dataset import ExecutionEnvironment", "in_batch_mode()"),
            ("from pyflink.ml.lib.clustering.kmeans import KMeans", "a model that a function"),
            ("from pyflink.table import BatchTableEnvironment", "in_batch_mode()"),
            ("from pyflink.table import CsvTableSource", "CREATE TABLE"),
            ("from pyflink.table.sources import CsvTableSource", "CREATE TABLE"),
            ("from pyflink.table.descriptors import Schema, Kafka", "CREATE TABLE"),
        ],
    )
    def test_say_what_to_write_for_names_that_are_gone(self, program: str, instead: str) -> None:
        with pytest.raises(ImportError, match=re.escape(instead)):
            exec(program, {})

    @pytest.mark.parametrize(
        ("call", "instead"),
        [
            ("EnvironmentSettings.new_instance().use_blink_planner()", "leave the call out"),
            ("table_env.register_function('f', f)", "create_temporary_system_function"),
            ("table_env.connect(None)", "CREATE TABLE"),
            ("table_env.sql_update('INSERT INTO a SELECT 1')", "execute_sql"),
            ("table_env.get_config().set_null_check(True)", "leave the call out"),
            ("env.get_config().register_kryo_type('a.b')", "leave the call out"),
        ],
    )
    def test_say_what_to_write_for_methods_that_are_gone(self, call: str, instead: str) -> None:
        names: dict[str, object] = {}
        exec(
            "from pyflink.datastream import *\n"
            "from pyflink.table import *\n"
            "env = StreamExecutionEnvironment.get_execution_environment()\n"
            "table_env = StreamTableEnvironment.create(env)\n",
            names,
        )
        with pytest.raises(AttributeError, match=r"has no .*any more: .*" + re.escape(instead)):
            exec(call, names)
        with pytest.raises(AttributeError, match="object has no attribute 'never_was'"):
            exec("table_env.never_was", names)
        compat.uninstall()
        with pytest.raises(AttributeError, match="object has no attribute"):
            exec(call, names)

    def test_have_the_names_that_those_of_pyflink_import_for_themselves(self) -> None:
        kafka = importlib.import_module("pyflink.datastream.connectors.kafka")
        window = importlib.import_module("pyflink.datastream.window")
        environment = importlib.import_module("pyflink.table.table_environment")
        assert kafka.DeliveryGuarantee.__name__ == "DeliveryGuarantee"
        assert window.Time is importlib.import_module("pyflink.common").Time
        aggregate = importlib.import_module("pyflink.table.udf").AggregateFunction
        assert environment.AggregateFunction is aggregate
        assert not hasattr(kafka, "TableEnvironment")
        compat.uninstall()
        assert not hasattr(window, "Time")

    @pytest.mark.parametrize(
        ("package", "module", "name"),
        [
            ("common", "datastream.formats.json", "JsonRowDeserializationSchema"),
            ("common", "datastream.formats.csv", "CsvRowSerializationSchema"),
            ("common", "datastream.formats.avro", "AvroRowSerializationSchema"),
            ("datastream.connectors", "datastream.connectors.file_system", "StreamingFileSink"),
            ("datastream.connectors", "datastream.connectors.kafka", "FlinkKafkaConsumer"),
            ("datastream.connectors", "datastream.connectors.dynamic_kafka", "DynamicKafkaSource"),
            ("datastream.connectors", "datastream.connectors.jdbc", "JdbcSink"),
            ("datastream.connectors", "datastream.connectors.number_seq", "NumberSequenceSource"),
            ("datastream.connectors", "datastream.connectors.pulsar", "StartCursor"),
            ("datastream.connectors", "datastream.connectors.rabbitmq", "RMQSink"),
        ],
    )
    def test_have_the_names_that_pyflink_keeps_where_they_once_were(
        self, package: str, module: str, name: str
    ) -> None:
        here = importlib.import_module(f"pyflink.{package}")
        assert getattr(here, name) is getattr(importlib.import_module(f"pyflink.{module}"), name)

    def test_classes_pickle_as_those_of_headrace(self) -> None:
        types = importlib.import_module("pyflink.common").Row
        data = pickle.dumps(types(1, "a"))
        assert b"pyflink" not in data
        compat.uninstall()
        assert pickle.loads(data) == types(1, "a")

    def test_version_is_that_of_the_api(self) -> None:
        assert importlib.import_module("pyflink.version").__version__.startswith("2.")

    def test_missing_module_says_so(self) -> None:
        with pytest.raises(
            ModuleNotFoundError, match=r"headrace does not have pyflink\.no_such_thing yet"
        ):
            importlib.import_module("pyflink.no_such_thing")
        with pytest.raises(ModuleNotFoundError, match=r"pyflink\.datastream\.nothing yet"):
            importlib.import_module("pyflink.datastream.nothing.inside")

    @pytest.mark.parametrize("name", ["java_gateway", "util.java_utils", "fn_execution.coders"])
    def test_java_side_is_refused(self, name: str) -> None:
        with pytest.raises(ModuleNotFoundError) as refused:
            importlib.import_module(f"pyflink.{name}")
        assert "yet" not in str(refused.value)

    def test_internal_packages_are_not_offered(self) -> None:
        with pytest.raises(ModuleNotFoundError, match="does not have"):
            importlib.import_module("pyflink.cluster")

    def test_an_import_error_inside_a_module_is_not_hidden(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = sys.modules["headrace.datastream"]
        (tmp_path / "needy.py").write_text("import some_library_that_is_missing\n")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        with pytest.raises(ModuleNotFoundError, match="some_library_that_is_missing"):
            importlib.import_module("pyflink.datastream.needy")


def test_a_pyflink_that_is_installed_is_hidden_only_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyflink").mkdir()
    (tmp_path / "pyflink" / "__init__.py").write_text("real = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    compat.install()
    assert not hasattr(importlib.import_module("pyflink"), "real")
    compat.uninstall()
    assert importlib.import_module("pyflink").real
    with pytest.raises(HeadraceError, match="already been imported"):
        compat.install()


def test_slots_get_the_alias_too() -> None:
    compat.install()
    compat.install()
    env = StreamExecutionEnvironment.get_execution_environment()
    assert env.get_configuration().to_dict()["python.preload"] == "headrace.compat.preload"
    compat.uninstall()
    env = StreamExecutionEnvironment.get_execution_environment()
    assert not env.get_configuration().contains_key("python.preload")


def test_without_the_alias_nothing_is_found() -> None:
    assert not compat.is_installed()
    assert "pyflink" not in sys.modules


def test_slots_have_the_variables_of_pyflinks_workers() -> None:
    program = (
        "import os, sys; sys.path.insert(0, '/cache/requirements/1f'); "
        "import headrace.compat.preload; import pyflink.table; "
        "print(os.environ['python'] == sys.executable, "
        "int(os.environ['_PYTHON_WORKER_MEMORY_LIMIT']) > 0, "
        "os.environ['_PYTHON_REQUIREMENTS_INSTALL_DIR'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True", "/cache/requirements/1f"], done.stderr
