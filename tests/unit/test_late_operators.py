"""Tests that ``opdsl.ops.aten`` loads operators on demand: a packet with all of its overloads, and no others."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

LOADED = "sorted({each for each in sys.modules if each.startswith('opdsl.aten.')} - {'opdsl.aten.catalog'})"


def in_a_process(code: str) -> Any:
    """Run code in a fresh process, and return the last line that it prints, parsed as JSON."""
    command = [sys.executable, "-c", f"import json, sys, opdsl\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_packet_loads_its_topic() -> None:
    loaded = in_a_process(f"opdsl.ops.aten.cosh\nprint(json.dumps({LOADED}))")
    assert "opdsl.aten.pointwise.trigonometry" in loaded
    assert "opdsl.aten.linalg" not in {module.rpartition(".")[0] for module in loaded}


def test_a_packet_comes_with_all_of_its_overloads() -> None:
    names = ["__rshift__", "bitwise_and", "resize", "rrelu_with_noise", "bernoulli", "set", "unsafe_split", "mul"]
    alone, all_of_them = in_a_process(
        f"""
from opdsl.dispatch.model.registry import registry
names = {names!r}
def overloads():
    return {{name: sorted(registry.packets['aten::' + name].overloads) for name in names}}
for name in names:
    getattr(opdsl.ops.aten, name)
alone = overloads()
dir(opdsl.ops.aten)
print(json.dumps([alone, overloads()]))
"""
    )
    assert alone == all_of_them


@pytest.mark.parametrize("name", ["__deepcopy__", "__wrapped__"])
def test_special_attributes_load_nothing(name: str) -> None:
    loaded = in_a_process(f"print(hasattr(opdsl.ops.aten, {name!r}) or json.dumps({LOADED}))")
    assert loaded == []


def test_its_names_are_all_that_there_are() -> None:
    names = in_a_process("print(json.dumps(dir(opdsl.ops.aten)))")
    assert "special_zeta" in names
    assert len(names) > 1000
