"""What of a tensor belongs to autograd, which is loaded when the first tensor requires grad."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Self, TypeVar

from opdsl.runtime.tensor_base import TensorBase

T = TypeVar("T", bound=TensorBase)

_load: list[Callable[[], Any]] = []


def autograd_comes_from(load: Callable[[], Any]) -> None:
    """Say what gives the module that implements ``Differentiable``."""
    _load[:] = [cache(load)]


def forget_history(tensor: T) -> T:
    """Make a tensor a leaf that does not require grad.

    Raises:
        RequiresGradError: it is a view.
    """
    leaf: T = _load[0]().forget_history(tensor)
    return leaf


class Differentiable(TensorBase):
    """The gradients of a tensor."""

    __slots__ = ()

    @property
    def requires_grad(self) -> bool:
        """Whether autograd follows it.

        Setting it makes a leaf follow, or no longer follow.
        """
        flag: bool = self.geometry.requires_grad
        return flag

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        _load[0]().set_requires_grad(self, value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Have autograd follow it, from here on; returns itself.

        Raises:
            RequiresGradError: its dtype has no gradients, or it was computed and so cannot stop requiring grad.

        >>> import opdsl
        >>> x = opdsl.tensor([1.0, 2.0]).requires_grad_()
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        tensor: Self = _load[0]().set_requires_grad(self, requires_grad)
        return tensor

    @property
    def data(self) -> Self:
        """A tensor over the same memory without its history, whose writes autograd does not see.

        Setting it makes the tensor show another one's memory; whether it requires grad, and its version, stay.

        Raises:
            RequiresGradError: it requires grad, and the other one's dtype has no gradients.
            DeviceError: the other one is on a device of another type, and one of them is meta.

        >>> import opdsl
        >>> x = opdsl.tensor([1.0, 2.0], requires_grad=True)
        >>> x.data.mul_(3)
        tensor([3., 6.])
        >>> x._version
        0
        """
        data: Self = _load[0]().data_of(self)
        return data

    @data.setter
    def data(self, value: Self) -> None:
        _load[0]().set_data(self, value)

    def is_inference(self) -> bool:
        """Whether it was made in inference mode, so that autograd can never follow it."""
        flag: bool = self.geometry.is_inference
        return flag

    @property
    def grad(self) -> Self | None:
        """What backward passes have accumulated; None before the first."""
        gradient: Self | None = _load[0]().grad_of(self)
        return gradient

    @grad.setter
    def grad(self, value: Self | None) -> None:
        _load[0]().set_grad(self, value)

    @grad.deleter
    def grad(self) -> None:
        _load[0]().set_grad(self, None)

    @property
    def grad_fn(self) -> Any:
        """The node of the backward graph that it comes from; None for leaves."""
        return _load[0]().grad_fn_of(self)

    @property
    def is_leaf(self) -> bool:
        """Whether no operator that autograd followed has made it."""
        return not self.geometry.requires_grad or _load[0]().grad_fn_of(self) is None

    @property
    def output_nr(self) -> int:
        """Which of the results of ``grad_fn`` it is."""
        index: int = _load[0]().output_nr_of(self)
        return index

    @property
    def retains_grad(self) -> bool:
        """Whether it keeps its gradient though it is no leaf."""
        keeps: bool = _load[0]().retains_grad(self)
        return keeps

    def retain_grad(self) -> None:
        """Have a tensor that is no leaf keep its gradient in ``grad``.

        Raises:
            RequiresGradError: it does not require grad.
        """
        _load[0]().retain_grad(self)

    def register_hook(self, hook: Callable[[Self], Self | None]) -> Any:
        """Have ``hook(gradient)`` called with its gradient; what it returns, if not None, goes on in its place.

        Returns:
            A handle; ``handle.remove()`` takes the hook back.

        Raises:
            RequiresGradError: it does not require grad.
        """
        return _load[0]().register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Self], None]) -> Any:
        """Have ``hook(tensor)`` called each time that a backward pass has added to its ``grad``.

        Returns:
            A handle; ``handle.remove()`` takes the hook back.

        Raises:
            RequiresGradError: it does not require grad, or is no leaf.
        """
        return _load[0]().register_post_accumulate_grad_hook(self, hook)

    def backward(
        self,
        gradient: Self | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Compute the gradients of the leaves that it depends on, and add them to their ``grad``.

        Args:
            gradient: its own gradient, of its shape; may be left out for a single element.
            retain_graph: whether another pass may follow; by default as ``create_graph``.
            create_graph: whether the gradients can be differentiated again.
            inputs: the leaves to accumulate into; all by default.

        Raises:
            GradientError: it is no scalar and ``gradient`` is missing, or does not fit.
            GraphFreedError: an earlier pass has freed the graph.
        """
        _load[0]().backward(self, gradient, retain_graph, create_graph, inputs)
