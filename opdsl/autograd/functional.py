"""Derivatives of functions: products with Jacobians, Jacobians, Hessians.

Forward products (``jvp``) come from two backward passes: the first gives a function that is linear in its seed, the
second differentiates that by the seed. So they exist for every operator that has a derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opdsl.autograd.constants import filled
from opdsl.autograd.passes import grad as grad_of
from opdsl.dispatch import enable_grad
from opdsl.errors import GradientError
from opdsl.runtime import Tensor

__all__ = ["grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vhp", "vjp"]

Function = Callable[..., Any]
# One tensor, or several; results have the same structure.
Tensors = Tensor | Sequence[Tensor]


def grad(function: Function, argnums: int | Sequence[int] = 0) -> Function:
    """Return a function that computes the gradient of a scalar-valued function, with the same arguments.

    Args:
        function: takes tensors (and anything else), returns a tensor of one element.
        argnums: the positions of the arguments to differentiate by; for one a tensor is returned, else a tuple.

    Raises:
        GradientError: when it is called: an argument is no tensor, or the function does not return one number.

    >>> import opdsl
    >>> slope = grad(lambda x: (x * x * x).sum())
    >>> slope(opdsl.tensor([2.0]))
    tensor([12.])
    >>> grad(lambda x: slope(x).sum())(opdsl.tensor([2.0]))
    tensor([12.])
    """
    both = value_and_grad(function, argnums)

    def gradient(*arguments: Any, **named: Any) -> Any:
        return both(*arguments, **named)[1]

    return gradient


def value_and_grad(function: Function, argnums: int | Sequence[int] = 0) -> Function:
    """Return a function that computes the value and the gradient of a scalar-valued function; see ``grad``.

    Args:
        function: takes tensors (and anything else), returns a tensor of one element.
        argnums: the positions of the arguments to differentiate by; for one a tensor is returned, else a tuple.

    Raises:
        GradientError: as of ``grad``.

    >>> import opdsl
    >>> value_and_grad(lambda x: (x * x).sum())(opdsl.tensor([3.0]))
    (tensor(9.), tensor([6.]))
    """
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def both(*arguments: Any, **named: Any) -> tuple[Any, Any]:
        with enable_grad():
            followed = list(arguments)
            for at in places:
                followed[at] = _followed(arguments[at])
            value = function(*followed, **named)
            if not isinstance(value, Tensor) or value.numel() != 1:
                what = f"shape {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
                raise GradientError(f"grad takes a function that returns one number (got {what}). Sum it first.")
            wanted = [followed[at] for at in places]
            pulled = _pulled([value], wanted, [filled(value.geometry, 1)], create_graph=_nested(arguments))
        return value.detach(), pulled[0] if isinstance(argnums, int) else tuple(pulled)

    return both


def vjp(function: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False) -> tuple[Any, Any]:
    """Return the outputs of a function, and the product of a vector with its Jacobian.

    Args:
        function: takes the inputs, returns a tensor or several.
        inputs: a tensor or several.
        v: of the outputs' form; may be left out for a single number.
        create_graph: whether the product can be differentiated.

    Returns:
        The outputs, and the product, of the inputs' form.

    Raises:
        GradientError: an input is no tensor, or ``v`` does not fit the outputs.

    >>> import opdsl
    >>> vjp(lambda x: x * x, opdsl.tensor([1.0, 2.0]), opdsl.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        followed = [_followed(input) for input in _listed(inputs)]
        outputs = function(*followed)
        listed = _listed(outputs)
        pulled = _pulled(listed, followed, _seeds(listed, v), create_graph=create_graph)
    return _like(outputs, _done(listed, create_graph)), _like(inputs, pulled)


def jvp(function: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False) -> tuple[Any, Any]:
    """Return the outputs of a function, and the product of its Jacobian with a vector.

    Args:
        function: takes the inputs, returns a tensor or several.
        inputs: a tensor or several.
        v: of the inputs' form; may be left out for a single number.
        create_graph: whether the product can be differentiated.

    Returns:
        The outputs, and the product, of the outputs' form.

    Raises:
        GradientError: an input is no tensor, or ``v`` does not fit the inputs.

    >>> import opdsl
    >>> jvp(lambda x: x * x, opdsl.tensor([1.0, 2.0]), opdsl.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        followed = [_followed(input) for input in _listed(inputs)]
        outputs = function(*followed)
        listed = _listed(outputs)
        tensors = pushed(listed, followed, _seeds(_listed(inputs), v), create_graph=create_graph)
        tensors = [
            filled(tensor.geometry, 0) if one is None else one for tensor, one in zip(listed, tensors, strict=True)
        ]
    return _like(outputs, _done(listed, create_graph)), _like(outputs, tensors)


def jacobian(function: Function, inputs: Tensors, create_graph: bool = False) -> Any:
    """Return the Jacobian: for each output and input a tensor of the output's shape followed by the input's.

    Args:
        function: takes the inputs, returns a tensor or several.
        inputs: a tensor or several.
        create_graph: whether it can be differentiated.

    Returns:
        One tensor for one output and one input; a tuple for several of one of them; a tuple of tuples for both.

    Raises:
        GradientError: an input is no tensor.

    >>> import opdsl
    >>> jacobian(lambda x: x * x, opdsl.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    with enable_grad():
        followed = [_followed(input) for input in _listed(inputs)]
        outputs = function(*followed)
        rows = [_rows(tensor, followed, create_graph) for tensor in _listed(outputs)]
    return _like(outputs, [_like(inputs, row) for row in rows])


def hessian(function: Function, inputs: Tensors, create_graph: bool = False) -> Any:
    """Return the Hessian of a scalar-valued function, in the form of the ``jacobian`` of its gradient.

    Args:
        function: takes the inputs, returns one number.
        inputs: a tensor or several.
        create_graph: whether it can be differentiated.

    Raises:
        GradientError: an input is no tensor, or the function does not return one number.

    >>> import opdsl
    >>> hessian(lambda x: (x * x * x).sum(), opdsl.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """

    def gradient(*followed: Tensor) -> Any:
        pulled = _pulled([_number(function(*followed))], followed, None, create_graph=True)
        return _like(inputs, pulled)

    return jacobian(gradient, inputs, create_graph)


def vhp(function: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False) -> tuple[Any, Any]:
    """Return the value of a scalar-valued function, and the product of a vector with its Hessian.

    Args:
        function, inputs, create_graph: as of ``hessian``.
        v: of the inputs' form; may be left out for a single number.

    Raises:
        GradientError: as of ``hessian``, or ``v`` does not fit the inputs.

    >>> import opdsl
    >>> vhp(lambda x: (x * x * x).sum(), opdsl.tensor([1.0, 2.0]), opdsl.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        followed = [_followed(input) for input in _listed(inputs)]
        value = _number(function(*followed))
        first = _pulled([value], followed, None, create_graph=True)
        pulled = _pulled(first, followed, _seeds(first, v), create_graph=create_graph)
    return _done([value], create_graph)[0], _like(inputs, pulled)


def hvp(function: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False) -> tuple[Any, Any]:
    """Return the value of a scalar-valued function, and the product of its Hessian (symmetric) with a vector.

    Args:
        function, inputs, v, create_graph: as of ``vhp``.

    Raises:
        GradientError: as of ``vhp``.

    >>> import opdsl
    >>> hvp(lambda x: (x * x * x).sum(), opdsl.tensor([1.0, 2.0]), opdsl.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return vhp(function, inputs, v, create_graph)


# ---------------------------------------------------------------------------------------------------------------- parts


def pushed(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], tangents: Sequence[Tensor], *, create_graph: bool
) -> list[Tensor | None]:
    """Return the derivatives of outputs in a direction of the inputs (tangents); None for outputs that do not depend on
    them.
    """
    derivatives: list[Tensor | None] = []
    for output in outputs:
        if not output.requires_grad:
            derivatives.append(None)
            continue
        seed = filled(output.geometry, 0).requires_grad_()
        backward = grad_of(output, inputs, seed, create_graph=True, allow_unused=True)
        pairs = [(one, tangent) for one, tangent in zip(backward, tangents, strict=True) if one is not None]
        pairs = [pair for pair in pairs if pair[0].requires_grad]
        if not pairs:
            derivatives.append(None if all(gradient is None for gradient in backward) else filled(output.geometry, 0))
            continue
        reached, directions = zip(*pairs, strict=True)
        derivatives += _pulled(reached, [seed], list(directions), create_graph=create_graph)
    return derivatives


def _pulled(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], seeds: Sequence[Tensor] | None, *, create_graph: bool
) -> list[Tensor]:
    """Return the gradients of the inputs, zeros for those that are not used."""
    kept = [(at, output) for at, output in enumerate(outputs) if output.requires_grad]
    if not kept:
        return [filled(input.geometry, 0) for input in inputs]
    chosen = None if seeds is None else [seeds[at] for at, _ in kept]
    gradients = grad_of(
        [tensor for _, tensor in kept],
        inputs,
        chosen,
        create_graph=create_graph,
        retain_graph=True,
        materialize_grads=True,
    )
    return list(gradients)


def _rows(output: Tensor, inputs: Sequence[Tensor], create_graph: bool) -> list[Tensor]:
    """Return the Jacobian of one output: for each input, the stacked gradients of the output's elements."""
    count = output.numel()
    rows = []
    for at in range(count):
        seed = filled(output.geometry, 0)
        seed.view((count,))[at] = 1
        rows.append(_pulled([output], inputs, [seed], create_graph=create_graph))
    tensors = []
    for at, input in enumerate(inputs):
        shape = (*output.shape, *input.shape)
        parts = [row[at].reshape((1, input.numel())) for row in rows]
        tensors.append(_joined(parts).reshape(shape) if parts else filled(input.geometry, 0, shape))
    return tensors


def _joined(parts: Sequence[Tensor]) -> Tensor:
    from opdsl.dispatch import registry

    joined: Tensor = registry.packets["aten::cat"].function(parts)
    return joined


def _followed(value: Any) -> Tensor:
    """Return a tensor to differentiate by; one that requires grad keeps its history, for derivatives of derivatives."""
    if not isinstance(value, Tensor):
        raise GradientError(
            f"derivatives are computed with respect to tensors (got {type(value).__name__}). Pass a tensor."
        )
    return value.view_as(value) if value.requires_grad else value.detach().requires_grad_()


def _nested(arguments: Sequence[Any]) -> bool:
    """Return whether an argument requires grad, so that the gradient has to be differentiable itself."""
    return any(isinstance(input, Tensor) and input.requires_grad for input in arguments)


def _number(value: Any) -> Tensor:
    if not isinstance(value, Tensor) or value.numel() != 1:
        what = f"shape {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise GradientError(f"hessian needs a function that returns one number (got {what}). Sum it first.")
    return value


def _listed(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _like(form: Any, values: Sequence[Any]) -> Any:
    """Return one value for one tensor, a tuple for several."""
    return values[0] if isinstance(form, Tensor) else tuple(values)


def _done(tensors: Sequence[Tensor], create_graph: bool) -> list[Tensor]:
    return list(tensors) if create_graph else [tensor.detach() for tensor in tensors]


def _seeds(tensors: Sequence[Tensor], v: Tensors | None) -> list[Tensor]:
    """Return the vector, one tensor for each of ``tensors``; 1 for a single number."""
    if v is None:
        if len(tensors) != 1 or tensors[0].numel() != 1:
            raise GradientError(
                "v can only be omitted for a tensor with a single element. Pass vectors of the tensors' shapes."
            )
        return [filled(tensors[0].geometry, 1)]
    listed = _listed(v)
    if [tensor.shape for tensor in listed] != [tensor.shape for tensor in tensors]:
        raise GradientError(
            f"v has the shapes {[list(tensor.shape) for tensor in listed]}, but the tensors have "
            f"{[list(tensor.shape) for tensor in tensors]}. Pass vectors of the same shapes."
        )
    return listed
