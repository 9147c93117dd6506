"""Kernels that are Python: a declaration's body, a call of another operator, and what ``.kernel`` attaches to keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import FunctionType

from opdsl.declare.adapting import handed_all
from opdsl.declare.attachment import Attachment
from opdsl.declare.declaration import Declaration
from opdsl.declare.derived import DerivedKernel
from opdsl.declare.forwarding import Forward, forwarding
from opdsl.declare.implementations import checked_kernel, require_view_kernel, wants_key_set, with_separate_options
from opdsl.declare.options import Out
from opdsl.declare.outputs import OUT, for_variant, takes_out
from opdsl.declare.signature import location
from opdsl.declare.views import turning
from opdsl.dispatch import DispatchKey, Operator
from opdsl.dispatch.keys import COMPOSITE_KEY
from opdsl.errors import KernelSignatureError
from opdsl.kernels.definitions.python_kernel import PythonKernel
from opdsl.kernels.definitions.view_kernel import ViewKernel
from opdsl.schema import FunctionSchema
from opdsl.schema.kinds import KINDS

# A variant that is derived of a body is one operator for modes, as those that torchgen generates: no operator that it
# calls says what it writes.
EXPLICIT_KEY = DispatchKey("CompositeExplicitAutograd")


def attach_body(declaration: Declaration, keys: tuple[str, ...] | None) -> None:
    """Register the declared function's body: as a composite kernel, or as that of dispatch keys.

    Args:
        declaration: whose body it is.
        keys: as ``@f.kernel`` takes them, none for all backends; None for a composite.

    Raises:
        DispatchKeyError: there is no such key.
    """
    for key in _body_keys(declaration, declaration.function, keys):
        register_plain(declaration, declaration.function, key)


def attach_forward(declaration: Declaration, call: Forward, keys: tuple[str, ...] | None = None) -> None:
    """Register for every variant a kernel that calls the same variant of another operator.

    Those that the other lacks, and those of which only some of its results are taken, are derived as a body's are.

    Args:
        declaration: of the operator that calls.
        call: of the other operator.
        keys: as ``attach_body`` takes them.

    Raises:
        KernelSignatureError: it lacks an argument or a result, or the variant that is declared.
        DispatchKeyError: there is no such key.
    """
    target, main = call.target, declaration.main
    shared = {variant: operator for variant, operator in declaration.operators.items() if variant in target.operators}
    if main not in shared.values():
        raise KernelSignatureError(
            f"{location(declaration.function)}: {declaration.name} cannot be forwarded to {target.name}, which has no "
            f"{next(iter(declaration.operators))} variant. Forward to an operator that writes what this one does."
        )
    if main is not shared.get("out") and (call.result is not None or not _stores_as(target.out, declaration.out)):
        shared.pop("out", None)
    packets = target.library.registry.packets
    functions = {}
    for variant, operator in shared.items():
        other = target.operators[variant]
        functions[variant] = forwarding(declaration.function, operator, packets[other.packet_name], other, call)
    function = next(functions[variant] for variant, value in shared.items() if value is main)
    for key in _body_keys(declaration, function, keys):
        register_plain(declaration, function, key, functions)


def _stores_as(other: Out, own: Out) -> bool:
    """Whether the ``out=`` variant of another operator stores what this one's does, which need not say it again."""
    asked, stored, usual = ((out.cast, out.contiguous, out.apart) for out in (own, other, Out()))
    return asked in (stored, usual)


def _body_keys(declaration: Declaration, function: FunctionType, keys: tuple[str, ...] | None) -> list[DispatchKey]:
    """What a body, or what stands for one, is registered under, claimed for it."""
    if keys is None:
        declaration.claim("body", function)
        return [COMPOSITE_KEY]
    attachment = Attachment(declaration, KINDS["kernel"], function, keys, {})
    return _claimed(attachment, function, attachment.keys_or_all())


def attach_kernel(attachment: Attachment) -> None:
    """Register a Python kernel under dispatch keys; the derived variants compute with it.

    Raises:
        KernelSignatureError: its parameters are not the schema's, or no key is given.
        DispatchKeyError: there is no such key.
        DuplicateOperatorError: a kernel is attached under that key already.
    """
    keys = attachment.keys_or_all()
    fills = fills_out(attachment.declaration, attachment.function)
    kernel = checked_kernel(
        attachment.function, keys, attachment.declaration.main, attachment.decorator, (OUT,) if fills else ()
    )
    for key in _claimed(attachment, kernel, keys):
        register_plain(attachment.declaration, kernel, key)


