from __future__ import annotations

import copy
import datetime
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import ConfigOptions, Configuration, Duration, JobStatus
from headrace.common.errors import ConfigurationError, FunctionTypeError
from headrace.common.settings.types import (
    BOOLEAN,
    DOUBLE,
    DURATION,
    INT,
    LIST,
    LONG,
    MAP,
    MEMORY,
    STRING,
    OptionType,
    choice,
    text_of,
)

MODE = choice("EXACTLY_ONCE", "AT_LEAST_ONCE", off="AT_LEAST_ONCE")
SECOND = datetime.timedelta(seconds=1)


@pytest.mark.parametrize(
    ("option_type", "given_value", "expected"),
    [
        (DURATION, "200 ms", SECOND / 5),
        (DURATION, "200", SECOND / 5),
        (DURATION, 200, SECOND / 5),
        (DURATION, "1 min", 60 * SECOND),
        (DURATION, "1min", 60 * SECOND),
        (DURATION, "1 m", 60 * SECOND),
        (DURATION, "2 Hours", 7200 * SECOND),
        (DURATION, "1 d", 86400 * SECOND),
        (DURATION, "5 s", 5 * SECOND),
        (DURATION, "7 µs", SECOND * 7 / 1_000_000),
        (DURATION, "5000 ns", SECOND * 5 / 1_000_000),
        (DURATION, "PT10S", 10 * SECOND),
        (DURATION, "PT1.5S", 1.5 * SECOND),
        (DURATION, "P1DT2H", 26 * 3600 * SECOND),
        (DURATION, Duration.of_seconds(3), 3 * SECOND),
        (DURATION, SECOND, SECOND),
        (MEMORY, "64mb", 64 << 20),
        (MEMORY, "1 g", 1 << 30),
        (MEMORY, "10", 10),
        (MEMORY, "4kb", 4096),
        (MEMORY, 512, 512),
        (MEMORY, "2 TB", 2 << 40),
        (BOOLEAN, "TRUE", True),
        (BOOLEAN, " false ", False),
        (BOOLEAN, True, True),
        (INT, "42", 42),
        (INT, 42.0, 42),
        (LONG, -(2**63), -(2**63)),
        (DOUBLE, "1e3", 1000.0),
        (DOUBLE, 2, 2.0),
        (STRING, 5, "5"),
        (STRING, True, "true"),
        (LIST, "a;b", ["a", "b"]),
        (LIST, "a,b", ["a", "b"]),
        (LIST, "[a, 'b;c', 5]", ["a", "b;c", "5"]),
        (LIST, "'a;b';c", ["a;b", "c"]),
        (LIST, "", []),
        (LIST, ("x",), ["x"]),
        (MAP, "k1:v1,k2:v2", {"k1": "v1", "k2": "v2"}),
        (MAP, "k:'a,b'", {"k": "a,b"}),
        (MAP, "url:http://x:80", {"url": "http://x:80"}),
        (MAP, "{a: 1, b: true}", {"a": "1", "b": "true"}),
        (MAP, {"a": 1}, {"a": "1"}),
        (MAP, " ", {}),
        (MODE, "exactly_once", "EXACTLY_ONCE"),
        (MODE, "at-least-once", "AT_LEAST_ONCE"),
        (MODE, "off", "AT_LEAST_ONCE"),
    ],
)
def test_values_are_read(option_type: OptionType[Any], given_value: Any, expected: Any) -> None:
    value = option_type.parse("key", given_value)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("option_type", "value", "expectation"),
    [
        (DURATION, "5 parsecs", "a duration such as '200 ms'"),
        (DURATION, "P", "a duration"),
        (DURATION, "-5 s", "a duration"),
        (DURATION, "", "a duration"),
        (MEMORY, "64 qb", "a size such as '64mb'"),
        (MEMORY, -1, "a size"),
        (BOOLEAN, "yes", "true or false"),
        (BOOLEAN, 1, "true or false"),
        (INT, "4.5", "32 bits"),
        (INT, 2**31, "32 bits"),
        (INT, True, "32 bits"),
        (LONG, 2**63, "64 bits"),
        (DOUBLE, "x", "a number"),
        (STRING, ["a"], "a text"),
        (LIST, 5, "a list"),
        (LIST, "[a", "a list"),
        (LIST, "'a", "a list"),
        (MAP, "a", "a map"),
        (MAP, "[a]", "a map"),
        (MODE, "maybe", "one of EXACTLY_ONCE, AT_LEAST_ONCE"),
    ],
)
def test_wrong_values_name_key_value_and_expectation(
    option_type: OptionType[Any], value: Any, expectation: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        option_type.parse("some.key", value)
    message = str(caught.value)
    assert "'some.key'" in message
    assert repr(value) in message
    assert expectation in message
    assert (caught.value.key, caught.value.value) == ("some.key", value)


TEXTS = st.text(st.characters(codec="ascii", exclude_characters='"\r\n\t'), min_size=1).map(
    str.strip
)
PLAIN = TEXTS.filter(lambda t: t and t[0] not in "[{'" and not t[-1].isspace())


@given(st.lists(PLAIN, min_size=2))
def test_lists_are_read_back(items: list[str]) -> None:
    assert LIST.parse("k", text_of(items)) == items


@given(st.dictionaries(PLAIN, PLAIN))
def test_maps_are_read_back(items: dict[str, str]) -> None:
    assert MAP.parse("k", text_of(items)) == items


def test_text_of_other_values() -> None:
    assert text_of(Duration.of_seconds(1)) == text_of(SECOND) == "1000 ms"
    assert text_of(JobStatus.RUNNING) == "RUNNING"
    assert text_of(1.5) == "1.5"
    assert text_of(b"\x01\xff") == "01ff"


def test_typed_access() -> None:
    conf = Configuration()
    conf.set_string("s", "x").set_integer("i", 5).set_boolean("b", True).set_float("f", 0.5)
    conf.set_bytearray("y", bytearray(b"ab"))
    assert conf.get_string("s", "") == "x"
    assert conf.get_integer("i", 0) == 5
    assert conf.get_boolean("b", False) is True
    assert conf.get_float("f", 0.0) == 0.5
    assert conf.get_bytearray("y", bytearray()) == bytearray(b"ab")


def test_defaults() -> None:
    conf = Configuration()
    assert conf.get_string("k", "d") == "d"
    assert conf.get_integer("k", 7) == 7
    assert conf.get_boolean("k", True) is True
    assert conf.get_float("k", 1) == 1.0
    assert conf.get_bytearray("k", bytearray(b"z")) == bytearray(b"z")


def test_texts_are_found_as_numbers_and_numbers_as_texts() -> None:
    conf = Configuration().set_string("i", "5").set_boolean("b", False).set_integer("n", 3)
    assert conf.get_integer("i", 0) == 5
    assert conf.get_string("b", "") == "false"
    assert conf.get_string("n", "") == "3"
    with pytest.raises(ConfigurationError, match="'b'"):
        conf.get_integer("b", 0)


def test_setting_a_wrong_value_fails_at_once() -> None:
    with pytest.raises(ConfigurationError):
        Configuration().set_integer("i", "x")  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError):
        Configuration.from_dict({5: "x"})  # type: ignore[dict-item]


