"""Tests of dispatch keys and key sets, against torch's."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdsl.dispatch.keys import (
    AUTOCAST_KEYS,
    AUTOGRAD_KEYS,
    AUTOGRADOTHER_BACKENDS,
    FUNCTIONALITIES,
    RUNTIME_KEYS,
    DispatchKey,
    KeySet,
    alias_runtime_keys,
    backend_key_set,
    backend_keys_of_autograd,
)
from opdsl.errors import DispatchKeyError

torch = pytest.importorskip("torch")
C = torch._C

# torch's keys by their printed names: the numbers of its enum without the markers between them
THEIRS = {C._dispatch_key_name(key): key for key in map(C.DispatchKey, range(156))}
OURS = [key for key in RUNTIME_KEYS[1:] if key.name != "Common"]

key_names = st.sampled_from([key.name for key in OURS])
name_lists = st.lists(key_names, max_size=6)


def torch_set(*names: str) -> object:
    key_set = C.DispatchKeySet.from_raw_repr(0)
    for name in names:
        key_set = key_set | C.DispatchKeySet(THEIRS[name])
    return key_set


def names_in(theirs: object) -> list[str]:
    """Return the names of the members of a torch key set, highest priority first."""
    text = C._dispatch_keyset_to_string(theirs).removeprefix("DispatchKeySet(").removesuffix(")")
    return [name for name in reversed(text.split(", ")) if name]


def names_of(ours: KeySet) -> list[str]:
    return [key.name for key in ours]


def test_there_are_136_runtime_keys_of_torch() -> None:
    assert len(OURS) == 136


def test_rows_stand_in_torchs_order() -> None:
    assert [key.name for key in OURS] == list(reversed(names_in(C._dispatch_keyset_full())))


def test_key_is_found_by_name_once() -> None:
    assert DispatchKey("AutogradCPU") is DispatchKey.AutogradCPU is DispatchKey(DispatchKey.AutogradCPU)


def test_wrong_name_says_what_may_be_meant() -> None:
    with pytest.raises(DispatchKeyError, match=r"'Cuda'.*Did you mean CUDA"):
        DispatchKey("Cuda")


def test_wrong_attribute_is_an_attribute_error() -> None:
    assert not hasattr(DispatchKey, "Cuda")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda key: pickle.loads(pickle.dumps(key))])
def test_copies_of_a_key_are_the_key(duplicate: object) -> None:
    assert callable(duplicate)
    assert duplicate(DispatchKey.SparseCUDA) is DispatchKey.SparseCUDA


def test_only_aliases_are_aliases() -> None:
    assert {key.name for key in DispatchKey if key.is_alias} == {
        name for name, key in THEIRS.items() if C._dispatch_is_alias_key(key)
    }


@given(name_lists)
def test_members_and_their_order_equal_torchs(names: list[str]) -> None:
    assert names_of(KeySet(*names)) == names_in(torch_set(*names))


@given(name_lists, name_lists)
def test_union_equals_torchs(left: list[str], right: list[str]) -> None:
    assert names_of(KeySet(*left) | KeySet(*right)) == names_in(torch_set(*left) | torch_set(*right))


@given(name_lists, name_lists)
def test_intersection_equals_torchs(left: list[str], right: list[str]) -> None:
    assert names_of(KeySet(*left) & KeySet(*right)) == names_in(torch_set(*left) & torch_set(*right))


@given(name_lists, name_lists)
def test_difference_equals_torchs(left: list[str], right: list[str]) -> None:
    assert names_of(KeySet(*left) - KeySet(*right)) == names_in(torch_set(*left) - torch_set(*right))


@given(name_lists, key_names)
def test_membership_equals_torchs(names: list[str], name: str) -> None:
    assert (name in KeySet(*names)) == torch_set(*names).has(THEIRS[name])


@given(name_lists)
def test_highest_priority_equals_torchs(names: list[str]) -> None:
    assert KeySet(*names).highest_priority.name == C._dispatch_key_name(torch_set(*names).highestPriorityTypeId())


@pytest.mark.parametrize("key", [key for key in OURS if key.functionality != "Dense"], ids=str)
def test_keys_below_a_key_equal_torchs(key: DispatchKey) -> None:
    expected = names_in(C._dispatch_keyset_full_after(THEIRS[key.name]))
    actual = names_of(KeySet.below(key) | KeySet("PythonDispatcher"))  # c10 always adds PythonDispatcher
    assert [name for name in actual if name != "Common"] == expected


def test_reachable_keys_are_those_of_the_highest_backend() -> None:
    keys = KeySet("CPU", "CUDA", "AutogradCPU", "AutogradCUDA", "Python")
    assert [key.name for key in keys.reachable()] == ["AutogradCUDA", "Python", "CUDA"]


def test_equal_sets_hash_alike() -> None:
    assert {KeySet("CPU", "Tracer"), KeySet("Tracer", "CPU")} == {KeySet("CPU") | KeySet("Tracer")}


def test_empty_set_is_false_and_undefined() -> None:
    assert not KeySet()
    assert KeySet().highest_priority is DispatchKey.Undefined


def test_key_set_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        KeySet("CPU").bits = 0


def test_key_set_refuses_an_alias() -> None:
    with pytest.raises(DispatchKeyError, match="alias_runtime_keys"):
        KeySet("Autograd")


def test_only_alias_keys_have_runtime_keys() -> None:
    with pytest.raises(DispatchKeyError, match="CPU is no alias key"):
        alias_runtime_keys("CPU")


@pytest.mark.parametrize(
    ("alias", "size"),
    [
        ("Autograd", 18),
        ("CompositeImplicitAutograd", 103),
        ("CompositeExplicitAutograd", 69),
        ("CompositeExplicitAutogradNonFunctional", 47),
        ("CompositeImplicitAutogradNestedTensor", 17),
        ("FuncTorchBatchedDecomposition", 1),
    ],
)
def test_alias_covers_as_many_keys_as_torchs(alias: str, size: int) -> None:
    assert len(alias_runtime_keys(alias)) == size


@pytest.mark.parametrize("key", OURS, ids=str)
def test_backends_behind_an_autograd_key_equal_torchs(key: DispatchKey) -> None:
    expected = names_in(C._dispatch_get_backend_keyset_from_autograd(THEIRS[key.name]))
    assert names_of(backend_keys_of_autograd(key)) == expected


def test_backends_sharing_autogradother_equal_torchs() -> None:
    assert names_of(AUTOGRADOTHER_BACKENDS) == names_in(C._dispatch_autogradother_backends)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("CPU", lambda x: x),
        ("Meta", lambda x: x.to("meta")),
        ("SparseCPU", lambda x: x.to_sparse()),
        ("NestedTensorCPU", lambda x: torch.nested.nested_tensor([x, x], layout=torch.strided)),
        pytest.param(
            "MkldnnCPU",
            lambda x: x.to_mkldnn(),
            marks=pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch is built without MKL-DNN"),
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_keys_of_a_tensor_equal_torchs(name: str, make: object) -> None:
    assert callable(make)
    assert names_of(backend_key_set(name)) == names_in(C._dispatch_keys(make(torch.ones(2, 2))))


def test_tensor_keys_of_a_backend_without_autograd_key_use_autogradother() -> None:
    assert names_of(backend_key_set("VE")) == ["AutogradOther", "ADInplaceOrView", "VE"]


def test_autocast_keys_are_what_torch_excludes_by_default() -> None:
    assert names_of(AUTOCAST_KEYS) == names_in(C._dispatch_tls_local_exclude_set())


def test_excluding_the_autograd_keys_excludes_all_the_alias_covers() -> None:
    assert names_of(alias_runtime_keys("Autograd") - AUTOGRAD_KEYS) == []


def test_common_comes_between_backends_and_all_other_keys() -> None:
    index = FUNCTIONALITIES.index("Common")
    assert (FUNCTIONALITIES[index - 1], FUNCTIONALITIES[index + 1]) == ("NestedTensor", "BackendSelect")
