"""Batching rules of ``vmap``: compute an operator for all elements of a batch by one call.

A function is called with tracers: tensors without memory, each of which represents one element of a batch. An
operator called on a tracer computes the whole batch, by a rule that follows from the operator's definition:
broadcasting for pointwise operators, dimensions shifted by one for reductions, scans and rows, another dimension for
views; composites are split into the operators that they call. Other operators are called once for each element. If
elements decide about branches or are written, the function has no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import Any

from opdsl.aten.create.ranges import arange
from opdsl.aten.linalg.matrix_products import matmul
from opdsl.aten.pointwise.arithmetic import add, mul
from opdsl.aten.shape.stacking import stack
from opdsl.dispatch import DispatchKey, DispatchMode, KeySet, Operator
from opdsl.dispatch.binding.boxed import box, unbox
from opdsl.dispatch.state import Guard, State, current
from opdsl.errors import UnsupportedModeError
from opdsl.kernels import new_tensor
from opdsl.kernels.definitions.python_kernel import PythonKernel
from opdsl.kernels.definitions.rowwise import shifted
from opdsl.kernels.definitions.structured import StructuredKernel
from opdsl.kernels.definitions.view_kernel import ViewKernel
from opdsl.runtime import Device, Tensor
from opdsl.runtime.geometry import geometry
from opdsl.runtime.snapshot import tensors_in
from opdsl.schema import SchemaKind

__all__ = ["Batches"]

_CPU, _META = DispatchKey("CPU"), Device("meta")
_KEYS, _MODES = KeySet("CPU"), DispatchKey("PreDispatch")
_DIMENSIONS = ("dim", "dims")
_ROWS = ("reduction", "scan", "row")


class Element(Tensor):
    """Tracer of ``vmap``: a tensor without memory that represents one element of a batch."""

    __slots__ = ()

    @property
    def requires_grad(self) -> bool:
        """Raise UnsupportedModeError: the batch may require grad, but a single element has no autograd history."""
        raise UnsupportedModeError("vmap: whether an element requires grad is asked")

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        raise UnsupportedModeError("vmap: an element is to require grad")


class Batches(DispatchMode):
    """Dispatch mode that computes operators on tracers for the batches that these represent.

    Args:
        size: the number of elements of a batch.
    """

    before_decomposition = True

    def __init__(self, size: int) -> None:
        self.size = size
        self._batches: dict[int, tuple[Tensor, Tensor]] = {}
        self._outer = [mode for mode in current.get().modes if isinstance(mode, Batches)]
        self._within = Guard(self.state_within)

    def element(self, batch: Tensor, dim: int = 0) -> Tensor:
        """Return a new tracer for the elements of a batch along a dimension."""
        first = batch.movedim(dim, 0)
        form = first.geometry
        element = Element()
        element.geometry = geometry(form.dtype, _META, form.shape[1:], form.strides[1:])
        element._writes, element._base = 0, None
        self._batches[id(element)] = element, first
        return element

    def batch(self, value: Tensor) -> Tensor | None:
        """Return the batch that a tracer represents, with the batch dimension first; None for other tensors."""
        known = self._batches.get(id(value))
        return None if known is None else known[1]

    def whole(self, value: Tensor) -> Tensor:
        """Return the batch of a tracer, or a tensor expanded to a batch whose elements are all equal.

        Raises:
            UnsupportedModeError: the tensor is a meta tensor but no tracer.
        """
        self._require_memory(value)
        known = self.batch(value)
        return value.expand(self.size, *value.shape) if known is None else known

    def _is_known(self, value: Tensor) -> bool:
        return not value.is_meta or any(batches.batch(value) is not None for batches in (self, *self._outer))

    def _require_memory(self, value: Tensor) -> None:
        if not self._is_known(value):
            raise UnsupportedModeError("vmap: a tensor without memory was made in the function")

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        called: Operator = operator.operator
        arguments = unbox(called, args, kwargs)
        self._require_rules(called, arguments)
        if all(self.batch(input) is None for input in tensors_in(arguments)):
            return operator(*args, **kwargs)
        if called.name == "aten::_linalg_check_errors":
            info: Any = arguments[0]
            return _call(called, (self.whole(info), arguments[1], False))
        rule = _BY_NAME.get(called.name) or _rule_of(called)
        if rule is None and (called.is_composite(_KEYS) or _is_body(called)):
            dispatch = self._taken_apart(called, arguments)
            if dispatch is not None:
                return dispatch
        with _WITHOUT_BATCHES:
            expected = _call(called, _without_memory(arguments))  # shapes, strides and dtypes
        by_rule = None if rule is None else self._by_rule(rule, called, arguments, expected)
        return self._elements(expected, iter(self._one_by_one(called, arguments) if by_rule is None else by_rule))

    def _taken_apart(self, called: Operator, arguments: tuple[Any, ...]) -> object:
        """Return the results of a composite by dispatching the operators that it calls; None if it does anything else
        with tensors.
        """
        try:
            with self._within:
                returned: object = called.find_in(_KEYS)(*arguments)
        except Exception:
            return None
        results = list(tensors_in(returned))
        return returned if results and all(self._is_known(result) for result in results) else None

    def _require_rules(self, called: Operator, arguments: tuple[Any, ...]) -> None:
        """Raise UnsupportedModeError if an operator's call cannot be batched; elements are then computed one by one."""
        refusal = _refusal(called)
        if refusal:
            raise UnsupportedModeError(f"vmap: {called.name} {refusal}")
        for input in tensors_in(arguments):
            self._require_memory(input)
            if input.geometry.requires_grad and isinstance(input, Element):
                raise UnsupportedModeError("vmap: a gradient by an element is asked for")
        if any(argument is _META for argument in arguments):
            raise UnsupportedModeError("vmap: a tensor is made on the device of an element")

    def _by_rule(self, rule: Rule, called: Operator, arguments: tuple[Any, ...], expected: Any) -> list[Tensor] | None:
        """Return the batches that a rule computes; None if their shapes or dtypes are not those expected for an
        element.
        """
        try:
            tensors = list(tensors_in(rule(self, called, arguments, expected)))
        except (RuntimeError, TypeError, ValueError, IndexError):
            return None
        wanted = list(tensors_in(expected))
        are_right = len(tensors) == len(wanted) and all(
            one.dtype is other.dtype and one.shape == (self.size, *other.shape)
            for one, other in zip(tensors, wanted, strict=True)
        )
        return tensors if are_right else None

    def _one_by_one(self, called: Operator, arguments: tuple[Any, ...]) -> list[Tensor]:
        """Return the batches of the results, computed by one call of the operator for each element."""
        generator = (self.mapped(arguments, itemgetter(at)) for at in range(self.size))
        results = [list(tensors_in(_call(called, element_arguments))) for element_arguments in generator]
        return [stack(elements) for elements in zip(*results, strict=True)]

    def _elements(self, expected: Any, batches: Iterator[Tensor]) -> Any:
        """Return the operator's results with a new tracer in place of each tensor."""
        if isinstance(expected, Tensor):
            return self.element(next(batches))
        if isinstance(expected, (tuple, list)):
            parts = [self._elements(part, batches) for part in expected]
            return type(expected)(*parts) if hasattr(expected, "_fields") else type(expected)(parts)
        raise UnsupportedModeError("vmap: an operator returns what is no tensor")

    def mapped(self, value: Any, change: Callable[[Tensor], Tensor]) -> Any:
        """Replace each tracer in the arguments by ``change`` of its batch; other arguments stay."""
        if isinstance(value, Tensor):
            batch = self.batch(value)
            return value if batch is None else change(batch)
        return type(value)(self.mapped(part, change) for part in value) if isinstance(value, (tuple, list)) else value


