"""Tests that the examples of PyTorch's documentation have PyTorch's results with ``import opdsl as torch``."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from tests.torch.documented import Documented, Undocumented, both, differences, documented

LISTED = {
    name: kind
    for line in Path(__file__).with_name("documented.txt").read_text(encoding="utf-8").splitlines()
    if (match := re.fullmatch(r"(\w+) ([\w.]+): .+", line))
    for kind, name in [match.groups()]
}
EXAMPLES = {example.name: example for example in documented()}
RUN = [example for name, example in EXAMPLES.items() if LISTED.get(name, "drawn") == "drawn"]
OTHERS = [EXAMPLES[name] for name, kind in LISTED.items() if kind in ("missing", "other")]


def test_most_of_the_documentation_runs() -> None:
    assert LISTED.keys() <= EXAMPLES.keys()
    assert len(RUN) >= 380


@pytest.mark.parametrize("example", RUN, ids=lambda example: example.name)
def test_examples_give_what_they_give_in_pytorch(example: Documented) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = both(example.sources)
    assert differences(ours, theirs, forms_only=example.name in LISTED) == []


@pytest.mark.parametrize("example", OTHERS, ids=lambda example: example.name)
def test_every_listed_exception_still_fails(example: Documented) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ours, theirs = both(example.sources)
        except Undocumented:
            raise
        except Exception:
            return
    assert differences(ours, theirs, forms_only=False), "it runs: take it out of documented.txt"
