"""What attaches scalar functions, which say what an operator computes, once for all backends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar, overload

F = TypeVar("F", bound=Callable[..., object])


class ScalarFunctions(Protocol):
    """What attaches scalar functions: methods of ``Operator``."""

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
            results: for each ``value``, ``index``, ``truth`` or the name of a dtype.

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
