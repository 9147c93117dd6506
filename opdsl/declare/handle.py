"""Creation of the functions that users call for an operator: attributes, documentation, Tensor methods."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

import attrs

from opdsl.declare.adjoints import attach_adjoint
from opdsl.declare.attaching import Decorator
from opdsl.declare.calling import Calling
from opdsl.declare.copying import KEY, functional_body
from opdsl.declare.declaration import Declaration
from opdsl.declare.declaring import (
    declaration_of,
    declared,
    declared_alias,
    declared_number_overload,
    declared_variant,
    require_declaration,
)
from opdsl.declare.defining import function_of
from opdsl.declare.derivative_source import derivative_source
from opdsl.declare.derivatives import attach_derivative, exclude_from_derivative
from opdsl.declare.formulas import attach_formula, is_formula
from opdsl.declare.forwarding import Forward, declaration_behind
from opdsl.declare.kernels import attach_forward
from opdsl.declare.lists import list_body, list_schema, written_lists
from opdsl.declare.numbers import attach_to_number_overload
from opdsl.declare.operator import Operator
from opdsl.declare.overloads import inherited, overload_function, require_table
from opdsl.declare.primitives import attach_primitives
from opdsl.declare.removed import Removed
from opdsl.declare.scope import Scope
from opdsl.declare.signature import caller_names, location
from opdsl.declare.views import (
    copy_body,
    copy_schema,
    require_view,
    scatter_body,
    scatter_formulas,
    scatter_schema,
    store_body,
)
from opdsl.dispatch import Packet, registry
from opdsl.dispatch.keys import COMPOSITE_KEY
from opdsl.dispatch.model.bindings import is_bound
from opdsl.dispatch.model.packet import has_method
from opdsl.dispatch.plans.lazy_string import LazyString
from opdsl.errors import DeclarationError
from opdsl.primitives import LOOPS
from opdsl.runtime import install_method
from opdsl.runtime.methods import is_own, named_as_method
from opdsl.schema import FunctionSchema, SchemaKind
from opdsl.schema.kinds import DECORATORS, KINDS
from opdsl.schema.model import GENERATED
from opdsl.schema.variants import functional_schema
from opdsl.schema.variants import out_schema as generated_out_schema
from opdsl.tracebacks import without_own_frames

if TYPE_CHECKING:
    from opdsl.sharding.rules import Rule
    from opdsl.sharding.windows import Window

VIEW_COPY_KEY = "CompositeExplicitAutogradNonFunctional"
"""Dispatch key at which copies of views are registered; functionalization generates copies itself."""


class OperatorHandle(Calling):
    """Implementation of the methods that a declared function has as attributes; ``opdsl.declare.operator`` documents
    them.
    """

    __slots__ = ()

    def meta(self, *positional: Any, **named: Any) -> Any:
        """See ``Operator.meta``."""
        is_function = len(positional) == 1 and isinstance(positional[0], FunctionType)
        if named.keys() <= KINDS["meta"].options.keys() and (is_function or (named and not positional)):
            return Decorator(self.declaration, KINDS["meta"])(*positional, **named)
        return self._on_meta(*positional, **named)

    def non_differentiable(self, *names: str) -> None:
        """See ``Operator.non_differentiable``."""
        with without_own_frames():
            exclude_from_derivative(self.declaration, names)

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
        """See ``Operator.sharding``."""
        from opdsl.declare.sharding import sharding

        with without_own_frames():
            for overload in self.declaration.overloads:
                sharding(overload.main, labels, along, rows, elementwise, windows, selects)
            return sharding(self.operator, labels, along, rows, elementwise, windows, selects)

    def forward(
        self,
        target: Any,
        /,
        *order: str,
        result: int | tuple[int, ...] | None = None,
        unused: Iterable[str] = (),
        **arguments: object,
    ) -> None:
        """See ``Operator.forward``."""
        with without_own_frames():
            call = Forward(declaration_behind(target), order, arguments, result, tuple(unused))
            attach_forward(self.declaration, call)

    def adjoint(self, target: Any, wanted: str, /, **arguments: Any) -> None:
        """See ``Operator.adjoint``."""
        with without_own_frames(), self.declaration.library.all_or_nothing():
            attach_adjoint(self.declaration, target.operator.declaration, wanted, arguments)

    def alias(self, name: str, **options: Any) -> FunctionType:
        """See ``Operator.alias``."""
        module = str(sys._getframe(1).f_globals.get("__name__", "__main__"))
        with without_own_frames(), self.declaration.library.all_or_nothing():
            return with_attributes(declared_alias(self.declaration, name, module, options))

    def view_copy(self, **options: Any) -> FunctionType:
        """See ``Operator.view_copy``."""
        with without_own_frames():
            require_view(self.declaration, "copy")
        schema = copy_schema(self.operator.schema)
        out = generated_out_schema(schema)
        is_list = self.operator.returns_list
        named = {} if is_list else {"autogen": f"{out.name.base}.{out.name.overload}"}
        body, base = copy_body(self._exactly, is_list=is_list), self.operator.schema.name.base
        with without_own_frames(), self.declaration.library.all_or_nothing():
            copying = {"tags": "view_copy", **named, **options}
            function = self._derive(schema, body, VIEW_COPY_KEY, copying, f"Return a copy of the result of ``{base}``.")
            if is_list:
                self._derive(
                    out, store_body(function), KEY, {}, f"Write copies of the results of ``{base}`` to ``out``."
                )
        return function

    def view_scatter(self, **options: Any) -> FunctionType:
        """See ``Operator.view_scatter``."""
        with without_own_frames():
            require_view(self.declaration, "scatter")
        schema = scatter_schema(self.operator.schema)
        with without_own_frames(), self.declaration.library.all_or_nothing():
            doc = f"Return a copy of ``self`` with ``src`` where ``{self.operator.schema.name.base}`` selects elements."
            view_scatter = self._derive(schema, scatter_body(self._exactly), VIEW_COPY_KEY, options, doc)
            handle: Any = view_scatter
            if self.operator.derivative is None:  # a derived view derivative gives these formulas
                for scatter_formula in scatter_formulas(handle.operator.declaration, self._exactly):
                    attach_derivative(scatter_formula)
        return view_scatter

    @property
    def _exactly(self) -> Callable[..., Any]:
        """Return the function that calls this overload, without overload resolution in its packet."""
        packets = self.declaration.library.registry.packets
        return packets[self.operator.packet_name].operator_function(self.operator)

    def _derive(
        self, schema: FunctionSchema, body: Callable[..., Any], key: str, options: Mapping[str, Any], doc: str
    ) -> FunctionType:
        """Define an operator derived from this one, with the location of the user code that called this method."""
        frame = sys._getframe(2)
        place = frame.f_code.co_filename, frame.f_lineno
        module = str(frame.f_globals.get("__name__", "__main__"))
        own = in_namespace_of(self.declaration, schema)
        return define(self.declaration.library, own, body, key, module, place, options, doc)

    def overload(self, name: str, **options: Any) -> Callable[[FunctionType], Any]:
        """See ``Operator.overload``."""
        base = self.operator.name.partition(".")[0]
        full, names = f"{base}.{name}" if name else base, caller_names(1)

        def declaring(function: FunctionType) -> Any:
            with without_own_frames():
                return declare(self.declaration.library, function, full, options, names)

        return declaring

    def number_overload(self, argument: str, name: str = "Scalar", **options: Any) -> FunctionType:
        """See ``Operator.number_overload``."""
        with without_own_frames(), self.declaration.library.all_or_nothing():
            own = declared_number_overload(self.declaration, argument, name, options)
            function = with_attributes(own)
            attach_to_number_overload(own, self.declaration, argument)
        return function

    def inplace_variant(self, name: str | None = None, **options: Any) -> Callable[[FunctionType], Any]:
        """See ``Operator.inplace_variant``."""
        return partial(self._declare_variant, "inplace", name, options, caller_names(1))

    def out_variant(self, name: str | None = None, **options: Any) -> Callable[[FunctionType], Any]:
        """See ``Operator.out_variant``."""
        return partial(self._declare_variant, "out", name, options, caller_names(1))

    def _declare_variant(
        self,
        variant: str,
        name: str | None,
        options: Mapping[str, Any],
        names: Mapping[str, object],
        function: FunctionType,
    ) -> FunctionType:
        with without_own_frames(), self.declaration.library.all_or_nothing():
            own = declared_variant(self.declaration, variant, function, name, options, names)
            attributes = self.declaration.functions[variant] = with_attributes(own, is_written=True)
        return attributes

    def mimebundle(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the representations that a notebook chooses from; see ``notebooks.mimebundle``."""
        from opdsl.declare.notebooks import mimebundle

        return mimebundle(self.declaration, self.operator)

    def _attributes(self) -> dict[str, object]:
        """Return the attributes that the operator's function gets."""
        return {
            "schema": self.operator.schema,
            "tags": self.operator.tags,
            "operator": self.operator,
            "variants": self.declaration.functions,
            "derivative_source": LazyString(partial(derivative_source, self.operator)),
            **{name: Decorator(self.declaration, kind) for name, kind in DECORATORS.items()},
            **{name: Removed(self.declaration, name) for name in LOOPS},
            **{attribute: getattr(self, attribute) for attribute in _METHODS},
            "_repr_mimebundle_": self.mimebundle,
        }


