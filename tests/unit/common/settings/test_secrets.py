"""What is a secret is masked wherever settings are shown, and nothing else is."""

from __future__ import annotations

import json

import pytest

from headrace.cluster.cli import main
from headrace.common.configuration import Configuration
from headrace.common.settings.secrets import MASK, is_secret, masked, without_secrets
from headrace.table import EnvironmentSettings, TableEnvironment


@pytest.mark.parametrize(
    "key",
    [
        "s3.secret-key",
        "s3.access-key",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "fs.azure.account.key.mine",
        "properties.sasl.jaas.config",
        "PASSWORD",
        "ssl.key.password",
        "api-key",
        "security.token",
    ],
)
def test_secrets_are_known_by_their_names(key: str) -> None:
    assert is_secret(key)


@pytest.mark.parametrize(
    "key",
    ["key.format", "key.fields", "security.ssl.rest.key", "state.key-groups", "bookkeeping.dir"],
)
def test_a_key_alone_is_not_a_secret(key: str) -> None:
    assert not is_secret(key)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("jdbc:postgresql://h/db?user=me&password=x&ssl=on", "user=me&password=******&ssl=on"),
        ("https://me:hidden@host/path", "https://me:******@host/path"),
        ("region:eu,db.password:x,stage:prod", "region:eu,db.password:******,stage:prod"),
        ('required username="me" password="a b";', 'username="me" password=******;'),
        ("{'secret-key': 'a, b', 'c': 'd'}", "{'secret-key': ******, 'c': 'd'}"),
        ("http://host:8081/jobs@2", "http://host:8081/jobs@2"),
    ],
)
def test_secrets_in_a_text_are_masked(text: str, shown: str) -> None:
    assert masked(text).endswith(shown)


def test_settings_keep_their_keys() -> None:
    settings = {"s3.secret-key": "x", "key.format": "json"}
    assert without_secrets(settings) == {"s3.secret-key": MASK, "key.format": "json"}


def test_a_configuration_prints_no_secrets() -> None:
    configuration = Configuration.from_dict({"s3.secret-key": "hidden", "a": "b"})
    assert "hidden" not in f"{configuration} {configuration!r}"
    assert configuration.to_dict()["s3.secret-key"] == "hidden"


def test_set_shows_no_secrets() -> None:
    settings = EnvironmentSettings.in_streaming_mode()
    table_environment = TableEnvironment.create(settings)
    table_environment.execute_sql("SET 's3.secret-key' = 'hidden'")
    with table_environment.execute_sql("SET").collect() as rows:
        shown = dict(tuple(row) for row in rows)
    assert shown["s3.secret-key"] == MASK


def test_the_config_command_shows_no_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["config", "-D", "s3.secret-key=hidden", "-D", "s3.endpoint=http://h"]
    assert main([*given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["s3.secret-key"]["value"] == MASK
    assert main([*given, "s3.secret-key", "s3.endpoint"]) == 0
    shown = capsys.readouterr().out
    assert f"s3.secret-key = {MASK}" in shown
    assert "s3.endpoint = http://h" in shown


def test_a_bad_value_of_a_secret_is_not_repeated() -> None:
    with pytest.raises(ValueError, match="expected") as refused:
        Configuration().set_string("s3.secret-key", ["hidden"])  # type: ignore[arg-type]
    assert "hidden" not in str(refused.value)


def test_a_long_value_takes_no_long_time() -> None:
    assert masked("a" * 100_000) == "a" * 100_000
