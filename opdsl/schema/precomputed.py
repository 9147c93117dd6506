"""What a shape function computes for its kernel, as an entry says it."""

from __future__ import annotations

import attrs

from opdsl.schema.model import Argument

__all__ = ["Precomputed"]


@attrs.frozen
class Precomputed:
    """What a meta function computes for the kernel.

    replaced: for each replaced argument its name and the arguments that the kernel gets instead.
    added: further arguments that the kernel gets.

    >>> from opdsl.native import loads
    >>> text = "- func: f.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)\\n  structured: True\\n"
    >>> text += "  precomputed:\\n  - dim -> int place\\n  dispatch:\\n    CPU: f_out"
    >>> loads(text)[0].structure.precomputed.replaced[0][0]
    'dim'
    """

    replaced: tuple[tuple[str, tuple[Argument, ...]], ...]
    added: tuple[Argument, ...] = ()
