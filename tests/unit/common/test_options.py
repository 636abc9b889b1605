from __future__ import annotations

import logging
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from headrace.common import Configuration, options
from headrace.common.errors import ConfigurationError
from headrace.common.option_loading import (
    find_configuration_file,
    load_configuration,
    read_configuration_file,
)
from headrace.common.settings import checks as option_checks
from headrace.common.settings import table_options
from headrace.common.settings.reference import render_markdown


@pytest.fixture(autouse=True)
def nothing_reported_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(option_checks, "_reported", set())


def test_defaults_that_programs_rely_on() -> None:
    conf = Configuration()
    assert conf.get(options.AUTO_WATERMARK_INTERVAL) == timedelta(milliseconds=200)
    assert conf.get(options.EPOCH_TARGET) == timedelta(seconds=1)
    assert conf.get(options.STATE_BACKEND) == "hashmap"
    assert conf.get(options.RUNTIME_MODE) == "STREAMING"
    assert conf.get(options.PARALLELISM_DEFAULT) is None
    assert conf.get(options.ROCKSDB_WRITEBUFFER_SIZE) == 64 << 20


def test_every_option_is_read_or_says_that_it_is_only_accepted() -> None:
    declared = {
        name: value
        for module in (options, table_options)
        for name, value in vars(module).items()
        if isinstance(value, options.Option) and not value.key.startswith("state.backend.rocksdb.")
    }
    words: Counter[str] = Counter()
    for source in Path(options.__file__).parents[1].rglob("*.py"):
        words.update(re.findall(r"[A-Z][A-Z0-9_]+", source.read_text("utf-8")))
    unread = [name for name in declared if words[name] < 2]
    wrong = [n for n in unread if not declared[n].description.startswith("Accepted")]
    assert not wrong


def test_every_option_is_declared_well() -> None:
    names = [options.environment_variable(key) for key in options.OPTIONS]
    assert len(set(names)) == len(names), "two options share an environment variable"
    for key, option in options.OPTIONS.items():
        assert key == option.key
        assert option.description.endswith("."), key
        if option.default is not None:
            assert option.type.parse(key, option.default) == option.default


def test_precedence(tmp_path: Path) -> None:
    key = "pipeline.name"
    (tmp_path / "headrace.yaml").write_text(
        "pipeline:\n  name: file\nparallelism.default: 1\nrest.port: 1\nspark.master: file\n"
    )
    environ = {
        "HEADRACE_PIPELINE_NAME": "environment",
        "HEADRACE_PARALLELISM_DEFAULT": "2",
        "HEADRACE_REST_PORT": "2",
    }
    arguments = ["pipeline.name=arguments", "parallelism.default=3"]
    conf = load_configuration({key: "code"}, arguments, environ, tmp_path)
    assert conf.get(options.PIPELINE_NAME) == "code"
    assert conf.get(options.PARALLELISM_DEFAULT) == 3
    assert conf.get(options.REST_PORT) == 2
    assert conf.get(options.SPARK_MASTER) == "file"
    assert conf.get(options.EPOCH_TARGET) == timedelta(seconds=1)


def test_code_may_be_a_configuration(tmp_path: Path) -> None:
    code = Configuration().set_integer("parallelism.default", 7)
    conf = load_configuration(code, {"parallelism.default": 1}, {}, tmp_path)
    assert conf.get(options.PARALLELISM_DEFAULT) == 7


def test_flat_nested_lists_and_maps_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "headrace.yaml"
    file.write_text(
        """
        execution.checkpointing:
          interval: 10 s
          mode: at_least_once
        restart-strategy: {type: fixed-delay, fixed-delay.attempts: 5}
        python.files: [a.py, b.zip]
        pipeline:
          global-job-parameters: {city: Oslo, size: 3}
        state.backend.type: rocksdb
        rest.port:
        """
    )
    conf = read_configuration_file(file)
    assert conf.get(options.CHECKPOINTING_INTERVAL) == timedelta(seconds=10)
    assert conf.get(options.CHECKPOINTING_MODE) == "AT_LEAST_ONCE"
    assert conf.get(options.FIXED_DELAY_ATTEMPTS) == 5
    assert conf.get(options.PYTHON_FILES) == ["a.py", "b.zip"]
    assert conf.get(options.GLOBAL_JOB_PARAMETERS) == {"city": "Oslo", "size": "3"}
    assert conf.get(options.STATE_BACKEND) == "rocksdb"
    assert not conf.contains_key("rest.port")


def test_where_files_are_found(tmp_path: Path) -> None:
    assert find_configuration_file({}, tmp_path) is None
    (tmp_path / "config.yaml").write_text("other: program")
    assert find_configuration_file({}, tmp_path) is None
    (tmp_path / "headrace.yaml").touch()
    assert find_configuration_file({}, tmp_path) == tmp_path / "headrace.yaml"
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").touch()
    assert find_configuration_file({}, tmp_path) == tmp_path / "conf" / "config.yaml"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environ = {"HEADRACE_CONF_DIR": str(elsewhere)}
    with pytest.raises(ConfigurationError, match="HEADRACE_CONF_DIR"):
        find_configuration_file(environ, tmp_path)
    (elsewhere / "headrace.yaml").touch()
    assert find_configuration_file(environ, tmp_path) == elsewhere / "headrace.yaml"