_METHODS = [
    attribute
    for attribute in dir(OperatorHandle)
    if not attribute.startswith("_")
    and attribute != "mimebundle"
    and isinstance(getattr(OperatorHandle, attribute), FunctionType)
]
for _name in _METHODS:
    getattr(OperatorHandle, _name).__doc__ = getattr(Operator, _name).__doc__


# --------------------------------------------------------------------------------------------------------- declaring


def declare(
    scope: Scope,
    function: object,
    name: str | None,
    options: Mapping[str, Any],
    names: Mapping[str, object],
    *,
    is_written: bool = True,
) -> FunctionType:
    """Declare an operator, as ``op`` does; see ``declared`` and, for ``is_written``, ``with_attributes``.

    The option ``functional`` derives a functional, copying form of an in-place operator; ``foreach`` derives list
    forms.

    Returns:
        The function to call.
    """
    if "overloads" in options:
        return declare_with_overloads(scope, function, name, options, names)
    rest = dict(options)
    functional, foreach = rest.pop("functional", False), rest.pop("foreach", False)
    with scope.all_or_nothing():
        declaration = declared(scope, function, name, rest, names)
        attributes = with_attributes(declaration, is_written=is_written)
        if is_formula(declaration.function) and not attach_primitives(declaration):
            attach_formula(declaration)
        if functional:
            declaration.functions["functional"] = _define_functional(declaration)
        if foreach:
            _define_lists(declaration)
        return attributes


