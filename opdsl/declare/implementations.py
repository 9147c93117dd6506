"""Checks of attached implementations: parameters, defaults and annotations of kernels must fit the operator's
schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType

from opdsl.declare.adapting import adapted, handed_all, parameter_names
from opdsl.declare.annotated import (
    as_compiled,
    number_fault,
    parameter_fault,
    result_fault,
    tensor_at,
)
from opdsl.declare.signature import location
from opdsl.dispatch import BoxedKernel, DispatchKey, Kernel, Operator
from opdsl.dispatch.binding.signature import Parameter
from opdsl.dispatch.table import Fallthrough
from opdsl.errors import DispatchKeyError, KernelSignatureError
from opdsl.kernels.definitions.python_kernel import PythonKernel
from opdsl.runtime import Tensor, View
from opdsl.schema import Argument, BaseType, FunctionSchema, ListType, Return, Type
from opdsl.schema.defaults import default_of
from opdsl.schema.implementation import (
    GRADIENTS,
    OUT,
    OUTPUT_MASK,
    annotations_of,
    keyword_only_fault,
    meta_parameters,
    names_fault,
    result_names,
    returned_fault,
    returned_lengths,
)
from opdsl.schema.vocabulary import TensorOptions

_VARIABLE = 0x04 | 0x08  # CO_VARARGS | CO_VARKEYWORDS
_SUSPENDS = 0x20 | 0x80 | 0x200  # CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def require_function(candidate: object, decorator: str) -> FunctionType:
    """Return the decorated object if it is a plain Python function, else raise an error.

    Raises:
        KernelSignatureError: it is something else, a generator or an async function.
    """
    if not isinstance(candidate, FunctionType):
        raise KernelSignatureError(
            f"@{decorator} decorates a Python function, not {type(candidate).__name__}. Write it below the "
            f"declaration: @{decorator} / def ..."
        )
    if candidate.__code__.co_flags & _SUSPENDS:
        raise KernelSignatureError(
            f"{location(candidate)}: @{decorator} decorates a generator or an async function, {candidate.__name__}. "
            "Return the result: write it as a plain function."
        )
    return candidate


class Attached:
    """Signature checker of a function that is attached to an operator.

    function: the attached function.
    operator: the operator's qualified name.
    decorator: the decorator as written: ``@f.kernel``.
    schema: the operator's schema.
    """

    __slots__ = ("decorator", "function", "operator", "schema")

    def __init__(self, function: FunctionType, operator: str, decorator: str, schema: FunctionSchema) -> None:
        self.function = function
        self.operator = operator
        self.decorator = decorator
        self.schema = schema

    def require(self, fault: str, expected: Iterable[str] | None = None) -> None:
        """Raise an error if ``fault`` is not empty; the message shows the function's signature and the schema.

        Args:
            fault: description of the fault, or empty.
            expected: the parameters that the function should have, if the fault is about them.

        Raises:
            KernelSignatureError: there is a fault.
        """
        if not fault:
            return
        function_name, names = self.function.__name__, ", ".join(parameter_names(self.function))
        remedy = "" if expected is None else f" Write: def {function_name}({', '.join(expected)})."
        raise KernelSignatureError(
            f"{location(self.function)}: {self.operator}: {self.decorator} {function_name}({names}) does not fit: "
            f"{fault}. The schema is {self.schema}.{remedy}"
        )

    def require_names(self, wanted: Iterable[str], *, first: int = 0, last: int = 0, by_place: bool = False) -> None:
        """Check the function's parameters against those that the operator passes, and their defaults against the
        schema's.

        Args:
            wanted: names of the passed arguments, in order; the function takes those that it needs.
            first, last: number of arguments that it must take, by position, at the beginning and at the end.
            by_place: whether all arguments are passed by position.

        Raises:
            KernelSignatureError: a name is not among them, or a parameter kind or default differs.
        """
        names, expected = parameter_names(self.function), tuple(wanted)
        code = self.function.__code__
        fault = "it takes *args or **kwargs" if code.co_flags & _VARIABLE else ""
        self.require(fault or names_fault(names, expected, first=first, last=last), expected)
        placed = expected if by_place else (*expected[:first], *expected[len(expected) - last :])
        self.require(keyword_only_fault(name for name in names[code.co_argcount :] if name in placed), expected)
        self.require(self._default_fault(), expected)

    def _default_fault(self) -> str:
        declared = {
            argument.python_name: argument for argument in self.schema.arguments if argument.default is not None
        }
        for name, value in defaults_of(self.function).items():
            argument = declared.get(name)
            if argument is None or argument.default is None:
                return f"'{name}' has the default {value!r}, but the schema gives it none"
            if default_of(value) != argument.default and not _is_meant(value, argument):
                return f"the default of '{name}' is {value!r}, but the schema's is {argument.default.text}"
        return ""

    def require_types(self, tensor: type, *, more: Mapping[str, Type] | None = None, compiled: bool = False) -> None:
        """Check the annotations of parameters against the types of the arguments that are passed.

        Args:
            tensor: the class that represents a tensor in this implementation.
            more: types of parameters that are no arguments of the operator, by name.
            compiled: whether a compiler reads the function.

        Raises:
            KernelSignatureError: an annotation does not accept its argument.
        """
        if not self.function.__annotations__:
            return
        kinds = {**{argument.python_name: argument.type for argument in self.schema.arguments}, **(more or {})}
        handed = {name: as_compiled(kind) if compiled else kind for name, kind in kinds.items()}
        self.require(parameter_fault(annotations_of(self.function), handed, tensor))

    def require_result(self) -> None:
        """Check the return annotation and the lengths of returned tuples against the returns of the schema.

        Raises:
            KernelSignatureError: they do not fit.
        """
        returns = self.schema.returns
        self.require(returned_fault(self.schema, returned_lengths(self.function.__code__)))
        if self.function.__annotations__:
            writes = bool(returns) and all(returned.is_written for returned in returns)
            self.require(result_fault(annotations_of(self.function), returns, writes=writes))

    def require_gradients(self, names: Sequence[str]) -> None:
        """Check the annotations of a derivative formula against the types of gradients, arguments and results.

        Args:
            names: the arguments whose gradients it returns.

        Raises:
            KernelSignatureError: an annotation does not fit.
        """
        if not self.function.__annotations__:
            return
        kinds = {argument.python_name: argument.type for argument in self.schema.arguments}
        results = zip(result_names(self.schema), (returned.type for returned in self.schema.returns), strict=True)
        grad, grads = GRADIENTS
        base_types: dict[str, Type] = {grad: BaseType.Tensor, grads: ListType(BaseType.Tensor)}
        self.require_types(Tensor, more={**dict(results), **base_types, OUTPUT_MASK: ListType(BaseType.bool)})
        returns = [Return(None, kinds[name]) for name in names if name in kinds]
        if len(returns) == len(names):  # DeclaredDerivative.add refuses other names
            self.require(result_fault(annotations_of(self.function), returns))

    def require_nothing(self) -> None:
        """Check that the annotation of a function that fills its outputs does not say that it returns a value.

        Raises:
            KernelSignatureError: the annotation says that it does.
        """
        self.require(result_fault(annotations_of(self.function), ()))

    def require_numbers(self) -> None:
        """Check that a scalar function is annotated with number types only.

        Raises:
            KernelSignatureError: an annotation is of another type.
        """
        self.require(number_fault(annotations_of(self.function)))


def _is_meant(value: object, argument: Argument) -> bool:
    """Return whether a default value means the same as the schema's default: ``(0, 0)`` for ``int[2] x=0``."""
    meant = Parameter(argument, keyword_only=False).default
    return type(value) is type(meant) and value == meant


