"""Static type of a declared operator, which ``@op`` returns: the callable, its derived variants and attaching methods.

At run time it is a plain function with these attributes, since a plain function has the cheapest call in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, ParamSpec, Protocol, TypeVar, overload

from opdsl.declare.implementing import Implementing

if TYPE_CHECKING:
    from opdsl.dispatch import DispatchKey, DispatchTable
    from opdsl.dispatch import KeySet as DispatchKeySet
    from opdsl.dispatch.overrides.safe_kernel import SafeKernel
    from opdsl.dispatch.plans.lazy_string import LazyString
    from opdsl.schema import FunctionSchema
    from opdsl.sharding.rules import Rule
    from opdsl.sharding.windows import Window

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F", bound=Callable[..., object])

# Parameters and result of the function that a method decorates, not of the operator itself.
Q = ParamSpec("Q")
S = TypeVar("S")


class Operator(Implementing, Protocol, Generic[P, R_co]):
    """Declared operator: can be called, shows its derived variants, and has decorators that attach implementations.

    schema: the functional operator's signature.
    tags: PyTorch's tags.
    source: the generated source of the function, as text.
    derivative_source: the derivative, derived or declared, as text.

    >>> import opdsl
    >>> @opdsl.Library("example_operator").op(inplace=True)
    ... @opdsl.formula
    ... def doubled(self: opdsl.Tensor) -> opdsl.Tensor:
    ...     return self + self
    >>> doubled(opdsl.tensor([1.0])), str(doubled.schema), sorted(doubled.variants)
    (tensor([2.]), 'example_operator::doubled(Tensor self) -> Tensor', ['functional', 'inplace'])
    """

    schema: FunctionSchema
    tags: tuple[str, ...]
    source: LazyString
    derivative_source: LazyString
    __name__: str

    @property
    def variants(self) -> Mapping[str, Operator[..., R_co]]:
        """Return the operators of this declaration by variant: ``functional``, ``inplace``, ``out``."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the packet: run the first overload that the arguments fit."""

    def dispatch_table(self) -> DispatchTable:
        """Return the computed dispatch table: for each key the kernel that a call reaches, and why.

        Returns:
            The table, by keys.

        >>> import opdsl
        >>> print(opdsl.ops.aten.relu.default.dispatch_table()["AutocastCPU"])
        fallthrough [backend fallback]
        """

    def direct(self, key: str) -> Callable[..., object]:
        """Return the kernel of a key, called without the dispatcher: ``f.direct("CPU")(x)``, or ``f.direct("CPU")(x,
        out=y)``.

        Args:
            key: of the kernel, ``"CPU"``.

        Returns:
            A function of the operator's arguments.

        >>> import opdsl
        >>> opdsl.relu.direct("CPU")(opdsl.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        """

    @overload
    def sharding(self) -> Rule: ...
    @overload
    def sharding(self, labels: str, /) -> Rule: ...
    @overload
    def sharding(self, *, along: str, selects: str = ...) -> Rule: ...
    @overload
    def sharding(self, *, rows: int) -> Rule: ...
    @overload
    def sharding(self, *, elementwise: bool) -> Rule: ...
    @overload
    def sharding(self, *, windows: Callable[..., Sequence[Window | None]]) -> Rule: ...
    def sharding(
        self,
        labels: str | None = None,
        *,
        along: str | None = None,
        rows: int | None = None,
        elementwise: bool = False,
        windows: Callable[..., Sequence[Window | None]] | None = None,
        selects: str = "",
    ) -> Rule:
        """Return the rule by which calls can be split into shards, after setting it for a hand-written kernel.

        ``f.sharding().cuts(arguments)`` lists the ways to split a call. The rule of a formula follows from its
        definition. For a hand-written kernel it is declared: ``mm.sharding("ik,kj->ij")`` labels dimensions as
        ``einsum`` does; ``sort.sharding(along="dim")`` names the argument with the dimension along which elements
        depend on each other; ``det.sharding(rows=2)`` says how many last dimensions are read together;
        ``elementwise=True`` says that each element depends on those at the same index only; ``windows=function``
        computes the windows that slide over the first tensor: a list with one for each of its last dimensions, None for
        a dimension that is read whole.

        Args:
            labels: labels of the dimensions of tensors and results.
            along: the argument that names the dimension.
            rows: number of last dimensions that the kernel reads together.
            elementwise: whether the kernel computes each element from the elements at the same index.
            windows: function from the arguments of a call to its windows.
            selects: with ``along``, for kernels that select elements and return their indices, as ``topk`` does, so
                that a shard's selection contains that of the whole: the argument that says how many are selected.

        Returns:
            The rule.

        Raises:
            KernelSignatureError: the rule does not fit the operator, or its definition implies another one.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def product(self: opdsl.Tensor, other: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     @product.kernel("CPU")
        ...     def product_kernel(self, other):
        ...         return self @ other
        ...     rule = product.sharding("ik,kj->ij")
        ...     for cut in product.sharding().cuts((opdsl.ones(2, 3), opdsl.ones(3, 4))):
        ...         print(cut.inputs, cut.outputs)
        (0, None) (0,)
        (1, 0) (None,)
        (None, 1) (1,)
        """

    def get_kernel(self, dispatch_key: DispatchKey | str) -> SafeKernel:
        """Return the kernel that is registered for a key now, so that a kernel that replaces it can call it; see
        ``opdsl.get_kernel``.

        Args:
            dispatch_key: of the kernel.

        Returns:
            A function of the operator's arguments, which still runs this kernel after another one has replaced it.

        >>> import opdsl
        >>> kernel = opdsl.ops.aten.relu.default.get_kernel("CPU")
        >>> kernel.call_boxed(opdsl.DispatchKeySet(opdsl.DispatchKey.CPU), opdsl.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        """

    def redispatch(self, keys: DispatchKeySet, /, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the operator with an explicit key set, as a kernel does to pass a call on to lower keys.

        Args:
            keys: the key set of the call.
            args, kwargs: arguments of the operator.

        Returns:
            The operator's results.

        >>> import opdsl
        >>> keys = opdsl.DispatchKeySet(opdsl.DispatchKey.CPU)
        >>> opdsl.ops.aten.relu.default.redispatch(keys, opdsl.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        """

    @overload
    def meta(self, function: F, /) -> F: ...
    @overload
    def meta(self, *, reads_numbers: bool) -> Callable[[F], F]: ...
    @overload
    def meta(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    def meta(self, *args: object, **kwargs: object) -> object:
        """Attach the shape function (``@f.meta``), or run it: ``f.meta(x)`` returns results on the device ``meta``.

        A shape function takes ``ctx`` and those of the operator's arguments that it names. It checks them with
        ``opdsl.check`` and describes each output: ``ctx.set_output(0, shape, like=self)``, or with ``dtype``,
        ``device``, ``strides``. Its return values are precomputed arguments for out-kernels. For an elementwise
        formula, whose shapes follow from its text, it only checks; beside another formula it is refused.

        Args:
            args, kwargs: the function, or ``reads_numbers=False`` for one whose results do not depend on the values of
                Scalar and float arguments; or the arguments of a call.

        Returns:
            The function unchanged; or the operator's results on the device ``meta``.

        Raises:
            KernelSignatureError: its parameters are not ``ctx`` and arguments of the operator.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def doubled(self: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     @doubled.meta
        ...     def doubled_meta(ctx, self):
        ...         opdsl.check(self.ndim == 1, "expected a vector", got=self.shape)
        ...         ctx.set_output(0, (2 * self.shape[0],), like=self)
        ...     @doubled.out_kernel
        ...     def doubled_kernel(self, out):
        ...         opdsl.cat([self, self], out=out)
        ...     doubled.meta(opdsl.ones(3)).shape, doubled(opdsl.ones(1))
        ((6,), tensor([1., 1.]))
        """

    def forward(
        self,
        target: Callable[..., object],
        /,
        *order: str,
        result: int | tuple[int, ...] | None = None,
        unused: Iterable[str] = (),
        **arguments: object,
    ) -> None:
        """Let every variant call the same variant of another declared operator; ``@forward`` under ``@op`` does the
        same.

        Arguments and outputs are passed by name. The target's further arguments are given here, or have their defaults.
        Variants that the target lacks are derived, as for a body.

        Args:
            target: the other operator.
            order: names of this operator's arguments, which the target takes as its first ones.
            result: index or indices of the target's results to return; all by default.
            unused: arguments of this operator that are ignored.
            arguments: the target's arguments that this operator does not have: constants, or functions of this
                operator's arguments, by name, which depend on shapes, dtypes and numbers, not on elements.

        Raises:
            KernelSignatureError: the target lacks an argument or a result, or one of its arguments is not given.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     @opdsl.formula
        ...     def quotient(self: opdsl.Tensor, other: opdsl.Tensor, limit: float = 9.0) -> opdsl.Tensor:
        ...         return (self / other).clamp_max(limit)
        ...     @lib.op
        ...     def divided_from(self: opdsl.Tensor, dividend: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     divided_from.forward(quotient, "dividend", "self", limit=3.0)
        ...     divided_from(opdsl.tensor([4.0, 0.5]), opdsl.tensor([2.0, 2.0]))
        tensor([0.5000, 3.0000])
        """

    def adjoint(self, target: Callable[..., object], wanted: str, /, **arguments: str | Callable[..., object]) -> None:
        """Declare this operator as the transpose (``_backward``) of an operator that is linear in one of its tensors.

        The gradient of each then is a call of the other, so that there are gradients of every order. A tensor of which
        this operator uses only the shape has the gradient 0.

        This operator's first tensor is the gradient of the other operator's result; arguments are passed by name, and
        ``input_sizes``, ``self_sizes`` and ``sizes`` are the shape of ``wanted``.

        Args:
            target: the other operator.
            wanted: name of the tensor in which the target is linear.
            arguments: arguments of one that the other lacks: their names there, or functions of its arguments, by name.

        Raises:
            KernelSignatureError: this operator has no implementation, an argument cannot be computed, or one of the
                gradients has a formula already.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op(kernel=True)
        ...     def every(self: opdsl.Tensor, step: int) -> opdsl.Tensor:
        ...         return self[::step].clone()
        ...     @lib.op(kernel=True)
        ...     def every_backward(grad: opdsl.Tensor, sizes: list[int], step: int) -> opdsl.Tensor:
        ...         spread = grad.new_zeros(sizes)
        ...         spread[::step] = grad
        ...         return spread
        ...     every_backward.adjoint(every, "self")
        ...     x = opdsl.ones(4, requires_grad=True)
        ...     every(x, 3).sum().backward()
        ...     x.grad
        tensor([1., 0., 0., 1.])
        """

    def alias(self, name: str, **options: object) -> Operator[P, R_co]:
        """Declare another name of this operator and of its variants.

        Args:
            name: the other name, ``"mylib::other"``; the overload is this operator's.
            options: as ``@op`` takes them; ``names={"self": "input"}`` renames arguments.

        Returns:
            The function of that name.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def halved(self: opdsl.Tensor) -> opdsl.Tensor:
        ...         return self / 2
        ...     half = halved.alias("example::half")
        ...     half(opdsl.ones(2))
        tensor([0.5000, 0.5000])
        """

    def view_copy(self, **options: object) -> Operator[..., R_co]:
        """Declare the operator ``name_copy`` that returns this operator's view as a copy, in row-major order.

        Args:
            options: as ``@op`` takes them.

        Returns:
            The function of that operator. If this operator returns a list of views, an ``out=`` operator is declared
            too.

        Raises:
            DeclarationError: this operator returns no view.
            DuplicateOperatorError: the name is taken.

        >>> import opdsl
        >>> from opdsl import Alias, Tensor
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def evens(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...
        ...     evens_kernel = evens.kernel(lambda self: self[::2])
        ...     evens_copy = evens.view_copy()
        ...     str(evens_copy.schema), evens_copy(opdsl.tensor([1.0, 2.0, 3.0]))
        ('example::evens_copy(Tensor self) -> Tensor', tensor([1., 3.]))
        """

    def view_scatter(self, **options: object) -> Operator[..., R_co]:
        """Declare the operator ``name_scatter(self, src, ...)``: a copy of ``self`` with ``src`` in the part that this
        view shows.

        Its gradients follow from the view, unless the view has its own derivative formula.

        Args:
            options: as ``@op`` takes them.

        Returns:
            The function of that operator.

        Raises:
            DeclarationError: this operator returns no view.
            DuplicateOperatorError: the name is taken.

        >>> import opdsl
        >>> from opdsl import Alias, Tensor
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def first(self: Tensor[Alias("a")], count: int) -> Tensor[Alias("a")]: ...
        ...     first_kernel = first.kernel(lambda self, count: self.narrow(0, 0, count))
        ...     first_scatter = first.view_scatter()
        ...     first_scatter(opdsl.ones(3), opdsl.zeros(2), 2)
        tensor([0., 0., 1.])
        """

    def overload(self, name: str, **options: object) -> Callable[[Callable[Q, S]], Operator[Q, S]]:
        """Declare another overload of this packet by the decorated function; a call runs the first overload that fits.

        Args:
            name: of the overload, ``"Tensor"``.
            options: as ``@op`` takes them.

        Returns:
            A decorator that returns the new overload.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def power(self: opdsl.Tensor, exponent: float) -> opdsl.Tensor:
        ...         return self**exponent
        ...     @power.overload("Tensor")
        ...     def power_tensor(self: opdsl.Tensor, exponent: opdsl.Tensor) -> opdsl.Tensor:
        ...         return self**exponent
        ...     power(opdsl.tensor([2.0, 3.0]), opdsl.tensor([3.0, 2.0]))
        tensor([8., 9.])
        """

    def number_overload(self, argument: str, name: str = "Scalar", **options: object) -> Operator[..., R_co]:
        """Declare the overload that takes a number in place of a tensor, computed by this operator's formula.

        It shares the formula, checks and gradient formulas that are attached to this operator so far.

        Args:
            argument: name of the tensor that the number replaces.
            name: of the overload.
            options: as ``@op`` takes them.

        Returns:
            The new overload.

        Raises:
            KernelSignatureError: there is no such tensor, or the operator is no elementwise formula.
            FormulaError: a number cannot replace the tensor in the formula.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     @opdsl.formula
        ...     def lower_of(self: opdsl.Tensor, other: opdsl.Tensor) -> opdsl.Tensor:
        ...         return self if self < other else other
        ...     lower_of_number = lower_of.number_overload("other")
        ...     lower_of(opdsl.tensor([1, 5]), 3)
        tensor([1, 3])
        """

    def inplace_variant(self, name: str | None = None, **options: object) -> Callable[[Callable[Q, S]], Operator[Q, S]]:
        """Declare the in-place variant by a decorated function, instead of deriving it.

        Args:
            name: of the variant; by default that of the operator with an underscore.
            options: as ``@op`` takes them.

        Returns:
            A decorator that returns the variant.

        >>> import opdsl
        >>> from opdsl import Alias, Tensor
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def halved(self: Tensor) -> Tensor:
        ...         return self / 2
        ...     @halved.inplace_variant()
        ...     def halved_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
        ...         return self.div_(2)
        ...     halved_(opdsl.tensor([2.0]))
        tensor([1.])
        """

    def out_variant(self, name: str | None = None, **options: object) -> Callable[[Callable[Q, S]], Operator[Q, S]]:
        """Declare the ``out=`` variant by a decorated function, instead of deriving it.

        Args:
            name: of the variant's overload; by default ``out``, or that of the operator with ``_out``.
            options: as ``@op`` takes them.

        Returns:
            A decorator that returns the variant.

        >>> import opdsl
        >>> from opdsl import Alias, Tensor
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def summed(self: Tensor) -> Tensor:
        ...         return self.sum()
        ...     @summed.out_variant()
        ...     def summed_out(self: Tensor, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
        ...         return opdsl.sum(self, (), out=out)
        ...     summed(opdsl.ones(3), out=opdsl.empty(()))
        tensor(3.)
        """
