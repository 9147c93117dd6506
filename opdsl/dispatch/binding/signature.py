"""Signatures: binding a Python call to one operator, as PyTorch's argument parser does.

A ``Signature`` describes a functional operator together with its ``out=`` partner, as one line of PyTorch's
documentation does. ``sort_signatures`` sorts the overloads of a packet into the order in which they are tried
(``sort_overloads`` of torchgen's ``gen_python_functions.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opdsl.dispatch.binding.arguments import MISSING, NO_MATCH, Converter, Kind, converter, expected, kind_of
from opdsl.dispatch.binding.factories import takes_requires_grad
from opdsl.dispatch.model.operator import Operator
from opdsl.errors import ArgumentError, DeviceError, DTypeError
from opdsl.runtime import Device, DType, Generator, Layout, MemoryFormat, Tensor, to_dtype
from opdsl.schema import Argument, BaseType, Default, ListType, OptionalType, SchemaKind, Symbol, Type
from opdsl.schema.vocabulary import Reduction

# Types whose names other libraries' types have, too.
_OWN = {kind.__name__: kind for kind in (Tensor, Generator)}


class Parameter:
    """Parameter of a signature: its name, type, default and converter, and whether it is keyword-only."""

    __slots__ = ("accepts_none", "accepts_number", "convert", "default", "keyword_only", "kind", "name", "type")

    def __init__(self, argument: Argument, *, keyword_only: bool, accepts_number: bool = False) -> None:
        self.name = argument.python_name
        self.type: Type = argument.type
        self.kind = kind_of(argument)
        self.keyword_only = keyword_only
        self.accepts_number = accepts_number and str(argument.type) == "Tensor" and not argument.is_written
        self.convert: Converter = converter(argument.type, self.accepts_number)
        self.default: object = MISSING if argument.default is None else _default(argument, self.convert)
        # PyTorch's parser represents the default `[]` as None, and therefore accepts None.
        self.accepts_none = isinstance(argument.type, OptionalType) or self.default == ()

    @property
    def is_int_list(self) -> bool:
        """Return whether the type is a list of ints, which positional arguments may spell out: ``x.view(2, 3)``."""
        return isinstance(self.type, ListType) and str(self.type.element) in ("int", "SymInt")

    def __str__(self) -> str:
        text = f"{expected(self.type)} {self.name}"
        return text if self.default is MISSING else f"{text} = {self.default!r}"


# The values of symbolic defaults (`Mean`, `contiguous_format`), by the argument's type.
_SYMBOLS: dict[str, Callable[[str], object]] = {
    "int": lambda name: Reduction[name].value,
    "ScalarType": to_dtype,
    "Layout": lambda name: Layout[name],
    "MemoryFormat": lambda name: MemoryFormat[name],
}


def _default(argument: Argument, convert: Converter) -> object:
    """Return the value that a kernel gets for a default: a bare int of a sized list is repeated (``int[2] x=2``)."""
    assert argument.default is not None, "the argument has a default"
    value: object = argument.default.value
    if isinstance(value, Symbol):
        value = _SYMBOLS[str(argument.type.base)](value.name)
    converted = convert(value)
    return value if converted is NO_MATCH else converted


class BoundCall:
    """Call that fits a signature: operator, schema-ordered arguments, and whether its result requires grad."""

    __slots__ = ("arguments", "operator", "requires_grad")

    def __init__(self, operator: Operator, arguments: tuple[object, ...], *, requires_grad: bool = False) -> None:
        self.operator = operator
        self.arguments = arguments
        self.requires_grad = requires_grad


class Mismatch:
    """Reason why a call does not fit a signature.

    text: the message.
    general: whether the fault concerns the call as a whole, and not the value of one argument.
    argument: the name of the faulty argument; empty if it is none.
    """

    __slots__ = ("argument", "general", "text")

    def __init__(self, text: str, *, general: bool = False, argument: str = "") -> None:
        self.text = text
        self.general = general
        self.argument = argument


# The argument that Python functions of factories take in addition to their schema's, as PyTorch's do.
REQUIRES_GRAD = Argument("requires_grad", BaseType.bool, Default("False", False), None)


class Signature:
    """Parameters of a functional (or in-place) operator and, if there is one, of its ``out=`` partner.

    operator: the operator that is called without ``out``; None for an ``out=`` operator without a partner.
    out: the operator that is called with ``out``.
    skip_self: whether the signature is a method's, whose first argument is the tensor.
    """

    __slots__ = ("maximum", "operator", "out", "out_names", "parameters", "spread")

    def __init__(self, operator: Operator | None, out: Operator | None = None, *, skip_self: bool = False) -> None:
        model = operator or out
        assert model is not None, "a signature stands for an operator"
        self.operator = operator
        self.out = out
        numbers = model.accepts_numbers
        places = list(model.schema.positional)
        if skip_self:
            # The tensor of a method is `self`, at whatever position that is: `x.where(condition, y)`.
            places.sort(key=lambda argument: argument.name != "self")
        parameters = [Parameter(place, keyword_only=False, accepts_number=numbers) for place in places] + [
            Parameter(keyword, keyword_only=True, accepts_number=numbers) for keyword in model.schema.keyword_only
        ]
        if takes_requires_grad(model.schema, model.properties.get("category_override")):
            parameters.append(Parameter(REQUIRES_GRAD, keyword_only=True))
        self.parameters = tuple(parameters)
        self.out_names = () if out is None else tuple(argument.python_name for argument in out.schema.out)
        positional = [parameter for parameter in parameters if not parameter.keyword_only]
        self.maximum = len(positional)
        first = 1 if skip_self else 0
        # A list of ints that is the only positional parameter, besides a method's self, takes all positional arguments.
        self.spread = first if self.maximum == first + 1 and positional[first].is_int_list else None

    def bind(self, positional: tuple[object, ...], named: Mapping[str, object]) -> BoundCall | Mismatch:
        """Bind a call to this signature, by the rules of PyTorch's ``FunctionSignature::parse`` and in its order.

        Args:
            positional: the positional arguments.
            named: the keyword arguments that were given, ``out`` among them.

        Returns:
            The operator that the call reaches with its arguments, or why the call does not fit.
        """
        spread = self._spread(positional)
        if len(positional) > self.maximum and spread is NO_MATCH:
            plural = "" if self.maximum == 1 else "s"
            was = "was" if len(positional) == 1 else "were"
            return Mismatch(
                f"takes {self.maximum} positional argument{plural} but {len(positional)} {was} given", general=True
            )
        values: dict[str, object] = {}
        late: list[tuple[int, Parameter, Tensor]] = []
        used = 0
        for position, parameter in enumerate(self.parameters):
            if position < len(positional) and not parameter.keyword_only:
                value = positional[position]
                if position == self.spread and spread is not NO_MATCH:
                    values[parameter.name] = spread
                    continue
            elif parameter.name in named:
                value = named[parameter.name]
                used += 1
            elif parameter.default is MISSING:
                text = f'missing the required argument "{parameter.name}"'
                return Mismatch(text, general=True, argument=parameter.name)
            else:
                values[parameter.name] = parameter.default
                continue
            if isinstance(value, Tensor) and parameter.type.base is not BaseType.Tensor:
                # Its element is read only if all other arguments fit: another signature may accept the tensor itself.
                late.append((position, parameter, value))
                values[parameter.name] = value
                continue
            converted = self._convert(parameter, value)
            if converted is NO_MATCH:
                return Mismatch(_wrong_argument(parameter, position, value), argument=parameter.name)
            values[parameter.name] = converted
        for position, parameter, operand in late:
            values[parameter.name] = converted = self._convert(parameter, operand)
            if converted is NO_MATCH:
                return Mismatch(_wrong_argument(parameter, position, operand), argument=parameter.name)
        return self._finish(values, named, used)

    def _spread(self, positional: tuple[object, ...]) -> object:
        """Return all positional arguments as one list of ints, as in ``x.view(2, 3)``; else ``NO_MATCH``."""
        rest = () if self.spread is None else positional[self.spread :]
        if self.spread is None or not rest or (len(rest) == 1 and isinstance(rest[0], (list, tuple))):
            return NO_MATCH
        return self.parameters[self.spread].convert(rest)

    @staticmethod
    def _convert(parameter: Parameter, value: object) -> object:
        if value is None and parameter.accepts_none:
            return parameter.default if parameter.default is not MISSING else None
        return parameter.convert(value)

    def _finish(self, values: dict[str, object], named: Mapping[str, object], used: int) -> BoundCall | Mismatch:
        out = named.get("out") if "out" not in values else None
        unused = [text for text in named if text not in values and text != "out"]
        if unused:
            return Mismatch(f"got an unexpected keyword argument '{unused[0]}'", general=True)
        repeated = len(values.keys() & named.keys()) - used
        if repeated:
            return Mismatch("got several values for one argument", general=True)
        if out is None:
            if self.operator is None:
                return Mismatch('missing the required argument "out"', general=True)
            arguments = tuple([values[parameter_name] for parameter_name in self.operator.parameter_names])
            return BoundCall(self.operator, arguments, requires_grad=values.get(REQUIRES_GRAD.name) is True)
        return self._bind_out(values, out, named)

    def _bind_out(self, values: dict[str, object], out: object, named: Mapping[str, object]) -> BoundCall | Mismatch:
        if self.out is None:
            return Mismatch("got an unexpected keyword argument 'out'", general=True)
        outs = (out,) if isinstance(out, Tensor) else out
        if not isinstance(outs, (tuple, list)) or not all(isinstance(output, Tensor) for output in outs):
            return Mismatch(f"argument 'out' must be Tensor, not {_type_name(out)}")
        if len(self.out_names) == 1 and isinstance(self.out.schema.out[0].type, ListType):
            listed = not isinstance(out, Tensor)
            return self._with_outs(values, (tuple(outs),)) if listed else Mismatch("argument 'out' must be a list")
        if len(self.out_names) == 1 and not isinstance(out, Tensor):
            return Mismatch(f"argument 'out' must be Tensor, not {_type_name(out)}")
        if len(outs) != len(self.out_names):
            return Mismatch(f"argument 'out' must hold {len(self.out_names)} tensors, not {len(outs)}")
        names = [argument.python_name for argument in self.out.schema.arguments]
        _check_options({name: value for name, value in values.items() if name in named and name not in names}, outs[0])
        return self._with_outs(values, tuple(outs))

    def _with_outs(self, values: dict[str, object], outs: tuple[object, ...]) -> BoundCall:
        """Return the call of the ``out=`` operator, whose outputs are its last arguments."""
        assert self.out is not None, "asked where there is one"
        names = [argument.python_name for argument in self.out.schema.arguments]
        arguments = [values[name] for name in names if name not in self.out_names]
        return BoundCall(self.out, (*arguments, *outs))

    def __str__(self) -> str:
        parts: list[str] = []
        for position, parameter in enumerate(self.parameters):
            if parameter.keyword_only and (position == 0 or not self.parameters[position - 1].keyword_only):
                parts.append("*")
            parts.append(str(parameter))
        if self.out is not None:
            parts += [*([] if "*" in parts else ["*"]), "Tensor out = None"]
        return f"({', '.join(parts)})"


def own_signature(operator: Operator) -> Signature:
    """Return the signature of one operator alone, without its ``out=`` partner in the packet."""
    signature: Signature | None = operator.own_signature
    if signature is None:
        is_out = operator.schema.kind is SchemaKind.out
        signature = operator.own_signature = Signature(None, operator) if is_out else Signature(operator)
    return signature


def _check_options(options: Mapping[str, object], out: Tensor) -> None:
    """Check that a factory's options agree with its output (``check_out_type_matches`` of PyTorch's bindings).

    Raises:
        DTypeError, DeviceError: an option differs from the output's.
    """
    dtype, device = options.get("dtype"), options.get("device")
    if isinstance(dtype, DType) and dtype is not out.dtype:
        raise DTypeError(
            f"dtype {dtype.scalar_type} does not match dtype of out parameter ({out.dtype.scalar_type}). Omit dtype=, "
            "or pass another out=."
        )
    if isinstance(device, Device) and device.type != out.device.type:
        raise DeviceError(
            f"device type {device.type} does not match device type of out parameter ({out.device.type}). Omit device=, "
            "or pass another out=."
        )


def _type_name(value: object) -> str:
    """Return the name of a value's type, with its module if another library's type has the name of one of opdsl's."""
    kind = type(value)
    return f"{kind.__module__}.{kind.__name__}" if _OWN.get(kind.__name__, kind) is not kind else kind.__name__