def _without_memory(value: Any) -> Any:
    """Replace the tensors in the arguments by meta tensors of the same shape, strides and dtype."""
    if isinstance(value, Tensor):
        form = value.geometry
        return value if value.is_meta else new_tensor(geometry(form.dtype, _META, form.shape, form.strides))
    return type(value)(map(_without_memory, value)) if isinstance(value, (tuple, list)) else value


def _without_batches(state: State) -> State:
    """Return the dispatch state without the modes of ``vmap``, in which operators compute on the given tensors."""
    modes = tuple(mode for mode in state.modes if not isinstance(mode, Batches))
    others = any(getattr(mode, "dispatch_key", None) is _MODES for mode in modes)
    return state.change(modes=modes, include=state.include if others else state.include - KeySet(_MODES))


_WITHOUT_BATCHES = Guard(_without_batches, keep=True)

# ---------------------------------------------------------------------------------------------------------------- rules

Rule = Callable[[Batches, Operator, tuple[Any, ...], Any], Any]


@lru_cache(maxsize=1024)
def _refusal(called: Operator) -> str:
    """Return why an operator cannot be batched at all, as the end of an error message; empty if it can."""
    if called.schema.kind is not SchemaKind.functional or called.schema.is_mutable:
        return "writes a tensor"
    if "empty" in called.name:  # code that is no operator may fill the memory
        return "gives memory as it is"
    return "draws random numbers" if "nondeterministic_seeded" in called.tags else ""


