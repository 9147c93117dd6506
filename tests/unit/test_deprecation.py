"""Tests of deprecated names: the text and location of their warnings, and that they are removed when announced."""

from __future__ import annotations

import warnings

import pytest

import opdsl
from opdsl.aten import load
from opdsl.deprecation import DEPRECATED, Deprecation, deprecated
from opdsl.errors import DeprecatedWarning


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def overdue(names: list[Deprecation], release: str) -> list[str]:
    return [name.name for name in names if version(name.removal) <= version(release)]


@pytest.fixture
def old_name() -> object:
    @deprecated(since="0.2", removal="0.4", instead="opdsl.new_name")
    def old_name(x: int, *, y: int = 2) -> int:
        """Add."""
        return x + y

    yield old_name
    DEPRECATED.pop()


def test_a_call_warns_where_it_stands(old_name: object) -> None:
    assert callable(old_name)
    with pytest.warns(DeprecatedWarning) as caught:
        assert old_name(1, y=4) == 5
    [warning] = caught
    assert warning.filename == __file__
    assert str(warning.message).endswith(
        "is deprecated since opdsl 0.2 and will be removed in 0.4. Use opdsl.new_name."
    )


def test_it_is_a_deprecation_warning_of_python(old_name: object) -> None:
    assert callable(old_name)
    with warnings.catch_warnings(), pytest.raises(DeprecationWarning):
        warnings.simplefilter("error", DeprecationWarning)
        old_name(1)


def test_the_function_keeps_its_name_and_says_so_to_tools(old_name: object) -> None:
    assert (old_name.__name__, old_name.__doc__) == ("old_name", "Add.")
    assert "will be removed in 0.4" in old_name.__deprecated__


def test_what_was_to_go_has_gone(old_name: object) -> None:
    load()
    assert overdue(DEPRECATED, opdsl.__version__) == []
    assert len(overdue(DEPRECATED, "0.4.0")) == 1
