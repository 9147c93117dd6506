"""Tests of reading tags.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from opdsl.errors import NativeYamlError
from opdsl.native import load_tags
from opdsl.native.known import TAGS


def test_pytorchs_own_tags_are_the_known_ones(corpus_path: Path) -> None:
    assert load_tags(corpus_path.with_name("tags.yaml")).keys() == TAGS.keys()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("- tag: mine\n", "1:8"),
        ("- tag: mine\n  desc: ' '\n", "1:8"),
        ("- tag: mine\n  desc: a\n- tag: mine\n  desc: b\n", "3:8"),
        ("- desc: a\n", "1:3"),
        ("- tag: mine\n  desc: a\n  text: b\n", "3:3"),
        ("tag: mine\n", "1:1"),
    ],
)
def test_a_tag_has_a_name_and_a_description(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "tags.yaml"
    path.write_text(text)
    with pytest.raises(NativeYamlError, match=rf"tags.yaml:{place}: .*\[INV-22\]"):
        load_tags(path)
