"""What a backend's compiler has to offer: the protocol, and where it is found."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from opdsl.runtime.device import backends
from opdsl.runtime.lowering import Noted, concrete, lowering
from opdsl.runtime.symbol import Symbol

if TYPE_CHECKING:
    from opdsl.kernels.calls import (
        AuthorCall,
        ConvolutionCall,
        Folding,
        IndexedCall,
        IndexedLoop,
        IndirectCall,
        Ordering,
        PointwiseCall,
        ProductCall,
        Recurring,
        ReductionCall,
        RowCall,
        Scanning,
    )
    from opdsl.runtime.plan_call import PlanCall
    from opdsl.scalar.graph import TypedGraph

Compiled = Callable[..., Any]


class Compiler(Protocol):
    """Implemented by the module ``compiler`` of a backend's package.

    What is compiled is called with arrays, Python numbers and, last, the outputs that it does not allocate. It trusts
    their dtypes, shapes and strides.
    """

    def pointwise(self, graph: TypedGraph, call: PointwiseCall) -> Compiled:
        """A loop around a scalar graph: arrays and numbers, then given outputs -> the output, or a tuple of several."""

    def indirect(self, graph: TypedGraph, call: IndirectCall) -> Compiled:
        """A loop around a scalar graph: inputs, the arrays of positions, then for each of these how many bytes lie
        between neighbours of its dimension and how many there are, then the output. It trusts the positions.
        """

    def reduction(self, folding: Folding, call: ReductionCall) -> Compiled:
        """A reduction: the input array, numbers, then given outputs -> the output, or a tuple of several."""

    def row(self, graph: TypedGraph, call: RowCall) -> Compiled:
        """A loop over rows around a row function: arrays and numbers, then given outputs -> as for pointwise.

        The graph's first parameters are those of the arrays.
        """

    def scan(self, scanning: Scanning, call: RowCall) -> Compiled:
        """A scan along rows: the input array, then given outputs -> the output, or a tuple of several."""

    def indexed(self, loop: IndexedLoop, call: IndexedCall) -> Compiled:
        """A loop over places: arrays and numbers, then given outputs -> as for pointwise.

        Outputs that are added to are given, and hold what is added to.
        """

    def recurrence(self, recurring: Recurring, call: RowCall) -> Compiled:
        """A recurrence along rows: arrays and numbers, then given outputs -> as for pointwise."""

    def product(self, call: ProductCall) -> Compiled:
        """Matrix products: the factors' arrays, ``alpha``, ``beta``, then the output -> None.

        Where ``beta`` is 0, the output is not read.
        """

    def convolution(self, call: ConvolutionCall) -> Compiled | None:
        """A convolution or one of its gradients: the arrays that are read, a bias, then the output -> None.

        Of the images, the weight and the results, in this order, two are read; ``weigh`` reads the results first, and
        so does ``spread``. None where it has none for the dtype. A backend may have none at all.
        """

    def order(self, ordering: Ordering, call: RowCall) -> Compiled:
        """A stable sort of rows: the input array, then the outputs, its elements in order and their places (int64).

        Only the first ``ordering.wanted`` elements along a row of the outputs are there.

        A backend may have none; its operators sort in a way of their own then.
        """

    def author(self, function: Callable[..., object], call: AuthorCall) -> Compiled:
        """An author's kernel: what the function takes -> None."""

    def handwritten(self, name: str) -> Compiled:
        """A kernel of the library that the backend has by hand: contiguous arrays and numbers, then outputs -> None.

        It trusts that they fit. A backend may have none.
        """

    def plan(self, compiled: Compiled, call: PlanCall, slow: Callable[..., object]) -> Compiled:
        """A plan as one native function: tensors and numbers -> a new tensor. A backend may have none.

        ``slow`` takes the arguments where they are no plain tensors, or where a number does not fit.
        """

    def allocating(self, compiled: Compiled, maker: Callable[[], object]) -> Compiled | None:
        """What was compiled to fill one output that it is given, as what makes that, as ``maker`` does, and returns it.

        None where it cannot be had so. A backend may have none at all.
        """


@cache
def has_compiler(device_type: str) -> bool:
    """Whether a backend compiles; one that does not runs what its authors write, and copies through the host."""
    return backends.has(device_type, "compiler")


def compiler_for(device_type: str) -> Compiler:
    """The compiler of a backend, imported on first use.

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


@cache
def counts(device_type: str) -> bool:
    """Whether a backend's pointwise loops take operands that lie in no memory (``OperandSpec.counts``)."""
    return bool(getattr(_compiler(device_type), "COUNTS", False))


def multiplies(call: ProductCall, device_type: str) -> bool:
    """Whether a backend has this product of 16-bit numbers, as they lie, with sums in float32."""
    asked: Callable[[ProductCall], bool] | None = getattr(_compiler(device_type), "multiplies", None)
    return asked is not None and asked(call)


def apart(call: RowCall, device_type: str) -> Sequence[int]:
    """The inputs that a backend wants to have copied before, since elements of a row lie apart in them."""
    asked: Callable[[RowCall], Sequence[int]] | None = getattr(_compiler(device_type), "apart", None)
    return () if asked is None else asked(call)


@cache
def takes_symbols(device_type: str) -> bool:
    """Whether a backend compiles loops whose sizes come with the call; others compile, or find, one for these sizes."""
    return bool(getattr(_compiler(device_type), "SYMBOLS", False))


class _NotingCompiler:
    """A compiler while a call is lowered: what it compiles is real, and calling it is noted."""

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
            pairs = zip(call.outputs, call.allocate, strict=True) if hasattr(call, "allocate") else ()
            arrays = [None if new is None else spec.dtype.numpy for spec, new in pairs]
            allocating = None if symbols else getattr(self._compiler, "allocating", None)
            return Noted(compiled, arrays, tuple(symbols.values()), allocating)

        return noting


# Kernels of one plan of a form that are kept for their sizes. Most are the same code with other numbers.
_MOST_SIZES = 16


def _compiling_at_call(compile_call: Callable[..., Any], described: tuple[Any, ...], names: Sequence[str]) -> Compiled:
    """Runs a described call for the sizes that come with it: they are its first arguments."""
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
    """The symbols of what describes a call, by their expressions."""
    if isinstance(value, tuple):
        return {text: symbol for part in value for text, symbol in _symbols_in(part).items()}
    return {value.text: value} if type(value) is Symbol else {}


def _with(value: Any, sizes: dict[str, Any]) -> Any:
    """What describes a call, with sizes in place of its symbols."""
    if isinstance(value, tuple):
        parts = [_with(element, sizes) for element in value]
        return tuple(parts) if type(value) is tuple else type(value)(*parts)
    return sizes[value.text] if type(value) is Symbol else value


def _filling(value: Any, places: dict[str, int]) -> Callable[[Sequence[int]], Any] | None:
    """What puts sizes in the place of symbols, by their places among the sizes; None where there are no symbols."""
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
