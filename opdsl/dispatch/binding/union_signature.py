"""Union of the parameters of several overloads, for the one generated function that calls them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opdsl.dispatch.binding.arguments import INTEGERS_FROM, MISSING, SIZES_FROM, Kind
from opdsl.dispatch.binding.signature import Parameter, Signature

# All arguments of a function: the positional ones, and the keyword arguments.
Everything = tuple[tuple[object, ...], dict[str, object]]

# Alternative names of arguments in PyTorch's Python functions: torchgen writes `input` for the `self` of a function
# (PythonArgument.argument_str), and the parser accepts NumPy's names (numpy_compatibility_arg_names in
# torch/csrc/utils/python_arg_parser.cpp).
_OTHER_NAMES = {
    "self": ("input", "x", "a", "x1"),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
    "dim": ("axis",),
    "keepdim": ("keepdims",),
}


class UnionParameter:
    """Parameter of the generated function: the union of the overloads' parameters at one position.

    Its default is that of the overloads if all agree, otherwise ``MISSING``: some overloads may lack the parameter.
    """

    __slots__ = (
        "accepts_none",
        "default",
        "has_one_name",
        "integers_from",
        "keyword_only",
        "kinds",
        "name",
        "numbers",
        "required",
    )

    def __init__(self, parameters: Sequence[Parameter], *, everywhere: bool, keyword_only: bool) -> None:
        first = parameters[0]
        self.name = first.name
        self.keyword_only = keyword_only
        self.kinds = {parameter.kind for parameter in parameters}
        self.numbers = Kind.NUMBER in self.kinds or any(parameter.accepts_number for parameter in parameters)
        agreed = everywhere and all(parameter.default is first.default for parameter in parameters)
        self.default = first.default if agreed else MISSING
        self.required = everywhere and all(parameter.default is MISSING for parameter in parameters)
        self.accepts_none = any(parameter.accepts_none for parameter in parameters)
        self.integers_from = _integers_from(parameters)
        self.has_one_name = all(parameter.name == self.name for parameter in parameters)

    @property
    def is_dynamic(self) -> bool:
        """Return whether plans take the parameter's value as an argument, instead of being made for one value."""
        return bool(self.kinds & {Kind.TENSOR, Kind.NUMBER, Kind.TENSORS})

    @property
    def may_lead_as_number(self) -> bool:
        """Return whether the parameter is a ``self`` that may be a Python number, as in ``add(2, x)``."""
        return self.name == "self" and self.numbers and Kind.TENSOR in self.kinds <= {Kind.TENSOR, Kind.NUMBER}

    def key(self, *, as_tensor: bool = True, of_form: bool = False) -> str:
        """Return the source expression of this parameter's part of a plan key.

        Args:
            as_tensor: whether a ``self`` that may be a number is assumed to be a tensor: calls with a number are rare,
                so they are looked up in a second attempt.
            of_form: whether the key is that of a form, which does not contain sizes.
        """
        name = self.name
        geometry = "geometry.form" if of_form else "geometry"
        if self.kinds == {Kind.NUMBER}:
            return f"§type({name})"
        if self.kinds <= {Kind.TENSOR, Kind.NUMBER}:
            plain = (
                self.required
                and not self.accepts_none
                and (not self.numbers or (self.may_lead_as_number and as_tensor))
            )
            return (
                f"{name}.{geometry}" if plain else f"({name}.{geometry} if §type({name}) is §Tensor else §type({name}))"
            )
        if self.kinds == {Kind.TENSORS}:
            return f"(§type({name}), *[§each.{geometry} for §each in {name}])"
        if self.kinds == {Kind.VALUE}:
            if of_form and self.integers_from is not None:
                return f"§value_form({name}, {self.integers_from})"
            # An int is its own key: no other key is an int, so no equal value is confused with it. So is None.
            return f"({name} if {name} is None or §type({name}) is §int else §value_key({name}))"
        if Kind.NUMBER in self.kinds and (self.integers_from is None or not of_form):
            return f"§scalar_form({name})" if of_form else f"§scalar_key({name})"
        return f"§mixed_form({name}, {self.integers_from})" if of_form else f"§mixed_key({name})"


