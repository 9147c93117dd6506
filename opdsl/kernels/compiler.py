"""Protocol of a backend's compiler, and functions that find the compiler of a backend."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from opdsl.kernels.abilities import Abilities
from opdsl.kernels.calls import Layout, outputs_of
from opdsl.runtime.device import backends
from opdsl.runtime.lowering import Noted, concrete, lowering
from opdsl.runtime.symbol import Symbol

if TYPE_CHECKING:
    from opdsl.kernels.calls import (
        AttentionCall,
        AttentionGradientCall,
        AuthorCall,
        ConvolutionCall,
        Ordering,
        ProductCall,
    )
    from opdsl.kernels.kernel import Kernel
    from opdsl.runtime.dtype import DType
    from opdsl.runtime.plan_call import PlanCall
    from opdsl.scalar.graph import TypedGraph

Compiled = Callable[..., Any]


class Compiler(Protocol):
    """Protocol of kernel compilers, implemented by the module ``compiler`` of a backend's package.

    A compiled kernel is called with arrays, Python numbers and, last, the outputs that it does not allocate. It trusts
    their dtypes, shapes and strides. Methods that only some compilers have are named in ``Abilities``.
    """

    ABILITIES: Abilities

    def compile(self, kernel: Kernel, layout: Layout) -> Compiled:
        """Compile a kernel for the sizes and strides of its operands.

        The compiled kernel takes the inputs in the order of the kernel's operands, then given outputs; it returns the
        output, or a tuple of several. Outputs whose old elements it reads are given. It trusts indices.
        """

    def product(self, call: ProductCall) -> Compiled:
        """Compile a batched matrix product.

        The kernel takes the factors' arrays, ``alpha``, ``beta``, then the output, and returns None. If ``beta`` is 0,
        the output is not read.
        """

    def convolution(self, call: ConvolutionCall) -> Compiled | None:
        """Compile a convolution or one of its gradients; return None if the backend has none for the dtype.

        The kernel takes the arrays that are read, a bias, then the output, and returns None. Of the images, the weight
        and the results, in this order, two are read; ``weigh`` reads the results first, and so does ``spread``.
        """

    def attention(self, call: AttentionCall) -> Compiled:
        """Compile attention of heads that ``attends`` accepts.

        The kernel takes the arrays of queries, keys and values, that of the mask if there is one, the factor of scores,
        then the output and, if they are wanted, the log-sum-exps of scores, and returns None.
        """

    def attention_gradient(self, call: AttentionGradientCall) -> Compiled:
        """Compile the gradients of attention of heads that ``attends`` accepts; only the CPU has a kernel.

        The kernel takes the arrays of queries, keys and values, that of the mask if there is one, the gradient of the
        output, the output, log-sum-exps of scores, the factor of scores, then the gradients to be written, and returns
        None.
        """

    def attends(self, dtype: DType, size: int, value_size: int) -> bool:
        """Return whether ``attention`` takes heads with elements of a dtype, see ``Abilities``.

        size, value_size: elements of a query and a key, and of a value.
        """

    def multiplies(self, call: ProductCall) -> bool:
        """Return whether a product of 16-bit matrices is computed directly, see ``Abilities``."""

    def apart(self, layout: Layout) -> Sequence[int]:
        """Return the positions of inputs of a kernel of rows to copy first, see ``Abilities``."""

    def order(self, ordering: Ordering, layout: Layout) -> Compiled:
        """Compile a stable sort of rows; the sizes of the layout are those of points, then the length of a row.

        The kernel takes the input array, then the outputs: the sorted elements and their indices (int64). The outputs
        hold only the first ``ordering.wanted`` elements along a row.
        """

    def author(self, function: Callable[..., object], call: AuthorCall) -> Compiled:
        """Compile an author's kernel, a Python function.

        The kernel takes the function's arguments and returns None.
        """

    def handwritten(self, name: str) -> Compiled:
        """Return a handwritten kernel of the backend by its name in the library.

        The kernel takes contiguous arrays and numbers, then outputs, returns None, and trusts that they fit.
        """

    def plan(self, compiled: Compiled, call: PlanCall, slow: Callable[..., object]) -> Compiled:
        """Compile a plan into one native function, which takes tensors and numbers and returns a new tensor.

        ``slow`` is called instead where arguments are no plain tensors, or a number is out of range.
        """

    def allocating(self, compiled: Compiled, maker: Callable[[], object]) -> Compiled | None:
        """Return a variant of ``compiled`` that allocates its one output, as ``maker`` does, and returns it.

        Return None if there is no such variant.
        """


@cache
def has_compiler(device_type: str) -> bool:
    """Return whether a backend has a compiler; without one it runs its authors' kernels, and computes others on the
    host.
    """
    return backends.has(device_type, "compiler")


def compiler_for(device_type: str) -> Compiler:
    """Return the compiler of a backend, importing it on first use.

    Raises:
        DeviceError: there is no such backend, or it has no compiler.
    """
    recorder = lowering.get()
    compiler = _compiler(device_type)
    takes_it_as_it_is = recorder is None or (recorder.compiles and not recorder.is_exact and takes_symbols(device_type))
    return compiler if takes_it_as_it_is else cast("Compiler", _NotingCompiler(compiler))


@cache
def _compiler(device_type: str) -> Compiler:
    return cast("Compiler", backends.load(device_type, "compiler"))


def abilities(device_type: str) -> Abilities:
    """Return the optional abilities of a backend's compiler."""
    return _compiler(device_type).ABILITIES