@pytest.mark.parametrize("text", ["a: [", "- a\n- b", "just text"])
def test_bad_files_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "headrace.yaml").write_text(text)
    with pytest.raises(ConfigurationError, match=r"headrace\.yaml"):
        load_configuration(environ={}, working_directory=tmp_path)


def test_further_properties_in_the_environment(tmp_path: Path) -> None:
    environ = {
        "HEADRACE_PROPERTIES": "spark.executor.memory: 2g\nparallelism.default: 1\n",
        "HEADRACE_PARALLELISM_DEFAULT": "4",
    }
    conf = load_configuration(environ=environ, working_directory=tmp_path)
    assert options.spark_properties(conf) == {"spark.executor.memory": "2g"}
    assert conf.get(options.PARALLELISM_DEFAULT) == 4


@pytest.mark.parametrize("argument", ["parallelism.default", "=5"])
def test_bad_arguments(tmp_path: Path, argument: str) -> None:
    with pytest.raises(ConfigurationError, match="key=value"):
        load_configuration(arguments=[argument], environ={}, working_directory=tmp_path)


def test_wrong_value_is_an_error_wherever_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"'many'.*parallelism\.default"):
        load_configuration(
            environ={"HEADRACE_PARALLELISM_DEFAULT": "many"}, working_directory=tmp_path
        )


def test_each_unknown_key_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    conf = Configuration.from_dict(
        {
            "python.execution-mode": "process",
            "paralelism.default": "2",
            "shop.colour": "red",
            "spark.executor.memory": "2g",
            "parallelism.default": "2",
        }
    )
    option_checks.check(conf)
    option_checks.check(conf)
    lines = [(r.levelname, r.getMessage()) for r in caplog.records]
    assert lines == [
        (
            "WARNING",
            "unknown option paralelism.default is ignored; did you mean parallelism.default?",
        ),
        ("INFO", "option python.execution-mode has no effect in headrace"),
        ("WARNING", "unknown option shop.colour is ignored"),
    ]


def test_reference_lists_every_option() -> None:
    text = render_markdown()
    for key in options.OPTIONS:
        assert f"| `{key}` |" in text
    assert "| `pipeline.auto-watermark-interval` | Duration | `200 ms` |" in text
    assert "| `state.backend.type` | hashmap, rocksdb | `hashmap` |" in text
    assert "| `spark.*` |" in text
    table = [line for line in text.splitlines() if line.startswith("| `")]
    widths = {line.count(" | ") for line in table}
    assert widths == {1, 3}


@pytest.mark.parametrize(
    ("factory", "backend"),
    [
        ("org.apache.flink.contrib.streaming.state.EmbeddedRocksDBStateBackendFactory", "rocksdb"),
        ("org.apache.flink.runtime.state.hashmap.HashMapStateBackendFactory", "hashmap"),
        ("org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackendFactory", "rocksdb"),
    ],
)
def test_state_backends_may_have_the_names_of_flinks_factories(factory: str, backend: str) -> None:
    configuration = Configuration.from_dict({"state.backend.type": factory})
    assert configuration.get(options.STATE_BACKEND) == backend


@pytest.mark.parametrize(
    ("old", "value", "option", "read"),
    [
        ("state.backend", "rocksdb", options.STATE_BACKEND, "rocksdb"),
        ("state.backend", "filesystem", options.STATE_BACKEND, "hashmap"),
        ("state.checkpoints.dir", "/c", options.CHECKPOINTING_DIR, "/c"),
        ("state.savepoints.dir", "/s", options.SAVEPOINT_DIR, "/s"),
        ("execution.savepoint.path", "/s/1", options.SAVEPOINT_PATH, "/s/1"),
        ("state.checkpoints.num-retained", "3", options.CHECKPOINTS_NUM_RETAINED, 3),
        ("state.backend.incremental", "true", options.CHECKPOINTING_INCREMENTAL, True),
        ("taskmanager.state.local.root-dirs", "/l", options.LOCAL_BACKUP_DIRS, "/l"),
        ("state.backend.local-recovery", "true", options.LOCAL_RECOVERY, True),
        ("restart-strategy", "fixed-delay", options.RESTART_STRATEGY_TYPE, "fixed-delay"),
        ("execution.checkpointing.unaligned", "true", options.UNALIGNED_ENABLED, True),
    ],
)
def test_earlier_names_count_with_one_line(
    old: str, value: str, option: options.Option[object], read: object,
    caplog: pytest.LogCaptureFixture, tmp_path: Path,
) -> None:  # fmt: skip
    for _ in range(2):
        conf = load_configuration({old: value}, environ={}, working_directory=tmp_path)
    assert conf.get(option) == read
    assert conf.contains(option)
    assert caplog.messages == [f"option {old} is deprecated; its current name is {option.key}"]
    assert f"`{old}`" in render_markdown()


