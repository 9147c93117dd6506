"""Picklable tasks that run an operator on blocks of dask arrays, in this process or in a worker process."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, NamedTuple

import numpy
from attrs import frozen

from opdsl.backends.cpu.pool import side_by_side
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import DispatchKey, DispatchMode, Operator, current, registry
from opdsl.dispatch.binding.boxed import unbox
from opdsl.errors import OpdslError, ShardingError, UnknownOperatorError, VersionError
from opdsl.kernels import new_tensor
from opdsl.kernels.primitives.random import Window
from opdsl.runtime import Device, DType, Generator, Tensor, from_numpy
from opdsl.runtime.generator import generator_for
from opdsl.runtime.geometry import geometry
from opdsl.runtime.init_hooks import prepare
from opdsl.runtime.interchange import operand
from opdsl.runtime.snapshot import tensors_in
from opdsl.sharding.operators import in_order, rule_of
from opdsl.sharding.partial import Carried, Partial, State
from opdsl.sharding.rules import Rule

Block = Any


@frozen
class Placeholder:
    """Placeholder for a tensor argument of a recorded call.

    index: the index of the tensor among the tensor arguments. shape, dtype: of the whole tensor, not of one block.
    """

    index: int
    shape: tuple[int, ...]
    dtype: DType

    def without_memory(self) -> Tensor:
        """Return a meta tensor with the shape and dtype of the whole tensor."""
        prepare()
        return new_tensor(geometry(self.dtype, Device("meta"), self.shape))


class Edition(NamedTuple):
    """Fingerprint of opdsl and of an operator, which must be equal in all processes that compute an array.

    opdsl: its version. declaration: a digest of an operator's schema and functions.
    """

    opdsl: str
    declaration: str

    def require(self, operator: str, here: Edition) -> None:
        """Check that the fingerprint of this process equals the one recorded in the graph.

        Args:
            operator: the operator's name, for the message.
            here: the fingerprint of this process.

        Raises:
            VersionError: the fingerprints differ.
        """
        if here.opdsl != self.opdsl:
            raise VersionError(
                f"{operator}: the graph was made by opdsl {self.opdsl}, this process has opdsl {here.opdsl}. Install "
                "the same version for the client and the workers."
            )
        if here.declaration != self.declaration:
            raise VersionError(
                f"{operator} is declared in another way in this process than where the graph was made. Give the client "
                "and the workers the same source, and restart workers after a change."
            )


def edition_of(operator: Operator) -> Edition:
    """Return the fingerprint of an operator in this process."""
    kernel = operator.entry(DispatchKey("CPU")).kernel
    codes = [function.__code__ for function in getattr(kernel, "functions", ())]
    text = repr([str(operator.schema), *((code.co_code, code.co_names, _constants(code)) for code in codes)])
    return Edition(sys.modules["opdsl"].__version__, hashlib.blake2b(text.encode(), digest_size=8).hexdigest())


def _constants(code: CodeType) -> list[object]:
    """Return the constants of a code object, those of nested functions as nested lists."""
    return [_constants(constant) if isinstance(constant, CodeType) else constant for constant in code.co_consts]


@frozen
class Call:
    """Picklable description of one call of an operator on arrays.

    operator: its qualified name. module: the module that declares it, which worker processes import.
    edition: the fingerprint of opdsl and of the operator in the process that makes the graph.
    arguments: in the order of the schema, with tensors replaced by placeholders.
    """

    operator: str
    module: str
    edition: Edition
    arguments: tuple[Any, ...]

    def __dask_tokenize__(self) -> tuple[str, str, str, str]:
        return self.operator, self.module, self.edition.declaration, repr(self.arguments)

    @functools.cached_property
    def local_operator(self) -> Operator:
        """Return the operator object of this process.

        Raises:
            VersionError: it differs from the operator in the process that made the graph.
        """
        operator = _operator(self.operator, self.module)
        self.edition.require(self.operator, edition_of(operator))
        return operator

    @functools.cached_property
    def rule(self) -> Rule:
        """Return the sharding rule of the operator: the dimensions along which its calls can be split."""
        return rule_of(self.local_operator)

    @functools.cached_property
    def whole(self) -> tuple[Any, ...]:
        """Return the arguments with meta tensors of the whole arrays in place of the placeholders."""
        return tuple(_filled(template, Placeholder.without_memory) for template in self.arguments)

    def piece(self, blocks: tuple[Block, ...]) -> tuple[Any, ...]:
        """Return the arguments for one piece, with the given blocks in place of the placeholders."""
        tensors = [to_tensor(block) for block in blocks]
        if self._takes_strides:
            tensors = [tensor.contiguous() for tensor in tensors]
        return tuple(_filled(template, lambda place: tensors[place.index]) for template in self.arguments)

    @functools.cached_property
    def _takes_strides(self) -> bool:
        """Return whether the operator takes strides as an argument, so that blocks have to be made contiguous.

        Such strides are those of a contiguous array, as dask's arrays are, whatever the memory layout of a block is.
        """
        return {"size", "stride"} <= {argument.name for argument in self.local_operator.schema.arguments}

    @functools.cached_property
    def partial(self) -> Partial:
        """Return the rule that combines partial results of pieces, for a dimension along which results are not
        concatenated.
        """
        partial = next((cut.partial for cut in self.rule.cuts(self.whole) if cut.partial is not None), None)
        if partial is None:
            raise ShardingError(f"{self.operator}: {self.rule}. Nothing is left to combine.")
        return partial


def _filled(value: Any, make: Callable[[Placeholder], Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_filled(element, make) for element in value)
    return make(value) if isinstance(value, Placeholder) else value


@functools.lru_cache(maxsize=1024)
def _operator(name: str, module: str) -> Operator:
    """Look up an operator by its name, after importing the module that declares it if necessary.

    Raises:
        UnknownOperatorError: importing the module does not declare it.
    """
    packet, _, overload = name.partition(".")
    if packet not in registry.packets:
        importlib.import_module(module)
    try:
        return registry.packets[packet].overloads[overload]
    except KeyError:
        raise UnknownOperatorError(
            f"{name}: the module {module} does not declare it in this process. Declare operators in a module that "
            "worker processes import, and not in a script or notebook."
        ) from None


def name_of(operator: Operator) -> tuple[str, str]:
    """Return the qualified name of an operator and the module that declares it, by which another process finds it."""
    declaration = operator.declaration
    module = declaration.function.__module__ if isinstance(declaration, Declaration) else ""
    return operator.name, module


def to_tensor(block: Block) -> Tensor:
    """Return a block as a tensor over the same memory. dask wraps a block that is alone along a dimension in lists."""
    while isinstance(block, list):
        (block,) = block
    if isinstance(block, Tensor):
        return block
    tensor = operand(block) if isinstance(block, numpy.ndarray) else from_numpy(numpy.asarray(block))
    assert isinstance(tensor, Tensor), "an array becomes a tensor"
    return tensor


def to_block(tensor: Tensor) -> Block:
    """Return the elements of a tensor as a NumPy array, over the same memory."""
    return numpy.asarray(tensor.detach())


def _results(value: Any) -> Block:
    """Convert the results of an operator to blocks: one block, or a tuple of several."""
    blocks = tuple(to_block(output) for output in tensors_in(value))
    return blocks if len(blocks) > 1 else blocks[0]


@contextlib.contextmanager
def _running(call: Call, blocks: tuple[Block, ...], chunk: tuple[int, ...]) -> Iterator[None]:
    """Return a context manager for running an operator on blocks: it marks concurrent execution and adds the chunk to
    errors.
    """
    try:
        with side_by_side():
            yield
    except Exception as error:
        shapes = ", ".join(str(to_tensor(block).shape) for block in blocks)
        error.add_note(f"raised for chunk {chunk} of {call.operator}, of shapes {shapes}")
        raise


@frozen
class Piece:
    """Base of the tasks that run an operator on the blocks of one piece, called with the index of the chunk and the
    blocks.
    """

    call: Call


@frozen
class Joined(Piece):
    """Task that computes one block of the results; the blocks of all pieces are concatenated."""

    def __call__(self, chunk: tuple[int, ...], *blocks: Block) -> Block:
        with _running(self.call, blocks, chunk):
            return _results(
                self.call.rule.piece(in_order(self.call.local_operator), self.call.whole, self.call.piece(blocks))
            )


class _Unplanned(DispatchMode):
    """Dispatch mode that runs kernels instead of plans, also in nested calls, since plans draw random numbers
    themselves.
    """

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        called: Operator = operator.operator
        arguments = unbox(called, args, kwargs)
        kernel = called.find_in(called.key_set(arguments, current.get()))
        with self:
            return kernel(*arguments)


class _Modes(threading.local):
    """Thread-local instance of the mode that turns plans off, since plans are thread-local too."""

    def __init__(self) -> None:
        self.unplanned = _Unplanned()


_modes = _Modes()


def draws(operator: Operator) -> bool:
    """Return whether an operator draws random numbers."""
    return "nondeterministic_seeded" in operator.tags


def drawn_by(operator: Operator, arguments: tuple[Any, ...], generator: Generator | None) -> tuple[int, int]:
    """Reserve the random numbers of a call in its generator, and return their seed and the offset of the first number.

    Args:
        operator: the operator that draws.
        arguments: its arguments, with meta tensors.
        generator: the generator; None for the default one.
    """
    with _modes.unplanned, Window(0, 0, (), ()) as counted:
        in_order(operator)(*arguments)
    return generator_for(Device("cpu"), generator).advance(counted.taken)


@frozen
class Drawn(Joined):
    """Task of an operator that draws random numbers: each piece gets the numbers that its elements have in the whole
    result.

    seed: of the random numbers.
    place: the offset of the first number of the whole result.
    shape: of the whole result.
    starts: for each dimension, the indices at which chunks begin.
    """

    seed: int
    place: int
    shape: tuple[int, ...]
    starts: tuple[tuple[int, ...], ...]

    def __call__(self, chunk: tuple[int, ...], *blocks: Block) -> Block:
        starts = [start[at] for start, at in zip(self.starts, chunk, strict=True)]
        with _modes.unplanned, Window(self.seed, self.place, self.shape, starts):
            return super().__call__(chunk, *blocks)


@frozen
class Started(Piece):
    """Task that starts a reduction or scan: returns the number of elements of a piece, and its accumulators.

    For a piece without elements, which an operator may refuse, it returns the error in place of accumulators, since
    other pieces may have elements.

    has_offset: whether the last block holds the number of elements that precede the piece.
    """

    has_offset: bool

    def __call__(self, chunk: tuple[int, ...], *blocks: Block) -> tuple[int, State | OpdslError]:
        inputs = blocks[:-1] if self.has_offset else blocks
        offset = int(numpy.asarray(to_tensor(blocks[-1])).item()) if self.has_offset else 0
        with _running(self.call, inputs, chunk):
            piece = self.call.piece(inputs)
            partial = self.call.partial
            try:
                return partial.count(piece), partial.start(in_order(self.call.local_operator), piece, offset)
            except OpdslError as error:
                if isinstance(partial, Carried) or all(tensor.numel() for tensor in tensors_in(piece)):
                    raise
                return 0, error


def _states(nested: Any) -> Iterator[tuple[int, State | OpdslError]]:
    """Yield the partial states in nested lists, in order."""
    if isinstance(nested, list):
        for element in nested:
            yield from _states(element)
    else:
        yield nested


@frozen
class Merged:
    """Task that merges the partial states of several pieces into one; the ``combine`` argument of
    ``dask.array.reduction``.
    """

    call: Call

    def __call__(self, nested: Any, axis: object = None, keepdims: bool = True) -> tuple[int, State | OpdslError]:
        whole, partial = self.call.whole, self.call.partial
        left = list(_states(nested))
        # Pieces without elements return an error, or initial accumulators, whose index is undefined: skip them.
        some = [(count, state) for count, state in left if count and not isinstance(state, OpdslError)]
        if not some:
            return next((pair for pair in left if not isinstance(pair[1], OpdslError)), left[0])
        count, state = some[0]
        for more, other in some[1:]:
            count, state = count + more, partial.merge(whole, state, other)
        return count, state


@frozen
class Finished:
    """Task that computes the results from the partial states of all pieces."""

    call: Call

    def __call__(self, nested: Any, axis: object = None, keepdims: bool = True) -> Block:
        count, state = Merged(self.call)(nested)
        if isinstance(state, OpdslError):
            raise state
        return _results(self.call.partial.finish(self.call.whole, state, count))


def carried_last(call: Call, state: tuple[int, State]) -> tuple[int, State] | None:
    """Return the accumulators after the last element of a piece of a scan; None for a piece without elements."""
    partial = call.partial
    assert isinstance(partial, Carried), "a scan carries accumulators"
    return (state[0], partial.last(call.whole, state[1])) if all(tensor.numel() for tensor in state[1]) else None


def carried_on(
    call: Call, before: tuple[int, State] | None, state: tuple[int, State] | None
) -> tuple[int, State] | None:
    """Merge the accumulators of a piece of a scan with the accumulators carried from all pieces before it."""
    if before is None or state is None:
        return before if state is None else state
    return state[0], call.partial.merge(call.whole, before[1], state[1])


def carried_results(call: Call, state: tuple[int, State]) -> Block:
    """Compute the results of a piece of a scan from its accumulators."""
    return _results(call.partial.finish(call.whole, state[1], 1))


def same(block: Block, axis: object = None, keepdims: bool = True) -> Block:
    """Return the block unchanged; the ``chunk`` argument of ``dask.array.reduction``."""
    return block


@frozen
class Item:
    """Task that selects one of several results of a block."""

    index: int

    def __call__(self, block: Block) -> Block:
        while isinstance(block, list):
            (block,) = block
        return block[self.index]
