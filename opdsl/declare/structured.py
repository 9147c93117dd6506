"""Shape functions, and out-kernels that fill the outputs that a shape function sets."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.declare.adapting import handed_all, parameter_names
from opdsl.declare.annotated import tensor_at
from opdsl.declare.attachment import Attachment
from opdsl.declare.bases import context_class, precomputed_names, precomputed_types
from opdsl.declare.definitions import check_by_meta, refuse_shape_function
from opdsl.declare.implementations import require_launch, require_meta
from opdsl.declare.signature import location
from opdsl.dispatch import DispatchKey
from opdsl.errors import KernelSignatureError
from opdsl.kernels import StructuredDefinition
from opdsl.runtime import Array
from opdsl.schema import BaseType
from opdsl.schema.implementation import meta_parameters
from opdsl.schema.kinds import Meta

META_KEY = DispatchKey("Meta")


def attach_meta(attachment: Attachment) -> None:
    """Attach a shape function, which sets the shapes of outputs; for formulas and scalar functions it only checks
    arguments.

    Its option ``reads_numbers`` says whether its results depend on the values of Scalar and float arguments, and not
    only on their types.

    Raises:
        KernelSignatureError: its parameters are not ``ctx`` and the schema's, or a formula beside it is no elementwise
            one.
    """
    declaration, reads_numbers = attachment.declaration, bool(attachment.options.get("reads_numbers", True))
    meta = attachment.function
    require_meta(meta, declaration.main, attachment.decorator)
    meta = handed_all(meta, meta_parameters(declaration.main.schema, parameter_names(meta)))
    declaration.require_one_way(attachment.kind, meta, reads_numbers=reads_numbers)
    declaration.require_free("meta", meta)
    beside = declaration.kind
    if beside is None and declaration.main.formula is not None:
        refuse_shape_function(declaration, meta)
    definition = None
    if beside is None or beside.meta is not Meta.CHECK:
        definition = StructuredDefinition(
            declaration.main.schema,
            meta,
            declaration.name,
            precomputed=precomputed_names(declaration.structured_option("precomputed")),
            base=context_class(declaration.structured_option("structured_inherits")),
        )
    declaration.claim("meta", meta)
    declaration.meta_reads_numbers = reads_numbers
    if definition is None:
        assert beside is not None, "there is a definition to check for"
        check_by_meta(declaration, declaration.definition, beside)
        return
    declaration.definition = definition
    declaration.register_structured(META_KEY)
    declaration.register_common()


def attach_out_kernel(attachment: Attachment) -> None:
    """Attach a kernel that fills outputs, or the launch function of one that is written in CUDA C++ (option
    ``source``).

    Options: ``compiled``, whether the backend compiles it for arrays and numbers; ``alias_safe``, whether an argument
        may
    be its output, as in an in-place call; ``entry``, the name of a kernel in CUDA C++.

    Raises:
        KernelSignatureError: its parameters are not the schema's and then the outputs, it is in CUDA C++ for another
            backend, there is no ``.meta``, or no key.
    """
    declaration, options = attachment.declaration, attachment.options
    definition = _definition(attachment)
    is_source = options.get("source") is not None
    compiled = bool(options.get("compiled", bool(attachment.texts))) or is_source
    dispatch_keys = attachment.keys() if is_source or compiled else attachment.keys_or_all()
    keys = [dispatch_key for dispatch_key in dispatch_keys if dispatch_key != META_KEY]  # nothing to fill
    if not keys:
        raise KernelSignatureError(
            f"{location(attachment.function)}: {declaration.name}: {attachment.decorator} is compiled for one "
            "backend. Name it: "
            f'{attachment.decorator}("{"CUDA" if is_source else "CPU"}").'
        )
    taken = None
    if is_source:
        _require_launch(attachment, definition, keys)
    else:
        _require_filling(attachment, definition, keys, compiled=compiled)
        taken = parameter_names(attachment.function)
    declaration.require_one_way(attachment.kind, attachment.function)
    for key in keys:
        declaration.require_free(f"out_kernel {key}", attachment.function)
    for key in keys:
        dtypes = options.get("dtypes", ())
        definition.add_kernel(str(key), attachment.function, compiled=compiled, dtypes=dtypes, taken=taken)
        declaration.claim(f"out_kernel {key}", attachment.function)
        definition.alias_safe |= bool(options.get("alias_safe", False))
        declaration.register_structured(key)


def _definition(attachment: Attachment) -> StructuredDefinition:
    """Return the structured definition of a declaration, or raise an error if there is no shape function."""
    declaration = attachment.declaration
    if not isinstance(declaration.definition, StructuredDefinition):
        raise KernelSignatureError(
            f"{location(attachment.function)}: {declaration.name}: {attachment.decorator} fills outputs, which need a "
            f"shape function. Write @{declaration.function.__name__}.meta above it."
        )
    return declaration.definition


def _require_filling(
    attachment: Attachment, definition: StructuredDefinition, keys: Sequence[DispatchKey], *, compiled: bool
) -> None:
    """Check the parameters and annotations of a Python out-kernel, which gets the outputs last."""
    declaration, outs = attachment.declaration, attachment.declaration.out_names()
    attached = attachment.checks()
    attached.require_names(definition.kernel_parameters(outs), last=len(outs), by_place=True)
    attached.require_nothing()
    precomputed = precomputed_types(declaration.structured_option("precomputed"))
    more = {**precomputed, **dict.fromkeys(outs, BaseType.Tensor)}
    for key in keys:
        attached.require_types(Array if compiled else tensor_at(str(key)), more=more, compiled=compiled)


def _require_launch(attachment: Attachment, definition: StructuredDefinition, keys: Sequence[DispatchKey]) -> None:
    """Check the launch function of a CUDA C++ kernel, whose parameters are matched by name."""
    from opdsl.kernels.definitions.cuda_source import cuda_source

    declaration, outs = attachment.declaration, attachment.declaration.out_names()
    require_launch(attachment.function, keys, declaration.main, attachment.decorator)
    types = {
        argument.python_name: argument.type
        for argument in declaration.main.schema.arguments
        if argument.python_name not in outs
    }
    source, entry = attachment.options["source"], attachment.options.get("entry")
    names = definition.kernel_parameters(outs)
    cuda_source(attachment.function, source, entry, names, types, len(outs), operator=declaration.name)
