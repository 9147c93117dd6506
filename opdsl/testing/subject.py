"""Operator under test, with the functions and properties that the laws use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from opdsl.dispatch import Operator, State, registry
from opdsl.dispatch.state import Guard
from opdsl.errors import DeclarationError
from opdsl.kernels.definitions.python_kernel import PythonKernel
from opdsl.runtime import Tensor
from opdsl.testing.sample import Sample

# Tags of operators whose results' shapes depend on elements, and such operators that PyTorch does not tag.
_DYNAMIC = frozenset(("dynamic_output_shape", "data_dependent_output"))
_UNTAGGED = frozenset(
    (
        *(
            "aten::is_nonzero",
            "aten::narrow.Tensor",
            "aten::_reshape_from_tensor",
            "aten::_rowwise_prune",
            "aten::tensor_split.tensor_indices_or_sections",
        ),
        # Lengths of sequences, which are on the CPU.
        *("aten::_pack_padded_sequence", "aten::_pack_padded_sequence.out", "aten::_pack_padded_sequence_backward"),
        *("aten::_pad_packed_sequence", "aten::_padded_dense_to_jagged_forward"),
        *("aten::lstm.data", "aten::gru.data", "aten::rnn_tanh.data", "aten::rnn_relu.data"),
    )
)


class LawNotTried(Exception):
    """Raised when a law cannot be tried on this machine, for any operator; the message states the missing device or
    package.
    """


class Subject:
    """Operator under test.

    operator: the dispatcher's operator.
    function: its own function, with exactly its schema's parameters.
    samples: calls that it accepts.
    """

    __slots__ = ("function", "operator", "samples")

    def __init__(self, operator: Operator, samples: list[Sample]) -> None:
        self.operator = operator
        self.samples = samples
        self.function: Any = registry.packets[operator.packet_name].operator_function(operator)

    @property
    def variants(self) -> dict[str, Callable[..., Any]]:
        """Return the functions of the operator's other variants, by ``inplace`` and ``out``."""
        return {name: variant for name, variant in self.function.variants.items() if variant is not self.function}

    @property
    def method(self) -> str:
        """Return the name of the operator's Tensor method; empty if it has no method, or the method is a property."""
        name = self.operator.schema.name.base
        is_method = "method" in str(self.operator.properties.get("variants", "")) and self.operator.is_bound
        return name if is_method and callable(getattr(Tensor, name, None)) else ""

    @property
    def is_composite(self) -> bool:
        """Return whether the operator's kernel is a body that calls other operators, and is differentiated through
        them.
        """
        return {str(key) for key in self.operator.registrations} == {"CompositeImplicitAutograd"} and all(
            isinstance(kernel, PythonKernel) for kernels in self.operator.registrations.values() for kernel in kernels
        )

    @property
    def is_dynamic(self) -> bool:
        """Return whether the shape of the operator's result depends on elements, so that it has no meta function."""
        return bool(_DYNAMIC.intersection(self.operator.tags)) or self.operator.name in _UNTAGGED


def operator_of(function: object) -> Operator:
    """Return the operator of a declared function.

    Raises:
        DeclarationError: ``function`` is not a declared function.
    """
    operator = function if isinstance(function, Operator) else getattr(function, "operator", None)
    if not isinstance(operator, Operator):
        raise DeclarationError(
            f"check_op takes a declared operator, not {type(function).__name__}. Declare one with @op, or take one of "
            "opdsl.ops."
        )
    return operator


class Call(NamedTuple):
    """Record of a call: the operator, and the number of enclosing calls."""

    operator: Operator
    depth: int


class Watch:
    """Recorder of calls.

    calls: all of them, in the order in which they began.
    depth: how many are running now.
    """

    __slots__ = ("calls", "depth")

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.depth = 0

    def around(self, operator: Operator, kernel: Callable[..., object]) -> Callable[..., object]:
        """Wrap a kernel so that its calls are recorded."""

        def run(*values: object) -> object:
            self.calls.append(Call(operator, self.depth))
            self.depth += 1
            try:
                return kernel(*values)
            finally:
                self.depth -= 1

        return run


# Added to the modes without a dispatch key: it disables plans, so that each call looks up its kernel.
_unplanned = Guard(lambda state: state.change(modes=(*state.modes, Watch)))


@contextmanager
def watching() -> Iterator[Watch]:
    """Return a context manager that records every call of this thread; plans are turned off, so each call looks up its
    kernel.
    """
    watch = Watch()
    find = Operator.find

    def watched(operator: Operator, arguments: Any, state: State) -> Any:
        return watch.around(operator, find(operator, arguments, state))

    Operator.find = watched  # type: ignore[method-assign, assignment]
    try:
        with _unplanned:
            yield watch
    finally:
        Operator.find = find  # type: ignore[method-assign]