def test_the_present_name_wins_over_an_earlier_one(caplog: pytest.LogCaptureFixture) -> None:
    conf = Configuration.from_dict({"state.backend": "rocksdb", "state.backend.type": "hashmap"})
    option_checks.check(conf)
    assert conf.get(options.STATE_BACKEND) == "hashmap"
    assert "state.backend is ignored" in caplog.text


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("state.backend.rocksdb.localdirs", "state.backend.rocksdb.localdir"),
        ("rest.prot", "rest.port"),
        ("restart-strategy.fixed-delay.attempt", "restart-strategy.fixed-delay.attempts"),
        ("execution.checkpointing.Interval", "execution.checkpointing.interval"),
        ("execution.savepoint.pth", "execution.state-recovery.path"),
        ("checkpointing.interval", "execution.checkpointing.interval"),
    ],
)
def test_misspelt_keys_are_named_with_the_nearest(
    wrong: str, meant: str, caplog: pytest.LogCaptureFixture
) -> None:
    option_checks.check(Configuration.from_dict({wrong: "1"}))
    assert caplog.messages == [f"unknown option {wrong} is ignored; did you mean {meant}?"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parallelism.default", "-1"),
        ("pipeline.max-parallelism", "40000"),
        ("execution.checkpointing.num-retained", "0"),
        ("restart-strategy.exponential-delay.backoff-multiplier", "NaN"),
        ("restart-strategy.exponential-delay.jitter-factor", "1.5"),
        ("rest.port", "70000"),
    ],
)
def test_numbers_out_of_range_are_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{value}.*{key}.*number"):
        option_checks.check(Configuration.from_dict({key: value}))


def test_flinks_own_files_are_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    flink = tmp_path / "flink"
    flink.mkdir()
    environ = {"FLINK_CONF_DIR": str(flink)}
    with pytest.raises(ConfigurationError, match=r"FLINK_CONF_DIR.*flink-conf\.yaml"):
        load_configuration(environ=environ, working_directory=tmp_path)
    (flink / "config.yaml").write_text("parallelism:\n  default: 3\n")
    conf = load_configuration(environ=environ, working_directory=tmp_path)
    assert conf.get(options.PARALLELISM_DEFAULT) == 3
    (flink / "flink-conf.yaml").write_text(
        "# Flink's\nparallelism.default: 5 # five\nenv.java.opts: -Da=b: c\nrest.port:1\n\n"
    )
    conf = load_configuration(environ=environ, working_directory=tmp_path)
    assert conf.get(options.PARALLELISM_DEFAULT) == 5
    assert conf.get_string("env.java.opts", "") == "-Da=b: c"
    assert "line 4 of" in caplog.text
    (tmp_path / "headrace.yaml").write_text("parallelism.default: 7")
    conf = load_configuration(environ=environ, working_directory=tmp_path)
    assert conf.get(options.PARALLELISM_DEFAULT) == 7


def test_a_list_of_maps() -> None:
    option = options.CACHED_FILES
    for value in (
        "name:a,path:/x;name:b,path:'/y:z'",
        [{"name": "a", "path": "/x"}, "name:b,path:'/y:z'"],
    ):
        conf = Configuration.from_dict({option.key: value})
        assert conf.get(option) == [{"name": "a", "path": "/x"}, {"name": "b", "path": "/y:z"}]


def test_options_of_sql_are_declared(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        option_checks.check(
            Configuration.from_dict(
                {"table.exec.state.ttl": "1 h", "table.exec.mini-batch.size": "5000"}
            )
        )
        assert not caplog.messages
        option_checks.check(Configuration.from_dict({"table.exec.sate.ttl": "1 h"}))
    assert caplog.messages == [
        "unknown option table.exec.sate.ttl is ignored; did you mean table.exec.state.ttl?"
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("table.dml-sync", "yes"),
        ("table.exec.mini-batch.enabled", "off"),
        ("table.exec.state.ttl", "soon"),
        ("table.local-time-zone", "Europe/Nowhere"),
        ("table.optimizer.agg-phase-strategy", "THREE_PHASE"),
        ("table.exec.async-scalar.max-attempts", "0"),
        ("table.exec.mini-batch.size", "many"),
        ("table.exec.mini-batch.allow-latency", "-5 s"),
        ("table.exec.spill-compression.block-size", "-1 kb"),
        ("table.optimizer.join-reorder-enabled", "yes"),
    ],
)
def test_a_bad_value_of_sql_names_its_option(key: str, value: str) -> None:
    with pytest.raises(
        ConfigurationError, match=f"Could not parse value '{value}' for key '{key}'"
    ):
        option_checks.check(Configuration.from_dict({key: value}))
