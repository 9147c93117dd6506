"""Sharding rules of composites: a dimension may be split if every operator that a body calls may be split along it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from attrs import field, frozen

from opdsl.dispatch.binding.boxed import unbox
from opdsl.dispatch.layers.modes import DispatchMode
from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.state import current
from opdsl.errors import OpdslError, ShardingError
from opdsl.kernels.outputs import new_tensor
from opdsl.runtime.device import Device
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor
from opdsl.schema import SchemaKind
from opdsl.sharding.partial import Combined
from opdsl.sharding.pending import REDUCTIONS, Pending, subsets
from opdsl.sharding.rules import Arguments, Cut, Moved, Rule, possible_cuts

# The number of elements added to a dimension in a second run, which reveals dependence on its size.
_GROWTH = 1


class Step(NamedTuple):
    """Operator call that a composite's body made, with the split of its tensors.

    operator: the operator.
    cut: how its tensors are split, or pending; None if they are neither.
    others: the arguments that are no tensors; empty for views, whose sizes follow the tensor's.
    """

    operator: Operator
    cut: Cut | Pending | None
    others: tuple[str, ...]


class _Following(DispatchMode):
    """Dispatch mode that follows a split of the arguments through the operators that a body calls.

    rule_of: returns the rule of an operator.
    folds: whether results may be left unreduced (pending).
    dims: the dimension along which a tensor is split, by its identity.
    reductions: the pending reduction of a tensor, by its identity.
    steps: the calls so far.
    """

    def __init__(self, rule_of: Callable[[Operator], Rule], *, folds: bool) -> None:
        self.rule_of = rule_of
        self.folds = folds
        self.dims: dict[int, int] = {}
        self.reductions: dict[int, str] = {}
        self.kept: list[Tensor] = []
        self.steps: list[Step] = []

    def mark(self, tensor: Tensor, dim: int | None) -> None:
        """Record that a tensor is split along a dimension (or not split, for None), and keep the tensor alive."""
        self.kept.append(tensor)
        if dim is not None:
            self.dims[id(tensor)] = dim

    def dim_of(self, tensor: Tensor) -> int | None:
        """Return the dimension along which a tensor is split; None if it is not split."""
        return self.dims.get(id(tensor))

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        called: Operator = operator.operator
        result = operator(*args, **kwargs)
        self.kept += tensors_in(result)
        arguments = unbox(called, args, kwargs)
        placed = [self.dim_of(input) for input in tensors_in(arguments)]
        rule = self.rule_of(called)
        others = () if isinstance(rule, Moved) else tuple(repr(tensors) for tensors in map(_without_tensors, arguments))
        waiting = [self.reductions.get(id(input)) for input in tensors_in(arguments)]
        if any(waiting):
            pending = self._pending(called, rule, arguments, placed, waiting)
            self.steps.append(Step(called, pending, others))
            self._await(result, pending.outputs)
            return result
        cut = None if all(number is None for number in placed) else self._cut(called, rule, arguments, placed)
        self.steps.append(Step(called, cut, others))
        if cut is not None and cut.partial is not None:
            self._await(result, (cut.partial.reduction(arguments),) * len(cut.outputs))
        elif cut is not None:
            for output, dim in zip(tensors_in(result), cut.outputs, strict=True):
                self.mark(output, dim)
        return result

    def _await(self, result: object, reductions: Sequence[str | None]) -> None:
        for output, reduction in zip(tensors_in(result), reductions, strict=True):
            if reduction is not None:
                self.reductions[id(output)] = reduction

    def _pending(
        self, called: Operator, rule: Rule, arguments: Arguments, placed: list[int | None], waiting: list[str | None]
    ) -> Pending:
        """Return the pending results of a call with pending arguments; raise ShardingError where these have to be
        reduced first.
        """
        if called.schema.kind is SchemaKind.functional and all(number is None for number in placed):
            for pending in rule.pending(arguments):
                if list(pending.inputs) == waiting:
                    return pending
        raise ShardingError(f"{called.name} reads results that still have to be combined: {rule}")

    def _cut(self, called: Operator, rule: Rule, arguments: Arguments, placed: list[int | None]) -> Cut:
        # Random numbers depend on the position of a piece in the whole, which a body does not know.
        if called.schema.kind is SchemaKind.functional and "nondeterministic_seeded" not in called.tags:
            for cut in possible_cuts(rule, arguments):
                partial = cut.partial
                goes_on = partial is None or (self.folds and partial.reduction(arguments) is not None)
                if goes_on and list(cut.inputs) == placed:
                    return cut
        raise ShardingError(f"{called.name} cannot be split like this: {rule}")


def _without_memory(tensor: Tensor) -> Tensor:
    return new_tensor(tensor.geometry.replace(device=Device("meta"), is_view=False, requires_grad=False))


def _without_tensors(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_without_tensors, value))
    return None if isinstance(value, Tensor) else value


def with_tensors(value: Any, make: Callable[[Tensor], Any]) -> Any:
    """Replace the tensors in an argument, also in nested lists and tuples, by the results of a function."""
    if isinstance(value, (list, tuple)):
        return tuple(with_tensors(element, make) for element in value)
    return make(value) if isinstance(value, Tensor) else value


@frozen
class ByItsCalls:
    """Sharding rule of operators whose body calls other operators.

    operator: the operator.
    rule_of: returns the rule of an operator.
    body: a function that calls operators, if the operator's kernel is compiled from it; it takes all arguments.
    folds: whether reductions along a split dimension may be left pending.
    """

    operator: Operator
    rule_of: Callable[[Operator], Rule] = field(repr=False)
    body: Callable[..., Any] | None = field(default=None, repr=False)
    folds: bool = False

    def cuts(self, arguments: Arguments) -> Iterator[Cut]:
        """See ``Rule``."""
        tensors = list(tensors_in(arguments))
        seen = set()
        for inputs in _candidates([tensor.shape for tensor in tensors], anywhere=self.folds):
            if inputs not in seen:
                seen.add(inputs)
                cut = self._follow(arguments, inputs)
                if cut is not None:
                    yield cut

    def pending(self, arguments: Arguments) -> Iterator[Pending]:
        """See ``Rule``; engines that have pending tensors dispatch the calls of other bodies themselves."""
        count = len(list(tensors_in(arguments)))
        for chosen in subsets(count) if self.folds else ():
            for reduction in REDUCTIONS:
                inputs = tuple(reduction if at in chosen else None for at in range(count))
                outputs = self._waiting(arguments, inputs)
                if outputs and all(outputs):
                    yield Pending(inputs, outputs)

    def piece(self, function: Callable[..., Any], whole: Arguments, piece: Arguments) -> Any:
        """See ``Rule``."""
        return function(*piece)

    def _follow(self, arguments: Arguments, inputs: tuple[int | None, ...]) -> Cut | None:
        """Return the cut that follows from splitting arguments; None if the body cannot be split so."""
        first = self._run(arguments, inputs, 0)
        if first is None:
            return None
        # A body that depends on the size of the dimension (as a mean by hand) computes something else for a piece.
        second = self._run(arguments, inputs, _GROWTH)
        if second is None or first != second or not self._keeps_dimensions(arguments, first[0]):
            return None
        return first[0]

    def _keeps_dimensions(self, arguments: Arguments, cut: Cut) -> bool:
        """Return whether pieces of size 1 give results of the same rank as larger ones (``squeeze`` would drop a
        dimension).
        """
        dims = iter(cut.inputs)

        def of_one(tensor: Tensor) -> Tensor:
            dim = next(dims)
            shape = tuple(1 if at == dim else size for at, size in enumerate(tensor.shape))
            form = tensor.geometry.replace(device=Device("meta"), is_view=False, requires_grad=False)
            return new_tensor(form.replace(shape=shape, strides=contiguous_strides(shape)))

        tensors = tuple(with_tensors(argument, of_one) for argument in arguments)
        try:
            result = self._kernel(tensors)(*tensors)
        except (OpdslError, NotImplementedError):
            return True  # the piece raises in the same way
        pairs = zip(tensors_in(result), cut.outputs, strict=True)
        if cut.partial is not None:
            whole = tuple(with_tensors(argument, _without_memory) for argument in arguments)
            results = tensors_in(self._kernel(whole)(*whole))
            return [result.shape for result in results] == [output.shape for output in tensors_in(result)]
        return all(dim is not None and tensor.ndim > dim and tensor.shape[dim] == 1 for tensor, dim in pairs)

    def _waiting(self, arguments: Arguments, inputs: tuple[str | None, ...]) -> tuple[str | None, ...]:
        """Return the pending reductions of a body's results, given those of its arguments; () where these have to be
        reduced first.
        """
        following = _Following(self.rule_of, folds=True)
        reductions = iter(inputs)

        def without_memory(tensor: Tensor) -> Tensor:
            memory, reduction = _without_memory(tensor), next(reductions)
            following.mark(memory, None)
            if reduction is not None:
                following.reductions[id(memory)] = reduction
            return memory

        tensors = tuple(with_tensors(argument, without_memory) for argument in arguments)
        kernel = self._kernel(tensors)
        try:
            with following:
                result = kernel(*tensors)
        except (OpdslError, NotImplementedError):
            return ()
        return tuple(following.reductions.get(id(output)) for output in tensors_in(result))

    def _run(self, arguments: Arguments, inputs: tuple[int | None, ...], growth: int) -> tuple[Cut, list[Step]] | None:
        following = _Following(self.rule_of, folds=self.folds)
        dims = iter(inputs)

        def without_memory(tensor: Tensor) -> Tensor:
            dim = next(dims)
            shape = tuple(size + growth * (at == dim) for at, size in enumerate(tensor.shape))
            form = tensor.geometry.replace(device=Device("meta"), is_view=False, requires_grad=False)
            if growth:
                form = form.replace(shape=shape, strides=contiguous_strides(shape))
            memory = new_tensor(form)
            following.mark(memory, dim)
            return memory

        tensors = tuple(with_tensors(argument, without_memory) for argument in arguments)
        kernel = self._kernel(tensors)
        try:
            with following:
                result = kernel(*tensors)
        except (OpdslError, NotImplementedError):
            return None
        outputs = tuple(following.dim_of(output) for output in tensors_in(result))
        waiting = [following.reductions.get(id(output)) for output in tensors_in(result)]
        if waiting and all(waiting):
            place = next(at for at, dim in enumerate(inputs) if dim is not None)
            partial = Combined(tuple(text for text in waiting if text is not None), place)
            return Cut(inputs, outputs, partial), following.steps
        if any(waiting) or not outputs or any(output is None for output in outputs):
            return None
        return Cut(inputs, outputs), following.steps

    def _kernel(self, arguments: Arguments) -> Callable[..., Any]:
        return self.body or self.operator.find_in(self.operator.key_set(arguments, current.get()))

    def __str__(self) -> str:
        return "composite: where the operators that its body calls may be split"


def _candidates(shapes: list[tuple[int, ...]], *, anywhere: bool) -> Iterator[tuple[int | None, ...]]:
    """Yield splits to try: each dimension of each tensor, alone and with the corresponding dimensions of other tensors.

    Args:
        shapes: of the tensors.
        anywhere: whether the first dimension of equal size corresponds, too.
    """
    for at, shape in enumerate(shapes):
        for dim, size in enumerate(shape):
            if size <= 1:
                continue
            from_the_end = dim - len(shape)
            yield tuple(
                len(other) + from_the_end if len(other) + from_the_end >= 0 and other[from_the_end] == size else None
                for other in shapes
            )
            yield tuple(dim if len(other) > dim and other[dim] == size else None for other in shapes)
            yield tuple(dim if other == at else None for other in range(len(shapes)))
            if anywhere:
                meeting = [other.index(size) if size in other else None for other in shapes]
                yield (*meeting[:at], dim, *meeting[at + 1 :])


class _Noting(DispatchMode):
    """Dispatch mode that records the operators that a body calls, with their arguments that are no tensors (except for
    views).
    """

    def __init__(self, rule_of: Callable[[Operator], Rule]) -> None:
        self.rule_of = rule_of
        self.seen: list[tuple[str, str]] = []

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """See ``DispatchMode``."""
        called: Operator = operator.operator
        others = _without_tensors((args, tuple(kwargs.items())))
        self.seen.append((called.name, "" if isinstance(self.rule_of(called), Moved) else repr(others)))
        return operator(*args, **kwargs)


def follows_sizes(operator: Operator, arguments: Arguments, size: int, rule_of: Callable[[Operator], Rule]) -> bool:
    """Return whether a body calls the same operators with the same arguments when an unknown size of its tensors
    changes.

    Args:
        operator: whose body it is.
        arguments: of a call, with meta tensors.
        size: the value that represents the unknown size.
        rule_of: returns the rule of an operator.
    """

    def longer(tensor: Tensor) -> Tensor:
        shape = tuple(number + _GROWTH if number == size else number for number in tensor.shape)
        return new_tensor(tensor.geometry.replace(shape=shape, strides=contiguous_strides(shape)))

    seen = []
    for call_arguments in (arguments, tuple(with_tensors(argument, longer) for argument in arguments)):
        noting = _Noting(rule_of)
        kernel = operator.find_in(operator.key_set(call_arguments, current.get()))
        with noting:
            kernel(*call_arguments)
        seen.append(noting.seen)
    return seen[0] == seen[1]
