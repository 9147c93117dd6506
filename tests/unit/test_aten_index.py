"""Tests that the index of the operator library and the stubs agree with the declarations of its topics.

``OPDSL_REFRESH=1`` rewrites both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from opdsl.aten import catalog

# Run in a separate process: the methods of a topic are found by its changes to Tensor.
LOOKING = """
import json
import pkgutil
import opdsl
import opdsl.aten as aten
import opdsl.aten.python.special_methods as special_methods
from opdsl.runtime import Tensor
from opdsl.runtime.methods import LateMethod

names = [each.name for each in pkgutil.walk_packages(aten.__path__, 'opdsl.aten.') if not each.ispkg]
topics = [each.removeprefix('opdsl.aten.') for each in names]
packets, methods = {}, {}
def installed():
    standing = {name: getattr(value, 'function', None) if isinstance(value, LateMethod) else value
                for name, value in vars(Tensor).items()}
    return {name: value for name, value in standing.items() if type(value) is not object}

for topic in topics:
    before = installed()
    aten.load_topic(topic)
    for name, value in installed().items():
        if before.get(name) is not value:
            methods[name] = topic
for name in (*special_methods.DIRECT, *special_methods.REFLECTED, *special_methods.OTHERS):
    methods[name] = "python.special_methods"
for packet in opdsl.dispatch.registry.packets.values():
    (topic,) = {each.declaration.function.__module__.removeprefix("opdsl.aten.") for each in packet.overloads.values()}
    packets[packet.base] = topic
# A topic that another one imports has been loaded by that one; what is written by hand is where it is written.
for name, topic in methods.items():
    if getattr(installed().get(name), '__module__', '') != f'opdsl.aten.{topic}':
        methods[name] = packets.get(name, topic)
print(json.dumps([packets, methods]))
"""


@cache
def declared() -> list[dict[str, str]]:
    """Return the packets and the methods of the library, each with the topic that declares it."""
    run = subprocess.run([sys.executable, "-c", LOOKING], capture_output=True, text=True, check=True, timeout=60)
    loads: list[dict[str, str]] = json.loads(run.stdout)
    return loads


@pytest.mark.parametrize(("place", "name"), list(enumerate(("PACKETS", "METHODS"))))
def test_the_index_knows_every_name(place: int, name: str) -> None:
    if os.environ.get("OPDSL_REFRESH"):
        refresh()
    assert getattr(catalog, name) == declared()[place], "run it again with OPDSL_REFRESH=1"


def refresh() -> None:
    """Write the index of packets and methods."""
    path = Path(catalog.__file__)
    head = path.read_text().partition("PACKETS")[0]
    tables = []
    for name, table in zip(("PACKETS", "METHODS"), declared(), strict=True):
        lines = [f'    "{key}": "{table[key]}",\n' for key in sorted(table)]
        tables.append(f"{name}: dict[str, str] = {{\n{''.join(lines)}}}\n")
        setattr(catalog, name, table)
    path.write_text(head + "\n".join(tables))


def test_the_stubs_are_up_to_date() -> None:
    folder = Path(catalog.__file__).parents[2] / "stubs"
    mode = [] if os.environ.get("OPDSL_REFRESH") else ["--check"]
    command = [sys.executable, "-m", "opdsl", "stubs", "-o", str(folder), *mode]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (0, ""), "run it again with OPDSL_REFRESH=1, or write `opdsl stubs`"


def test_a_first_result_loads_one_topic() -> None:
    """A first call loads one topic of operators only: loading all of them would take longer than importing NumPy."""
    program = (
        "import sys, opdsl; opdsl.add(opdsl.tensor([1.0]), opdsl.tensor([2.0]));"
        "print(*(each for each in opdsl.aten.TOPICS if f'opdsl.aten.{each}' in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.split() == ["pointwise.arithmetic"]
