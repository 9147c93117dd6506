"""Checks of what is attached beneath a declaration: kernels must have the parameters of their schema."""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import FunctionType

from opdsl.declare.signature import location
from opdsl.dispatch import BoxedKernel, DispatchKey, Kernel, Operator
from opdsl.dispatch.table import Fallthrough
from opdsl.errors import KernelSignatureError
from opdsl.kernels.plain import PlainKernel
from opdsl.schema import FunctionSchema
from opdsl.schema.vocabulary import TensorOptions

_VARIABLE = 0x04 | 0x08  # CO_VARARGS | CO_VARKEYWORDS
_SUSPENDS = 0x20 | 0x80 | 0x200  # CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def parameter_names(function: FunctionType) -> tuple[str, ...]:
    """All named parameters of a function, positional ones first."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def require_function(candidate: object, decorator: str) -> FunctionType:
    """The decorated object, if it is a plain Python function.

    Raises:
        KernelSignatureError: it is something else.
    """
    if not isinstance(candidate, FunctionType):
        raise KernelSignatureError(
            f"@{decorator} decorates a Python function, not {type(candidate).__name__}. "
            f"Write it beneath the declaration: @{decorator} / def ..."
        )
    if candidate.__code__.co_flags & _SUSPENDS:
        raise KernelSignatureError(
            f"{location(candidate)}: @{decorator} decorates a generator or an async function, {candidate.__name__}. "
            "Return the result: write it as a plain function."
        )
    return candidate


def require_parameters(
    function: FunctionType, wanted: Iterable[str], *, operator: str, decorator: str, schema: object
) -> None:
    """Hold a function's parameters against those that its operator hands it.

    Raises:
        KernelSignatureError: names or order differ; both signatures are shown.
    """
    names = parameter_names(function)
    expected = tuple(wanted)
    variable = function.__code__.co_flags & _VARIABLE
    if names == expected and not variable:
        return
    missing = [each for each in expected if each not in names]
    extra = [each for each in names if each not in expected]
    if variable:
        fault = "it takes *args or **kwargs"
    elif missing:
        fault = f"'{missing[0]}' is missing"
    elif extra:
        fault = f"'{extra[0]}' is no parameter of the operator"
    else:
        fault = "the parameters stand in another order"
    raise KernelSignatureError(
        f"{location(function)}: {operator}: @{decorator} {function.__name__}({', '.join(names)}) does not fit: "
        f"{fault}. The schema is {schema}. Write: def {function.__name__}({', '.join(expected)})."
    )


# What a tensor parameter may be refined to, and the backend that its kernels are for.
_REFINEMENTS = {"CPUTensor": "CPU", "CUDATensor": "CUDA"}


def require_refinement(function: FunctionType, key: DispatchKey, *, operator: str, decorator: str) -> None:
    """Hold parameters that are refined to the tensors of a backend against the key that the kernel is for.

    Raises:
        KernelSignatureError: the key is that of another backend, or of none.
    """
    for name, annotation in function.__annotations__.items():
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        for refined, backend in _REFINEMENTS.items():
            if re.search(rf"\b{refined}\b", text) and str(key) != backend:
                raise KernelSignatureError(
                    f'{location(function)}: {operator}: @{decorator}("{key}") {function.__name__}: {name} is annotated '
                    f"{refined}, which tensors at {key} need not be. Register it for {backend}, or write Tensor."
                )


def wants_key_set(function: FunctionType) -> bool:
    """Whether the first parameter is annotated ``DispatchKeySet``: the kernel then receives the call's key set."""
    names = parameter_names(function)
    if not names:
        return False
    annotation = function.__annotations__.get(names[0])
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return text.rpartition(".")[2] in ("DispatchKeySet", "KeySet")


def boxed_kernel(function: object) -> Kernel:
    """A function as the kernel of every operator.

    Raises:
        KernelSignatureError: its parameters are not those of a boxed call.
    """
    if isinstance(function, Fallthrough):
        return function
    checked = require_function(function, "fallback")
    has_key_set = wants_key_set(checked)
    names = parameter_names(checked)
    if len(names) != 3 + has_key_set or checked.__code__.co_flags & _VARIABLE or checked.__code__.co_kwonlyargcount:
        raise KernelSignatureError(
            f"{location(checked)}: @fallback {checked.__name__}({', '.join(names)}) does not fit. "
            f"Write: def {checked.__name__}(operator, args, kwargs), or with keys: DispatchKeySet before them."
        )
    return BoxedKernel(checked, wants_key_set=has_key_set)


def plain_kernel(function: object, key: DispatchKey, operator: Operator) -> Kernel:
    """A function as the kernel of an operator that was declared elsewhere.

    Raises:
        KernelSignatureError: its parameters are not the schema's.
    """
    if isinstance(function, Fallthrough):
        return function
    checked = with_separate_options(require_function(function, "impl"), operator.schema)
    schema, has_key_set = operator.schema, wants_key_set(checked)
    wanted = [each.python_name for each in schema.arguments]
    if has_key_set:
        wanted.insert(0, parameter_names(checked)[0])
    require_parameters(checked, wanted, operator=operator.name, decorator="impl", schema=schema)
    bumps_version = key.name != "CompositeImplicitAutograd"
    return PlainKernel(
        checked, schema, operator.name, operator.dynamic_names, bumps_version=bumps_version, wants_key_set=has_key_set
    )


def with_separate_options(function: FunctionType, schema: FunctionSchema) -> FunctionType:
    """A kernel that takes ``options: TensorOptions``, as one that takes the four arguments for which it stands.

    Args:
        function: the kernel; returned as it is if it takes no such parameter.
        schema: the operator's, which has the four.
    """
    names = parameter_names(function)
    keys, given = list(names[: wants_key_set(function)]), names[wants_key_set(function) :]
    wanted = [each.python_name for each in schema.arguments]
    taken = [each for each in given if each not in wanted]
    separate = [each.name for each in schema.tensor_options]
    if len(taken) != 1 or not separate or not set(given).isdisjoint(separate):
        return function
    positional = [each.python_name for each in schema.positional]
    rest = [each.python_name for each in schema.keyword_only if each.name not in separate]
    options = ", ".join(f"{name}={name}" for name in separate)
    passed = [*keys, *positional, *(f"{name}={name}" for name in rest), f"{taken[0]}=TensorOptions({options})"]
    namespace: dict[str, object] = {"body": function, "TensorOptions": TensorOptions}
    exec(f"def adapted({', '.join([*keys, *wanted])}):\n    return body({', '.join(passed)})\n", namespace)
    adapted = namespace["adapted"]
    assert isinstance(adapted, FunctionType)
    code = function.__code__
    adapted.__name__ = function.__name__
    adapted.__annotations__ = {name: function.__annotations__[name] for name in keys}
    adapted.__code__ = adapted.__code__.replace(co_filename=code.co_filename, co_firstlineno=code.co_firstlineno)
    return adapted