# ---------------------------------------------------------------------------------------------------- dispatch keys


def dispatch_keys(keys: Iterable[str], function: FunctionType, operator: Operator) -> list[DispatchKey]:
    """Parse names of dispatch keys; on errors, name the kernel and its operator.

    Raises:
        DispatchKeyError: there is no such key.
    """
    try:
        return [DispatchKey(key) for key in keys]
    except DispatchKeyError as error:
        raise DispatchKeyError(f"{location(function)}: {operator.name}: {error}") from error


def checked_kernel(
    function: FunctionType, keys: Iterable[DispatchKey], operator: Operator, decorator: str, more: Sequence[str] = ()
) -> FunctionType:
    """Check a function as a kernel of a schema, and return a wrapper that takes all of the operator's arguments.

    Args:
        function: the kernel function.
        keys: the dispatch keys that it is registered for.
        operator: its operator.
        decorator: the decorator as written, for messages.
        more: parameters that it has after those of the schema; with any, the function is returned without the adapter.

    Raises:
        KernelSignatureError: it does not fit the schema.
    """
    schema = operator.schema
    kernel = with_separate_options(function, schema)
    wanted = [*_with_key_set(kernel, schema), *more]
    attached = Attached(kernel, operator.name, decorator, schema)
    attached.require_names(wanted, first=wants_key_set(kernel))
    attached.require_result()
    for key in keys:
        attached.require_types(tensor_at(str(key)))
    return kernel if more else handed_all(kernel, wanted)


def _with_key_set(function: FunctionType, schema: FunctionSchema) -> list[str]:
    """Return the parameters that are passed to a kernel: the call's key set, if the kernel takes it, and the
    arguments.
    """
    return [
        *parameter_names(function)[: wants_key_set(function)],
        *(argument.python_name for argument in schema.arguments),
    ]


