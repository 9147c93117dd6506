"""Tour of dispatch modes: log a computation, trace it into a program that can run again, and profile it.

Run it with ``python examples/trace.py``. A mode intercepts every operator of its thread or task; the traced code need
not be changed, and code outside of modes pays nothing for them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import opdsl
from opdsl import DispatchMode, Library, Tensor

lib = Library("trace")


@lib.op
def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Compute attention as a composite: normalized exponentials of query-key products, times the values."""
    weights = (query @ key.t() / query.shape[1] ** 0.5).exp()
    result: Tensor = weights / weights.sum(1, keepdim=True) @ value
    return result


# --------------------------------------------------------------------------------------------------------------------
# 1. Logging. Before decomposition a mode sees the calls of the program, after it those in the bodies of composites.


class Log(DispatchMode):
    """Dispatch mode that prints each call."""

    def __init__(self, *, before_decomposition: bool) -> None:
        self.before_decomposition = before_decomposition

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """See ``DispatchMode``."""
        result = operator(*args, **kwargs)
        texts = [*map(text, args), *(f"{name}={text(value)}" for name, value in kwargs.items())]
        print(f"   {operator.schema.name.qualified}({', '.join(texts)}) -> {text(result)}")
        return result


def text(value: object) -> str:
    """Return a tensor's dtype and shape, or the ``repr`` of any other value."""
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, Tensor) else repr(value)


# --------------------------------------------------------------------------------------------------------------------
# 2. Tracing. Every result gets a number; an argument that is an input or a result is recorded by its number.


class Reference(NamedTuple):
    """Numbered value of a program: an input, the result of a step, or one of several results of a step."""

    number: int
    place: int | None = None

    def __repr__(self) -> str:
        return f"v{self.number}" if self.place is None else f"v{self.number}[{self.place}]"


class Step(NamedTuple):
    """Call in a traced program."""

    operator: Any
    args: tuple[object, ...]
    kwargs: dict[str, object]

    def __str__(self) -> str:
        texts = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"{self.operator.schema.name.qualified}({', '.join(texts)})"


class Trace(DispatchMode):
    """Dispatch mode that records calls as a program, which can run again on other inputs.

    Args:
        inputs: the tensors that the program takes. All other tensors that it meets are its constants.
    """

    def __init__(self, *inputs: Tensor) -> None:
        self.inputs = len(inputs)
        self.steps: list[Step] = []
        self.known: dict[int, Reference] = {}
        self.held: list[object] = []  # keeps tensors alive, so that no id is used twice
        for number, input in enumerate(inputs):
            self.name(input, Reference(number))

    def name(self, tensor: object, reference: Reference) -> None:
        """Set the reference of a tensor, which replaces an older one if an operator returns its argument."""
        self.known[id(tensor)] = reference
        self.held.append(tensor)

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """See ``DispatchMode``."""
        result = operator(*args, **kwargs)
        number = self.inputs + len(self.steps)
        noted = {name: self.note(value) for name, value in kwargs.items()}
        self.steps.append(Step(operator, tuple(map(self.note, args)), noted))
        if isinstance(result, (list, tuple)):
            for place, tensor in enumerate(result):
                self.name(tensor, Reference(number, place))
        else:
            self.name(result, Reference(number))
        return result

    def note(self, value: object) -> object:
        """Return an argument with its tensors replaced by references; a tensor without a reference is a constant."""
        if isinstance(value, tuple):
            return tuple(map(self.note, value))
        return self.known.get(id(value), value) if isinstance(value, Tensor) else value

    def run(self, *inputs: Tensor) -> Any:
        """Run the program on other inputs and return the result of its last step."""
        values: list[Any] = list(inputs)

        def meant(value: object) -> Any:
            if isinstance(value, Reference):
                return values[value.number] if value.place is None else values[value.number][value.place]
            return tuple(map(meant, value)) if isinstance(value, tuple) else value

        for step in self.steps:
            named = {name: meant(value) for name, value in step.kwargs.items()}
            values += [step.operator(*map(meant, step.args), **named)]
        return values[-1]

    def __str__(self) -> str:
        lines = [f"v{number + self.inputs} = {step}" for number, step in enumerate(self.steps)]
        return "\n".join([f"inputs: {', '.join(f'v{number}' for number in range(self.inputs))}", *lines])


# --------------------------------------------------------------------------------------------------------------------
# 3. Profiling. A recorder is called after each call; calls keep using their plans, so times are true.


class Profile:
    """Recorder that counts the calls of each operator and adds up their times, without the times of nested calls."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = defaultdict(int)
        self.seconds: dict[str, float] = defaultdict(float)

    def __call__(self, operator: Any, geometries: tuple[Any, ...], seconds: float, nested: float) -> None:
        """Record one call."""
        name = operator.schema.name.qualified
        self.counts[name] += 1
        self.seconds[name] += seconds - nested

    def __str__(self) -> str:
        slowest = sorted(self.seconds, key=lambda name: -self.seconds[name])
        rows = [(name, self.counts[name], self.seconds[name] / self.counts[name] * 1e6) for name in slowest]
        return "\n".join(f"   {name:20s} {count:5d} x {microseconds:8.2f} us" for name, count, microseconds in rows)


def main() -> None:
    """Log, trace, run again and profile a computation."""
    query, key, value = (opdsl.full((4, 8), number) for number in (0.1, 0.2, 0.3))

    print("1. What the program calls")
    with Log(before_decomposition=True):
        attention(query, key, value)
    print("   and what that is made of")
    with Log(before_decomposition=False):
        attention(query, key, value)

    print("\n2. Traced")
    with Trace(query, key, value) as trace:
        attention(query, key, value)
    for line in str(trace).splitlines():
        print(f"   {line}")
    others = [opdsl.tensor([[float(place * number % 5) for place in range(8)] for number in range(4)]) for _ in "qkv"]
    again, expected = trace.run(*others), attention(*others)
    assert again.tolist() == expected.tolist()
    print("   run again on other inputs, it agrees")

    print("\n3. Profiled, 1,000 calls; each time is an operator's own")
    profile = Profile()
    with opdsl.record_calls(profile):
        for _ in range(1000):
            attention(query, key, value)
    print(profile)


if __name__ == "__main__":
    main()
