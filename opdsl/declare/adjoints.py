"""Adjoints: pairs of operators, both linear in a tensor, each of which computes the gradient of the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType

from opdsl.declare.attachment import ALL_BACKENDS, Attachment
from opdsl.declare.declaration import Declaration
from opdsl.declare.derivatives import attach_derivative
from opdsl.declare.gradient_calls import arguments_of, calling, formula
from opdsl.declare.signature import location
from opdsl.errors import KernelSignatureError
from opdsl.schema.implementation import differentiable_names
from opdsl.schema.kinds import KINDS

Given = Mapping[str, str | Callable[..., object]]
"""Names or functions that supply arguments which one operator has and the other lacks: a name in the other operator, or
a function of its arguments.
"""


def attach_adjoint(declaration: Declaration, target: Declaration, wanted: str, texts: Given) -> None:
    """Declare an operator as the adjoint of another one with respect to one of the other's tensors (``g.adjoint(f,
    "self")``).

    If the operator has no implementation yet, it is computed as the gradient of the other, which must be an indexed
    operator. Each gets a derivative formula that calls the other. If the operator so computed takes further tensors,
    their gradients are derived from its definition, and no formulas are attached.

    Args:
        declaration: of the operator that becomes the adjoint.
        target: of the operator whose gradient it computes.
        wanted: name of the tensor in which the target is linear.
        texts: arguments that one operator has and the other lacks: their names there, or functions of its arguments.

    Raises:
        KernelSignatureError: there is no shape function, the target is no indexed operator that has such an adjoint, or
            an argument of one follows from no argument of the other.
        ScalarFunctionError: the gradient of the ``finish`` function depends on the folded value.
    """
    own, other = declaration.main.schema, target.main.schema
    if wanted not in differentiable_names(other):
        raise _unfit(declaration, target, f"{other} has no tensor {wanted!r}", "Name one of its tensors.")
    _check(declaration, target, texts)
    computed = any(what.partition(" ")[0] in ("body", "kernel", *_ways()) for what in declaration.attached)
    if not computed:
        _compute(declaration, target, wanted)
    tensors = {*differentiable_names(other), *differentiable_names(own)[1:]}
    if not computed and tensors != {wanted}:
        return
    head = differentiable_names(own)[0]
    # The derivative of a view operator is derived anyway, and plans can use it.
    formulas = [] if other.is_view else [_calling(target, wanted, declaration, head, texts)]
    if declaration is not target:
        back = {value: name for name, value in texts.items() if isinstance(value, str)}
        formulas.append(_calling(declaration, head, target, wanted, {**texts, **back}))
    if wanted in differentiable_names(own)[1:]:
        zeros = f"{wanted}.new_zeros({wanted}.shape)"
        function = formula(declaration, {"grad": None, wanted: None}, zeros, {"__name__": __name__})
        formulas.append(_attachment(declaration, wanted, function))
    for attachment in formulas:
        attach_derivative(attachment)


def _check(declaration: Declaration, target: Declaration, texts: Given) -> None:
    """Raise an error for a name in ``texts`` that is an argument of neither operator, or a value that is no name or
    function.
    """
    schemas = declaration.main.schema, target.main.schema
    known = list(dict.fromkeys(argument.python_name for schema in schemas for argument in arguments_of(schema)))
    for name, value in texts.items():
        if name not in known:
            raise _unfit(declaration, target, f"neither has an argument {name!r}", f"They have {', '.join(known)}.")
        if not isinstance(value, (str, FunctionType)):
            remedy = "Give the name that it has in the other operator, or a function of arguments by name."
            raise _unfit(declaration, target, f"{name}={value!r} is no name and no function", remedy)


def _ways() -> tuple[str, ...]:
    return tuple(kind.name for kind in KINDS.values() if kind.is_way)


def _calling(declaration: Declaration, wanted: str, target: Declaration, head: str, texts: Given) -> Attachment:
    """Generate a derivative formula of ``declaration``: the gradient of ``wanted`` is a call of ``target`` with
    ``grad`` as argument ``head``.
    """
    known = ["grad", *(argument.python_name for argument in arguments_of(declaration.main.schema))]
    values: dict[str, object] = {}
    for argument in arguments_of(target.main.schema):
        name = argument.python_name
        value = texts.get(name, name)
        is_size = name in _sizes(wanted) and isinstance(value, str) and value not in known
        values[name] = "grad" if name == head else f"{wanted}.shape" if is_size else value

    def unfit(name: str, lost: str) -> KernelSignatureError:
        return _unfit(
            declaration,
            target,
            f"there is no argument {lost!r} from which its {name!r} follows",
            f"Supply it: .adjoint(..., {name}=lambda {wanted}: ...), a function of arguments by name.",
        )

    return _attachment(declaration, wanted, calling(declaration, target, known, values, unfit))


def _attachment(declaration: Declaration, wanted: str, function_type: FunctionType) -> Attachment:
    return Attachment(declaration, KINDS["derivative"], function_type, (wanted,), {})


def _sizes(wanted: str) -> tuple[str, ...]:
    """Return the names under which ``_backward`` operators take the sizes of the tensor that gets the gradient."""
    return ("sizes", *(f"{name}_{size}" for name in (wanted, "input") for size in ("size", "sizes")))


def _compute(declaration: Declaration, target: Declaration, wanted: str) -> None:
    """Define the operator as the gradient of an indexed operator with respect to a tensor that it reads, on all
    backends.
    """
    from opdsl.kernels.definitions.indexed import IndexedDefinition
    from opdsl.kernels.definitions.indexed_gradients import AdjointIndexed

    function: FunctionType = declaration.function
    kind, original = KINDS["indexed"], target.definition
    meta = declaration.attached.get("meta")
    if meta is None:
        remedy = "Write @f.meta above it, or attach other kernels first."
        raise _unfit(declaration, target, "it has no shape function", remedy)
    if not isinstance(original, IndexedDefinition) or original.fold not in ("", "sum"):
        remedy = (
            "Only the adjoint of an indexed operator that sums, or does not fold, is derived; attach other kernels "
            "first."
        )
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
