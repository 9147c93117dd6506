"""What a declared function carries: its schema, variants, tables and the decorators that attach implementations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from types import FunctionType
from typing import Any

from opdsl.declare.declaration import Declaration
from opdsl.declare.derivative_source import derivative_source
from opdsl.declare.signature import caller_names
from opdsl.dispatch import DispatchKey, DispatchTable, KeySet, Operator, Signature, bind, current
from opdsl.dispatch.late_text import LateText
from opdsl.dispatch.safe_kernel import SafeKernel, get_kernel
from opdsl.errors import ArgumentError, DispatchKeyError, KernelSignatureError, MissingKernelError
from opdsl.kernels import new_tensor
from opdsl.runtime import Device, Tensor
from opdsl.schema import SchemaKind

_SCAN_OPTIONS = ("init", "lift", "finish", "promote", "accumulators", "results")
_REDUCTION_OPTIONS = (*_SCAN_OPTIONS, "when", "in_order", "needs_elements", "empty_is_all")


class Facets:
    """The attributes of one declared function, made from its declaration."""

    __slots__ = ("declaration", "operator")

    def __init__(self, declaration: Declaration, operator: Operator) -> None:
        self.declaration = declaration
        self.operator = operator

    def dispatch_table(self) -> DispatchTable:
        """The computed dispatch table: what each key runs, and why."""
        return DispatchTable.of(self.operator.registrations, self.operator.fallbacks)

    def direct(self, key: str) -> Callable[..., object]:
        """The kernel of a key, called without the dispatcher.

        Raises:
            MissingKernelError: the operator has no kernel for that key.
        """
        wanted = DispatchKey(key)
        signature = self._signature()

        def call(*given: object, **named: object) -> object:
            bound = bind(self.operator.schema.name.base, (signature,), given, named)
            kernel = bound.operator.entry(wanted).kernel
            if kernel is None:
                have = f"no {key} kernel to call directly (have {bound.operator.kernel_keys})"
                raise MissingKernelError(f"{bound.operator.name}: {have}. Register one for {key}.")
            return bound.operator.for_call(kernel, KeySet(wanted))(*bound.arguments)

        return call

    def get_kernel(self, dispatch_key: DispatchKey | str) -> SafeKernel:
        """The kernel that the operator has for a key now; see ``opdsl.get_kernel``."""
        return get_kernel(self.operator, dispatch_key)

    def redispatch(self, keys: KeySet, *given: object, **named: object) -> object:
        """Call the operator with a key set of the caller's, past the guards: what a kernel does that hands a call on.

        Args:
            keys: the key set; ``keys & DispatchKeySet.below(key)`` goes on beneath a key.
            given, named: the arguments of a call.

        Raises:
            MissingKernelError: there is no kernel for these keys.
        """
        if not isinstance(keys, KeySet):
            raise ArgumentError(
                f"{self.operator.name}: redispatch takes a key set first, not {type(keys).__name__}. "
                "Pass opdsl.DispatchKeySet(...) and then the arguments."
            )
        bound = bind(self.operator.schema.name.base, (self._signature(),), given, named)
        return bound.operator.find_in(keys)(*bound.arguments)

    def _signature(self) -> Signature:
        """The signature of the operator and of its ``out=`` variant."""
        if self.operator.schema.kind is SchemaKind.out:
            return Signature(None, self.operator)
        operators = self.declaration.operators
        return Signature(self.operator, operators.get("out") if self.operator is operators.get("functional") else None)

    def meta(self, *given: object, **named: object) -> object:
        """``@f.meta`` attaches a shape function; ``f.meta(x)`` runs it on geometries alone."""
        if not given and named.keys() == {"reads_numbers"}:
            return partial(self._attach_meta, bool(named["reads_numbers"]))
        if len(given) == 1 and not named and isinstance(given[0], FunctionType):
            return self._attach_meta(True, given[0])
        bound = bind(self.operator.schema.name.base, (self._signature(),), given, named)
        arguments = tuple(_on_meta(each) for each in bound.arguments)
        if not any(_holds_tensor(each) for each in arguments):
            arguments = _with_meta_device(bound.operator, arguments)
        return bound.operator.call(arguments, current.get())

    def _attach_meta(self, reads_numbers: bool, function: object) -> object:
        self.declaration.attach_meta(function, reads_numbers=reads_numbers)
        return function

    def pointwise(
        self,
        function: object = None,
        /,
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
    ) -> object:
        """Attach a scalar function."""

        def attach(decorated: object) -> object:
            self._check_option("pointwise", "promote", promote, str)
            self._check_option("pointwise", "when", {} if when is None else when, dict)
            given = {
                "keep": keep,
                "wrapped": wrapped,
                "promoting": promoting,
                "rounded": rounded,
                "nonzero": nonzero,
                "dtypes": dtypes,
            }
            names = {option: self._names("pointwise", option, each) for option, each in given.items()}
            self.declaration.attach_pointwise(decorated, promote=promote, when=when or {}, cast=cast, **names)
            return decorated

        return attach if function is None else attach(function)

    def _check_option(self, decorator: str, option: str, given: object, kind: type) -> None:
        if not isinstance(given, kind):
            name = self.declaration.function.__name__
            raise KernelSignatureError(
                f"{self.declaration.name}: @{name}.{decorator}({option}={given!r}) is no {kind.__name__}"
            )

    def _names(self, decorator: str, option: str, given: str | Iterable[str]) -> tuple[str, ...]:
        names = (given,) if isinstance(given, str) else given
        self._check_option(decorator, option, names, Collection)
        for each in names:
            self._check_option(decorator, option, each, str)
        return tuple(names)

    def _check_options(self, decorator: str, known: tuple[str, ...], options: Mapping[str, Any]) -> None:
        """Hold the options of a reduction or a scan against those that there are."""
        unknown = [each for each in options if each not in known]
        if unknown or "init" not in options:
            name = self.declaration.function.__name__
            problem = f"has no option {unknown[0]!r}" if unknown else "needs init=, the value of no elements"
            raise KernelSignatureError(
                f"{self.declaration.name}: @{name}.{decorator} {problem}. It takes {', '.join(known)}."
            )
        for option in ("accumulators", "results"):
            self._names(decorator, option, options.get(option) or ())
        self._check_option(decorator, "promote", options.get("promote", ""), str)
        self._check_option(decorator, "when", options.get("when") or {}, dict)

    def reduction(self, **options: Any) -> Callable[[Any], Any]:
        """Attach the scalar functions of a reduction; the decorated one combines accumulators.

        ``lift`` makes accumulators of an element, ``finish`` results of them, the number of elements and the operator's
        other number arguments; ``lift`` may take these too, by their names, and the index of its element.
        ``accumulators`` says what each of several accumulators is. ``opdsl.kernels.ReductionDefinition.add`` tells of
        all options.

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

        def attach(decorated: Any) -> Any:
            self._check_options("reduction", _REDUCTION_OPTIONS, options)
            self.declaration.attach_reduction(decorated, options)
            return decorated

        return attach

    def row(self, function: object = None, /, *, promote: str = "default") -> object:
        """Attach a row function."""

        def attach(decorated: object) -> object:
            self._check_option("row", "promote", promote, str)
            self.declaration.attach_row(decorated, promote=promote)
            return decorated

        return attach if function is None else attach(function)

    def scan(self, *keys: str, **options: Any) -> Callable[[Any], Any]:
        """Attach the scalar functions of a scan; the decorated one combines accumulators."""

        def attach(decorated: Any) -> Any:
            self._check_options("scan", _SCAN_OPTIONS, options)
            self.declaration.attach_scan(keys, decorated, options)
            return decorated

        return attach

    def out_kernel(
        self,
        *keys: str,
        compiled: bool = True,
        alias_safe: bool = False,
        source: str | None = None,
        entry: str | None = None,
    ) -> Callable[[Any], Any]:
        """Attach a kernel that fills outputs."""

        def attach(decorated: Any) -> Any:
            if source is not None:
                self.declaration.attach_cuda_kernel(keys, decorated, source, entry, alias_safe=alias_safe)
            else:
                self.declaration.attach_out_kernel(keys, decorated, compiled=compiled, alias_safe=alias_safe)
            return decorated

        return attach

    def kernel(self, *keys: str) -> Callable[[Any], Any]:
        """Attach a Python kernel."""
        if keys and not isinstance(keys[0], str):
            name = self.declaration.function.__name__
            raise DispatchKeyError(f'@{name}.kernel takes dispatch keys. Write @{name}.kernel("CPU").')

        def attach(decorated: Any) -> Any:
            self.declaration.attach_kernel(keys, decorated)
            return decorated

        return attach

    def view_kernel(self, *keys: str) -> Callable[[Any], Any]:
        """Attach a kernel that says what a view shows."""

        def attach(decorated: Any) -> Any:
            self.declaration.attach_view_kernel(keys, decorated)
            return decorated

        return attach

    def derivative(self, *names: str, output_differentiability: Iterable[bool] | None = None) -> Callable[[Any], Any]:
        """Attach a formula for the gradients of arguments."""
        base = f"@{self.declaration.function.__name__}.derivative"
        if not names or not all(isinstance(each, str) for each in names):
            raise KernelSignatureError(
                f'{self.declaration.name}: {base} names arguments. Write {base}("self") above the formula.'
            )
        results = None if output_differentiability is None else tuple(map(bool, output_differentiability))

        def attach(decorated: Any) -> Any:
            self.declaration.attach_derivative(names, decorated, results)
            return decorated

        return attach

    def non_differentiable(self, *names: str) -> None:
        """Say that gradients do not go to these arguments."""
        self.declaration.exclude_from_derivative(names)

    def forward(self, target: Any, /, **constants: object) -> None:
        """Let every variant call the same variant of another declared operator.

        Args:
            target: the other operator.
            constants: its arguments that this one does not have.
        """
        self.declaration.attach_forward(target.operator.declaration, constants)

    def alias(self, name: str, **options: Any) -> FunctionType:
        """Declare another name of this operator and of its variants.

        Args:
            name: the other name, ``"aten::arccos"``; the overload is this operator's.
            options: as ``@op`` takes them.
        """
        module = str(sys._getframe(1).f_globals.get("__name__", "__main__"))
        return self.declaration.library.declare_alias(self.declaration, name, module, options)

    def overload(self, name: str, **options: Any) -> Callable[[FunctionType], Any]:
        """Declare another overload of the packet."""
        return self._declare(f"{self._base()}.{name}" if name else self._base(), options)

    def inplace_variant(self, name: str | None = None, **options: Any) -> Callable[[FunctionType], Any]:
        """Declare the in-place variant by hand."""
        return self._attach_variant("inplace", name, options)

    def out_variant(self, name: str | None = None, **options: Any) -> Callable[[FunctionType], Any]:
        """Declare the ``out=`` variant by hand."""
        return self._attach_variant("out", name, options)

    def _base(self) -> str:
        return self.operator.name.partition(".")[0]

    def _declare(self, name: str, options: Mapping[str, Any]) -> Callable[[FunctionType], Any]:
        library = self.declaration.library
        names = caller_names(2)

        def decorate(function: FunctionType) -> Any:
            return library.declare(function, name, options, names)

        return decorate

    def _attach_variant(
        self, variant: str, name: str | None, options: Mapping[str, Any]
    ) -> Callable[[FunctionType], Any]:
        declaration = self.declaration
        names = caller_names(2)

        def decorate(function: FunctionType) -> Any:
            return declaration.library.declare_variant(declaration, variant, function, name, options, names)

        return decorate


