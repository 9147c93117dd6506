"""Tests of the facts that the mypy plugin reads from declarations in the text of a file."""

from __future__ import annotations

import textwrap

import pytest

from opdsl.typing.declared import faults_in

WRONG = """
@op
def wrong(self: Tensor, factor: list[list[list[int]]] = 1) -> Tensor: ...
"""


@pytest.mark.parametrize(
    "place",
    [
        "{}",
        "if True:\n{}",
        "if True:\n    pass\nelif True:\n{}",
        "for x in ():\n    pass\nelse:\n{}",
        "while True:\n{}",
        "try:\n{}\nfinally:\n    pass",
        "try:\n    pass\nexcept ValueError:\n{}",
        "try:\n    pass\nfinally:\n{}",
        "with open(x):\n{}",
        "match 1:\n    case 1:\n    {}",
        "class Inside:\n    def method(self):\n    {}",
        "async def later():\n{}",
    ],
)
def test_a_wrong_declaration_is_found_in_every_block(place: str) -> None:
    inner = WRONG if place == "{}" else textwrap.indent(WRONG, " " * (8 if "    {}" in place else 4))
    text = place.replace("    {}", "{}").format(inner)
    (fault,) = faults_in(text)
    assert text.splitlines()[fault.line - 1].strip().startswith("def wrong")


def test_a_text_that_cannot_be_parsed_has_no_faults() -> None:
    assert faults_in("def (:") == ()