def _wrong_argument(parameter: Parameter, position: int, value: object) -> str:
    place = "" if parameter.keyword_only else f" (position {position + 1})"
    if isinstance(value, (list, tuple)) and isinstance(parameter.type, ListType):
        element = converter(parameter.type.element)
        for index, entry in enumerate(value):
            if element(entry) is NO_MATCH:
                wanted = expected(parameter.type.element)
                return (
                    f"expected {wanted} as element {index} of argument '{parameter.name}'{place}, "
                    f"but got {_type_name(entry)}"
                )
    return f"argument '{parameter.name}'{place} must be {expected(parameter.type)}, not {_type_name(value)}"


def bind(
    name: str, signatures: Sequence[Signature], positional: tuple[object, ...], named: Mapping[str, object]
) -> BoundCall:
    """Bind a call to the first signature that it fits.

    Raises:
        ArgumentError: it fits none; the message shows the given types and every signature.
    """
    mismatch: Mismatch | None = None
    for signature in signatures:
        bound_call = signature.bind(positional, named)
        if isinstance(bound_call, BoundCall):
            return bound_call
        mismatch = bound_call
    assert mismatch is not None, "a caller has at least one signature"
    if len(signatures) == 1:
        separator = " " if mismatch.general else ": "
        raise ArgumentError(f"{name}(){separator}{mismatch.text}. It is {name}{signatures[0]}.")
    parts = [_type_name(argument) for argument in positional]
    parts += [f"{key}={_type_name(value)}" for key, value in named.items()]
    choices = "".join(f"\n * {name}{signature}" for signature in signatures)
    raise ArgumentError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(parts)}), "
        f"but expected one of:{choices}"
    )


