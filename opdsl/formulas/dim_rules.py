"""Rules that compute operators on ``DimTensor`` values: dims are leading axes of plain tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from opdsl.dispatch import DispatchKey, Operator
from opdsl.dispatch.binding.boxed import box
from opdsl.errors import DimensionError, DimError
from opdsl.formulas.dim_axes import aligned, axes_as_they_lie, dim_tensors, expanded, lies_in_order, over, union
from opdsl.formulas.dim_binding import Call
from opdsl.formulas.dim_tensor import Dim, DimTensor
from opdsl.kernels.definitions.structured import StructuredKernel
from opdsl.runtime import Tensor

_CPU = DispatchKey("CPU")

# Operators that are pointwise, although native_functions.yaml does not tag them so and none is one pointwise kernel.
_UNTAGGED = frozenset(("aten::complex", "aten::polar", "aten::rsub.Tensor"))

Rule = Callable[[Call], Any]


def operands(values: Iterable[Any]) -> list[Any]:
    """Return all tensors among arguments, ``DimTensor`` or plain, also those in lists."""
    listed: list[Any] = []
    for value in values:
        if isinstance(value, (Tensor, DimTensor)):
            listed.append(value)
        elif isinstance(value, (tuple, list)):
            listed += operands(value)
    return listed


def mapped(value: Any, change: Callable[[Any], Tensor]) -> Any:
    """Apply a function to each tensor among arguments, also in lists."""
    if isinstance(value, (Tensor, DimTensor)):
        return change(value)
    return tuple([mapped(one, change) for one in value]) if isinstance(value, (tuple, list)) else value


def invoke(operator: Operator, arguments: Sequence[Any]) -> Any:
    """Call an operator with arguments in the order of its schema."""
    args, named = box(operator, tuple(arguments))
    return operator.function(*args, **named)


def results(value: Any, wrap: Callable[[Tensor], Any]) -> Any:
    """Apply a function to each tensor among an operator's results."""
    if isinstance(value, Tensor):
        return wrap(value)
    if isinstance(value, (tuple, list)):
        parts = [results(one, wrap) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def positional(value: Any) -> int:
    """Return the number of positional dimensions of a tensor, with or without dims."""
    ndim: int = value.ndim
    return ndim


def on_device(value: DimTensor, values: Sequence[Any]) -> DimTensor:
    """Move a ``DimTensor`` that is computed only from dims and numbers to the device of the other operands."""
    others = [other.device for other in values if not (isinstance(other, DimTensor) and other.is_of_dims)]
    others = [device for device in others if device.type != "cpu"]
    if not value.is_of_dims or not others:
        return value
    return DimTensor(value.tensor.to(others[0]), value.dims, value.mask)


# ------------------------------------------------------------------------------------------------------------ pointwise


def is_pointwise(operator: Operator) -> bool:
    """Return whether an operator computes each element from the elements at the same index."""
    kernel = operator.entry(_CPU).kernel
    kind = kernel.definition.kind if isinstance(kernel, StructuredKernel) else ""
    return kind == "pointwise" or "pointwise" in operator.tags or operator.name in _UNTAGGED


def broadcast(call: Call) -> Any:
    """Compute a pointwise operator: dims are aligned by name, positional dimensions from the last one on."""
    values = operands(call.arguments)
    with_dims = [value for value in values if isinstance(value, DimTensor)]
    dims = union(with_dims)
    ndim = max(map(positional, values))

    def plain(value: Any) -> Tensor:
        return aligned(on_device(value, values), dims, ndim) if isinstance(value, DimTensor) else value

    laid, order = laid_alike(list(map(plain, values)), len(dims) + ndim)
    tensors = iter(laid)
    result = invoke(call.operator, mapped(call.arguments, lambda _: next(tensors)))
    mask, back = joined_masks(with_dims), [order.index(axis) for axis in range(len(order))]
    return results(result, lambda tensor: over(tensor.permute(back) if order else tensor, dims, mask))


def laid_alike(tensors: Sequence[Tensor], ndim: int) -> tuple[Sequence[Tensor], list[int]]:
    """Permute operands so that the result has the memory layout of the largest of them.

    Args:
        tensors: the operands, which broadcast.
        ndim: number of dimensions of the largest ones.

    Returns:
        The operands, and the original dimension of each of their dimensions; empty if they are not permuted.
    """
    whole = [tensor for tensor in tensors if tensor.ndim == ndim]
    if len(whole) < 2:
        return tensors, []
    counts = [sum(size != 1 for size in tensor.shape) for tensor in whole]
    order = axes_as_they_lie(whole[counts.index(max(counts))])
    if all(lies_in_order(tensor, order) for tensor, count in zip(whole, counts, strict=True) if count < max(counts)):
        return tensors, []
    laid = []
    for tensor in tensors:
        moved = tensor if tensor.ndim < ndim else tensor.permute(order)
        is_smaller = tensor.ndim == ndim and sum(size != 1 for size in tensor.shape) < max(counts)
        laid.append(moved.contiguous() if is_smaller else moved)
    return laid, order


def joined_masks(values: Sequence[DimTensor]) -> DimTensor | None:
    """Return the intersection of the masks of values; None if none has a mask."""
    mask: Any = None
    for value in values:
        if value.mask is not None:
            mask = value.mask if mask is None or mask is value.mask else mask & value.mask
    return mask  # type: ignore[no-any-return]  # the result of two masks is a mask


def require_no_mask(call: Call) -> None:
    """Raise an error if an operand has skipped elements, which only folds can leave out.

    Raises:
        DimError: a value has a mask.
    """
    if any(value.mask is not None for value in dim_tensors(call.arguments)):
        raise DimError(
            f"{call.operator.name} of a value read with x.outside('skip'): only reductions leave skipped elements out "
            "(sum, mean, prod, amax, amin, any, all, logsumexp, argmax, argmin). Reduce it first, or give a value for "
            "indices out of bounds: x.outside(0.0)."
        )


# ------------------------------------------------------------------------------------------------------ other operators


def as_it_is(call: Call) -> Any:
    """Compute an operator that treats further leading axes of its first tensor as batch dimensions, so dims need no
    handling.
    """
    first, *others = operands(call.arguments)
    if any(isinstance(other, DimTensor) for other in others):
        if isinstance(first, DimTensor) or len(others) > 1:
            return NotImplemented
        first = others[0]  # embedding: indices vary along dims, the table does not
    result = invoke(call.operator, mapped(call.arguments, _tensor))
    return results(result, lambda tensor: over(tensor, first.dims, first.mask))


def product(call: Call) -> Any:
    """Multiply matrices at each index of the dims; vectors are rows on the left and columns on the right."""
    left, right = operands(call.arguments)
    dims = union(dim_tensors([left, right]))
    is_row, is_column = positional(left) == 1, positional(right) == 1
    if not positional(left) or not positional(right):
        return NotImplemented
    ndim = max(positional(left), positional(right), 2)

    def matrix(value: Any, at: int) -> Tensor:
        plain = value.tensor if isinstance(value, DimTensor) else value
        if at:
            plain = plain.unsqueeze(at)
        value = DimTensor(plain, value.dims) if isinstance(value, DimTensor) else plain
        return aligned(value, dims, ndim) if isinstance(value, DimTensor) else value

    output = matrix(left, -2 * is_row).matmul(matrix(right, -1 * is_column))
    output = output.squeeze(-1) if is_column else output
    output = output.squeeze(-2 if not is_column else -1) if is_row else output
    return over(output, dims)


def resized(call: Call) -> Any:
    """Compute an operator that takes sizes (``reshape``, ``expand``, ``repeat``), with the sizes of dims prepended."""
    name = next(name for name, _ in call.named() if name in ("size", "shape", "repeats", "dims"))
    (first,) = operands(call.arguments)
    tensor, dims, sizes = first.tensor, first.dims, list(call.get(name))
    base = call.operator.schema.name.base
    if base in ("expand", "broadcast_to", "repeat", "tile"):
        missing = len(sizes) - positional(first)
        if missing < 0 and base != "tile":
            raise DimensionError(
                f"{base}: expected at least as many sizes as the value has positional dimensions (got {len(sizes)} for "
                f"{positional(first)})"
            )
        sizes = [1] * -missing + sizes
        for _ in range(missing):
            tensor = tensor.unsqueeze(len(dims))
    leading = [1] * len(dims) if base in ("repeat", "tile") else list(tensor.shape[: len(dims)])
    arguments = [(*leading, *sizes) if one == name else value for one, value in call.named()]
    return over(invoke(call.operator, mapped(arguments, lambda value: tensor)), dims)


def shifted(call: Call) -> Any:
    """Compute an operator that takes dimension numbers (``permute``, ``transpose``), shifted past the axes of dims."""
    first, *others = operands(call.arguments)
    if others:
        return NotImplemented
    dims, ndim = first.dims, positional(first)
    arguments = [placed(value, len(dims), ndim) if name in SHIFTED else value for name, value in call.named()]
    if call.operator.schema.name.base == "permute":
        at = [name for name, _ in call.named()].index("dims")
        arguments[at] = (*range(len(dims)), *arguments[at])
    result = invoke(call.operator, mapped(arguments, _tensor))
    return results(result, lambda tensor: over(tensor, dims))


SHIFTED = frozenset(
    (
        *("dim", "dims", "dim0", "dim1", "dim2", "axis", "axis0", "axis1", "start_dim", "end_dim"),
        *("source", "destination", "dimension"),
    )
)


def placed(value: Any, before: int, ndim: int) -> Any:
    """Return dimension numbers shifted past the axes of dims; negative ones still count from the end.

    Raises:
        DimensionError: there is no such dimension.
    """
    if isinstance(value, (tuple, list)):
        return tuple([placed(one, before, ndim) for one in value])
    if value is None:
        return None
    least = max(ndim, 1)
    if not -least <= value < least:
        raise DimensionError(
            f"Dimension out of range (expected to be in range of [{-least}, {least - 1}], but got {value})"
        )
    return value + before if value >= 0 else value


def matrix_transpose(call: Call) -> Any:
    """Compute ``t()``, which transposes two positional dimensions at most."""
    (first,) = operands(call.arguments)
    if positional(first) > 2:
        raise DimensionError(f"t() expects a tensor with <= 2 dimensions, but self is {positional(first)}D")
    transposed = first.tensor if positional(first) < 2 else first.tensor.transpose(-2, -1)
    return over(transposed, first.dims, first.mask)


def squeezed(call: Call) -> Any:
    """Compute ``squeeze()``, which removes the positional dimensions of size 1."""
    (first,) = operands(call.arguments)
    own = tuple(range(-positional(first), 0))
    return over(first.tensor.squeeze(own) if own else first.tensor, first.dims, first.mask)


def _tensor(value: Any) -> Tensor:
    plain: Tensor = value.tensor if isinstance(value, DimTensor) else value
    return plain


def full(value: Any, dims: Sequence[Dim], use: str) -> Tensor:
    """Return a tensor of the elements with an axis of full size for each of ``dims``."""
    inner = value if isinstance(value, DimTensor) else DimTensor(value, ())
    laid_out = aligned(inner, dims, positional(value)) if inner.dims else value[(None,) * len(dims)]
    return expanded(laid_out, dims, use)


def _named(rule: Rule, text: str) -> dict[str, Rule]:
    return {f"aten::{name}": rule for name in text.split()}


BY_NAME: dict[str, Rule] = {
    **_named(product, "matmul mm bmm mv dot"),
    **_named(
        as_it_is,
        "alias detach clone to.dtype to.device to.dtype_layout _to_copy "
        "zeros_like ones_like full_like empty_like rand_like randn_like bernoulli "
        "bernoulli.p native_dropout constant_pad_nd embedding tril triu native_layer_norm linalg_det _linalg_det "
        "linalg_inv_ex linalg_cholesky_ex contiguous _conj _neg_view is_conj is_neg view_as_real",
    ),
    **_named(resized, "view reshape expand broadcast_to repeat tile"),
    **_named(
        shifted, "permute transpose.int swapaxes swapdims movedim.int movedim.intlist moveaxis.int moveaxis.intlist"
    ),
    **_named(shifted, "flatten.using_ints diagonal unfold"),
    **_named(matrix_transpose, "t numpy_T"),
    **_named(squeezed, "squeeze"),
}