def test_dict_and_back() -> None:
    conf = Configuration.from_dict({"a": "1", "b": True, "c": ["x", "y"]})
    assert conf.to_dict() == {"a": "1", "b": "true", "c": "x;y"}
    target: dict[str, Any] = {"z": 0}
    conf.add_all_to_dict(target)
    assert target == {"z": 0, "a": "1", "b": True, "c": ["x", "y"]}
    assert Configuration.parse_list_value("- x\n- y") == ["x", "y"]
    assert conf.key_set() == {"a", "b", "c"}
    assert str(conf) == "{a=1, b=true, c=x;y}"


def test_add_remove_contains() -> None:
    conf = Configuration().set_string("a", "1")
    conf.add_all(Configuration.from_dict({"a": "2", "b": "3"}), prefix="p.")
    assert conf.to_dict() == {"a": "1", "p.a": "2", "p.b": "3"}
    conf.add_all(Configuration.from_dict({"a": "9"}))
    assert conf.get_string("a", "") == "9"
    assert conf.remove_config("a") is True
    assert conf.remove_config("a") is False
    assert not conf.contains_key("a")
    assert conf.contains_key("p.a")


def test_copies_are_independent() -> None:
    conf = Configuration.from_dict({"a": 1})
    for twin in (
        Configuration(conf),
        copy.copy(conf),
        copy.deepcopy(conf),
        pickle.loads(pickle.dumps(conf)),
    ):
        assert twin == conf
        assert hash(twin) == hash(conf)
        twin.set_string("a", "2")
        assert conf.get_integer("a", 0) == 1
    assert conf == Configuration.from_dict({"a": "1"})
    assert conf != {"a": 1}


def test_parse_list_value() -> None:
    assert Configuration.parse_list_value("") == []
    assert Configuration.parse_list_value("a;b") == ["a", "b"]
    assert Configuration.parse_list_value("[a, b]") == ["a", "b"]


def test_options_of_ones_own() -> None:
    retries = ConfigOptions.key("shop.retries").int_type().default_value(3)
    name = ConfigOptions.key("shop.name").string_type().no_default_value()
    conf = Configuration()
    assert conf.get(retries) == 3
    assert conf.get(retries, 5) == 5
    assert conf.get(name) is None
    conf.set(retries, "4")
    assert conf.get(retries) == 4
    with pytest.raises(ConfigurationError, match=r"shop\.retries"):
        conf.set(retries, "many")
    with pytest.raises(ConfigurationError):
        ConfigOptions.key("k").boolean_type().default_value("maybe")  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError):
        ConfigOptions.key("")
    assert ConfigOptions.key("k").double_type().default_value(1).default == 1.0
    assert ConfigOptions.key("k").float_type().default_value(1).default == 1.0
    assert ConfigOptions.key("k").long_type().default_value(2**40).default == 2**40
