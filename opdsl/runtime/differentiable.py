"""Attributes of a tensor that belong to autograd, which is imported when a tensor first requires grad."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Self, TypeVar

from opdsl.runtime.tensor_base import TensorBase

T = TypeVar("T", bound=TensorBase)

_load: list[Callable[[], Any]] = []


def autograd_comes_from(load: Callable[[], Any]) -> None:
    """Set the function that imports the module which implements ``Differentiable``."""
    _load[:] = [cache(load)]


def forget_history(tensor: T) -> T:
    """Turn a tensor into a leaf that does not require grad, in place.

    Raises:
        RequiresGradError: the tensor is a view.
    """
    leaf: T = _load[0]().forget_history(tensor)
    return leaf


class Differentiable(TensorBase):
    """Base class with a tensor's gradients and other attributes of autograd."""

    __slots__ = ()

    @property
    def requires_grad(self) -> bool:
        """Return whether autograd records operations on the tensor.

        It can be set on leaves.
        """
        flag: bool = self.geometry.requires_grad
        return flag

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        _load[0]().set_requires_grad(self, value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Make the tensor require grad from now on (or no longer), and return it.

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
        """Return a tensor over the same memory without autograd history; autograd does not see writes to it.

        Setting it makes the tensor use the memory of another tensor, and keeps its ``requires_grad`` and version.

        Raises:
            RequiresGradError: the tensor requires grad, and the new dtype has no gradients.
            DeviceError: the new tensor is on a device of another type, and one of them is meta.

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
        """Return whether the tensor was made in inference mode, so that autograd can never record operations on it."""
        flag: bool = self.geometry.is_inference
        return flag

    @property
    def grad(self) -> Self | None:
        """Return the gradient accumulated by backward passes; None before the first."""
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
        """Return the node of the backward graph that computed the tensor; None for leaves."""
        return _load[0]().grad_fn_of(self)

    @property
    def is_leaf(self) -> bool:
        """Return whether the tensor is no result of an operation that autograd recorded."""
        return not self.geometry.requires_grad or _load[0]().grad_fn_of(self) is None

    @property
    def output_nr(self) -> int:
        """Return the index of the tensor among the results of ``grad_fn``."""
        index: int = _load[0]().output_nr_of(self)
        return index

    @property
    def retains_grad(self) -> bool:
        """Return whether a tensor that is no leaf keeps its gradient."""
        keeps: bool = _load[0]().retains_grad(self)
        return keeps

    def retain_grad(self) -> None:
        """Make a tensor that is no leaf keep its gradient in ``grad``.

        Raises:
            RequiresGradError: the tensor does not require grad.
        """
        _load[0]().retain_grad(self)

    def register_hook(self, hook: Callable[[Self], Self | None]) -> Any:
        """Register a function that is called with the tensor's gradient, and may return a replacement for it.

        Returns:
            A handle; ``handle.remove()`` removes the hook.

        Raises:
            RequiresGradError: the tensor does not require grad.
        """
        return _load[0]().register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Self], None]) -> Any:
        """Register a function that is called with the tensor each time a backward pass has added to its ``grad``.

        Returns:
            A handle; ``handle.remove()`` removes the hook.

        Raises:
            RequiresGradError: the tensor does not require grad, or is no leaf.
        """
        return _load[0]().register_post_accumulate_grad_hook(self, hook)

    def backward(
        self,
        gradient: Self | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Compute the gradients of the leaves that the tensor depends on, and add them to their ``grad``.

        Args:
            gradient: the gradient of this tensor, of the same shape; may be omitted for a single element.
            retain_graph: whether another pass may follow; the default is ``create_graph``.
            create_graph: whether the gradients can be differentiated again.
            inputs: the leaves to accumulate into; all by default.

        Raises:
            GradientError: the tensor is no scalar and ``gradient`` is missing, or does not fit.
            GraphFreedError: an earlier pass has freed the graph.
        """
        _load[0]().backward(self, gradient, retain_graph, create_graph, inputs)