def _integers_from(parameters: Sequence[Parameter]) -> int | None:
    """Return the least integer that plans of forms read instead of knowing it; None if they know all integers.

    PyTorch gives sizes, and numbers that may become sizes, the type SymInt; dimensions have the type int.
    """
    types = [str(parameter.type) for parameter in parameters]
    if any("SymInt" in type_ for type_ in types):
        return SIZES_FROM
    return INTEGERS_FROM if any(type_.startswith(("int", "float[")) for type_ in types) else None


def union_parameters(signatures: Sequence[Signature]) -> list[UnionParameter]:
    """Return the union of the signatures' parameters: by position first, then all other names."""
    longest = max((signature.maximum for signature in signatures), default=0)
    union: list[UnionParameter] = []
    names: set[str] = set()
    for index in range(longest):
        here = [signature.parameters[index] for signature in signatures if index < signature.maximum]
        # A name that another overload has at a later position, as `end` in arange, names that later position.
        later = {parameter.name for one in signatures for parameter in one.parameters[index + 1 : one.maximum]}
        here.sort(key=lambda parameter: parameter.name in later or parameter.name in names)
        # Overloads with another name at this position share it; their names are keyword-only in the union.
        union.append(UnionParameter(here, everywhere=len(here) == len(signatures), keyword_only=False))
        names.add(union[-1].name)
    for signature in signatures:
        for parameter in signature.parameters:
            if parameter.name not in names:
                names.add(parameter.name)
                same = [
                    namesake for one in signatures for namesake in one.parameters if namesake.name == parameter.name
                ]
                keyword_only = all(parameter.keyword_only for parameter in same)
                union.append(
                    UnionParameter(same, everywhere=len(same) == len(signatures) and keyword_only, keyword_only=True)
                )
    if not any(parameter.kinds & {Kind.TENSOR, Kind.TENSORS} for parameter in union):
        for member in union:
            member.integers_from = member.integers_from and SIZES_FROM  # without tensors, integers cannot be dimensions
    return union


def _aliases(parameters: Sequence[UnionParameter], is_method: bool) -> dict[str, str]:
    """Return PyTorch's alternative names of a function's parameters, except for a method's self."""
    names = {parameter.name for parameter in parameters}
    named = names - {"self"} if is_method else names
    return {other: name for name in sorted(named) for other in _OTHER_NAMES.get(name, ()) if other not in names}


