"""The type of what ``@op`` gives: the declared function, with what was derived and what attaches implementations.

At run time it is a plain function with these as attributes: a function is the cheapest thing that Python can call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from opdsl.dispatch import DispatchKey, DispatchTable
    from opdsl.dispatch import KeySet as DispatchKeySet
    from opdsl.dispatch.overrides.safe_kernel import SafeKernel
    from opdsl.dispatch.plans.lazy_string import LazyString
    from opdsl.schema import FunctionSchema
    from opdsl.sharding.rules import Rule, Window

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F", bound=Callable[..., object])

# Of what a method decorates, not of the operator that it belongs to.
Q = ParamSpec("Q")
S = TypeVar("S")


class Operator(Protocol, Generic[P, R_co]):
    """A declared operator: call it, look at what was derived, attach implementations beneath it.

    schema: the functional operator's signature.
    tags: PyTorch's tags.
    source: the generated source of the function, as text.
    derivative_source: the derivative, derived or declared, as text.

    >>> import opdsl
    >>> @opdsl.Library("example_operator").op(inplace=True)
    ... def doubled(self: opdsl.Tensor) -> opdsl.Tensor: ...
    >>> @doubled.pointwise
    ... def doubled_scalar(x):
    ...     return x + x
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
        """The operators of this declaration: ``functional``, ``inplace``, ``out``."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the packet: the overload that the arguments fit."""

    def dispatch_table(self) -> DispatchTable:
        """The computed dispatch table: what each key runs, and why.

        Returns:
            The table, by keys.

        >>> import opdsl
        >>> print(opdsl.ops.aten.relu.default.dispatch_table()["AutocastCPU"])
        fallthrough [backend fallback]
        """

    def direct(self, key: str) -> Callable[..., object]:
        """The kernel of a key without the dispatcher: ``f.direct("CPU")(x)``, or with ``out=`` on a given output.

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
        """How calls may be cut into pieces: ``f.sharding().cuts(arguments)`` lists the ways to cut a call.

        It follows from the definition. Of an author's kernel it can be said: ``mm.sharding("ik,kj->ij")`` labels
        dimensions as ``einsum`` does, ``sort.sharding(along="dim")`` names the argument that says along which
        dimension elements depend on each other, ``det.sharding(rows=2)`` how many last dimensions are read together,
        ``elementwise=True`` that none depends on others, ``windows=function`` what windows slide over the first tensor:
        a list for its last dimensions, None for one that is read whole, made of the arguments.

        Args:
            labels: of the dimensions of tensors and results, of an author's kernel.
            along: the argument of such a kernel that names the dimension.
            rows: how many last dimensions such a kernel reads together.
            elementwise: whether such a kernel computes elements of elements in the same place.
            windows: from arguments to windows, of a kernel that slides them over its first tensor.
            selects: where a kernel with ``along`` gives elements and their places, as ``topk`` does, so that those of a
                whole are among those of its pieces: the argument that says how many.

        Returns:
            The rule.

        Raises:
            KernelSignatureError: what is said does not fit the operator, or its definition tells another rule.

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
        """The kernel that it has for a key now, for one that takes its place; see ``opdsl.get_kernel``.

        Args:
            dispatch_key: of the kernel.

        Returns:
            A function of the operator's arguments, which still runs the kernel when another one has taken its place.

        >>> import opdsl
        >>> kernel = opdsl.ops.aten.relu.default.get_kernel("CPU")
        >>> kernel.call_boxed(opdsl.DispatchKeySet(opdsl.DispatchKey.CPU), opdsl.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        """

    def redispatch(self, keys: DispatchKeySet, /, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the operator with a key set: what a kernel does that hands a call on to the keys beneath its own.

        Args:
            keys: the keys that are left.
            args, kwargs: of the operator.

        Returns:
            What the operator returns.

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
        """Attach the shape function (``@f.meta``), or run it: ``f.meta(x)`` gives results without memory.

        A shape function takes ``ctx`` and those of the operator's arguments that it names. It checks them with
        ``opdsl.check``, and says what each output is: ``ctx.set_output(0, shape, like=self)``, or with ``dtype``,
        ``device``, ``strides``. What it returns is for kernels: the dimensions of a row, ranges and numbers of indexed
        functions, precomputed arguments. Beside pointwise functions and reductions, whose shapes follow from their
        operands, it only checks.

        Args:
            args, kwargs: the function, or ``reads_numbers=False`` for one that does the same whatever values Scalar and
                float arguments have; or the arguments of a call.

        Returns:
            The function as it is; or what the operator returns, on the device ``meta``.

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

    @overload
    def pointwise(self, function: F, /) -> F: ...
    @overload
    def pointwise(
        self,
        *,
        promote: str = "default",
        keep: str | Iterable[str] = (),
        wrapped: str | Iterable[str] = (),
        promoting: str | Iterable[str] = (),
        rounded: str | Iterable[str] = (),
        nonzero: str | Iterable[str] = (),
        dtypes: str | Iterable[str] = (),
        when: Mapping[str, object] | None = None,
        cast: str | None = None,
    ) -> Callable[[F], F]: ...
    def pointwise(self, *args: object, **kwargs: object) -> object:
        """Attach a scalar function, from which every kernel and variant is derived.

        Args:
            function: takes the operator's arguments by place, as numbers; returns the element of the result. Texts it
                compares with others, and what may be None with None: there is a scalar function for each case. Names
                from outside are read once, when it is declared.
            promote: which dtype it is computed in, and gives. ``default``: that to which the operands promote, as
                PyTorch's; ``int_to_float``: the same, integers as the default dtype; ``bool``: truth values come out;
                ``complex_to_real``: of complex numbers real ones come out.
            keep: names of arguments that take no part in promotion and keep their dtype.
            wrapped: names of number arguments that take part in promotion as Python numbers beside tensors do.
            promoting: names of number arguments that take part in promotion and have to fit the dtype.
            rounded: names of numbers that a loop in 16 bits sees in 16 bits.
            nonzero: names of arguments that divide: an integer 0 among them raises.
            dtypes: the kinds of dtypes (``bool``, ``integer``, ``floating``, ``complex``) and the dtypes that the
                function is meant for, after promotion; none for all.
            when: values of other arguments for which the function is meant, ``{"rounding_mode": "floor"}``; further
                functions are attached for others. These arguments are no parameters of it.
            cast: which dtypes outputs that are given may have: ``same``, ``safe`` or ``any``; None for PyTorch's rule.
            args, kwargs: the function alone, or the options.

        Returns:
            The function as it is, or a decorator.

        Raises:
            ScalarFunctionError: the function holds what a scalar graph cannot; the text is underlined.
            KernelSignatureError: it does not fit the schema, or an option is unknown.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op(inplace=True)
        ...     def ramp(self: opdsl.Tensor, slope: float = 1.0) -> opdsl.Tensor: ...
        ...     @ramp.pointwise(promote="int_to_float")
        ...     def ramp_scalar(x, slope):
        ...         return max(0.0, min(1.0, slope * x))
        ...     ramp(opdsl.tensor([-1, 0, 1]), 0.5)
        tensor([0.0000, 0.0000, 0.5000])
        """

    def reduction(
        self,
        *,
        init: object,
        lift: Callable[..., object] | None = None,
        finish: Callable[..., object] | None = None,
        promote: str = "default",
        accumulators: Iterable[str] = ("value",),
        results: Iterable[str] | None = None,
        when: Mapping[str, object] | None = None,
        in_order: bool | None = None,
        needs_elements: bool = False,
        empty_is_all: bool = True,
    ) -> Callable[[F], F]:
        """Attach the scalar functions of a reduction; the decorated one combines accumulators.

        ``lift`` makes accumulators of an element of each tensor, which broadcast; ``finish`` results of them, the
        number of elements and the operator's other number arguments; ``lift`` may take these too, by their names, and
        the index of its elements.
        ``accumulators`` says what each of several accumulators is. ``opdsl.kernels.ReductionDefinition.add`` tells of
        all options.

        Args:
            init: the accumulators of no elements.
            lift: makes accumulators of an element; the element is the accumulator where it is None.
            finish: makes results of accumulators; they are the results where it is None.
            promote: which dtype is folded. ``default``: that of the elements, or of the argument ``dtype`` if
                it has one, as with all others; ``sum``: integers as int64; ``int_to_float``: integers as the default
                dtype; ``floating``: dtypes that are neither floating-point nor complex are refused; ``float``: the
                same, and an ``out=`` may say another; ``floating_input``: elements of such dtypes are refused, whatever
                ``dtype`` says.
            accumulators: what each of them is: a ``value`` (in the precision of what is folded), a ``real`` part of
                one, ``double`` or ``real_double`` (in double precision), an ``index`` (int64) or a ``truth`` value.
            results: what each result is: a ``value``, a ``real`` part, ``cast`` or ``cast_real`` (the same in any dtype
                of ``out=`` that it can be cast to), ``floating``, an ``index`` or a ``truth`` value; what the
                accumulators are for None.
            when: values of other arguments for which the functions are meant, as of ``pointwise``.
            in_order: whether combining depends on the order; found out where it is None.
            needs_elements: whether a row without elements is refused.
            empty_is_all: whether no dimensions (``dim=[]``) mean all.

        Returns:
            A decorator that gives the function as it is.

        >>> import math
        >>> import opdsl
        >>> from opdsl import Ints, Library, Tensor
        >>> lib = Library("doctest_reduction")
        >>> @lib.op
        ... def soft_maximum(self: Tensor, sharpness: float, dim: Ints[1] | None = None) -> Tensor:
        ...     '''The mean along dimensions, weighted by ``exp(sharpness * self)``.'''
        ...     ...
        >>> def weigh(x, sharpness):
        ...     weight = math.exp(sharpness * x)
        ...     return x * weight, weight
        >>> def divide(total, weight, count, sharpness):
        ...     return total / weight
        >>> @soft_maximum.reduction(
        ...     init=(0, 0), lift=weigh, finish=divide, accumulators=("value", "value"), results=("value",),
        ...     promote="int_to_float",
        ... )
        ... def add_both(total, weight, other_total, other_weight):
        ...     return total + other_total, weight + other_weight
        >>> soft_maximum(opdsl.tensor([[1.0, 2.0], [3.0, 3.0]]), 20.0, 1)
        tensor([2., 3.])
        >>> lib.close()
        """

    @overload
    def row(self, function: F, /) -> F: ...
    @overload
    def row(self, *, promote: str = "default") -> Callable[[F], F]: ...
    def row(self, *args: object, **kwargs: object) -> object:
        """Attach a row function beneath ``.meta``: it sees one element, and folds the row with ``row_sum`` and kin.

        Its gradients are derived, of every order, as row functions again.

        Args:
            function: the row function; takes tensors and numbers of the operator by name. ``row_count(x)`` is the
                length of the row, ``row_index(x)`` the element's place, ``x[k]`` the row's element at a place: a
                number, or a tensor of integers that has one for each row.
            promote: ``default``: tensors are taken as they are; a function that would round floating-point results of
                integers is refused. ``int_to_float``: integers are computed as the default dtype, which outputs like
                them have then. ``floating``: integers are refused.
            args, kwargs: the function alone, or the options.

        Returns:
            The function as it is, or a decorator.

        Raises:
            ScalarFunctionError: the function holds what a scalar graph cannot.
            KernelSignatureError: its parameters are no arguments of the operator, or there is no ``.meta``.

        >>> import opdsl
        >>> from opdsl.scalar.intrinsics import row_mean
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def centered(self: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     @centered.meta
        ...     def centered_meta(ctx, self):
        ...         ctx.set_output(0, self.shape, like=self)
        ...         return (self.ndim - 1,)
        ...     @centered.row(promote="floating")
        ...     def centered_row(self):
        ...         return self - row_mean(self)
        ...     centered(opdsl.tensor([[1.0, 3.0], [5.0, 7.0]]))
        tensor([[-1.,  1.],
                [-1.,  1.]])
        """

    def scan(
        self,
        *keys: str,
        init: object,
        lift: Callable[..., object] | None = None,
        finish: Callable[..., object] | None = None,
        promote: str = "default",
        accumulators: Iterable[str] = ("value",),
        results: Iterable[str] = ("value",),
    ) -> Callable[[F], F]:
        """Attach the scalar functions of a scan: ``init``, ``lift``, the decorated ``combine``, ``finish``.

        The operator has the argument ``dim``. The decorated function combines accumulators; or it takes what is carried
        from element to element, then tensors and numbers of the operator by name, and returns what is carried on:
        ``def step(h, a, b): return a * h + b``. That goes step by step, and need not be associative. Gradients are
        derived unless ``lift`` takes the index.

        Args:
            keys: backends that it is for; all that compile where none is named.
            init: the accumulators of no elements; infinities stand for the bounds of integers.
            lift: an element, or an element and its index -> accumulators; None where they are the element itself.
            finish: accumulators -> results; None where results are accumulators.
            promote: as of ``pointwise``; ``sum`` for integers as int64, ``floating`` to refuse them.
            accumulators: for each ``value``, ``wide`` (a wider dtype) or ``index``.
            results: for each ``value``, ``index`` or ``truth``.

        Returns:
            A decorator that gives the function as it is.

        Raises:
            ScalarFunctionError: a function holds what a scalar graph cannot, or rounds integers.
            KernelSignatureError: a function does not fit, or an option is unknown.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def highest_yet(self: opdsl.Tensor, dim: int) -> opdsl.Tensor: ...
        ...     @highest_yet.scan(init=-float("inf"))
        ...     def higher(a, b):
        ...         return max(a, b)
        ...     highest_yet(opdsl.tensor([1, 3, 2]), 0)
        tensor([1, 3, 3])
        """

    def indexed(
        self,
        *,
        at: Iterable[str],
        over: Iterable[str] = (),
        fold: str | None = None,
        margin: object = None,
        finish: Callable[..., object] | None = None,
    ) -> Callable[[F], F]:
        """Attach a scalar function of an element's place, which reads tensors at index expressions.

        The function takes indices, tensors and numbers by name: ``self[n, i + 1]`` is an element, ``self.shape[0]`` a
        size. The range of an index is the size of a dimension that is read at that index alone; others, and further
        numbers, are those of the dict that ``.meta`` above it returns. Where positions of a tensor come from another
        tensor, that one is looked at first. Gradients are derived.

        Args:
            at: the indices of the result, one for each of its dimensions; ``"..."`` first for others before them, which
                ``self[..., i]`` reads at the same places.
            over: the indices that are folded.
            fold: ``sum``, ``max`` or ``min`` of what the function gives for all of them. An operator with a result more
                gets the place of the largest or smallest value, counted in row-major order of the folded indices.
            margin: what is read outside of a tensor: a number, ``replicate`` (the nearest element), ``reflect``,
                ``circular``, or ``skip``, by which a turn of the fold is left out; a dict by tensor. Without one
                nothing may lie outside, which is looked at before anything is computed.
            finish: from what is folded, then indices of the result and numbers by name, to results.

        Returns:
            A decorator that gives the function as it is.

        Raises:
            ScalarFunctionError: the function holds what it cannot; the text is underlined.
            KernelSignatureError: the function does not fit, or an option is unknown.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def picked(self: opdsl.Tensor, places: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     @picked.indexed(at=("i", "j"))
        ...     def element(self, places, i, j):
        ...         return self[i, places[j]]
        ...     picked(opdsl.tensor([[1, 2, 3], [4, 5, 6]]), opdsl.tensor([2, 0]))
        tensor([[3, 1],
                [6, 4]])
        """

    @overload
    def random(self, function: F, /) -> F: ...
    @overload
    def random(self, *, from_zero: str | Iterable[str] = ()) -> Callable[[F], F]: ...
    def random(self, *given: Any, **options: Any) -> Any:
        """Attach a scalar function that makes an element of random numbers and of the operator's arguments.

        The operator fills ``self``, and takes a ``generator``. The function takes one random number, or two, of names
        that no argument has, then arguments by name: numbers, and elements of tensors. A ``.meta`` checks arguments;
        what it returns, a dict of numbers, is taken by name, too. Random numbers lie in (0, 1), and the same seed gives
        the same on all backends, whatever the strides. Gradients are zeros.

        Args:
            given: the function; it may stand without parentheses.
            options: those that follow.
            from_zero: random numbers that may be 0: they lie in [0, 1).

        Returns:
            The function as it is, or a decorator.

        Raises:
            ScalarFunctionError: the function holds what it cannot.
            KernelSignatureError: it does not fit, or the operator fills no tensor.

        >>> import math
        >>> import opdsl
        >>> from opdsl import Alias, Generator, Tensor
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op(functional=True)
        ...     def rayleigh_(
        ...         self: Tensor[Alias("a", write=True)], scale: float = 1, *, generator: Generator | None = None
        ...     ) -> Tensor[Alias("a", write=True)]: ...
        ...     @rayleigh_.random
        ...     def rayleigh_element(u, scale):
        ...         return scale * math.sqrt(-2 * math.log(u))
        ...     made = opdsl.ops.example.rayleigh(opdsl.zeros(1000), 2.0)
        ...     bool((made > 0).all()), round(float((made * made).mean()) / 8)
        (True, 1)
        """

    @overload
    def view_kernel(self, function: F, /) -> F: ...
    @overload
    def view_kernel(self, *keys: str) -> Callable[[F], F]: ...
    def view_kernel(self, *given: Any) -> Any:
        """Attach a function from where a tensor's elements lie to where a view's do; nothing else is run.

        In the place of the tensor it gets an ``opdsl.runtime.View``, of a shape, strides and an offset in elements, and
        it returns one.

        Args:
            given: dispatch keys; without any, it is for all backends, and stands without parentheses.

        Returns:
            The function as it is, or a decorator.

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
    def out_kernel(self, *given: Any, **options: Any) -> Any:
        """Attach a kernel that fills outputs whose shapes the ``.meta`` function has set.

        Without dispatch keys it is Python that calls operators on tensors, for all backends. With some it may say:

        Args:
            given: the backends that it is for.
            options: those that follow.
            compiled: whether numba compiles it for arrays and numbers; otherwise Python runs it on tensors.
            alias_safe: whether it may get an input as its output.
            source: for CUDA, the kernel in CUDA C++, or the name of a ``.cu`` file beside the module. The decorated
                function says how it is launched: ``(tensors, scalars) -> grid, block, shared``, where tensors (with
                ``shape``, ``strides``, ``dtype``, ``ndim``, ``numel()``) and scalars are found by name.
            entry: the name of the kernel in the source; that of the decorated function by default.
            dtypes: the kinds of dtypes (``bool``, ``integer``, ``floating``, ``complex``) and the dtypes of the first
                tensor that it is meant for; others are refused before anything is computed. None for all.

        Returns:
            A decorator that gives the function as it is.

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
    def kernel(self, *given: Any) -> Any:
        """Attach a Python kernel: tensors in, results out.

        A last parameter ``out`` makes it the kernel of the ``out=`` variant, too: it is None, a tensor to write into,
        or a tuple of them where there are several results.

        Args:
            given: any dispatch keys, alias keys as well. Without any it only calls operators, and is for all backends;
                for Meta, too, unless tags say that results depend on elements. A function whose first parameter is
                annotated ``DispatchKeySet`` gets the key set of the call before the arguments.

        Returns:
            The function as it is, or a decorator.

        Raises:
            KernelSignatureError: its parameters are not the schema's.
            DispatchKeyError: there is no such key.
            DuplicateOperatorError: the operator has a kernel for the key from here.

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
    def derivative(
        self, name: str, /, *names: str, output_differentiability: Iterable[bool] | None = None
    ) -> Callable[[F], F]: ...
    @overload
    def derivative(self, other: Callable[..., object], /) -> None: ...
    @overload
    def derivative(
        self, /, *, output_differentiability: Iterable[bool] | None = None, **formulas: Callable[..., object]
    ) -> None: ...
    def derivative(self, /, *given: Any, **options: Any) -> Any:
        """Attach formulas for the gradients of arguments.

        Its parameters are ``grad``, the gradient of the first result, or ``grads``, a tuple of all of them; any
        arguments of the schema and results (``result``, or their names), by name; ``output_mask``, which says for each
        of several arguments whether its gradient is asked for. It returns a gradient for each named argument.

        Args:
            given: names of arguments, above one formula for all of them; or another operator, whose formulas hold for
                this one, too: an in-place variant, or an overload, whose arguments have the same names. Formulas of
                what is a number here, or not there, are left out.
            options: formulas by the names of arguments; and ``output_differentiability``: for each result whether
                gradients come through it; by default all, or the first where every formula reads only ``grad``.

        Returns:
            A decorator that gives the function as it is; None where formulas or an operator are given.

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
        """Say that gradients do not go to these arguments.

        Args:
            names: of the arguments.

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

    def forward(
        self,
        target: Callable[..., object],
        /,
        *order: str,
        result: int | tuple[int, ...] | None = None,
        unused: Iterable[str] = (),
        **given: object,
    ) -> None:
        """Let every variant call the same variant of another declared operator; ``@forward`` says it beneath ``@op``.

        Arguments are handed on by their names, outputs too. What the other takes beside these is given here, or its
        default. Variants that the other lacks are derived, as those of a body are.

        Args:
            target: the other operator.
            order: names of arguments of this one, which the other takes in the places of its first ones.
            result: which of the other's results are this one's: a number, or several; all by default.
            unused: arguments of this one that count for nothing.
            given: the other's arguments that this one does not have: constants, or functions of this one's arguments,
                by name, which depend on shapes, dtypes and numbers, not on elements.

        Raises:
            KernelSignatureError: the other lacks an argument or a result, or one of its arguments is not given.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def quotient(self: opdsl.Tensor, other: opdsl.Tensor, limit: float = 9.0) -> opdsl.Tensor: ...
        ...     @quotient.pointwise
        ...     def quotient_scalar(self, other, limit):
        ...         return min(self / other, limit)
        ...     @lib.op
        ...     def divided_from(self: opdsl.Tensor, dividend: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     divided_from.forward(quotient, "dividend", "self", limit=3.0)
        ...     divided_from(opdsl.tensor([4.0, 0.5]), opdsl.tensor([2.0, 2.0]))
        tensor([0.5000, 3.0000])
        """

    def adjoint(self, target: Callable[..., object], wanted: str, /, **given: str | Callable[..., object]) -> None:
        """Say that this is the transpose of another operator, which is linear in a tensor: a ``_backward`` operator.

        The gradients of each are calls of the other then, so that there are gradients of every order; a tensor of which
        this one takes the shape alone has the gradient 0. An operator with a ``.meta`` and no kernel is computed as the
        gradient of the other, if that is an indexed one: ``.meta`` sets the output, and returns what that of the other
        operator does.

        Its first tensor is the gradient of the other operator's result; arguments are handed on by their names, and
        ``input_sizes``, ``self_sizes`` and ``sizes`` are the shape of ``wanted``.

        Args:
            target: the other operator. An indexed one with several tensors keeps the gradients that are derived.
            wanted: the tensor.
            given: arguments of one that the other lacks: their names there, or functions of its arguments, by name.

        Raises:
            KernelSignatureError: nothing computes this operator, an argument follows from nothing, or one of the
                gradients has a formula already.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op(kernel=True)
        ...     def every(self: opdsl.Tensor, step: int) -> opdsl.Tensor:
        ...         return self[::step].clone()
        ...     @lib.op(kernel=True)
        ...     def every_backward(grad: opdsl.Tensor, sizes: list[int], step: int) -> opdsl.Tensor:
        ...         found = grad.new_zeros(sizes)
        ...         found[::step] = grad
        ...         return found
        ...     every_backward.adjoint(every, "self")
        ...     x = opdsl.ones(4, requires_grad=True)
        ...     every(x, 3).sum().backward()
        ...     x.grad
        tensor([1., 0., 0., 1.])

        Of an indexed operator:

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def differences(self: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     @differences.meta
        ...     def differences_meta(ctx, self):
        ...         ctx.set_output(0, (self.shape[0] - 1,), like=self)
        ...     @differences.indexed(at="i")
        ...     def difference(self, i):
        ...         return self[i + 1] - self[i]
        ...     @lib.op
        ...     def differences_backward(grad: opdsl.Tensor, self: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     @differences_backward.meta
        ...     def differences_backward_meta(ctx, grad, self):
        ...         ctx.set_output(0, self.shape, like=self)
        ...     differences_backward.adjoint(differences, "self")
        ...     differences_backward(opdsl.ones(3), opdsl.zeros(4))
        tensor([-1.,  0.,  0.,  1.])
        """

    def alias(self, name: str, **options: object) -> Operator[P, R_co]:
        """Declare another name of this operator and of its variants.

        Args:
            name: the other name, ``"mylib::other"``; the overload is this operator's.
            options: as ``@op`` takes them; ``names={"self": "input"}`` says what arguments are called there.

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
        """Declare the operator that copies what this one shows: ``name_copy``, in row-major order.

        Args:
            options: as ``@op`` takes them.

        Returns:
            The function of that operator. Of what returns a list of views there is an ``out=`` operator, too.

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
        """Declare the operator that replaces what this one shows in a copy: ``name_scatter(self, src, ...)``.

        Its gradients follow from the view, unless that has a formula of its own.

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
        """Declare another overload of this packet, by the decorated function; a call runs the first that it fits.

        Args:
            name: of the overload, ``"Tensor"``.
            options: as ``@op`` takes them.

        Returns:
            A decorator that gives the new overload.

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
        """Declare the overload that takes a number in the place of a tensor, computed as the operator itself is.

        Its scalar functions, with ``wrapped=`` for the number, its checks and its formulas for gradients are those of
        this operator: all that is attached so far.

        Args:
            argument: the tensor in whose place the number is.
            name: of the overload.
            options: as ``@op`` takes them.

        Returns:
            The new overload.

        Raises:
            KernelSignatureError: there is no such tensor, or nothing pointwise is attached.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     @lib.op
        ...     def lower_of(self: opdsl.Tensor, other: opdsl.Tensor) -> opdsl.Tensor: ...
        ...     @lower_of.pointwise
        ...     def lower_of_scalar(self, other):
        ...         return min(self, other)
        ...     lower_of_number = lower_of.number_overload("other")
        ...     lower_of(opdsl.tensor([1, 5]), 3)
        tensor([1, 3])
        """

    def inplace_variant(self, name: str | None = None, **options: object) -> Callable[[Callable[Q, S]], Operator[Q, S]]:
        """Declare the in-place variant by hand.

        Args:
            name: of the variant; by default that of the operator with an underscore.
            options: as ``@op`` takes them.

        Returns:
            A decorator that gives the variant.

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
        """Declare the ``out=`` variant by hand.

        Args:
            name: of the variant's overload; by default ``out``, or that of the operator with ``_out``.
            options: as ``@op`` takes them.

        Returns:
            A decorator that gives the variant.

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
