"""Values that a shape function precomputes for its kernel, as entries of native_functions.yaml declare them."""

from __future__ import annotations

import attrs

from opdsl.schema.model import Argument

__all__ = ["Precomputed"]


@attrs.frozen
class Precomputed:
    r"""Values that a meta function computes for the kernel.

    replaced: the names of replaced arguments, each with the arguments that the kernel gets instead.
    added: further arguments that the kernel gets.

    >>> from opdsl.native import loads
    >>> text = "- func: f.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)\n  structured: True\n"
    >>> text += "  precomputed:\n  - dim -> int place\n  dispatch:\n    CPU: f_out"
    >>> loads(text)[0].structure.precomputed.replaced[0][0]
    'dim'
    """

    replaced: tuple[tuple[str, tuple[Argument, ...]], ...]
    added: tuple[Argument, ...] = ()
