"""Tests of the exported YAML, read by torchgen, compared with PyTorch's own file."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torchgen
from torchgen.gen import parse_native_yaml
from torchgen.model import DispatchKey, NativeFunction

import opdsl
from opdsl import native
from opdsl.declare.export import export

PACKAGED = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"

# Fields that torchgen derives from kernels of backends that opdsl lacks, such as NestedTensor's composite.
FOREIGN = {"loc", "is_abstract", "has_composite_implicit_autograd_nested_tensor_kernel"}
# Keys at which opdsl may have kernels. CUDA includes kernels that are generated from a scalar graph.
KEYS = [
    DispatchKey.CPU,
    DispatchKey.CompositeImplicitAutograd,
    DispatchKey.CompositeExplicitAutograd,
    DispatchKey.CompositeExplicitAutogradNonFunctional,
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "native_functions.yaml"
    dir(opdsl.ops.aten)  # loads all of its operators
    path.write_text(native.dumps(export(opdsl.registry, ["aten"])))
    return parse_native_yaml(str(path), str(PACKAGED / "tags.yaml"))


@pytest.fixture(scope="module")
def corpus():
    return parse_native_yaml(str(PACKAGED / "native_functions.yaml"), str(PACKAGED / "tags.yaml"))


def by_name(parsed) -> dict[str, NativeFunction]:
    return {str(native_function.func.name): native_function for native_function in parsed.native_functions}


def kernels(parsed, entry: NativeFunction) -> set[DispatchKey]:
    return {key for key in KEYS if entry.func.name in parsed.backend_indices[key].index}


def test_every_exported_operator_is_pytorchs(exported, corpus):
    assert by_name(exported).keys() - by_name(corpus).keys() == set()


def test_every_key_of_every_entry_equals_pytorchs(exported, corpus):
    theirs = by_name(corpus)
    differences = {
        (name, field.name): (getattr(entry, field.name), getattr(theirs[name], field.name))
        for name, entry in by_name(exported).items()
        for field in dataclasses.fields(entry)
        if field.name not in FOREIGN and getattr(entry, field.name) != getattr(theirs[name], field.name)
    }
    assert differences == {}


def test_the_kernels_stand_at_the_same_keys(exported, corpus):
    theirs = by_name(corpus)
    differences = {
        name: (kernels(exported, entry), kernels(corpus, theirs[name]))
        for name, entry in by_name(exported).items()
        if kernels(exported, entry) != kernels(corpus, theirs[name])
    }
    assert differences == {}


def test_structured_groups_have_the_same_members(exported, corpus):
    def members(parsed):
        return {
            str(entry.structured_delegate or entry.func.name): {
                str(native_function.func.name)
                for native_function in parsed.native_functions
                if str(native_function.structured_delegate) == str(entry.structured_delegate or entry.func.name)
            }
            for entry in parsed.native_functions
            if entry.structured or entry.structured_delegate
        }

    theirs = members(corpus)
    assert members(exported) == {name: theirs[name] for name in members(exported)}


def test_our_own_reader_reads_it_back():
    dir(opdsl.ops.aten)  # loads all of its operators
    entries = export(opdsl.registry, ["aten"])
    assert list(native.loads(native.dumps(entries))) == entries