def _is_smaller_type(first: Type, second: Type) -> bool:
    """Return whether torchgen tries an overload with type ``first`` after one with ``second`` (``is_arg_smaller``)."""
    one, two = str(first), str(second)
    return (
        (one, two) in (("Scalar", "Tensor"), ("Scalar?", "Tensor?"), ("SymInt[]", "int[]"))
        or (one == "int[]" and two in ("int", "int?"))
        or (one == "Tensor[]" and "[]" in two)
        or (one in ("SymInt", "int") and two == "Tensor")
    )


def _is_smaller(first: Signature, second: Signature) -> bool:
    if len(first.parameters) != len(second.parameters):
        return False
    types = [(one.type, two.type) for one, two in zip(first.parameters, second.parameters, strict=True)]
    if all(one == two for one, two in types):
        return False
    return all(str(one) == str(two) or _is_smaller_type(one, two) for one, two in types)


def sort_signatures(signatures: Sequence[Signature]) -> list[Signature]:
    """Sort overloads into the order in which they are tried: by text, then each after those it is smaller than."""
    waiting = sorted(signatures, key=_text)
    ordered: list[Signature] = []
    while waiting:
        ready = [signature for signature in waiting if not any(_is_smaller(signature, other) for other in waiting)]
        ordered += ready
        waiting = [signature for signature in waiting if signature not in ready]
    return ordered


