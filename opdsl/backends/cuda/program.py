"""What is compiled and launched for one call: CUDA C++, and how its kernels are started on the operands.

A program is a plain value, made without a GPU. Its source does not depend on shapes, so that programs of many shapes
have one CUBIN; sizes and strides are bytes that the kernels are handed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from opdsl.backends.cuda.dialect import number_type

if TYPE_CHECKING:
    from opdsl.scalar.types import ScalarType

__all__ = ["Address", "Argument", "Constant", "Launch", "Number", "Program", "Scratch", "Source", "Variant"]


class Source(NamedTuple):
    """A translation unit that need not have been printed yet.

    fingerprint: text that determines what is printed.
    headers: names of files of this package that it begins with, see ``header``.
    body: prints the rest.
    contracts: whether products and sums may be computed as one operation. Kernels of scalar graphs do not, so that they
        give the bits that the CPU's give.
    """

    fingerprint: str
    headers: tuple[str, ...]
    body: Callable[[], str]
    contracts: bool = False

    @classmethod
    def of(cls, text: str, *, contracts: bool = True) -> Source:
        """Text that somebody has written."""
        return cls(hashlib.sha256(text.encode()).hexdigest(), (), lambda: text, contracts)

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join([*map(header, self.headers), self.body()])


class Address(NamedTuple):
    """A kernel's parameter: where the first element of an operand lies.

    operand: its place among inputs and outputs.
    """

    operand: int

    c_type: str = "void*"


class Number(NamedTuple):
    """A kernel's parameter: a Python number.

    operand: its place among inputs and outputs.
    kind: the scalar type that it is computed in; ``number_type`` says how it is handed over. Integers outside of its
        range are an OverflowError, as on the CPU.
    """

    operand: int
    kind: ScalarType

    @property
    def c_type(self) -> str:
        """``double``, ``long long`` or ``Complex<double>``, which is two doubles."""
        return number_type(self.kind)


class Constant(NamedTuple):
    """A kernel's parameter: bytes that stay the same for all runs of a program.

    content: the bytes.
    c_type: of what they are.
    """

    content: bytes
    c_type: str


class Scratch(NamedTuple):
    """A kernel's parameter: an address in the program's scratch memory.

    offset: bytes from where it begins.
    """

    offset: int

    c_type: str = "void*"


Argument: TypeAlias = Address | Number | Constant | Scratch


class Launch(NamedTuple):
    """The start of one kernel.

    entry: its name in the source.
    grid, block: blocks, and threads of a block, in three dimensions.
    arguments: its parameters in order.
    shared: bytes of shared memory beside what the kernel itself declares.
    """

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    shared: int = 0


class Variant(NamedTuple):
    """One way to run a program.

    alignment: bytes that the addresses of all operands are to be multiples of; 1 serves all.
    launches: one after another on one stream; none where there is nothing to do.
    """

    alignment: int
    launches: tuple[Launch, ...]


class Program(NamedTuple):
    """What one call becomes.

    source: the kernels.
    arrays: for each operand whether it is one, and no Python number: inputs in the order of the call, then all outputs.
    variants: the first whose alignment suits runs; the last suits always.
    scratch: bytes of memory that the launches share, aligned to 256; its contents are of no account.
    """

    source: Source
    arrays: tuple[bool, ...]
    variants: tuple[Variant, ...]
    scratch: int = 0

    def variant(self, addresses: Sequence[int]) -> Variant:
        """The variant for operands that lie at some addresses."""
        joined = 0
        for address in addresses:
            joined |= address
        return next(variant for variant in self.variants if joined % variant.alignment == 0)


@cache
def header(name: str) -> str:
    """A text that sources begin with.

    Args:
        name: of the file beside this module, without its suffix.
    """
    return (files(__package__) / f"{name}.cuh").read_text()
