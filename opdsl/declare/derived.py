"""In-place and ``out=`` kernels derived from an operator's functional Python kernel: they compute, then copy.

torchgen derives the operators that ``autogen`` names in the same way (``gen_functionalization_type.py``).
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from opdsl.declare.options import Out
from opdsl.dispatch.model.kernel import Kernel
from opdsl.errors import DTypeError, RequiresGradError
from opdsl.kernels import as_resized, cast, check_inplace, check_storable, copy_
from opdsl.kernels.definitions.python_kernel import PythonKernel
from opdsl.kernels.primitives.copying import write_outs
from opdsl.runtime import Tensor, bump_version, require_no_overlap
from opdsl.runtime.promotion import can_cast
from opdsl.schema import FunctionSchema


class DerivedKernel(Kernel):
    """Kernel of an in-place or ``out=`` variant that calls the functional kernel and copies its results.

    Args:
        functional: the functional kernel, called with its own schema's arguments.
        source: the functional schema.
        schema: the variant's schema.
        operator: the variant's qualified name, for messages.
        out: options that say which dtypes and strides an output may have.
    """

    __slots__ = ("functional", "operator", "out", "schema", "source")

    def __init__(
        self, functional: PythonKernel, source: FunctionSchema, schema: FunctionSchema, operator: str, out: Out
    ) -> None:
        self.functional = functional
        self.out = out
        self.source = source
        self.schema = schema
        self.operator = operator

    def __call__(self, *arguments: object) -> object:
        """Compute the results and copy them into the tensors that the variant writes.

        Raises:
            ShapeError, DTypeError: the result does not fit the written tensor.
            RequiresGradError: an ``out=`` variant is called with arguments that require gradients.
        """
        named = dict(zip((argument.name for argument in self.schema.arguments), arguments, strict=True))
        # An out= variant has no TensorOptions arguments: they are taken from its output.
        outs: list[Any] = [named[out.name] for out in self.schema.out]
        options = {"dtype": "dtype", "device": "device", "layout": "layout"}
        if outs and isinstance(outs[0], Tensor):
            for option, attribute in options.items():
                named.setdefault(option, getattr(outs[0], attribute))
        inputs = [named.get(argument.name) for argument in self.source.arguments]
        result = self.functional(*inputs)
        results = result if isinstance(result, tuple) else (result,)
        if not outs:
            target = named["self"]
            if isinstance(target, Tensor):
                self._check(target, results[0])
                self._write(target, results[0])
                return target
            assert isinstance(target, (list, tuple)), "self is a tensor or a list of them"
            # A kernel of a list operator returns one list, or a tuple with one result for each tensor.
            values = results[0] if isinstance(results[0], (list, tuple)) else results
            for written, value in zip(target, values, strict=True):
                self._check(written, value)
            for written, value in zip(target, values, strict=True):
                self._write(written, value)
            return None
        if any(isinstance(result, Tensor) and result.requires_grad for result in results):
            raise RequiresGradError(
                f"{self.operator}: functions with out=... arguments don't support automatic differentiation, but one "
                "of the arguments requires grad."
            )
        values = [self._cast(out, value) for out, value in zip(outs, results, strict=True)]
        if self.out.apart:
            self._require_apart(outs, values, inputs)
        write_outs(self.operator, outs, values, contiguous=self.out.contiguous)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _cast(self, out: object, value: object) -> Tensor:
        """Cast a result to the dtype of its output, where the option ``cast`` of the ``out=`` variant allows it.

        Raises:
            DTypeError: the result cannot be cast to that dtype.
        """
        assert isinstance(out, Tensor) and isinstance(value, Tensor), "checked by the functional kernel"
        if self.out.cast == "same" or out.dtype is value.dtype:
            return value
        if self.out.cast == "kind":
            fits = out.dtype.category is value.dtype.category
        else:
            fits = can_cast(value.dtype, out.dtype)
        if not fits:
            raise DTypeError(
                f"{self.operator}: result type {value.dtype.scalar_type} can't be cast to the desired output type "
                f"{out.dtype.scalar_type}"
            )
        return cast(value, out.dtype)

    def _require_apart(self, outs: list[Any], values: list[Tensor], inputs: list[object]) -> None:
        """Check that outputs share no memory with inputs once they are resized to the shapes of the results.

        Raises:
            OverlapError: an output overlaps an input.
        """
        for out, value in zip(outs, values, strict=True):
            shown = as_resized(out, value.shape)
            for input in inputs:
                if isinstance(input, Tensor):
                    require_no_overlap(shown, input, self.operator)

    def _check(self, target: Tensor, value: object) -> None:
        assert isinstance(value, Tensor), "checked by the functional kernel"
        check_inplace(self.operator, target, value)
        check_storable([(target, value)])

    def _write(self, target: Tensor, value: object) -> None:
        assert isinstance(value, Tensor), "checked by the functional kernel"
        copy_(target, value)
        bump_version(target)

    @property
    def kind(self) -> str:
        """See ``Kernel``."""
        return f"copy of {self.functional.kind}"

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """See ``Kernel``."""
        return self.functional.functions
