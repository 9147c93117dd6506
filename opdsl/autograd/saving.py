"""Saved values: the arguments and results of a call that a node keeps for its backward pass, and their restoration.

An argument is saved with the version of its memory. A result is saved without its node, since that would make a
reference cycle. If a formula reads only the geometry of a tensor, only that is saved (``without_elements``).
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import textwrap
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

from opdsl.autograd.graph import Edge, Node, Output, changed
from opdsl.errors import RequiresGradError
from opdsl.runtime import Tensor, TensorMeta, cpu, version_of
from opdsl.runtime.memory import device_memory
from opdsl.runtime.references import references_to_an_attribute
from opdsl.runtime.storage import version_counter
from opdsl.scalar.parsing import parsed

__all__ = [
    "definitions",
    "form_only",
    "is_free",
    "is_shared",
    "keep",
    "keep_result",
    "keeps_tensors",
    "restore",
    "with_history",
    "without_elements",
]


# The attributes that formulas may read of a tensor whose elements are not saved.
_OF_META = frozenset(
    ["shape", "strides", "dtype", "device", "ndim", "geometry", "dim", "numel", "is_complex", "is_floating_point"]
)


def _references(value: object) -> int:
    return sys.getrefcount(value)


def _references_to_what_is_saved() -> int:
    saved = (object(),)
    (value,) = saved
    return _references(value)


# The reference count of a saved tensor that only its node refers to, as ``is_shared`` counts. It is measured, since
# releases of Python differ in which names hold their own reference.
_UNSHARED = _references_to_what_is_saved()
# The reference count of an object that one attribute refers to.
_UNSHARED_ATTRIBUTE = references_to_an_attribute()


def is_shared(value: Tensor) -> bool:
    """Return whether the memory of a saved tensor may be referred to by anything but its node.

    It counts references: the caller holds the tensor, taken from the node, in one local name.
    """
    if sys.getrefcount(value) > _UNSHARED or value.device is not cpu:
        return True
    array, root = value.array, value._base
    if sys.getrefcount(array) > _UNSHARED_ATTRIBUTE:
        return True
    if root is not None:
        # The array of a view refers to that of its root.
        whole = root.array
        if sys.getrefcount(root) > _UNSHARED_ATTRIBUTE or array.base is not whole:
            return True
        if sys.getrefcount(whole) > _UNSHARED_ATTRIBUTE + 1:
            return True
        array = whole
    return not device_memory(cpu).is_own_block(array)


def without_elements(meta: TensorMeta) -> Tensor:
    """Return a tensor with a geometry, but without memory and history, for formulas that read only the geometry."""
    elements = Tensor()
    elements.geometry = meta.replace(requires_grad=False) if meta.requires_grad else meta
    elements._writes = 0
    elements._base = None
    return elements


def form_only(function: FunctionType, *, follows_calls: bool = True) -> frozenset[str]:
    """Return the parameters of a formula whose elements it does not read.

    A function without source text, or whose file has changed since it was defined, counts as reading all elements.

    Args:
        function: the formula.
        follows_calls: whether functions to which it passes a parameter are analyzed as well.
    """
    nodes = [node for definition in definitions(function) for node in ast.walk(definition)]
    if not nodes:
        return frozenset()
    harmless: set[int] = set()
    elements: list[tuple[str, str]] = []  # pairs: the name of a loop variable, the name of the list it iterates over
    for node in nodes:
        if isinstance(node, (ast.For, ast.comprehension)):
            if isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Name):
                elements.append((node.target.id, node.iter.id))
                harmless.update((id(node.target), id(node.iter)))
        elif isinstance(node, ast.Attribute) and node.attr in _OF_META:
            harmless.add(id(node.value))
        elif follows_calls and isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = function.__globals__.get(node.func.id)
            if not isinstance(called, FunctionType) or inspect.unwrap(called) is not called:
                continue  # operators are wrapped functions
            if not any(isinstance(arg, ast.Starred) for arg in node.args):
                unread = form_only(called, follows_calls=False)
                pairs = zip(_parameters(called), node.args, strict=False)
                harmless.update(id(expression) for name, expression in pairs if name in unread)
    read = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in harmless}
    for _ in elements:  # a list is read if its elements are, also for nested lists
        read |= {whole for element, whole in elements if element in read}
    return frozenset(_parameters(function)) - read


def definitions(function: FunctionType) -> list[ast.AST]:
    """Return the syntax trees of a function; for a lambda all candidates, if a line has several with the same
    parameters.
    """
    if function.__name__ == "<lambda>":
        code = function.__code__
        linecache.checkcache(code.co_filename)
        return [
            node
            for node in ast.walk(_parsed("".join(linecache.getlines(code.co_filename, function.__globals__))))
            if isinstance(node, ast.Lambda)
            and node.lineno == code.co_firstlineno
            and [one.arg for one in node.args.args] == list(_parameters(function))
        ]
    try:
        tree = parsed(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return []
    return (
        [tree]
        if any(
            isinstance(statement, ast.FunctionDef) and statement.name == function.__name__ for statement in tree.body
        )
        else []
    )


@lru_cache(maxsize=8)  # for the modules whose formulas are analyzed in succession
def _parsed(text: str) -> ast.AST:
    try:
        return parsed(text)
    except SyntaxError:
        return ast.Module([], [])


def _parameters(function: FunctionType) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class KeptTensor(NamedTuple):
    """Saved argument, with the version of its memory."""

    tensor: Tensor
    version: int


class KeptResult(NamedTuple):
    """Saved result, without its node.

    tensor: over the same memory, with no history.
    version: of its memory when it was saved.
    place: its position among the results.
    followed: whether it requires grad; indices and the like do not.
    """

    tensor: Tensor
    version: int
    place: int
    followed: bool


def keep(value: Any) -> Any:
    """Return an argument in the form in which it is saved.

    Raises:
        RequiresGradError: it was made in inference mode.
    """
    if isinstance(value, Tensor):
        if value.geometry.is_inference:
            raise RequiresGradError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode "
                "in computation tracked by autograd. To work around this, you can make a clone to get a normal tensor "
                "and use it in autograd, or use `opdsl.no_grad()` instead of `opdsl.inference_mode()`."
            )
        return KeptTensor(value, version_of(value))
    return tuple(map(keep, value)) if isinstance(value, (tuple, list)) else value


def is_free(kept: Any) -> bool:
    """Return whether a saved argument is a tensor whose memory is not shared, so that it may be overwritten."""
    if not isinstance(kept, KeptTensor):
        return False
    value = kept.tensor
    return not is_shared(value)


def keeps_tensors(kept: Any) -> bool:
    """Return whether a saved argument contains tensors with elements."""
    return isinstance(kept, KeptTensor) or (type(kept) is tuple and any(map(keeps_tensors, kept)))


def keep_result(result: Tensor, place: int) -> KeptResult:
    """Return a result in the form in which it is saved."""
    bare = _same_memory(result, requires_grad=False)
    if version_counter(result) is result:
        result.kept = bare
    return KeptResult(bare, version_of(bare), place, result.geometry.requires_grad)


def restore(node: Node, name: str, value: Any) -> Any:
    """Return a saved value for the formula.

    Raises:
        SavedTensorChangedError: its memory has been written since.
    """
    if isinstance(value, KeptTensor):
        if version_of(value.tensor) != value.version:
            raise changed(node, name, value.tensor, value.version)
        return value.tensor
    if isinstance(value, KeptResult):
        if version_of(value.tensor) != value.version:
            raise changed(node, name, value.tensor, value.version)
        if not value.followed:
            return value.tensor
        return with_history(value.tensor, node if value.place == 0 else Output(node, value.place))
    if type(value) is tuple:
        return tuple(restore(node, name, member) for member in value)
    return value


def with_history(bare: Tensor, edge: Edge) -> Tensor:
    """Return a tensor over the memory of a saved result with the result's edge, for gradients of gradients."""
    history = _same_memory(bare, requires_grad=True)
    history.autograd = edge
    return history


def _same_memory(source: Tensor, *, requires_grad: bool) -> Tensor:
    """Return a tensor without history over the same memory (a meta tensor has none)."""
    same_memory = Tensor()
    if hasattr(source, "array"):
        same_memory.array = source.array
    same_memory.geometry = source.geometry.replace(requires_grad=requires_grad)
    same_memory._writes = 0
    same_memory._base = source._base
    return same_memory