def declare_with_overloads(
    scope: Scope, function: object, name: str | None, options: Mapping[str, Any], names: Mapping[str, object]
) -> FunctionType:
    """Declare an operator together with the overloads that the option ``overloads`` lists, all computed by the same
    body.

    Returns:
        The function of the declared operator: the packet's, if it is the first.
    """
    rest = dict(options)
    checked = require_declaration(function)
    table = require_table(checked, rest.pop("overloads"))
    base, _, own = (name or checked.__name__).partition(".")
    order = list(table) if own in table else [own, *table]
    functions: dict[str, Any] = {}
    with scope.all_or_nothing():
        for overload in order:
            if overload == own:
                functions[own] = declare(scope, checked, name, rest, names)
                continue
            entry = table[overload]
            variation = overload_function(checked, overload, entry, names)
            full = f"{base}.{overload}" if overload else base
            own_options = {**inherited(rest, variation), **entry.options}
            functions[overload] = declare(scope, variation, full, own_options, {}, is_written=False)
        declarations = {overload: function.operator.declaration for overload, function in functions.items()}
        main = declarations.pop(own)
        main.overloads = tuple(declarations.values())
    main_function: FunctionType = functions[own]
    return main_function


def in_namespace(scope: Scope, schema: FunctionSchema) -> FunctionSchema:
    """Return a schema with the library's namespace in its name if it has none; the namespace ``aten`` is left
    implicit.
    """
    namespace = schema.name.namespace or scope.namespace
    return attrs.evolve(schema, name=attrs.evolve(schema.name, namespace=None if namespace == "aten" else namespace))


def define(
    scope: Scope,
    schema: FunctionSchema,
    body: Callable[..., Any] | None,
    key: str,
    module: str,
    place: tuple[str, int],
    options: Mapping[str, Any],
    doc: str | None = None,
) -> FunctionType:
    """Declare an operator by its schema; implements ``Library.define``.

    Args:
        scope: where the operator is defined.
        schema: of the operator.
        body: its kernel, called with the arguments, keyword-only ones by name; None only declares.
        key: the dispatch key of ``body``.
        module: the name of the module that declares.
        place: file and line, for messages.
        options: options of ``op``.
        doc: docstring of the function; its schema by default.
    """
    own = in_namespace(scope, schema)
    function = partial(function_of, own, module=module, place=place)
    declared = function(None)
    declared.__doc__ = doc or declared.__doc__
    with scope.all_or_nothing():
        declaration = declaration_of(scope, declared, own, options)
        attributes = with_attributes(declaration)
        if body is not None:
            Decorator(declaration, KINDS["kernel"])(key)(function(body))
        return attributes


def define_beside(
    declaration: Declaration, schema: FunctionSchema, body: Callable[..., Any], **options: Any
) -> FunctionType:
    """Define an operator that copies around a declared one, with the same location and namespace."""
    function = declaration.function
    location = (function.__code__.co_filename, function.__code__.co_firstlineno)
    own = in_namespace_of(declaration, schema)
    return define(declaration.library, own, body, KEY, function.__module__, location, options)


