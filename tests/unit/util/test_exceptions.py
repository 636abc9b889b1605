from __future__ import annotations

import pickle

import pytest

from headrace.common.errors import HeadraceError
from headrace.util import exceptions


@pytest.mark.parametrize("name", exceptions.__all__)
def test_exceptions_belong_to_the_family_and_survive_pickle(name: str) -> None:
    error = getattr(exceptions, name)("no table t")
    assert isinstance(error, HeadraceError)
    restored = pickle.loads(pickle.dumps(error))
    assert type(restored) is type(error)
    assert str(restored) == "no table t"


def test_catalog_errors_can_be_caught_together() -> None:
    with pytest.raises(exceptions.CatalogException):
        raise exceptions.TableNotExistException("t")
