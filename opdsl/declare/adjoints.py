"""Adjoints: operators that are each other's gradient, since both are linear in what they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from opdsl.declare.attachment import ALL_BACKENDS, Attachment
from opdsl.declare.declaration import Declaration
from opdsl.declare.derivatives import attach_derivative
from opdsl.declare.signature import location
from opdsl.errors import KernelSignatureError
from opdsl.generated import function_from_source
from opdsl.schema.implementation import differentiable_names
from opdsl.schema.kinds import KINDS
from opdsl.schema.model import FunctionSchema, python_name

Given = Mapping[str, str | Callable[..., object]]
"""Arguments that the other operator lacks: what they are called there, or functions of arguments that it has."""


def attach_adjoint(declaration: Declaration, target: Declaration, wanted: str, given: Given) -> None:
    """Make an operator the adjoint of another one in one of its tensors.

    Where nothing computes the operator yet, it is computed as the gradient of the other, which is an indexed one. The
    gradients of each are the other, unless further tensors take part, whose gradients are derived then.

    Args:
        declaration: of the operator.
        target: of the other one.
        wanted: the tensor in which the other one is linear.
        given: arguments of one that the other lacks.

    Raises:
        KernelSignatureError: there is no shape function, the other operator is no indexed one that has such an
            adjoint, or an argument of one follows from nothing that the other has.
        ScalarFunctionError: the gradient of what finishes depends on what was folded.
    """
    own, other = declaration.main.schema, target.main.schema
    if wanted not in differentiable_names(other):
        raise _unfit(declaration, target, f"{other} has no tensor {wanted!r}", "Name one of its tensors.")
    _check(declaration, target, given)
    computed = any(what.partition(" ")[0] in ("body", "kernel", *_ways()) for what in declaration.attached)
    if not computed:
        _compute(declaration, target, wanted)
    tensors = {*differentiable_names(other), *differentiable_names(own)[1:]}
    if not computed and tensors != {wanted}:
        return
    head = differentiable_names(own)[0]
    # That of a view is derived, and known to plans.
    formulas = [] if other.is_view else [_calling(target, wanted, declaration, head, given)]
    if declaration is not target:
        back = {value: name for name, value in given.items() if isinstance(value, str)}
        formulas.append(_calling(declaration, head, target, wanted, {**given, **back}))
    if wanted in differentiable_names(own)[1:]:
        zeros = f"{wanted}.new_zeros({wanted}.shape)"
        formulas.append(_formula(declaration, wanted, f"(grad, {wanted})", zeros, {}))
    for each in formulas:
        attach_derivative(each)


def _check(declaration: Declaration, target: Declaration, given: Given) -> None:
    """Refuse arguments that neither operator has, and what is no name and no function."""
    schemas = declaration.main.schema, target.main.schema
    known = list(dict.fromkeys(each.python_name for schema in schemas for each in _arguments(schema)))
    for name, value in given.items():
        if name not in known:
            raise _unfit(declaration, target, f"neither has an argument {name!r}", f"They have {', '.join(known)}.")
        if not isinstance(value, (str, FunctionType)):
            remedy = "Give the name that it has in the other operator, or a function of arguments by name."
            raise _unfit(declaration, target, f"{name}={value!r} is no name and no function", remedy)


def _ways() -> tuple[str, ...]:
    return tuple(each.name for each in KINDS.values() if each.is_way)


def _calling(declaration: Declaration, wanted: str, target: Declaration, head: str, given: Given) -> Attachment:
    """A formula: the gradient of an argument is a call of another operator, which takes ``grad`` as ``head``."""
    own = [each.python_name for each in _arguments(declaration.main.schema)]
    taken: dict[str, None] = {}
    called = python_name(target.main.schema.name.base)
    namespace: dict[str, Any] = {called: target.functions[next(iter(target.operators))]}
    passed = []
    for each in _arguments(target.main.schema):
        name = each.python_name
        value = given.get(name, name)
        if name == head:
            text, reads = "grad", []
        elif isinstance(value, FunctionType):
            namespace[f"{name}_of"] = value
            reads = list(value.__code__.co_varnames[: value.__code__.co_argcount])
            text = f"{name}_of({', '.join(reads)})"
        elif value not in own and name in _sizes(wanted):
            text, reads = f"{wanted}.shape", [wanted]
        else:
            text, reads = value, [value]
            if value not in own and each.default is not None:
                continue
        for lost in (read for read in reads if read not in own):
            raise _unfit(
                declaration,
                target,
                f"its {name!r} follows from no argument {lost!r}",
                f"Say what it is: .adjoint(..., {name}=lambda {wanted}: ...), a function of arguments by name.",
            )
        taken |= dict.fromkeys(reads)
        passed.append(f"{name}={text}")
    signature = f"({', '.join(['grad', *taken])})"
    return _formula(declaration, wanted, signature, f"{called}({', '.join(passed)})", namespace)


def _sizes(wanted: str) -> tuple[str, ...]:
    """What ``_backward`` operators call the sizes of what gets the gradient."""
    return ("sizes", *(f"{name}_{size}" for name in (wanted, "input") for size in ("size", "sizes")))


def _formula(
    declaration: Declaration, wanted: str, signature: str, returned: str, namespace: dict[str, Any]
) -> Attachment:
    name = f"{python_name(declaration.main.schema.name.base)}_derivative"
    source = f"def {name}{signature}:\n    return {returned}\n"
    title = f"derivative of {declaration.name}"
    made = function_from_source(name, source, {**namespace, "__name__": __name__}, title=title)
    return Attachment(declaration, KINDS["derivative"], made, (wanted,), {})


def _arguments(schema: FunctionSchema) -> tuple[Any, ...]:
    return (*schema.positional, *schema.keyword_only)


def _compute(declaration: Declaration, target: Declaration, wanted: str) -> None:
    """Compute the gradient of a tensor that an indexed operator reads."""
    from opdsl.kernels.definitions.indexed import IndexedDefinition
    from opdsl.kernels.definitions.indexed_gradients import AdjointIndexed

    function: FunctionType = declaration.function
    kind, original = KINDS["indexed"], target.definition
    meta = declaration.attached.get("meta")
    if meta is None:
        remedy = "An operator that another one computes stands beneath a .meta; attach other kernels first."
        raise _unfit(declaration, target, "it has no shape function", remedy)
    if not isinstance(original, IndexedDefinition) or original.fold not in ("", "sum"):
        remedy = "Only of an indexed operator that folds sums, or nothing, is it derived; attach other kernels first."
        raise _unfit(declaration, target, "nothing computes it", remedy)
    declaration.claim("indexed", function)
    definition = AdjointIndexed(declaration.main.schema, declaration.name, original, wanted, meta)
    if original.finish is not None:
        definition.read(original.declared_signature())
    declaration.definition = definition
    declaration.kind = kind
    for key in ALL_BACKENDS:
        declaration.register_structured(key)
    declaration.register_common()


def _unfit(declaration: Declaration, target: Declaration, problem: str, remedy: str) -> KernelSignatureError:
    return KernelSignatureError(
        f"{location(declaration.function)}: {declaration.name} is no adjoint of {target.name}: {problem}. {remedy}"
    )
