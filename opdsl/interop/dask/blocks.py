"""What runs on blocks, in this process or another: values that can be pickled, and name their operator."""

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
    """A tensor among the arguments of a call.

    index: which one. shape, dtype: of the whole.
    """

    index: int
    shape: tuple[int, ...]
    dtype: DType

    def without_memory(self) -> Tensor:
        """The whole, of which there is no element."""
        prepare()
        return new_tensor(geometry(self.dtype, Device("meta"), self.shape))


class Edition(NamedTuple):
    """What has to be the same in all processes that compute an array.

    opdsl: its version. declaration: a digest of an operator's schema and functions.
    """

    opdsl: str
    declaration: str

    def require(self, operator: str, here: Edition) -> None:
        """See that this process has the same.

        Raises:
            VersionError: it has not.
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
    """What this process has."""
    kernel = operator.entry(DispatchKey("CPU")).kernel
    codes = [function.__code__ for function in getattr(kernel, "functions", ())]
    text = repr([str(operator.schema), *((code.co_code, code.co_names, _constants(code)) for code in codes)])
    return Edition(sys.modules["opdsl"].__version__, hashlib.blake2b(text.encode(), digest_size=8).hexdigest())


def _constants(code: CodeType) -> list[object]:
    """The constants of a function; of functions within, theirs."""
    return [_constants(constant) if isinstance(constant, CodeType) else constant for constant in code.co_consts]


@frozen
class Call:
    """One call of an operator on arrays.

    operator: its qualified name. module: the one that declares it, which worker processes import.
    edition: of opdsl and of the operator's declaration, where the graph is made.
    arguments: in the order of its schema, tensors replaced by placeholders.
    """

    operator: str
    module: str
    edition: Edition
    arguments: tuple[Any, ...]

    def __dask_tokenize__(self) -> tuple[str, str, str, str]:
        return self.operator, self.module, self.edition.declaration, repr(self.arguments)

    @functools.cached_property
    def local_operator(self) -> Operator:
        """The operator, as this process has it.

        Raises:
            VersionError: it has another one than the process that made the graph.
        """
        operator = _operator(self.operator, self.module)
        self.edition.require(self.operator, edition_of(operator))
        return operator

    @functools.cached_property
    def rule(self) -> Rule:
        """How the operator's calls may be cut."""
        return rule_of(self.local_operator)

    @functools.cached_property
    def whole(self) -> tuple[Any, ...]:
        """The arguments, with tensors without memory."""
        return tuple(_filled(argument, Placeholder.without_memory) for argument in self.arguments)

    def piece(self, blocks: tuple[Block, ...]) -> tuple[Any, ...]:
        """The arguments of a piece."""
        tensors = [to_tensor(block) for block in blocks]
        if self._takes_strides:
            tensors = [tensor.contiguous() for tensor in tensors]
        return tuple(_filled(argument, lambda place: tensors[place.index]) for argument in self.arguments)

    @functools.cached_property
    def _takes_strides(self) -> bool:
        """Whether strides are an argument: those of an array whose elements follow each other, as dask's arrays do,
        wherever those of a block lie.
        """
        return {"size", "stride"} <= {argument.name for argument in self.local_operator.schema.arguments}

    @functools.cached_property
    def partial(self) -> Partial:
        """What is left to combine where a dimension is cut along which results are not joined."""
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
    """An operator by its name; the module that declares it is imported if need be.

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
    """The names by which another process finds an operator."""
    declaration = operator.declaration
    module = declaration.function.__module__ if isinstance(declaration, Declaration) else ""
    return operator.name, module


def to_tensor(block: Block) -> Tensor:
    """A block as a tensor over the same memory; dask hands one that is alone along a dimension in lists."""
    while isinstance(block, list):
        (block,) = block
    if isinstance(block, Tensor):
        return block
    tensor = operand(block) if isinstance(block, numpy.ndarray) else from_numpy(numpy.asarray(block))
    assert isinstance(tensor, Tensor), "an array becomes a tensor"
    return tensor


def to_block(tensor: Tensor) -> Block:
    """A tensor as a block."""
    return numpy.asarray(tensor.detach())


def _results(value: Any) -> Block:
    """The results of an operator: a block, or a tuple of several."""
    blocks = tuple(to_block(tensor) for tensor in tensors_in(value))
    return blocks if len(blocks) > 1 else blocks[0]


@contextlib.contextmanager
def _running(call: Call, blocks: tuple[Block, ...], chunk: tuple[int, ...]) -> Iterator[None]:
    """Around what runs on blocks: engines run several at a time, and what is raised names the chunk."""
    try:
        with side_by_side():
            yield
    except Exception as error:
        shapes = ", ".join(str(to_tensor(block).shape) for block in blocks)
        error.add_note(f"raised for chunk {chunk} of {call.operator}, of shapes {shapes}")
        raise


@frozen
class Piece:
    """What runs an operator on the blocks of a piece; called with the index of the chunk, then these."""

    call: Call


@frozen
class Joined(Piece):
    """A piece whose results are joined."""

    def __call__(self, chunk: tuple[int, ...], *blocks: Block) -> Block:
        with _running(self.call, blocks, chunk):
            return _results(
                self.call.rule.piece(in_order(self.call.local_operator), self.call.whole, self.call.piece(blocks))
            )


class _Unplanned(DispatchMode):
    """Within it nothing runs a plan, also of what bodies call: plans draw random numbers by themselves."""

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        called: Operator = operator.operator
        arguments = unbox(called, args, kwargs)
        kernel = called.find_in(called.key_set(arguments, current.get()))
        with self:
            return kernel(*arguments)


class _Modes(threading.local):
    """One for each thread, since there are plans for each."""

    def __init__(self) -> None:
        self.unplanned = _Unplanned()


_modes = _Modes()


def draws(operator: Operator) -> bool:
    """Whether an operator draws random numbers."""
    return "nondeterministic_seeded" in operator.tags


def drawn_by(operator: Operator, arguments: tuple[Any, ...], generator: Generator | None) -> tuple[int, int]:
    """Take the random numbers of a call from its generator: their seed, and the place of the first.

    Args:
        operator, arguments: of the call, with tensors without memory.
        generator: None for the default one.
    """
    with _modes.unplanned, Window(0, 0, (), ()) as counted:
        in_order(operator)(*arguments)
    return generator_for(Device("cpu"), generator).advance(counted.taken)


@frozen
class Drawn(Joined):
    """A piece with random numbers, which are those that stand in its place of the whole.

    seed, place: of the first number of the whole. shape: of the whole.
    starts: for each dimension where chunks begin.
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
    """What a piece leaves to combine: the number of elements, and accumulators.

    Of a piece without elements, which an operator may refuse, it is the error in place of accumulators: of the whole,
    other pieces may have elements.

    has_offset: whether the last block tells how many elements come before.
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
    """The states in nested lists, in order."""
    if isinstance(nested, list):
        for element in nested:
            yield from _states(element)
    else:
        yield nested


@frozen
class Merged:
    """What several pieces leave, as one; takes what ``dask.array.reduction`` hands to ``combine``."""

    call: Call

    def __call__(self, nested: Any, axis: object = None, keepdims: bool = True) -> tuple[int, State | OpdslError]:
        whole, partial = self.call.whole, self.call.partial
        left = list(_states(nested))
        # Pieces without elements leave the accumulators of none, which know no index, or an error.
        some = [(count, state) for count, state in left if count and not isinstance(state, OpdslError)]
        if not some:
            return next((pair for pair in left if not isinstance(pair[1], OpdslError)), left[0])
        count, state = some[0]
        for more, other in some[1:]:
            count, state = count + more, partial.merge(whole, state, other)
        return count, state


@frozen
class Finished:
    """The results of what all pieces leave."""

    call: Call

    def __call__(self, nested: Any, axis: object = None, keepdims: bool = True) -> Block:
        count, state = Merged(self.call)(nested)
        if isinstance(state, OpdslError):
            raise state
        return _results(self.call.partial.finish(self.call.whole, state, count))


def carried_last(call: Call, state: tuple[int, State]) -> tuple[int, State] | None:
    """The accumulators of all elements of a piece of a scan; None of one without elements."""
    partial = call.partial
    assert isinstance(partial, Carried), "a scan carries accumulators"
    return (state[0], partial.last(call.whole, state[1])) if all(tensor.numel() for tensor in state[1]) else None


def carried_on(
    call: Call, before: tuple[int, State] | None, state: tuple[int, State] | None
) -> tuple[int, State] | None:
    """The accumulators of a piece of a scan, with those of all before."""
    if before is None or state is None:
        return before if state is None else state
    return state[0], call.partial.merge(call.whole, before[1], state[1])


def carried_results(call: Call, state: tuple[int, State]) -> Block:
    """The results of a piece of a scan."""
    return _results(call.partial.finish(call.whole, state[1], 1))


def same(block: Block, axis: object = None, keepdims: bool = True) -> Block:
    """The block."""
    return block


@frozen
class Item:
    """One of several results."""

    index: int

    def __call__(self, block: Block) -> Block:
        while isinstance(block, list):
            (block,) = block
        return block[self.index]