def _rule_of(called: Operator) -> Rule | None:
    """Return the batching rule that follows from the kind of an operator's definition; None if no rule follows."""
    kernel = called.entry(_CPU).kernel
    if isinstance(kernel, ViewKernel):
        return _viewed
    if not isinstance(kernel, StructuredKernel):
        return None
    kind = kernel.definition.kind
    return _broadcast if kind == "pointwise" else _along_rows if kind in _ROWS else None


def _is_body(called: Operator) -> bool:
    """Return whether an operator's CPU and meta kernels are one Python function, which then only calls operators."""
    kernel, other = called.entry(_CPU).kernel, called.entry(DispatchKey("Meta")).kernel
    return isinstance(kernel, PythonKernel) and isinstance(other, PythonKernel) and kernel.function is other.function


def _call(called: Operator, arguments: tuple[Any, ...]) -> Any:
    positional, named = box(called, arguments)
    return called.function(*positional, **named)


def _broadcast(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Compute a pointwise operator on batches: the batch dimension first, then dimensions of size 1, then the element's
    own.
    """
    ndim = max(input.ndim for input in tensors_in(arguments))

    def aligned(batch: Tensor) -> Tensor:
        return batch.reshape(batch.shape[0], *(1,) * (ndim + 1 - batch.ndim), *batch.shape[1:])

    return _call(called, batches.mapped(arguments, aligned))


def _along_rows(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Compute an operator along dimensions on batches, with the dimensions shifted by one; all batches need the same
    rank.
    """
    first, *others = tensors_in(arguments)
    if any(batches.batch(other) is not None and other.ndim != first.ndim for other in others):
        raise UnsupportedModeError("vmap: rows of batches of several forms")
    called, arguments = _with_dimensions(called, arguments)
    names = [argument.python_name for argument in called.schema.arguments]
    values = list(batches.mapped(arguments, lambda batch: batch))
    values[0] = batches.whole(first)
    for place, name in enumerate(names):
        if name in _DIMENSIONS:
            values[place] = shifted(values[place], first.ndim)
    return _call(called, tuple(values))


def _with_dimensions(called: Operator, arguments: tuple[Any, ...]) -> tuple[Operator, tuple[Any, ...]]:
    """Return the overload with a ``dim`` argument for a reduction of all elements: ``sum(x)`` becomes ``sum(x,
    dim=None)``.
    """
    names = [argument.python_name for argument in called.schema.arguments]
    if any(dimension in names for dimension in _DIMENSIONS):
        return called, arguments
    ours = dict(zip(names, arguments, strict=True))
    for other in called.packet.overloads.values():
        theirs = {
            argument.python_name: argument.default and argument.default.value for argument in other.schema.arguments
        }
        if "dim" in theirs and names == [text for text in theirs if text in names] and not other.schema.is_mutable:
            return other, tuple((theirs | ours | {"dim": None}).values())
    return called, arguments


def _viewed(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Return the view of a batch with the strides of the element's view, preceded by the batch dimension."""
    viewed = arguments[0]
    batch = batches.whole(viewed)
    if expected.dtype is not batch.dtype:
        raise UnsupportedModeError("vmap: a view of another dtype")
    before = batch.storage_offset() + expected.storage_offset() - viewed.storage_offset()
    return batch.as_strided((batches.size, *expected.shape), (batch.stride(0), *expected.stride()), before)


def _as_it_is(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Compute an operator on batches that treats leading dimensions as batch dimensions already."""
    return _call(called, batches.mapped(arguments, lambda batch: batch))


def _product(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Compute the matrix product of each element; vectors become rows on the left and columns on the right."""
    left, right = (batches.mapped(argument, lambda batch: batch) for argument in arguments)
    is_row, is_column = arguments[0].ndim == 1, arguments[1].ndim == 1
    output = matmul(left.unsqueeze(-2) if is_row else left, right.unsqueeze(-1) if is_column else right)
    output = output.squeeze(-1) if is_column else output
    return output.squeeze(-1) if is_row else output


def _sum_of_product(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Compute ``beta * self + alpha * (left @ right)`` for each element."""
    self, left, right, beta, alpha = arguments
    product = _product(batches, called, (left, right), expected)
    product = product if alpha == 1 else mul(product, alpha)
    added = batches.whole(self.expand(expected.shape)) if batches.batch(self) is None else batches.batch(self)
    assert added is not None
    added = added.reshape(batches.size, *(1,) * (product.ndim - added.ndim), *added.shape[1:])
    return product if beta == 0 else add(product, added if beta == 1 else mul(added, beta))


def _taken(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Compute a gather or scatter along a dimension on batches; indices may be shared or differ between elements."""
    first, dim, *rest = arguments
    values = [batches.whole(operand) if isinstance(operand, Tensor) else operand for operand in rest]
    return _call(called, (batches.whole(first), shifted(dim, first.ndim), *values))


def _joined(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Concatenate batches along a dimension of their elements."""
    tensors, dim = arguments
    return _call(called, ([batches.whole(tensor) for tensor in tensors], shifted(dim, tensors[0].ndim)))


def _selected(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Compute ``index_select`` on a batch; all elements have the same indices."""
    first, dim, index = arguments
    if batches.batch(index) is not None:
        raise UnsupportedModeError("vmap: other positions for each element")
    return _call(called, (batches.whole(first), shifted(dim, first.ndim), index))


def _indexed(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Compute indexing by tensors on a batch; indices may be shared or differ between elements."""
    first, indices = arguments
    indexes = [index for index in indices if index is not None]
    if all(batches.batch(index) is None for index in indexes):
        return _call(called, (batches.whole(first), (None, *indices)))
    if len(indexes) < len(indices):
        raise UnsupportedModeError("vmap: dimensions between those that are indexed")
    ndim = max(index.ndim for index in indexes)
    places = [
        index.reshape(index.shape[0], *(1,) * (ndim + 1 - index.ndim), *index.shape[1:])
        for index in map(batches.whole, indexes)
    ]
    elements = arange(batches.size, device=places[0].device).reshape(batches.size, *(1,) * ndim)
    return _call(called, (batches.whole(first), (elements, *places)))


def _folded(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Compute an image operator, which treats its first dimension as a batch, with the ``vmap`` batch
    merged into it.
    """
    first, *others = arguments
    if any(batches.batch(tensor) is not None for tensor in tensors_in(others)):
        raise UnsupportedModeError("vmap: other weights for each element")
    returned = _call(called, (batches.whole(first).flatten(0, 1), *others))
    return [tensor.unflatten(0, (batches.size, first.shape[0])) for tensor in tensors_in(returned)]


def _new(batches: Batches, called: Operator, arguments: tuple[Any, ...], expected: Any) -> Any:
    """Compute ``new_zeros`` and similar operators, with the batch size added to the shape."""
    first, size, *rest = arguments
    return _call(called, (batches.whole(first), (batches.size, *size), *rest))


def _named(rule: Rule, names: str) -> dict[str, Rule]:
    return {f"aten::{part}": rule for part in names.split()}


# Operators without a definition of one of the kinds above for which a rule is known.
_BY_NAME: dict[str, Rule] = {
    **_named(_product, "mm bmm mv dot"),
    **_named(_sum_of_product, "addmm addmv baddbmm"),
    **_named(_broadcast, "masked_fill.Scalar masked_fill.Tensor where.Scalar where.ScalarSelf where.ScalarOther"),
    **_named(_as_it_is, "clone _to_copy zeros_like ones_like full_like constant_pad_nd embedding tril triu"),
    # Matrices are the last two dimensions.
    **_named(
        _as_it_is, "_linalg_det _linalg_slogdet _linalg_eigh _linalg_svd linalg_qr linalg_inv_ex linalg_cholesky_ex"
    ),
    **_named(_as_it_is, "linalg_lu_factor_ex linalg_lu linalg_matrix_exp"),
    **_named(_along_rows, "sort sort.stable topk flip _fft_r2c _fft_c2r _fft_c2c"),
    **_named(_taken, "gather scatter.src scatter_add"),
    **_named(_selected, "index_select"),
    **_named(_indexed, "index.Tensor"),
    **_named(_joined, "cat"),
    **_named(_new, "new_zeros new_ones new_full"),
    **_named(_folded, "convolution avg_pool2d avg_pool3d max_pool2d_with_indices max_pool3d_with_indices"),
    **_named(
        _folded, "_adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d im2col col2im"
    ),
    **_named(_folded, "upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d"),
    **_named(_folded, "upsample_trilinear3d upsample_bicubic2d reflection_pad2d replication_pad2d"),
}
