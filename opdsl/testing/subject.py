"""What is checked: an operator with its functions, as the laws want to see it."""

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

# Tags of operators whose results' shapes depend on elements, and operators that PyTorch does not tag.
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
        # Lengths of sequences, which lie on the CPU.
        *("aten::_pack_padded_sequence", "aten::_pack_padded_sequence.out", "aten::_pack_padded_sequence_backward"),
        *("aten::_pad_packed_sequence", "aten::_padded_dense_to_jagged_forward"),
        *("aten::lstm.data", "aten::gru.data", "aten::rnn_tanh.data", "aten::rnn_relu.data"),
    )
)


class LawNotTried(Exception):
    """A law cannot be tried here, whatever the operator is; the message says what is missing."""


class Subject:
    """An operator under examination.

    operator: as the dispatcher has it.
    function: its own function, with exactly its schema's parameters.
    samples: that it takes.
    """

    __slots__ = ("function", "operator", "samples")

    def __init__(self, operator: Operator, samples: list[Sample]) -> None:
        self.operator = operator
        self.samples = samples
        self.function: Any = registry.packets[operator.packet_name].operator_function(operator)

    @property
    def variants(self) -> dict[str, Callable[..., Any]]:
        """The functions of the variants beside the operator itself, by ``inplace`` and ``out``."""
        return {name: variant for name, variant in self.function.variants.items() if variant is not self.function}

    @property
    def method(self) -> str:
        """The name of its Tensor method; empty where it has none, or a property in its place."""
        name = self.operator.schema.name.base
        is_method = "method" in str(self.operator.properties.get("variants", "")) and self.operator.is_bound
        return name if is_method and callable(getattr(Tensor, name, None)) else ""

    @property
    def is_composite(self) -> bool:
        """Whether its kernel is a body that calls other operators, differentiable through them."""
        return {str(key) for key in self.operator.registrations} == {"CompositeImplicitAutograd"} and all(
            isinstance(kernel, PythonKernel) for kernels in self.operator.registrations.values() for kernel in kernels
        )

    @property
    def is_dynamic(self) -> bool:
        """Whether its result's shape depends on elements, so that there is none without a kernel."""
        return bool(_DYNAMIC.intersection(self.operator.tags)) or self.operator.name in _UNTAGGED


def operator_of(function: object) -> Operator:
    """The operator of a declared function.

    Raises:
        DeclarationError: it is none.
    """
    operator = function if isinstance(function, Operator) else getattr(function, "operator", None)
    if not isinstance(operator, Operator):
        raise DeclarationError(
            f"check_op takes a declared operator, not {type(function).__name__}. Declare one with @op, or take one of "
            "opdsl.ops."
        )
    return operator


class Call(NamedTuple):
    """One call that was seen: the operator, and within how many other calls it was made."""

    operator: Operator
    depth: int


class Watch:
    """What was seen of calls.

    calls: all of them, in the order in which they began.
    depth: how many are running now.
    """

    __slots__ = ("calls", "depth")

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.depth = 0

    def around(self, operator: Operator, kernel: Callable[..., object]) -> Callable[..., object]:
        """A kernel whose calls are seen."""

        def run(*values: object) -> object:
            self.calls.append(Call(operator, self.depth))
            self.depth += 1
            try:
                return kernel(*values)
            finally:
                self.depth -= 1

        return run


# As a mode that keeps no plans, without a key that calls would come to it by: each looks up its kernel.
_unplanned = Guard(lambda state: state.change(modes=(*state.modes, Watch)))


@contextmanager
def watching() -> Iterator[Watch]:
    """See every call of this thread: each looks up its kernel, none is answered by a plan."""
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
