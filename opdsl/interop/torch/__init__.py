"""PyTorch: operators that are declared here, as operators of a running torch.

>>> import opdsl
>>> from opdsl.interop.torch import deregister, register
>>> lib = opdsl.Library("doctest_torch")
>>> @lib.op(inplace=True, out=True)
... def halved(self: opdsl.Tensor) -> opdsl.Tensor:
...     '''``self / 2``'''
...     ...
>>> @halved.pointwise(promote="int_to_float")
... def halved_scalar(x):
...     return x / 2
>>> register(lib)
('doctest_torch::halved', 'doctest_torch::halved_', 'doctest_torch::halved.out')
>>> import torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> torch.ops.doctest_torch.halved(x).sum().backward()
>>> x.grad
tensor([0.5000, 0.5000])
>>> deregister(lib)
>>> lib.close()

torch is imported when one of these functions is first called. It has to be 2.13 or newer; 2.13.0 is what is tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opdsl.declare.library import Library

__all__ = ["deregister", "register"]


def register(what: Library | Any) -> tuple[str, ...]:
    """Define operators in torch, under the same names: ``torch.ops.mylib.smooth_relu(x)``.

    Each operator keeps its schema and tags. Its CPU kernels run on torch's memory; its meta function serves fake
    tensors (``torch.compile``, ``torch.export``), its derivative autograd in both modes; ``torch.vmap`` works as well.
    In-place, ``out=`` and view operators are composites of these.

    Args:
        what: a library, for all operators of its namespace; or a declared function, for all its overloads and variants.

    Returns:
        The names of the operators that torch has now.

    Raises:
        MissingDependencyError: there is no torch, or one that is too old.
        DuplicateOperatorError: torch has an operator of that name; nothing is registered then.
        DeclarationError: the operators are torch's own, those of ``aten``.
    """
    names: tuple[str, ...] = _registration().register(what)
    return names


def deregister(what: Library | Any) -> None:
    """Take back what ``register`` did: the operators, their kernels and derivatives.

    Args:
        what: as of ``register``.

    Raises:
        UnknownOperatorError: nothing of it is registered.
    """
    _registration().deregister(what)


def _registration() -> Any:
    from opdsl.interop.torch.requirement import require_torch

    require_torch()
    from opdsl.interop.torch import registration

    return registration