def fills_out(declaration: Declaration, function: FunctionType) -> bool:
    """Whether a body or kernel of a functional operator takes ``out``, too, and so is that of the ``out=`` variant."""
    return (
        declaration.operators.get("functional") is declaration.main
        and "out" in declaration.operators
        and takes_out(function)
    )


def attach_view_kernel(attachment: Attachment) -> None:
    """Register a function from a tensor's geometry to a view under dispatch keys.

    Raises:
        KernelSignatureError: its parameters are not the schema's, or the operator returns no view.
    """
    declaration = attachment.declaration
    require_view_kernel(attachment.function, declaration.main, attachment.decorator)
    names = [argument.python_name for argument in declaration.main.schema.arguments]
    function = handed_all(attachment.function, names, by_place=True)
    for key in _claimed(attachment, attachment.function, attachment.keys_or_all()):
        kernel = ViewKernel(function, is_new=not declaration.main.schema.is_view)
        declaration.library.register(declaration.main, key, kernel)
        inplace = declaration.operators.get("inplace")
        if inplace is not None:
            turned = PythonKernel(turning(kernel), inplace.schema, inplace.name, bumps_version=True)
            declaration.library.register(inplace, key, turned)


def _claimed(attachment: Attachment, kernel: FunctionType, keys: list[DispatchKey]) -> list[DispatchKey]:
    """The keys, under none of which a kernel was attached before: all of them, or an error."""
    for key in keys:
        attachment.declaration.require_free(f"kernel {key}", kernel)
    for key in keys:
        attachment.declaration.claim(f"kernel {key}", kernel)
    return keys


def record_as_one(declaration: Declaration) -> None:
    """Have calls of a body recorded as one, not by what it calls: it has a derivative of its own now.

    In the dispatcher's table, which is PyTorch's, a composite that has gradients of its own is ``Explicit``.
    """
    for operator in declaration.operators.values():
        kernels = operator.registrations
        if set(kernels) == {COMPOSITE_KEY}:
            declaration.library.register(operator, EXPLICIT_KEY, kernels[COMPOSITE_KEY][-1])


def register_plain(
    declaration: Declaration,
    function: FunctionType,
    key: DispatchKey,
    variants: Mapping[str, FunctionType] | None = None,
) -> None:
    """Register a Python function as the kernel of the declared operator, and what follows from it as the variants'.

    Args:
        declaration: of the operators.
        function: of the declared operator.
        key: the dispatch key.
        variants: the functions of variants that do not compute with it.
    """
    main, own = declaration.main, dict(variants or {})
    if fills_out(declaration, function):
        function, own["out"] = _of_both(function, main.schema, declaration.operators["out"].schema)
    kernel = _python_kernel(function, main, key)
    declaration.library.register(main, key, kernel)
    for variant, operator in declaration.operators.items():
        if operator is main or declaration.operators.get("functional") is not main:
            continue
        if variant in own:
            declaration.library.register(operator, key, _python_kernel(own[variant], operator, key))
        else:
            derived = DerivedKernel(kernel, main.schema, operator.schema, operator.name, declaration.out)
            is_explicit = variant == "out" and declaration.out_is_explicit
            generated = EXPLICIT_KEY if key is COMPOSITE_KEY and not is_explicit else key
            declaration.library.register(operator, generated, derived)


@lru_cache(maxsize=256)  # one function for all keys: where it serves tensors without memory, too, it calls operators
def _of_both(function: FunctionType, main: FunctionSchema, out: FunctionSchema) -> tuple[FunctionType, FunctionType]:
    """A function that takes ``out`` as that of the functional variant, and as that of the ``out=`` one."""
    separate = with_separate_options(function, main)
    return for_variant(separate, main), for_variant(separate, out)


def _python_kernel(function: FunctionType, operator: Operator, key: DispatchKey) -> PythonKernel:
    taken = with_separate_options(function, operator.schema)
    bumps_version = key is not COMPOSITE_KEY
    return PythonKernel(
        taken, operator.schema, operator.name, bumps_version=bumps_version, wants_key_set=wants_key_set(taken)
    )