# The type names of torchgen's signature texts, by which overloads are sorted (argument_type_str of api/python.py).
_TYPE_TEXTS = {"int": "int64_t", "float": "double", "str": "c10::string_view"}
_LIST_TEXTS = {
    "int": "IntArrayRef",
    "SymInt": "SymIntArrayRef",
    "Tensor": "TensorList",
    "Scalar": "ScalarList",
    "bool": "::std::array<bool>",
    "Tensor?": "c10::List<::std::optional<Tensor>>",
}


def _type_text(kind: Type) -> str:
    if isinstance(kind, OptionalType):
        return f"{_type_text(kind.element)}?"
    if not isinstance(kind, ListType):
        return _TYPE_TEXTS.get(str(kind), str(kind))
    text = _LIST_TEXTS.get(str(kind.element)) or f"ArrayRef<{_type_text(kind.element)}>"
    return text if kind.size is None else f"{text}[{kind.size}]"


def _text(signature: Signature) -> str:
    parts: list[str] = []
    for parameter in signature.parameters:
        if parameter.keyword_only and "*" not in parts:
            parts.append("*")
        default = "" if parameter.default is MISSING else f"={parameter.default}"
        parts.append(f"{_type_text(parameter.type)} {parameter.name}{default}")
    return ", ".join(parts)


__all__ = ["BoundCall", "Kind", "Parameter", "Signature", "bind", "own_signature", "sort_signatures"]
