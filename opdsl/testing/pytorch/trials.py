"""Trials of law 15: applies features of PyTorch to operators, and compares the results with opdsl's."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from opdsl.autograd import functional, grad
from opdsl.dispatch import DispatchKey
from opdsl.errors import MissingDerivativeError
from opdsl.runtime import Tensor, from_numpy
from opdsl.testing.laws.forms import grown
from opdsl.testing.laws.gradients import Call
from opdsl.testing.pytorch.places import on_two_places
from opdsl.testing.pytorch.registering import registered
from opdsl.testing.pytorch.twins import Twin, differences, random_numbers, tensors_of
from opdsl.testing.sample import Sample
from opdsl.testing.subject import Subject

__all__ = ["registered", "trials"]

_RANDOM = "nondeterministic_seeded"

# Tests of ``opcheck``: for random operators, and for all others.
_ONCE = ("test_schema", "test_autograd_registration", "test_faketensor")
_REPEATABLE = (*_ONCE, "test_aot_dispatch_dynamic")

# Increases of sizes for successive calls of a compiled function.
_GROWTHS = (0, 3, 5)


_Trial = Callable[[Subject, Twin], Iterator[str]]


def trials(subject: Subject, overload: Callable[..., Any], sample: Sample) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the trials of an operator with a sample: a name, and an iterator of problems.

    Args:
        subject: the operator, without ``out=``.
        overload: the operator in torch.
        sample: of a call.
    """
    if subject.operator.schema.out:
        return
    call = Call(subject, sample)
    twin = Twin(call, overload)
    is_random = _RANDOM in subject.operator.tags
    chosen: dict[str, _Trial] = {} if is_random else {"a call": _called}
    if not all(str(returned.type).startswith("Tensor") for returned in subject.operator.schema.returns):
        yield from ((name, _told(trial, subject, twin)) for name, trial in chosen.items())
        return
    if subject.operator.entry(DispatchKey("Meta")).kernel is not None and not subject.is_dynamic:
        chosen |= {"opcheck": _checked, "a pickle": _sent}
        chosen |= {} if is_random else {"torch.compile": _compiled, "DTensor": _cut}
    if not is_random:
        chosen |= {"vmap": _mapped, "gradients": _differentiated, "jvp": _pushed}
    for name, trial in chosen.items():
        yield name, _told(trial, subject, twin)


def _told(trial: _Trial, subject: Subject, twin: Twin) -> Iterator[str]:
    """Yield the problems that a trial finds; an error that it raises is a problem, too."""
    try:
        yield from trial(subject, twin)
    except MissingDerivativeError:
        return  # reported by law 5
    except Exception as error:
        yield f"raises {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"


def _called(subject: Subject, twin: Twin) -> Iterator[str]:
    yield from differences(twin.call.results(*twin.call.tensors), twin(*twin.tensors))


def _checked(subject: Subject, twin: Twin) -> Iterator[str]:
    tensors = [tensor.clone() for tensor in twin.tensors]
    if _followed(twin) and not twin.call.writes:
        tensors = [tensor.requires_grad_(at in _followed(twin)) for at, tensor in enumerate(tensors)]
    positional, named = twin.filled(tensors)
    # The dynamic test treats NaN as different from NaN, requires derivatives, and compares random numbers.
    is_finite = all(bool(torch.isfinite(tensor).all()) for tensor in twin.floating(*twin.tensors))
    is_compared = is_finite and not twin.call.underived and _RANDOM not in subject.operator.tags
    utils = _REPEATABLE if is_compared else _ONCE
    opcheck: Any = torch.library.opcheck  # untyped
    outcomes = opcheck(twin.overload, tuple(positional), named, test_utils=utils, raise_exception=False)
    yield from (f"{name}: {str(value).splitlines()[0]}" for name, value in outcomes.items() if value != "SUCCESS")


def _sent(subject: Subject, twin: Twin) -> Iterator[str]:
    graph = make_fx(lambda *tensors: twin(*tensors))(*twin.tensors)
    again = pickle.loads(pickle.dumps(graph))
    if _RANDOM not in subject.operator.tags:
        yield from differences(twin(*twin.tensors), list(tensors_of(again(*twin.tensors))))


# ---------------------------------------------------------------------------------------------------------- gradients


def _followed(twin: Twin) -> list[int]:
    """Return the indices of the tensors that get gradients."""
    return [at for at, tensor in enumerate(twin.call.followed()) if tensor.requires_grad]


def _differentiated(subject: Subject, twin: Twin) -> Iterator[str]:
    places = _followed(twin)
    if not places:
        return
    ours = twin.call.leaves(*places)
    theirs = [tensor.clone().requires_grad_(at in places) for at, tensor in enumerate(twin.tensors)]
    results, others = list(twin.call.results(*ours)), list(twin(*theirs))
    ways = sum(result.requires_grad for result in results), sum(tensor.requires_grad for tensor in others)
    if ways[0] != ways[1]:
        yield f"first gradients: {ways[1]} tensors require grad instead of {ways[0]}"
        return
    for order in ("first", "second"):
        seeds = [random_numbers(result, at) for at, result in enumerate(results)]
        results = _gradients(grad, results, [ours[at] for at in places], [_ours(seed) for seed in seeds])
        wanted = [theirs[at] for at in places]
        others = _gradients(torch.autograd.grad, others, wanted, [_theirs(seed) for seed in seeds])
        yield from (f"{order} gradients: {difference}" for difference in differences(results, others))


