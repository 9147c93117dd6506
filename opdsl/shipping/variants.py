"""In-place and ``out=`` variants of shipped operators: plans that write into arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opdsl.dispatch import KeySet, Operator
from opdsl.dispatch.binding.arguments import Kind, kind_of
from opdsl.errors import OpdslError
from opdsl.schema import SchemaKind
from opdsl.shipping.forms import Form
from opdsl.shipping.plans import Function, ShippedOperator, Shipping, add_forms, cover, merged, sources
from opdsl.shipping.samples import Call, parameters_of
from opdsl.shipping.tracing import Kernels, NotShippedError

__all__ = ["ship_variant", "variants_of"]

_CPU = KeySet("CPU")


def variants_of(functional: Operator, operators: Sequence[Operator]) -> list[Operator]:
    """Return the in-place and ``out=`` variants of an operator among others."""
    name, signature = functional.schema.name, str(functional.schema.signature())
    return [
        operator
        for operator in operators
        if operator.schema.kind in (SchemaKind.inplace, SchemaKind.out)
        and operator.schema.name.functional_base == name.base
        and operator.schema.name.namespace == name.namespace
        and str(operator.schema.signature()) == signature
    ]


def ship_variant(
    variant: Operator, functional: ShippedOperator, forms: Sequence[Form], kernels: Kernels
) -> ShippedOperator:
    """Compile a variant for the forms for which its functional operator is compiled.

    Args:
        variant: writes its argument, or ``out`` arguments.
        functional: computes the same.
        forms: those of its calls; arguments that are written get the layouts of the results.
        kernels: gets the kernels.

    Raises:
        NotShippedError: it cannot run without opdsl.
    """
    schema = variant.schema
    kinds = [kind_of(written) for written in schema.written_arguments]
    if len(kinds) != len(schema.returns) or any(kind is not Kind.TENSOR for kind in kinds):
        raise NotShippedError("it writes other arguments than tensors that it returns")
    shipping = _WriterShipping(variant, functional.operator, kernels)
    known = [form for form in forms if str(form) in functional.forms]
    shipped = [text for form in known for text in shipping.add_form(form)]
    if not shipped:
        raise NotShippedError("its result does not fit the argument that it writes, in any form")
    return ShippedOperator(variant, shipping.function, None, tuple(shipped), functional.operator)


class _WriterShipping(Shipping):
    """Plans of a variant, as they are made; the layouts of results are those of the functional operator.

    Args:
        variant: that writes arguments.
        functional: that computes the same.
        kernels: gets the kernels.
    """

    def __init__(self, variant: Operator, functional: Operator, kernels: Kernels) -> None:
        super().__init__(functional, kernels)
        arguments = variant.schema.arguments
        self.variant, self._count = variant, len(functional.schema.arguments)
        self._argument_kinds = [kind_of(argument) for argument in arguments]
        writes = tuple(at for at, argument in enumerate(arguments) if argument.is_written)
        self.function = Function(variant.name, parameters_of(variant), writes=writes)

    def add_form(self, form: Form) -> tuple[str, ...]:
        """Add the plans of a form, and return its text; nothing for a form in which a result does not fit."""
        try:
            return add_forms(self, [form], is_named=True)
        except OpdslError:
            return ()

    def add(self, call: Call) -> None:
        """See ``Shipping``; there is no gradient."""
        general, special = call.general(), call.special()
        try:
            shapes = self.known_shapes = cover([], general, self.layouts_of)
            fast, all_sizes = (list(map(self._with_outputs, samples)) for samples in (special, general))
            key, plans = self.plans_of(self.function, fast, all_sizes, lambda _: self._write, self._argument_kinds)
        except OpdslError:
            if not call.is_special:
                raise
            return  # the call is an error with a size of 0 or 1
        self.function.plans[key] = sources(plans)
        own = key[: self._count]
        self.function.shapes[own] = merged(self.function.shapes.get(own, ()), sources(shapes))

    def _write(self, *arguments: Any) -> Any:
        return self.variant.find_in(_CPU)(*arguments)

    def _with_outputs(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments of the variant: those of the functional operator, then outputs for its results."""
        return (*values, *self.results(values)) if self.variant.schema.out else values
