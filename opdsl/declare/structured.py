"""Shape functions, and the out-kernels that fill what they set."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.declare.adapting import handed_all, parameter_names
from opdsl.declare.annotated import tensor_at
from opdsl.declare.attachment import Attachment
from opdsl.declare.bases import context_class, precomputed_names, precomputed_types
from opdsl.declare.definitions import check_by_meta
from opdsl.declare.implementations import require_launch, require_meta
from opdsl.declare.signature import location
from opdsl.dispatch import DispatchKey
from opdsl.errors import KernelSignatureError
from opdsl.kernels import StructuredDefinition
from opdsl.kernels.definitions.cuda_source import cuda_source
from opdsl.runtime import Array
from opdsl.schema import BaseType
from opdsl.schema.implementation import meta_parameters
from opdsl.schema.kinds import Meta

META_KEY = DispatchKey("Meta")


def attach_meta(given: Attachment) -> None:
    """Take a shape function; beside scalar functions that say the shape it only checks.

    Its option ``reads_numbers`` says whether what it does depends on the values of Scalar and float arguments, and not
    on their types alone.

    Raises:
        KernelSignatureError: its parameters are not ``ctx`` and the schema's.
    """
    declaration, reads_numbers = given.declaration, bool(given.options.get("reads_numbers", True))
    meta = given.function
    require_meta(meta, declaration.main, given.decorator)
    meta = handed_all(meta, meta_parameters(declaration.main.schema, parameter_names(meta)))
    declaration.require_one_way(given.kind, meta, reads_numbers=reads_numbers)
    declaration.require_free("meta", meta)
    beside = declaration.kind
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


def attach_out_kernel(given: Attachment) -> None:
    """Take a kernel that fills outputs, or how one in CUDA C++ (``source``) is launched that does.

    Options: ``compiled``, whether the backend compiles it for arrays and numbers; ``alias_safe``, whether it may get an
    argument as its output, as an in-place call has it; ``entry``, the name of a kernel in CUDA C++.

    Raises:
        KernelSignatureError: its parameters are not the schema's and then the outputs, it is in CUDA C++ for another
            backend, there is no ``.meta``, or no key.
    """
    declaration, options = given.declaration, given.options
    definition = _definition(given)
    is_source = options.get("source") is not None
    compiled = bool(options.get("compiled", bool(given.texts))) or is_source
    found = given.keys() if is_source or compiled else given.keys_or_all()
    keys = [each for each in found if each != META_KEY]  # there is nothing to fill
    if not keys:
        raise KernelSignatureError(
            f"{location(given.function)}: {declaration.name}: {given.decorator} is compiled for one backend. Name it: "
            f'{given.decorator}("{"CUDA" if is_source else "CPU"}").'
        )
    taken = None
    if is_source:
        _require_launch(given, definition, keys)
    else:
        _require_filling(given, definition, keys, compiled=compiled)
        taken = parameter_names(given.function)
    declaration.require_one_way(given.kind, given.function)
    for key in keys:
        declaration.require_free(f"out_kernel {key}", given.function)
    for key in keys:
        dtypes = options.get("dtypes", ())
        definition.add_kernel(str(key), given.function, compiled=compiled, dtypes=dtypes, taken=taken)
        declaration.claim(f"out_kernel {key}", given.function)
        definition.alias_safe |= bool(options.get("alias_safe", False))
        declaration.register_structured(key)


def _definition(given: Attachment) -> StructuredDefinition:
    """The definition that out-kernels belong to."""
    declaration = given.declaration
    if not isinstance(declaration.definition, StructuredDefinition):
        raise KernelSignatureError(
            f"{location(given.function)}: {declaration.name}: {given.decorator} fills outputs that no shape function "
            f"has set. Write @{declaration.function.__name__}.meta above it."
        )
    return declaration.definition


def _require_filling(
    given: Attachment, definition: StructuredDefinition, keys: Sequence[DispatchKey], *, compiled: bool
) -> None:
    """Hold a kernel in Python against what it gets, outputs last."""
    declaration, outs = given.declaration, given.declaration.out_names()
    attached = given.checks()
    attached.require_names(definition.kernel_parameters(outs), last=len(outs), by_place=True)
    attached.require_nothing()
    precomputed = precomputed_types(declaration.structured_option("precomputed"))
    more = {**precomputed, **dict.fromkeys(outs, BaseType.Tensor)}
    for key in keys:
        attached.require_types(Array if compiled else tensor_at(str(key)), more=more, compiled=compiled)


def _require_launch(given: Attachment, definition: StructuredDefinition, keys: Sequence[DispatchKey]) -> None:
    """Hold a kernel in CUDA C++ against what it gets: its parameters are found by name."""
    declaration, outs = given.declaration, given.declaration.out_names()
    require_launch(given.function, keys, declaration.main, given.decorator)
    types = {each.python_name: each.type for each in declaration.main.schema.arguments if each.python_name not in outs}
    source, entry = given.options["source"], given.options.get("entry")
    names = definition.kernel_parameters(outs)
    cuda_source(given.function, source, entry, names, types, len(outs), operator=declaration.name)
