"""TensorIterator as the base of a shape function (``structured_inherits="TensorIteratorBase"``)."""

from __future__ import annotations

from opdsl.dispatch.state import current
from opdsl.kernels.definitions.meta import MetaContext
from opdsl.kernels.iteration.dtypes import PROMOTIONS
from opdsl.kernels.iteration.tensor_iterator import Configuration, Iteration, iterate
from opdsl.kernels.outputs import OutputSpec
from opdsl.runtime.dtype import DType
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.viewing import make_view


class TensorIteratorBase(MetaContext):
    """Context of a shape function whose operator is pointwise, with a handwritten loop.

    After ``build`` the out-kernel gets the operands broadcast to the result's shape and cast to the common dtype.
    """

    __slots__ = ("_built", "_iteration")

    _built: tuple[Tensor, ...]
    _iteration: Iteration | None

    def build(self, *operands: Tensor, promote: str = "default") -> None:
        """Set every output as a pointwise operator of the operands would: shape, dtype, strides, device.

        Args:
            operands: tensors among the arguments.
            promote: ``default``, ``int_to_float``, ``bool`` or ``complex_to_real``.

        Raises:
            ShapeError: shapes do not broadcast.
            DeviceError: the operands are on different devices.
            KernelError: an output is set already, or there is no such promotion.
        """
        if promote not in PROMOTIONS:
            raise self._error(f"promote={promote!r} is unknown", f"Use one of {', '.join(PROMOTIONS)}")
        configuration = Configuration(PROMOTIONS[promote], outputs=self._count)
        iteration = iterate([operand.geometry for operand in operands], configuration, current.get().default_dtype)
        for index in range(self._count):
            self._checked_shape(index, iteration.shape)
            self._promises[index] = OutputSpec(iteration.result, iteration.device, iteration.shape, iteration.strides)
        self._built, self._iteration = operands, iteration

    @property
    def iteration(self) -> Iteration | None:
        """Return the result of ``build``: the broadcast shape, the common dtype; None before."""
        return getattr(self, "_iteration", None)

    @property
    def common(self) -> DType | None:
        """See ``MetaContext.common``."""
        return None if self.iteration is None else self.iteration.common

    def operands(self, arguments: tuple[object, ...]) -> tuple[object, ...]:
        """See ``MetaContext.operands``."""
        iteration = self.iteration
        if iteration is None:
            return arguments
        return tuple(
            self._operand(argument, iteration) if isinstance(argument, Tensor) else argument for argument in arguments
        )

    def _operand(self, value: Tensor, iteration: Iteration) -> Tensor:
        if all(tensor is not value for tensor in self._built) or value.is_meta:
            return value
        if value.dtype is not iteration.common:
            from opdsl.kernels.primitives.copying import cast

            value = cast(value, iteration.common)
        if value.shape == iteration.shape:
            return value
        missing = len(iteration.shape) - value.ndim
        strides = (0 if size == 1 else step for size, step in zip(value.shape, value.strides, strict=True))
        return make_view(value, iteration.shape, ((0,) * missing) + tuple(strides))