def _gradients(grad_of: Any, results: Sequence[Any], leaves: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
    """Return the gradients of the leaves, zeros if no result requires grad: a constant may or may not be marked as
    such.
    """
    followed = [(result, seed) for result, seed in zip(results, seeds, strict=True) if result.requires_grad]
    if not followed:
        return [leaf.detach() * 0 for leaf in leaves]
    outputs, grad_outputs = map(list, zip(*followed, strict=True))
    return list(grad_of(outputs, leaves, grad_outputs, create_graph=True, allow_unused=True, materialize_grads=True))


def _pushed(subject: Subject, twin: Twin) -> Iterator[str]:
    if len(_followed(twin)) < len(twin.tensors) or not twin.tensors or twin.call.writes:
        return
    tangents = [random_numbers(tensor, at) for at, tensor in enumerate(twin.tensors)]
    followed = twin.call.results(*twin.call.leaves(*range(len(twin.tensors))))
    kept = [at for at, tensor in enumerate(followed) if tensor.requires_grad]

    def results(*tensors: Tensor) -> tuple[Tensor, ...]:
        results = twin.call.results(*tensors)
        return tuple(results[at] for at in kept)

    def others(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = twin(*tensors)
        return tuple(results[at] for at in kept)

    expected = functional.jvp(results, tuple(twin.call.leaves()), tuple(map(_ours, tangents)))[1]
    pairs = torch.func.jvp(others, tuple(twin.tensors), tuple(map(_theirs, tangents)))
    yield from differences(list(expected), list(pairs[1]))


def _ours(array: numpy.ndarray[Any, Any]) -> Tensor:
    ours: Tensor = from_numpy(numpy.array(array))
    return ours


def _theirs(array: numpy.ndarray[Any, Any]) -> torch.Tensor:
    return torch.from_numpy(numpy.array(array))


# ----------------------------------------------------------------------------------------------------------- programs


def _compiled(subject: Subject, twin: Twin) -> Iterator[str]:
    for is_dynamic in (False, True):
        torch._dynamo.reset()
        program = torch.compile(_calling(twin.overload), dynamic=is_dynamic, backend="aot_eager", fullgraph=True)
        for growth in _GROWTHS:
            positional, named = twin.filled(twin.tensors)
            larger = grown(Sample(*_as_opdsl(positional), **_as_opdsl(named)), growth)
            other = Twin(Call(subject, larger), twin.overload)
            try:
                expected = other(*other.tensors)
            except Exception:  # increased sizes do not fit together
                continue
            kind = "dynamic" if is_dynamic else "static"
            positional, named = other.filled([tensor.clone() for tensor in other.tensors])
            result = program(*positional, **named)
            result = positional[0] if other.call.writes and result is None else result
            yield from (
                f"{kind}, grown by {growth}: {difference}"
                for difference in differences(expected, list(tensors_of(result)))
            )
            yield from (f"{kind}, grown by {growth}: {gradient}" for gradient in _gradients_of(program, other))


def _gradients_of(program: Callable[..., Any], twin: Twin) -> Iterator[str]:
    """Yield how the gradients of a compiled program differ from those of the call."""
    places = [] if twin.call.writes else _followed(twin)
    if not places:
        return
    gradients = []
    for function in (twin.overload, program):
        tensors = [tensor.clone().requires_grad_(at in places) for at, tensor in enumerate(twin.tensors)]
        positional, named = twin.filled(tensors)
        results = [tensor for tensor in tensors_of(function(*positional, **named)) if tensor.requires_grad]
        seeds = [_theirs(random_numbers(result, at)) for at, result in enumerate(results)]
        leaves = [tensors[at] for at in places]
        gradients.append(torch.autograd.grad(results, leaves, seeds, allow_unused=True, materialize_grads=True))
    yield from (f"gradients: {difference}" for difference in differences(list(gradients[0]), list(gradients[1])))


def _calling(overload: Callable[..., Any]) -> Callable[..., Any]:
    def call(*positional: Any, **named: Any) -> Any:
        return overload(*positional, **named)

    return call


def _as_opdsl(value: Any) -> Any:
    """Convert arguments of torch to opdsl, so that their sizes can be increased."""
    from opdsl.interop.torch.tensors import shared, to_opdsl

    if isinstance(value, dict):
        return {name: _as_opdsl(element) for name, element in value.items()}
    return [_as_opdsl(element) for element in value] if isinstance(value, list) else to_opdsl(value, shared)


def _mapped(subject: Subject, twin: Twin) -> Iterator[str]:
    if subject.is_dynamic or not twin.tensors:
        return
    batches = [torch.stack([tensor, tensor * 0.5, tensor * 0.75]) for tensor in twin.tensors]
    mapped = torch.vmap(lambda *tensors: tuple(twin(*tensors)))(*batches)
    single = [twin(*(batch[at] for batch in batches)) for at in range(3)]
    yield from differences([torch.stack(parts) for parts in zip(*single, strict=True)], list(mapped))


# ---------------------------------------------------------------------------------------------------- shards of tensors


def _cut(subject: Subject, twin: Twin) -> Iterator[str]:
    if not twin.tensors:
        return
    expected = twin(*twin.tensors)
    for name, tensors in on_two_places(twin):
        if isinstance(tensors, BaseException):
            yield f"{name} raises {type(tensors).__name__}: {(str(tensors).strip().splitlines() or [''])[0]}"
        else:
            yield from (f"{name}: {difference}" for difference in differences(expected, tensors))