def multiplies(call: ProductCall, device_type: str) -> bool:
    """Return whether a backend computes a product of 16-bit matrices directly, in their memory layout, with float32
    sums.
    """
    return abilities(device_type).multiplies and _compiler(device_type).multiplies(call)


def attends(device_type: str, dtype: DType, size: int, value_size: int) -> bool:
    """Return whether a backend has a kernel of attention for heads, see ``Compiler.attends``."""
    if not has_compiler(device_type) or not abilities(device_type).attention:
        return False
    return _compiler(device_type).attends(dtype, size, value_size)


def apart(layout: Layout, device_type: str) -> Sequence[int]:
    """Return the positions of inputs of a kernel of rows that a backend wants copied to contiguous memory first, since
    their rows are strided.
    """
    return _compiler(device_type).apart(layout) if abilities(device_type).apart else ()


def takes_symbols(device_type: str) -> bool:
    """Return whether a backend compiles kernels whose sizes are arguments; others compile, or look up, one for each
    size.
    """
    return abilities(device_type).symbols


def compile_elements(device_type: str, graph: TypedGraph, layout: Layout) -> Compiled:
    """Compile the kernel that computes a graph for each element.

    Args:
        device_type: of the backend.
        graph: from an element of each input to an element of each output.
        layout: sizes and strides of the operands.

    Raises:
        DeviceError: there is no such backend, or it has no compiler.
    """
    from opdsl.kernels.functions import elementwise

    return compiler_for(device_type).compile(elementwise(graph, layout), layout)


class _NotingCompiler:
    """Compiler wrapper while a call is lowered: it compiles real kernels, and records their calls."""

    __slots__ = ("_compiler",)

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler

    def __getattr__(self, kind: str) -> Callable[..., Noted | None]:
        compile_call = getattr(self._compiler, kind)

        def noting(*described: Any) -> Noted | None:
            recorder = lowering.get()
            symbols = _symbols_in(described)
            if recorder is not None and not recorder.compiles:
                compiled = compile_call
            else:
                with concrete():
                    compiled = compile_call(
                        *_with(described, {text: symbol.example for text, symbol in symbols.items()})
                    )
                if compiled is None:
                    return None
                if symbols:
                    compiled = _compiling_at_call(compile_call, described, tuple(symbols))
            call = described[-1]
            outputs = outputs_of(call) if isinstance(call, Layout) else ()
            arrays = [None if output.new is None else output.dtype.numpy for output in outputs]
            allocates = not symbols and self._compiler.ABILITIES.allocating
            allocating = self._compiler.allocating if allocates else None
            return Noted(compiled, arrays, tuple(symbols.values()), allocating)

        return noting


# How many kernels of one plan are kept, one for each combination of sizes; most of them share their code.
_MOST_SIZES = 16


def _compiling_at_call(compile_call: Callable[..., Any], described: tuple[Any, ...], names: Sequence[str]) -> Compiled:
    """Return a kernel that compiles a call for the sizes it is called with, its first arguments, and runs it."""
    count = len(names)
    filled = _filling(described, {name: place for place, name in enumerate(names)})
    assert filled is not None, "what is compiled when it is called has sizes"

    @lru_cache(maxsize=_MOST_SIZES)
    def compiled(*sizes: int) -> Compiled:
        compiled: Compiled = compile_call(*filled(sizes))
        return compiled

    def run(*arguments: Any) -> Any:
        return compiled(*arguments[:count])(*arguments[count:])

    return run


def _symbols_in(value: Any) -> dict[str, Symbol]:
    """Return the symbolic sizes in the description of a call, keyed by their expressions."""
    if isinstance(value, tuple):
        return {text: symbol for part in value for text, symbol in _symbols_in(part).items()}
    return {value.text: value} if type(value) is Symbol else {}


def _with(value: Any, sizes: dict[str, Any]) -> Any:
    """Replace symbolic sizes by ``sizes`` in the description of a call."""
    if isinstance(value, tuple):
        parts = [_with(element, sizes) for element in value]
        return tuple(parts) if type(value) is tuple else type(value)(*parts)
    return sizes[value.text] if type(value) is Symbol else value


def _filling(value: Any, places: dict[str, int]) -> Callable[[Sequence[int]], Any] | None:
    """Return a function that replaces the symbols in a call's description by sizes; None if there are no symbols."""
    if type(value) is Symbol:
        return operator.itemgetter(places[value.text])
    parts = [_filling(element, places) for element in value] if isinstance(value, tuple) else []
    changing = [(place, part) for place, part in enumerate(parts) if part is not None]
    if not changing:
        return None
    make = getattr(value, "_make", tuple)

    def fill(sizes: Sequence[int]) -> Any:
        elements = list(value)
        for place, part in changing:
            elements[place] = part(sizes)
        return make(elements)

    return fill