def _on_meta(value: object) -> object:
    """An argument with its tensors replaced by tensors of the same geometry without memory."""
    if isinstance(value, Tensor):
        return new_tensor(value.geometry.replace(device=Device("meta"), is_view=False))
    return tuple(_on_meta(each) for each in value) if isinstance(value, tuple) else value


def _holds_tensor(value: object) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, tuple) and any(_holds_tensor(each) for each in value))


def _with_meta_device(operator: Operator, arguments: tuple[object, ...]) -> tuple[object, ...]:
    """The arguments of a factory, its device replaced by meta."""
    schema = operator.schema.arguments
    return tuple(
        Device("meta") if argument.name == "device" else value
        for argument, value in zip(schema, arguments, strict=True)
    )


_METHODS = (
    "dispatch_table",
    "direct",
    "get_kernel",
    "redispatch",
    "meta",
    "pointwise",
    "out_kernel",
    "kernel",
    "view_kernel",
    "reduction",
    "derivative",
    "non_differentiable",
    "row",
    "scan",
    "forward",
    "alias",
    "overload",
    "inplace_variant",
    "out_variant",
)


def dress_function(function: FunctionType, facets: Facets) -> FunctionType:
    """Give a function its attributes."""
    operator = facets.operator
    attributes = function.__dict__
    attributes["schema"] = operator.schema
    attributes["tags"] = operator.tags
    attributes["operator"] = operator
    attributes["variants"] = facets.declaration.functions
    attributes["derivative_source"] = LateText(partial(derivative_source, operator))
    for name in _METHODS:
        attributes[name] = getattr(facets, name)
    return function
