"""Abilities of a backend's compiler beyond those that every compiler has."""

from __future__ import annotations

import attrs

__all__ = ["Abilities"]


@attrs.frozen(kw_only=True)
class Abilities:
    """Optional abilities of a compiler, the value of ``ABILITIES`` in its module; see ``opdsl.kernels.compiler``.

    counts: it takes range operands without memory in elementwise kernels (``OperandSpec.counts``).
    symbols: it compiles kernels whose sizes are arguments of a call; others compile, or look up, one for each size.
    multiplies: it has ``multiplies``, which says whether it computes a product of 16-bit matrices directly, in their
        memory layout, with float32 sums; without it, they are converted first.
    apart: it has ``apart``, which says which inputs of a kernel of rows it wants copied to contiguous memory first.
    convolution: it has ``convolution``; without it, convolutions are kernels that read at computed indices.
    convolves_16_bits: its ``convolution`` computes those of 16-bit floats, with float32 sums; without it, they are
        converted first.
    attention: it has ``attention``, and ``attends``, which says for which heads.
    plan: it has ``plan``, which compiles plans to native functions.
    allocating: it has ``allocating``, which returns variants of kernels that allocate their output.
    sequences: it has ``reusing`` and ``sequenced``, which rearrange the steps of plans.
    """

    counts: bool = False
    symbols: bool = False
    multiplies: bool = False
    apart: bool = False
    convolution: bool = False
    convolves_16_bits: bool = False
    attention: bool = False
    plan: bool = False
    allocating: bool = False
    sequences: bool = False
