"""Automatic differentiation: the engine, derivatives of operators, functional transforms.

``recorder`` attaches a node to the results of a call that requires gradients; the node computes the gradients of the
arguments from those of the results, and ``engine`` runs the nodes. Derivatives are declared formulas, or derived from
a scalar function (``pointwise``). The package is loaded when the first tensor requires grad.

May import: errors, schema, scalar, runtime, dispatch, kernels.

>>> import opdsl
>>> x = opdsl.tensor([0.0, 1.0], requires_grad=True)
>>> opdsl.autograd.grad(opdsl.exp(x).sum(), x)
(tensor([1.0000, 2.7183]),)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opdsl.autograd import forward as forward
    from opdsl.autograd import functional as functional
    from opdsl.autograd.passes import backward, grad

__all__ = ["backward", "forward", "functional", "grad"]

_MODULES = {"backward": "passes", "grad": "passes", "forward": None, "functional": None}


def __getattr__(name: str) -> object:
    """Import a public name of this package on first use: declarations need only the formulas of derivatives."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES[name]
    loaded = import_module(f"{__name__}.{module or name}")
    attribute = globals()[name] = loaded if module is None else getattr(loaded, name)
    return attribute
