"""Registration of Python kernels: a declaration's body, a call of another operator, and functions that ``.kernel``
attaches.
"""

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

# Dispatch modes see a call of a variant that is derived from a body as one operator, like those that torchgen
# generates: the operators that it calls do not show which argument it writes.
EXPLICIT_KEY = DispatchKey("CompositeExplicitAutograd")


def attach_body(declaration: Declaration, keys: tuple[str, ...] | None) -> None:
    """Register the declared function's body, as a composite kernel or as the kernel of dispatch keys.

    Args:
        declaration: the declaration with the body.
        keys: dispatch keys as ``@f.kernel`` takes them, empty for all backends; None for a composite.

    Raises:
        DispatchKeyError: there is no such key.
    """
    for key in _body_keys(declaration, declaration.function, keys):
        register_plain(declaration, declaration.function, key)


def attach_forward(declaration: Declaration, call: Forward, keys: tuple[str, ...] | None = None) -> None:
    """Register for every variant a kernel that calls the same variant of another operator.

    Variants that the other operator lacks, and an ``out=`` variant that returns only some of its results, are derived
    as for a body.

    Args:
        declaration: of the calling operator.
        call: the call of the other operator.
        keys: dispatch keys, see ``attach_body``.

    Raises:
        KernelSignatureError: the other operator lacks an argument, a result, or the declared variant.
        DispatchKeyError: there is no such key.
    """
    target, main = call.target, declaration.main
    shared = {variant: operator for variant, operator in declaration.operators.items() if variant in target.operators}
    if main not in shared.values():
        raise KernelSignatureError(
            f"{location(declaration.function)}: {declaration.name} cannot be forwarded to {target.name}, which has no "
            f"{next(iter(declaration.operators))} variant. Forward to an operator that has this variant."
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
    """Return whether the ``out=`` variant of another operator has the options that this one requests."""
    asked, stored, usual = ((out.cast, out.contiguous, out.apart) for out in (own, other, Out()))
    return asked in (stored, usual)


def _body_keys(declaration: Declaration, function: FunctionType, keys: tuple[str, ...] | None) -> list[DispatchKey]:
    """Return the dispatch keys that a body is registered under, recording it as attached for them."""
    if keys is None:
        declaration.claim("body", function)
        return [COMPOSITE_KEY]
    attachment = Attachment(declaration, KINDS["kernel"], function, keys, {})
    return _claimed(attachment, function, attachment.keys_or_all())


def attach_kernel(attachment: Attachment) -> None:
    """Register a Python kernel under dispatch keys; the derived variants compute with it.

    Raises:
        KernelSignatureError: its parameters are not the schema's.
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
    """Return whether a body or kernel of a functional operator also takes ``out``, so that it is the ``out=`` kernel as
    well.
    """
    return (
        declaration.operators.get("functional") is declaration.main
        and "out" in declaration.operators
        and takes_out(function)
    )


def attach_view_kernel(attachment: Attachment) -> None:
    """Register a function that computes the geometry of a view under dispatch keys; the in-place variant is derived
    from it.

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
    """Record a kernel as attached under the given keys, unless one of them has a kernel already, which is an error."""
    for key in keys:
        attachment.declaration.require_free(f"kernel {key}", kernel)
    for key in keys:
        attachment.declaration.claim(f"kernel {key}", kernel)
    return keys


def record_as_one(declaration: Declaration) -> None:
    """Register a composite body under CompositeExplicitAutograd as well, so that autograd records a call as one node.

    It is called when the operator gets a derivative. In PyTorch's dispatch table, too, a composite with a derivative is
    ``Explicit``.
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
    """Register a Python function as the kernel of the declared operator, and derive kernels of the variants from it.

    Args:
        declaration: of the operators.
        function: kernel of the declared operator.
        key: the dispatch key.
        variants: functions of variants that have a separate kernel.
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


@lru_cache(maxsize=256)  # so that all dispatch keys share the two functions
def _of_both(function: FunctionType, main: FunctionSchema, out: FunctionSchema) -> tuple[FunctionType, FunctionType]:
    """Split a function that takes ``out`` into a functional kernel and an ``out=`` kernel."""
    separate = with_separate_options(function, main)
    return for_variant(separate, main), for_variant(separate, out)


def _python_kernel(function: FunctionType, operator: Operator, key: DispatchKey) -> PythonKernel:
    taken = with_separate_options(function, operator.schema)
    bumps_version = key is not COMPOSITE_KEY
    return PythonKernel(
        taken, operator.schema, operator.name, bumps_version=bumps_version, wants_key_set=wants_key_set(taken)
    )