class UnionSignature:
    """Parameters of a function over several overloads, and the rules by which its calls are passed on.

    Args:
        name: the function's name.
        signatures: the signatures of the overloads, in the order in which they are tried.
        has_out: whether there is an optional parameter ``out``.
        required_out: whether ``out`` is required.
        parameters_of: the signatures that define the function's parameters, if these are not ``signatures``.
        is_method: whether the function is a method, whose ``self`` is the tensor.
        takes_aliases: whether PyTorch's alternative keyword names (``input``, ``axis``) are accepted.

    parameters: the parameters of the function, without ``out``.
    spread: the index of the parameter that takes all remaining positional arguments, as in ``x.view(2, 3)``, or None.
    by_place, place_names: the parameters that may be passed by position, and their names.
    names: the names of all parameters, with ``out`` if it is required.
    out_names: the names by which outputs can be given instead of ``out``.
    number_first: the parameter that may be a number in place of a tensor, as in ``add(2, x)``.
    aliases: the schema's name for each alternative name of a parameter.
    defaults: the defaults of optional parameters.
    """

    def __init__(
        self,
        name: str,
        signatures: Sequence[Signature],
        *,
        has_out: bool = False,
        required_out: bool = False,
        parameters_of: Sequence[Signature] | None = None,
        is_method: bool = False,
        takes_aliases: bool = False,
    ) -> None:
        self.name = name
        self.signatures = tuple(signatures)
        self.has_out = has_out
        self.required_out = required_out
        # The function of a single out= operator also takes its outputs by the names of the schema.
        names = self.signatures[0].out_names if required_out and parameters_of is None else ()
        self.out_names = () if names == ("out",) else names
        self.has_several_outs = required_out and any(len(signature.out_names) > 1 for signature in self.signatures)
        union = self.signatures if parameters_of is None else parameters_of
        self.parameters = union_parameters(union)
        self.by_keyword = {parameter.name for parameter in self.parameters if parameter.keyword_only} | {
            "out",
            *self.out_names,
        }
        self.by_place = [parameter for parameter in self.parameters if not parameter.keyword_only]
        self.place_names = [parameter.name for parameter in self.by_place]
        self.names = [parameter.name for parameter in self.parameters] + ["out"] * required_out
        # Parameters that only some overloads take by position are passed by name, which all of them accept.
        self.by_name = {
            parameter.name for one in self.signatures for parameter in one.parameters if parameter.keyword_only
        }
        spread = {signature.spread for signature in union if signature.spread is not None}
        self.spread = spread.pop() if len(spread) == 1 else None
        leading = next(
            (parameter.name for parameter in self.parameters if parameter.may_lead_as_number and parameter.required),
            None,
        )
        self.number_first = None if is_method else leading
        self.aliases = _aliases(self.parameters, is_method) if takes_aliases else {}
        self.renames = bool(self.aliases) and self.spread is None
        # An argument that may have another name is reported missing by binding, not by Python's call of the function.
        self.is_lenient = self.renames or not all(parameter.has_one_name for parameter in self.parameters)
        self.defaults = {parameter.name: parameter.default for parameter in self.parameters if not parameter.required}
        if has_out:
            self.defaults["out"] = None

    @property
    def handed(self) -> list[str]:
        """Return the names of the arguments that plans of exact geometries take."""
        names = [
            parameter.name
            for index, parameter in enumerate(self.parameters)
            if parameter.is_dynamic and index != self.spread
        ]
        return names + ["out"] * self.required_out

    def has_key(self, named: Mapping[str, object]) -> bool:
        """Return whether calls with these keywords have a plan key; with spread arguments, unknown keywords do not."""
        return self.spread is None or named.keys() <= self.by_keyword

    def is_given(self, name: str, value: object) -> bool:
        """Return whether a parameter has another value than its default."""
        return value is not MISSING and not (name in self.defaults and value is self.defaults[name])

    def by_own_names(self, values: Mapping[str, object], named: Mapping[str, object]) -> dict[str, object]:
        """Replace PyTorch's alternative names of keyword arguments by those of the schema.

        Args:
            values: the value of every parameter of the function.
            named: the arguments given under other names.
        """
        meant = dict(values)
        for name, value in named.items():
            own = self.aliases.get(name, name)
            is_free = own in meant and not self.is_given(own, meant[own])
            # Unknown names, and arguments that were given twice, are kept for the error message.
            meant[own if is_free else name] = value
        return meant

    def clean(self, place_values: tuple[object, ...], named: dict[str, object]) -> Everything:
        """Return the arguments of a call, positional and by keyword, without those that are at their default."""
        positional: list[object] = []
        rest: dict[str, object] = {}
        pairs: Iterable[tuple[UnionParameter, object]] = zip(self.by_place, place_values, strict=False)
        if self.spread is not None:
            positional = list(place_values)
            pairs = ()
            own = {name: self.aliases.get(name, name) for name in named}
            named = {name if own[name] in named else own[name]: value for name, value in named.items()}
        for index, (parameter, value) in enumerate(pairs):
            name = parameter.name
            if value is MISSING or (name in self.defaults and value is self.defaults[name]):
                continue
            if len(positional) == index and parameter.name not in self.by_name:
                positional.append(value)
            else:
                rest[parameter.name] = value
        rest |= {name: value for name, value in named.items() if self.is_given(name, value)}
        return tuple(positional), rest

    def values(self, place_values: tuple[object, ...], named: dict[str, object]) -> dict[str, object]:
        """Return the arguments of a call as a dict by parameter name."""
        values = dict(zip(self.place_names, place_values, strict=False)) | named
        if self.spread is not None:
            values[self.parameters[self.spread].name] = place_values[self.spread :]
        return values

    def complete(self, place_values: tuple[object, ...], named: dict[str, object]) -> Everything:
        """Return the arguments of a call, positional and by keyword, with the defaults filled in."""
        rest = {
            parameter.name: named.get(parameter.name, parameter.default)
            for parameter in self.parameters
            if parameter.keyword_only
        }
        if self.spread is not None:
            return place_values, {**rest, **named}
        values = dict(zip(self.place_names, place_values, strict=False)) | named
        positional = tuple([values.pop(parameter.name, parameter.default) for parameter in self.by_place])
        return positional, {**rest, **values}


__all__ = ["Everything", "UnionParameter", "UnionSignature", "union_parameters"]
