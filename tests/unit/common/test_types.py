from __future__ import annotations

import copy
import pickle

import pytest

from headrace.common import Row, RowKind
from headrace.common.types import field_names_of, make_rows, row_of, values_of


def test_positions_and_names() -> None:
    row = Row(name="Ada", age=36)
    assert (row[0], row["age"], row.name, row[-1]) == ("Ada", 36, "Ada", 36)
    assert row[0:2] == ["Ada", 36]
    assert list(row) == ["Ada", 36]
    assert len(row) == 2
    assert Row(1, 2)[1] == 2


def test_assignment() -> None:
    row = Row(name="Ada", age=36)
    row["age"] = 37
    row[0] = "Grace"
    assert row == Row(name="Grace", age=37)
    with pytest.raises(AttributeError):
        row.age = 38


def test_named_and_positional_do_not_mix() -> None:
    with pytest.raises(ValueError, match="Can not use both"):
        Row(1, a=2)


@pytest.mark.parametrize("error", [KeyError, ValueError])
def test_unknown_name_is_both_key_error_and_value_error(error: type[Exception]) -> None:
    with pytest.raises(error, match="no field 'b'"):
        Row(a=1)["b"]
    with pytest.raises(error, match="no field names"):
        Row(1)["b"]
    with pytest.raises(error):
        Row(a=1)["b"] = 2


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="'b'"):
        _ = Row(a=1).b
    with pytest.raises(AttributeError):
        _ = Row(1).a
    assert not hasattr(Row(a=1), "_something")


def test_repr_is_pyflinks() -> None:
    assert repr(Row(name="Ada", age=36)) == "Row(name='Ada', age=36)"
    assert str(Row("Ada", 36)) == "<Row('Ada', 36)>"


def test_template() -> None:
    person = Row("name", "age")
    assert person("Ada", 36) == Row(name="Ada", age=36)
    assert person("Ada").as_dict() == {"name": "Ada"}
    with pytest.raises(ValueError, match="expected 2 values"):
        person(1, 2, 3)


def test_contains_means_names_if_there_are_any() -> None:
    assert "name" in Row(name="Ada")
    assert "Ada" not in Row(name="Ada")
    assert "Ada" in Row("Ada")


def test_as_dict() -> None:
    row = Row(key=1, value=Row(a=2), more=[Row(b=3)], map={"m": Row(c=4)})
    assert row.as_dict()["value"] == Row(a=2)
    assert row.as_dict(True) == {
        "key": 1,
        "value": {"a": 2},
        "more": [{"b": 3}],
        "map": {"m": {"c": 4}},
    }
    with pytest.raises(TypeError, match="field names"):
        Row(1).as_dict()


def test_fields_by_names() -> None:
    row = Row(a=1, b=2)
    assert row.get_fields_by_names(["b", "a"]) == [2, 1]
    assert Row(1, 2).get_fields_by_names(["x", "y"]) == [1, 2]
    with pytest.raises(ValueError, match="'c'"):
        row.get_fields_by_names(["c"])


def test_row_kinds() -> None:
    row = Row.of_kind(RowKind.DELETE, 1)
    assert row.get_row_kind() is RowKind.DELETE
    row.set_row_kind(RowKind.UPDATE_AFTER)
    assert str(row.get_row_kind()) == "+U"
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    assert Row("a")("x").get_row_kind() is RowKind.INSERT


def test_equality() -> None:
    assert Row(1, 2) == Row(1, 2)
    assert Row(1, 2) != Row(2, 1)
    assert Row(1) != (1,)
    assert Row(1) != Row(a=1)
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert Row(a=1) != Row(b=1)
    assert Row(1) != Row.of_kind(RowKind.DELETE, 1)


def test_equal_rows_have_equal_hashes() -> None:
    assert hash(Row(1, 2)) == hash(Row(1, 2))
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert len({Row(a=1, b=2), Row(b=2, a=1), Row(1, 2)}) == 2


@pytest.mark.parametrize(
    "row",
    [
        Row(),
        Row(1, "a", None),
        Row(a=1, b=Row(2)),
        Row.of_kind(RowKind.UPDATE_BEFORE, 1),
        Row.of_kind(RowKind.DELETE, a=1),
    ],
    ids=repr,
)
def test_copies_are_equal(row: Row) -> None:
    for twin in (
        pickle.loads(pickle.dumps(row, 5)),
        pickle.loads(pickle.dumps(row, 2)),
        copy.copy(row),
        copy.deepcopy(row),
    ):
        assert twin == row
        assert repr(twin) == repr(row)
        assert twin.get_row_kind() is row.get_row_kind()


def test_rows_that_share_names_still_do_after_pickle() -> None:
    template = Row("name", "age")
    rows = pickle.loads(pickle.dumps([template("a", 1), template("b", 2)]))
    assert field_names_of(rows[0]) is field_names_of(rows[1])


def test_row_of_keeps_the_lists() -> None:
    values, names = [1], ["a"]
    row = row_of(values, names)
    assert values_of(row) is values
    assert row.get_field_names() is names
    assert row == Row(a=1)


def test_many_rows_are_made_as_one_is() -> None:
    names = ["a", "b"]
    rows = make_rows([[1, "x"], [2, None]], names, RowKind.DELETE)
    expected = [row_of(v, names, RowKind.DELETE) for v in ([1, "x"], [2, None])]
    assert rows == expected
    assert make_rows(iter([[1]])) == [Row(1)]
