"""Options ``structured_inherits`` and ``precomputed`` of a declaration: the class of the shape function's context, and
the values that it precomputes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opdsl.errors import DeclarationError
from opdsl.kernels.definitions.iterator_context import TensorIteratorBase
from opdsl.kernels.definitions.meta import MetaContext
from opdsl.kernels.definitions.precomputed import Precomputed as Names
from opdsl.schema import Argument, Precomputed, Type, parse_argument, type_of

# Contexts by the names of the C++ classes to which they correspond.
_BASES: dict[str, type[MetaContext]] = {"TensorIteratorBase": TensorIteratorBase}


def context_class(base: object) -> type[MetaContext]:
    """Return the class of the context object that a shape function gets.

    Args:
        base: value of ``structured_inherits``: a class, the name of one, or None.

    Raises:
        DeclarationError: the class is no subclass of MetaContext.
    """
    if not isinstance(base, type):
        return _BASES.get(str(base), MetaContext)
    if not issubclass(base, MetaContext):
        raise DeclarationError(
            f"structured_inherits={base.__name__}: the base of a structured kernel has to derive from "
            "opdsl.kernels.MetaContext, whose set_output declares the outputs."
        )
    return base


def precomputed_names(precomputed: object) -> Names:
    """Return the parameter names that the option ``precomputed`` declares: replaced arguments and added ones."""
    parsed = precomputed_of(precomputed)
    if parsed is None:
        return Names()
    replaced = {name: tuple(argument.python_name for argument in arguments) for name, arguments in parsed.replaced}
    return Names(replaced, tuple(added.python_name for added in parsed.added))


def precomputed_types(precomputed: object) -> dict[str, Type]:
    """Return the schema types of the parameters that ``precomputed`` declares, by the names that out-kernels use."""
    parsed = precomputed_of(precomputed)
    if parsed is None:
        return {}
    arguments = (*(replacement for _, replaced in parsed.replaced for replacement in replaced), *parsed.added)
    return {argument.python_name: argument.type for argument in arguments}


def precomputed_of(spec: object) -> Precomputed | None:
    """Parse the option ``precomputed``: a mapping, or lines ``arg -> int a, int b`` for each replaced argument and
    optionally one line of added arguments (INV-32). Return None if it is empty.
    """
    if isinstance(spec, Mapping):
        args = {name: _annotated(arguments) for name, arguments in spec.items()}
        return Precomputed(tuple((name, value) for name, value in args.items() if name is not None), args.get(None, ()))
    lines = [spec] if isinstance(spec, str) else [str(entry) for entry in spec] if isinstance(spec, Iterable) else []
    if not lines:
        return None
    replaced = []
    added: tuple[Argument, ...] = ()
    for line in lines:
        name, arrow, declared = line.partition("->")
        if arrow:
            replaced.append((name.strip(), _arguments(declared)))
        else:
            added = _arguments(line)
    return Precomputed(tuple(replaced), added)


def _annotated(arguments: Mapping[str, object]) -> tuple[Argument, ...]:
    return tuple(Argument(name, type_of(annotation).type) for name, annotation in arguments.items())


def _arguments(text: str) -> tuple[Argument, ...]:
    return tuple(parse_argument(part.strip()) for part in text.split(","))