def require_view_kernel(kernel: FunctionType, operator: Operator, decorator: str) -> None:
    """Check that a function fits as a view kernel, which maps the geometry of a tensor to the geometry of a view.

    Raises:
        KernelSignatureError: it does not fit the schema, or the operator returns no view.
    """
    schema = operator.schema
    attached = Attached(kernel, operator.name, decorator, schema)
    attached.require_names([argument.python_name for argument in schema.arguments], first=1)
    attached.require_types(View)
    if not (schema.is_view or operator.may_alias) or schema.is_mutable:
        raise KernelSignatureError(
            f"{location(kernel)}: {operator.name}: {decorator} makes views, but {schema} returns none. "
            'Declare the alias: self: Tensor[Alias("a")] and -> Tensor[Alias("a")].'
        )


def require_meta(meta: FunctionType, operator: Operator, decorator: str) -> None:
    """Check that a function fits as a shape function, which takes a context and arguments of the operator.

    Raises:
        KernelSignatureError: it does not fit the schema.
    """
    attached = Attached(meta, operator.name, decorator, operator.schema)
    attached.require_names(meta_parameters(operator.schema, parameter_names(meta)), first=1)
    attached.require_types(Tensor)


def require_launch(launch: FunctionType, keys: Iterable[DispatchKey], operator: Operator, decorator: str) -> None:
    """Check the function that computes the launch configuration of a CUDA C++ kernel from tensors and scalars.

    Raises:
        KernelSignatureError: it does not take tensors and scalars, or is registered for a backend other than CUDA.
    """
    names = list(parameter_names(launch))
    if len(names) != 2 or launch.__code__.co_argcount != 2:
        raise KernelSignatureError(
            f"{location(launch)}: {operator.name}: {decorator}(source=...) {launch.__name__}({', '.join(names)}) does "
            f"not fit. Write: def {launch.__name__}(tensors, scalars): return grid, block, shared."
        )
    names = [str(key) for key in keys]
    if names != ["CUDA"]:
        raise KernelSignatureError(
            f"{location(launch)}: {operator.name}: {decorator}(source=...) is CUDA C++, which is for CUDA alone (got "
            f'{", ".join(names)}). Write {decorator}("CUDA", source=...).'
        )


def defaults_of(function: FunctionType) -> dict[str, object]:
    """Return the defaults of a function's parameters, by name."""
    code = function.__code__
    defaults = function.__defaults__ or ()
    positional = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return {**dict(zip(positional, defaults, strict=True)), **(function.__kwdefaults__ or {})}


def wants_key_set(function: FunctionType) -> bool:
    """Return whether the first parameter is annotated ``DispatchKeySet``: the kernel then receives the call's key
    set.
    """
    names = parameter_names(function)
    if not names:
        return False
    annotation = function.__annotations__.get(names[0])
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return text.rpartition(".")[2] in ("DispatchKeySet", "KeySet")


def boxed_kernel(function: object) -> Kernel:
    """Wrap a function ``(operator, args, kwargs)`` as a fallback kernel, which can serve any operator.

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
    """Wrap a function as the kernel of an operator that was declared elsewhere (``Library.impl``).

    Raises:
        KernelSignatureError: its parameters are not the schema's.
    """
    if isinstance(function, Fallthrough):
        return function
    checked = with_separate_options(require_function(function, "impl"), operator.schema)
    schema, has_key_set = operator.schema, wants_key_set(checked)
    wanted = _with_key_set(checked, schema)
    attached = Attached(checked, operator.name, "@impl", schema)
    attached.require_names(wanted, first=has_key_set)
    attached.require_types(tensor_at(str(key)))
    attached.require_result()
    kernel, bumps_version = handed_all(checked, wanted), key.name != "CompositeImplicitAutograd"
    return PythonKernel(kernel, schema, operator.name, bumps_version=bumps_version, wants_key_set=has_key_set)


def with_separate_options(function: FunctionType, schema: FunctionSchema) -> FunctionType:
    """Return a wrapper that takes dtype, layout, device and pin_memory for a kernel with ``options: TensorOptions``.

    Args:
        function: the kernel; returned unchanged if it has no such parameter.
        schema: the operator's schema, which has the four arguments.
    """
    names = parameter_names(function)
    keys, texts = list(names[: wants_key_set(function)]), names[wants_key_set(function) :]
    wanted = [argument.python_name for argument in schema.arguments]
    wanted += [OUT] if OUT in texts else []
    taken = [text for text in texts if text not in wanted]
    separate = [tensor_option.name for tensor_option in schema.tensor_options]
    if len(taken) != 1 or not separate or not set(texts).isdisjoint(separate):
        return function
    options = ", ".join(f"{name}={name}" for name in separate)
    expressions = {taken[0]: f"TensorOptions({options})"}
    return adapted(function, [*keys, *wanted], expressions, {"TensorOptions": TensorOptions})
