"""Methods of a declared operator that attach hand-written kernels, formulas and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar, overload

F = TypeVar("F", bound=Callable[..., object])


class Implementing(Protocol):
    """Protocol of a declared operator's methods that attach hand-written kernels, formulas and gradients."""

    @overload
    def view_kernel(self, function: F, /) -> F: ...
    @overload
    def view_kernel(self, *keys: str) -> Callable[[F], F]: ...
    def view_kernel(self, *keys: Any) -> Any:
        """Attach a function that computes the geometry of a view from the geometry of the tensor; no other kernel is
        run.

        It takes an ``opdsl.runtime.View`` (shape, strides and an offset in elements) in place of the tensor, and
        returns one.

        Args:
            keys: dispatch keys; a decorator without parentheses is for all backends.

        Returns:
            The function unchanged, or a decorator.

        Raises:
            KernelSignatureError: its parameters are not the schema's, or the operator returns no view.

        >>> import opdsl
        >>> from opdsl import Alias, Tensor
        >>> from opdsl.runtime import View
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def diagonal_of(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...
        ...     @diagonal_of.view_kernel
        ...     def diagonal_of_view(self):
        ...         return View(self.shape[:1], (sum(self.strides),), self.offset)
        ...     x = opdsl.zeros(2, 2)
        ...     ones = diagonal_of(x).fill_(1.0)
        ...     x
        tensor([[1., 0.],
                [0., 1.]])
        """

    @overload
    def out_kernel(self, function: F, /) -> F: ...
    @overload
    def out_kernel(
        self,
        *keys: str,
        compiled: bool = True,
        alias_safe: bool = False,
        source: str | None = None,
        entry: str | None = None,
        dtypes: str | Iterable[str] = (),
    ) -> Callable[[F], F]: ...
    def out_kernel(self, *keys: Any, **options: Any) -> Any:
        """Attach a kernel that fills outputs whose shapes the ``.meta`` function has set.

        Without dispatch keys it is Python that calls operators on tensors, for all backends. With keys it has options.

        Args:
            keys: dispatch keys of the backends that it is for.
            options: the options that follow.
            compiled: whether numba compiles it for arrays and numbers; otherwise Python runs it on tensors.
            alias_safe: whether an input may be passed as its output.
            source: for CUDA, the kernel in CUDA C++, or the name of a ``.cu`` file in the module's folder. The
                decorated function computes the launch configuration: ``(tensors, scalars) -> grid, block, shared``,
                where tensors (with ``shape``, ``strides``, ``dtype``, ``ndim``, ``numel()``) and scalars are looked up
                by name.
            entry: the name of the kernel in the source; that of the decorated function by default.
            dtypes: the kinds of dtypes (``bool``, ``integer``, ``floating``, ``complex``) and the dtypes that the first
                tensor may have; others are refused before anything is computed. None for all.

        Returns:
            A decorator that returns the function unchanged.

        Raises:
            KernelSignatureError: its parameters are not the schema's and then the outputs, or there is no ``.meta``.
            DispatchKeyError: there is no such key.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op(out=True)
        ...     def gaps(self: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     @gaps.meta
        ...     def gaps_meta(ctx, self):
        ...         ctx.set_output(0, (self.shape[0] - 1,), like=self)
        ...     @gaps.out_kernel("CPU", dtypes="floating")
        ...     def gaps_cpu(self, out):
        ...         for index in range(out.shape[0]):
        ...             out[index] = self[index + 1] - self[index]
        ...     gaps(opdsl.tensor([1.0, 2.0, 4.0]))
        tensor([1., 2.])
        """

    @overload
    def kernel(self, function: F, /) -> F: ...
    @overload
    def kernel(self, *keys: str) -> Callable[[F], F]: ...
    def kernel(self, *keys: Any) -> Any:
        """Attach a Python function that computes the operator's results from its tensors, as a kernel.

        A last parameter ``out`` makes it the kernel of the ``out=`` variant as well: its value is None, a tensor to
        write into, or a tuple of tensors if there are several results.

        Args:
            keys: any dispatch keys, alias keys included. A kernel without keys must only call operators, and is for all
                backends, Meta included unless tags say that results depend on elements. A function whose first
                parameter is annotated ``DispatchKeySet`` gets the key set of the call before the arguments.

        Returns:
            The function unchanged, or a decorator.

        Raises:
            KernelSignatureError: its parameters are not the schema's.
            DispatchKeyError: there is no such key.
            DuplicateOperatorError: this declaration has a kernel for the key already.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op(tags=["dynamic_output_shape"])
        ...     def positives(self: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     @positives.kernel
        ...     def positives_kernel(self):
        ...         return self[self > 0]
        ...     positives(opdsl.tensor([1.0, -2.0, 3.0]))
        tensor([1., 3.])
        """

    @overload
    def formula(self, function: F, /) -> F: ...
    @overload
    def formula(
        self, *, dtypes: str | Iterable[str] = (), when: Mapping[str, object] | None = None
    ) -> Callable[[F], F]: ...
    def formula(self, *functions: Any, **options: Any) -> Any:
        """Attach a formula for some dtypes or argument values; the body under ``@formula`` computes the others.

        Args:
            functions: the formula, if the decorator has no parentheses; it takes arguments of the operator by name.
            options: the options that follow.
            dtypes: kinds (``"bool"``, ``"integer"``, ``"floating"``, ``"complex"``) and names of dtypes to which the
                operator's tensors are promoted; all of them by default.
            when: values of arguments for which it is used: bools, numbers, texts and None.

        Returns:
            The function unchanged, or a decorator.

        Raises:
            FormulaError: the formula contains code that no kernel can be compiled from; the message underlines it.
            KernelSignatureError: its parameters are no arguments of the operator, or an option does not fit.
            DuplicateOperatorError: another formula is for the same arguments, or the body would never be used.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     @opdsl.formula
        ...     def halved(self: opdsl.Tensor) -> opdsl.Tensor:
        ...         return self / 2
        ...     @halved.formula(dtypes="integer")
        ...     def halved_integer(self):
        ...         return self >> 1
        ...     halved(opdsl.tensor([1.0])), halved(opdsl.tensor([7]))
        (tensor([0.5000]), tensor([3]))
        """

    @overload
    def derivative(
        self, name: str, /, *names: str, output_differentiability: Iterable[bool] | None = None
    ) -> Callable[[F], F]: ...
    @overload
    def derivative(self, other: Callable[..., object], /) -> None: ...
    @overload
    def derivative(
        self, /, *, output_differentiability: Iterable[bool] | None = None, **formulas: Callable[..., object]
    ) -> None: ...
    def derivative(self, /, *names: Any, **options: Any) -> Any:
        """Attach formulas for the gradients of arguments.

        A formula's parameters are ``grad``, the gradient of the first result, or ``grads``, a tuple of all gradients;
        any arguments of the schema and results (``result``, or their names), by name; and ``output_mask``, which says
        for each of several arguments whether its gradient is needed. It returns a gradient for each named argument.

        Args:
            names: names of arguments, if one decorated formula computes all their gradients; or another operator whose
                formulas this one shares: an in-place variant, or an overload with arguments of the same names. Formulas
                for arguments that are numbers or missing in this operator are left out.
            options: formulas by argument name: functions, or operators, which take the gradient first, and arguments
                and results by name (``forward(g, ...)`` for others); and ``output_differentiability``: for each result
                whether gradients flow through it; by default all, or the first if every formula only reads ``grad``.

        Returns:
            A decorator that returns the function unchanged; None if formulas or an operator are given.

        Raises:
            KernelSignatureError: a name or a parameter does not fit the schema, or an argument has a formula already.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def scaled(self: opdsl.Tensor, by: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     @scaled.kernel("CPU")
        ...     def scaled_kernel(self, by):
        ...         return self * by
        ...     scaled.derivative(self=lambda grad, by: grad * by, by=lambda grad, self: (grad * self).sum())
        ...     x = opdsl.tensor([1.0, 2.0], requires_grad=True)
        ...     scaled(x, opdsl.tensor(3.0)).sum().backward()
        ...     x.grad
        tensor([3., 3.])
        """

    def non_differentiable(self, *names: str) -> None:
        """Declare that no gradients flow to the named arguments.

        Args:
            names: names of the arguments.

        Raises:
            KernelSignatureError: there is no such argument, or it has a formula.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op(kernel="CPU")
        ...     def rank_of(self: opdsl.Tensor) -> opdsl.Tensor:
        ...         return self.argsort().argsort().to(self.dtype)
        ...     rank_of.non_differentiable("self")
        ...     rank_of(opdsl.tensor([3.0, 1.0], requires_grad=True)).requires_grad
        False
        """