def in_namespace_of(declaration: Declaration, schema: FunctionSchema) -> FunctionSchema:
    """Return a schema with its name in the namespace of a declared operator."""
    return attrs.evolve(schema, name=attrs.evolve(schema.name, namespace=declaration.name.partition("::")[0]))


def _define_lists(declaration: Declaration) -> None:
    """Declare the list form (``_foreach_name``) of an operator and of its in-place variant."""
    schema = list_schema(declaration)
    packets = declaration.library.registry.packets
    function, code = declaration.function, declaration.function.__code__
    for variant, form in (("functional", schema), ("inplace", written_lists(schema))):
        operator = declaration.operators.get(variant)
        if operator is not None:
            body = list_body(form, packets[operator.packet_name].operator_function(operator))
            place = (code.co_filename, code.co_firstlineno)
            options = {"device_check": "NoCheck"}
            define(declaration.library, form, body, str(COMPOSITE_KEY), function.__module__, place, options)


def _define_functional(declaration: Declaration) -> FunctionType:
    """Declare the functional variant of an in-place operator.

    Raises:
        DeclarationError: the operator is not in place.
    """
    schema = declaration.main.schema
    if schema.kind is not SchemaKind.inplace:
        raise DeclarationError(
            f"{location(declaration.function)}: functional=True derives from an in-place operator, but {schema} is "
            "none. Let its name end in an underscore, or omit functional=."
        )
    packet = declaration.library.registry.packets[declaration.main.packet_name]
    body = functional_body(packet.operator_function(declaration.main), schema)
    variants = declaration.main.properties["variants"]
    return define_beside(declaration, functional_schema(schema), body, variants=variants, tags=[GENERATED])


# ---------------------------------------------------------------------------------------------------------- functions


def with_attributes(declaration: Declaration, *, is_written: bool = False) -> FunctionType:
    """Create the functions of a declaration's operators, install Tensor methods, and return the function of the main
    operator.

    That is the packet's function when the declaration is the packet's first and calls reach it, otherwise the
    operator's own.

    Args:
        declaration: the declaration.
        is_written: whether a decorator returns the function in place of the declared one; pickle then finds it by the
            declared function's name.
    """
    main: FunctionType | None = None
    for variant, operator in declaration.operators.items():
        packet = declaration.library.registry.packets[operator.packet_name]
        # The overload's own function is created at first access, since many are never used.
        operator.set_attributes = partial(_describe, handle=OperatorHandle(declaration, operator))
        leads = operator.is_bound and next(iter(packet.overloads.values())) is operator
        if leads:
            operator.set_attributes(packet.function)
        is_main = operator is declaration.main
        function = packet.function if leads and is_main else packet.operator_function(operator)
        if is_main:
            main = function
        declaration.functions[variant] = function
        if "method" in str(operator.properties.get("variants", "")) and _is_method(declaration, packet):
            _install(declaration, packet)
    assert main is not None, "a declaration has at least one operator"
    declared_function = declaration.function
    if is_written and "<locals>" not in declared_function.__qualname__:
        main.__module__, main.__qualname__ = declared_function.__module__, declared_function.__qualname__
    return main


def _describe(function: FunctionType, handle: OperatorHandle) -> None:
    """Set a function's attributes and docstring, and ``__wrapped__``, which ``inspect`` follows to the declared
    function.
    """
    declared_function = handle.declaration.function
    function.__dict__.update(handle._attributes())
    function.__doc__ = declared_function.__doc__ or f"``{handle.operator.schema}``"
    if handle.operator is handle.declaration.main:
        function.__dict__["__wrapped__"] = declared_function


def _is_method(declaration: Declaration, packet: Packet) -> bool:
    """Return whether Tensor gets a method for a packet: only for the default registry, and in ``aten`` only as PyTorch
    does.

    PyTorch operators that Tensor implements itself, such as ``numel``, get none.
    """
    if declaration.library.registry is not registry:
        return False
    return not packet.name.startswith("aten::") or (is_bound(packet.base, as_method=True) and not is_own(packet.base))


def _install(declaration: Declaration, packet: Packet) -> None:
    """Install a packet's method on Tensor, once.

    Raises:
        DuplicateOperatorError: Tensor has an attribute of that name already.
    """
    if packet.method is not None:
        return
    lazy_function = packet.lazy_function(
        has_method,
        is_method=True,
        not_implemented=packet.base.startswith("__"),  # as the special methods of Python's operators must
    )
    lazy_function.function.__doc__ = declaration.function.__doc__
    install_method(packet.base, named_as_method(lazy_function.function, packet.base))
    packet.method = lazy_function
