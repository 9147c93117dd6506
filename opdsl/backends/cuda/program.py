"""Compiled form of one call: CUDA C++ source, and the launches of its kernels on the operands.

A program is a plain value, made without a GPU. Its source does not depend on shapes, so that programs of many shapes
share one CUBIN; sizes and strides are passed to the kernels as bytes.
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
    """Translation unit whose text is printed on demand.

    fingerprint: text that determines the printed text.
    headers: names of files of this package that it begins with, see ``header``.
    body: prints the rest.
    contracts: whether the compiler may contract a product and a sum to one operation (FMA). Kernels of scalar graphs do
        not allow it, so that they give the same bits as the CPU's.
    """

    fingerprint: str
    headers: tuple[str, ...]
    body: Callable[[], str]
    contracts: bool = False

    @classmethod
    def of(cls, text: str, *, contracts: bool = True) -> Source:
        """Return the source for handwritten text."""
        return cls(hashlib.sha256(text.encode()).hexdigest(), (), lambda: text, contracts)

    @property
    def text(self) -> str:
        """Return the whole text: headers, then the body."""
        return "\n".join([*map(header, self.headers), self.body()])


class Address(NamedTuple):
    """Kernel parameter: the address of an operand's first element.

    operand: its index among inputs and outputs.
    """

    operand: int

    c_type: str = "void*"


class Number(NamedTuple):
    """Kernel parameter: a Python number.

    operand: its index among inputs and outputs.
    kind: the scalar type that it is computed in; ``number_type`` gives the type in which it is passed. An integer out
        of its range raises OverflowError, as on the CPU.
    """

    operand: int
    kind: ScalarType

    @property
    def c_type(self) -> str:
        """Return the C++ type of the parameter: ``double``, ``long long``, ``unsigned long long`` or
        ``Complex<double>``.
        """
        return number_type(self.kind)


class Constant(NamedTuple):
    """Kernel parameter: bytes that are equal in all runs of a program.

    content: the bytes.
    c_type: their C++ type.
    """

    content: bytes
    c_type: str


class Scratch(NamedTuple):
    """Kernel parameter: an address in the program's scratch memory.

    offset: bytes from the beginning of the scratch memory.
    """

    offset: int

    c_type: str = "void*"


Argument: TypeAlias = Address | Number | Constant | Scratch


class Launch(NamedTuple):
    """Launch of one kernel.

    entry: the kernel's name in the source.
    grid, block: numbers of blocks, and of threads of a block, in three dimensions.
    arguments: the kernel's parameters in order.
    shared: bytes of dynamic shared memory, in addition to those that the kernel itself declares.
    """

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    shared: int = 0


class Variant(NamedTuple):
    """Launches that run a program if its operands have an alignment.

    alignment: bytes that the addresses of all operands have to be multiples of; 1 fits all.
    launches: run one after another on one stream; empty if there is nothing to do.
    """

    alignment: int
    launches: tuple[Launch, ...]


class Program(NamedTuple):
    """Kernels and launches for one call.

    source: the kernels.
    arrays: for each operand whether it is an array, not a Python number: inputs in the order of the call, then all
        outputs.
    variants: the first one whose alignment fits is run; the last one always fits.
    scratch: bytes of uninitialized memory that the launches share, aligned to 256.
    """

    source: Source
    arrays: tuple[bool, ...]
    variants: tuple[Variant, ...]
    scratch: int = 0

    def variant(self, addresses: Sequence[int]) -> Variant:
        """Return the variant that fits the addresses of the operands."""
        joined = 0
        for address in addresses:
            joined |= address
        return next(variant for variant in self.variants if joined % variant.alignment == 0)


@cache
def header(name: str) -> str:
    """Return the text of a ``.cuh`` file that sources begin with.

    Args:
        name: name of the file in this module's folder, without its suffix.
    """
    return (files(__package__) / f"{name}.cuh").read_text()
