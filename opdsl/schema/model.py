"""Schema values: names, arguments, returns and whole schemas, frozen; ``str`` gives the parsed text again."""

from __future__ import annotations

import enum
from keyword import kwlist

import attrs

from opdsl.schema.alias import Alias
from opdsl.schema.types import BaseType, OptionalType, Type

DEFAULT_NAMESPACE = "aten"
"""Namespace of a name that is written without one."""

AUGMENTED_ASSIGNMENTS = frozenset(("add", "sub", "mul", "div", "mod", "pow", "lshift", "rshift", "and", "xor", "or"))
"""Names for which ``__iX__`` is the in-place form of ``__X__``. Source: PEP 203, as torchgen reads it."""

SCRATCH_PREFIX = "_scratch_"
"""Prefix of out arguments that are working memory and are never returned."""

FUNCTIONAL_SUFFIX = "_functional"
"""Suffix of the base name of a mutable operator's functional form."""

GENERATED = "generated"
"""Tag of the operators that an entry's ``autogen`` generates; they have no entries themselves."""

SIGNATURE_DEFAULTS = {("bernoulli", "p"): ("p", "0.5")}
"""Defaults that only the signature has, so that an entry pairs with the others of its name. Source: torchgen's note
"bernoulli.p schema".
"""


@attrs.frozen
class Symbol:
    """Symbolic default value: a name defined by its type, such as ``long`` or ``contiguous_format``."""

    name: str

    def __str__(self) -> str:
        return self.name


DefaultValue = None | bool | int | float | str | Symbol | tuple["DefaultValue", ...]
"""Value of a default; lists are tuples."""


@attrs.frozen
class Default:
    """Default value of an argument: the text as written, and its value."""

    text: str
    value: DefaultValue

    def __str__(self) -> str:
        return self.text


class SchemaKind(enum.Enum):
    """Kind of schema, by where results go: new tensors, ``self``, ``out`` arguments, or other written arguments."""

    functional = "functional"
    inplace = "inplace"
    out = "out"
    mutable = "mutable"
    scratch = "scratch"

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return self.value


def _meant_namespace(written: str | None) -> str:
    """Return the namespace of a name, ``aten`` if none is written, for comparing names."""
    return written or DEFAULT_NAMESPACE


@attrs.frozen
class OperatorName:
    """Name of one operator.

    namespace: as written; None if none was written, which means ``aten``: the two are equal.
    base: the packet's name within the namespace, with its trailing underscore or its dunders.
    overload: empty for the default overload.

    >>> name = OperatorName(None, "add_", "Tensor")
    >>> str(name), name.qualified, name.packet, name.root
    ('add_.Tensor', 'aten::add_.Tensor', 'aten::add_', 'add')
    >>> name == OperatorName("aten", "add_", "Tensor")
    True
    """

    namespace: str | None = attrs.field(eq=_meant_namespace)
    base: str
    overload: str = ""

    def __str__(self) -> str:
        name = f"{self.base}.{self.overload}" if self.overload else self.base
        return name if self.namespace is None else f"{self.namespace}::{name}"

    @property
    def packet(self) -> str:
        """Return the name of the packet, with its namespace."""
        return f"{self.namespace or DEFAULT_NAMESPACE}::{self.base}"

    @property
    def qualified(self) -> str:
        """Return the full name, including the namespace: two names are the same operator if these are equal."""
        return f"{self.packet}.{self.overload}" if self.overload else self.packet

    @property
    def is_dunder(self) -> bool:
        """Return whether the name has the form ``__x__``."""
        base = self.base
        return len(base) > 4 and base.startswith("__") and base.endswith("__") and "_" not in base[2:-2]

    @property
    def is_inplace(self) -> bool:
        """Return whether the name is that of an in-place operator: ``add_``, ``__iadd__``."""
        if not self.base.endswith("_"):
            return False
        return not self.is_dunder or (self.base[2] == "i" and self.base[3:-2] in AUGMENTED_ASSIGNMENTS)

    @property
    def is_functional_variant(self) -> bool:
        """Return whether the name is that of a mutable operator's functional variant."""
        return not self.is_dunder and self.base.endswith(FUNCTIONAL_SUFFIX)

    @property
    def root(self) -> str:
        """Return the base name that all variants share, without the marks of in-place, dunder and functional forms."""
        if self.is_dunder:
            return self.base[3:-2] if self.is_inplace else self.base[2:-2]
        if self.is_inplace:
            return self.base[:-1]
        return self.base.removesuffix(FUNCTIONAL_SUFFIX)

    @property
    def functional_base(self) -> str:
        """Return the base name of the functional variant: without the mark of in-place, dunders kept."""
        return f"__{self.root}__" if self.is_dunder else self.root


FORBIDDEN = frozenset((*kwlist, "__debug__"))
"""Names to which Python cannot assign."""


def python_name(name: str) -> str:
    """Return the Python name for a schema's name, with an underscore if Python forbids it (``from``, ``3d``)."""
    return f"_{name}" if name[:1].isdigit() else f"{name}_" if name in FORBIDDEN else name


def is_plain_name(text: str) -> bool:
    """Return whether a name can be written in a program: an ASCII identifier, no keyword, and no dunder."""
    is_own = text.startswith("__") and text.endswith("__")
    return text.isascii() and text.isidentifier() and text not in FORBIDDEN and not is_own


@attrs.frozen(cache_hash=True)
class Argument:
    """Argument of a schema; the alias annotation belongs to the Tensor inside the type."""

    name: str
    type: Type
    default: Default | None = None
    alias: Alias | None = None

    def __str__(self) -> str:
        text = f"{typed(self.type, self.alias)} {self.name}"
        return text if self.default is None else f"{text}={self.default.text}"

    @property
    def python_name(self) -> str:
        """Return the name of the parameter in Python, see ``python_name``."""
        return python_name(self.name)

    @property
    def is_written(self) -> bool:
        """Return whether the operator writes to the argument."""
        return self.alias is not None and self.alias.write


@attrs.frozen(cache_hash=True)
class Return:
    """Return value of a schema, with or without a name."""

    name: str | None
    type: Type
    alias: Alias | None = None

    def __str__(self) -> str:
        text = typed(self.type, self.alias)
        return text if self.name is None else f"{text} {self.name}"

    @property
    def is_written(self) -> bool:
        """Return whether the value is an argument that the operator has written to."""
        return self.alias is not None and self.alias.write


def typed(type: Type, alias: Alias | None) -> str:
    """Return the text of a type, with the alias annotation after ``Tensor``.

    >>> typed(OptionalType(BaseType.Tensor), Alias("a", write=True))
    'Tensor(a!)?'
    """
    return str(type) if alias is None else str(type).replace("Tensor", f"Tensor({alias})", 1)


@attrs.frozen
class FunctionSchema:
    """Schema of an operator: name, arguments and returns.

    name: the operator's name.
    positional: the arguments that may be passed by position.
    keyword_only: the arguments after ``*`` that are not written.
    out: the arguments after ``*`` that are written.
    returns: the returns, in order; empty for ``-> ()``.
    arguments: all arguments in schema order.
    written_arguments: the arguments that the operator writes to, in schema order.

    The values are not checked on construction: ``parse_schema`` and ``from_signature`` check them, and so does
    ``opdsl.schema.check``.
    """

    name: OperatorName
    positional: tuple[Argument, ...]
    keyword_only: tuple[Argument, ...]
    out: tuple[Argument, ...]
    returns: tuple[Return, ...]
    arguments: tuple[Argument, ...] = attrs.field(init=False, eq=False, repr=False)
    written_arguments: tuple[Argument, ...] = attrs.field(init=False, eq=False, repr=False)
    _signature: FunctionSchema | None = attrs.field(init=False, default=None, eq=False, repr=False)
    """Cached result of ``signature``, which every rule between entries needs."""

    @arguments.default
    def _all_arguments(self) -> tuple[Argument, ...]:
        return self.positional + self.keyword_only + self.out

    @written_arguments.default
    def _arguments_that_are_written(self) -> tuple[Argument, ...]:
        return tuple([argument for argument in self.arguments if argument.alias is not None and argument.alias.write])

    def __str__(self) -> str:
        arguments = [str(argument) for argument in self.positional]
        if self.keyword_only or self.out:
            arguments.append("*")
            arguments += [str(argument) for argument in self.keyword_only + self.out]
        returns = ", ".join([str(value) for value in self.returns])
        return f"{self.name}({', '.join(arguments)}) -> {returns if len(self.returns) == 1 else f'({returns})'}"

    @property
    def self_argument(self) -> Argument | None:
        """Return the positional argument named ``self``, which makes a method possible; it need not come first."""
        return next((argument for argument in self.positional if argument.name == "self"), None)

    @property
    def after_self(self) -> tuple[Argument, ...]:
        """Return the positional arguments after ``self``; all of them if there is no ``self``."""
        for index, argument in enumerate(self.positional):
            if argument.name == "self":
                return self.positional[index + 1 :]
        return self.positional

    @property
    def is_mutable(self) -> bool:
        """Return whether any argument is written to."""
        return bool(self.written_arguments)

    @property
    def is_view(self) -> bool:
        """Return whether a result may share memory with an argument that is not written (INV-46).

        This includes arguments whose memory may end up in any alias set. In-place views are recognized by their tag,
        which is not part of the schema.
        """
        views = [value for value in self.returns if value.alias is not None and not value.alias.write]
        return bool(views) or True in [
            argument.alias is not None and argument.alias.is_wildcard for argument in self.arguments
        ]

    @property
    def kind(self) -> SchemaKind:
        """Return the kind: in-place by name, else scratch or out by out arguments, else mutable if it writes any."""
        if self.name.is_inplace:
            return SchemaKind.inplace
        if self.out:
            scratch = any(out.name.startswith(SCRATCH_PREFIX) for out in self.out)
            return SchemaKind.scratch if scratch else SchemaKind.out
        for argument in self.after_self:
            if argument.alias is not None and argument.alias.write:
                return SchemaKind.mutable
        return SchemaKind.functional

    @property
    def tensor_options(self) -> tuple[Argument, ...]:
        """Return the four consecutive keyword-only arguments that form TensorOptions; empty if they are missing."""
        start = tensor_options_start(self.keyword_only)
        return () if start is None else self.keyword_only[start : start + len(TENSOR_OPTIONS)]

    @property
    def returned_arguments(self) -> tuple[str | None, ...]:
        """Return for each return the name of the argument that it is or views, None for a new value."""
        return tuple(self._aliased_by(value) for value in self.returns)

    def _aliased_by(self, value: Return) -> str | None:
        if value.alias is None:
            return None
        return next((argument.name for argument in self.arguments if argument.alias == value.alias), None)

    def signature(
        self, *, strip_defaults: bool = False, strip_view_copy: bool = False, keep_return_names: bool = False
    ) -> FunctionSchema:
        """Return the part of the schema that all variants of an operator have in common (INV-39).

        Overload, in-place mark, out arguments, alias annotations, return names and TensorOptions are dropped, and
        written arguments that are not returned become returns. Defaults stay.

        strip_defaults: drop the defaults too.
        strip_view_copy: also drop the suffix that distinguishes ``x_copy`` (and ``x_scatter`` from ``x_inverse``) from
            the view ``x``.
        keep_return_names: keep the names of returns, and name returns that are a written argument ``x_out``.
        """
        if strip_defaults or keep_return_names:
            return self._make_signature(strip_defaults, strip_view_copy, keep_return_names)
        plain = self._signature
        if plain is None:
            plain = self._make_signature(False, False, False)
            object.__setattr__(self, "_signature", plain)
        base = _signature_base(self.name, True) if strip_view_copy else plain.name.base
        return plain if base == plain.name.base else attrs.evolve(plain, name=OperatorName(plain.name.namespace, base))

    def _make_signature(self, strip_defaults: bool, strip_view_copy: bool, keep_return_names: bool) -> FunctionSchema:
        return FunctionSchema(
            OperatorName(self.name.namespace, _signature_base(self.name, strip_view_copy)),
            _bare(self, self.positional, strip_defaults),
            _bare(self, _without_options(self.keyword_only), strip_defaults),
            (),
            tuple(_bare_return(value, keep_return_names) for value in self.returns)
            + tuple(
                Return(f"{argument.name}_out" if keep_return_names else None, argument.type)
                for argument in _written_unreturned(self)
            ),
        )


TENSOR_OPTIONS = (
    ("dtype", BaseType.ScalarType),
    ("layout", BaseType.Layout),
    ("device", BaseType.Device),
    ("pin_memory", BaseType.bool),
)
"""Names and types of the arguments that together are TensorOptions; each may be optional."""

_OPTION_NAMES, _OPTION_TYPES = map(list, zip(*TENSOR_OPTIONS, strict=True))


def tensor_options_start(keyword_only: tuple[Argument, ...]) -> int | None:
    """Return the index of the first run of the TensorOptions arguments, or None."""
    count = len(TENSOR_OPTIONS)
    if len(keyword_only) < count:
        return None
    names = [keyword.name for keyword in keyword_only]
    for start in range(len(names) - count + 1):
        if names[start : start + count] == _OPTION_NAMES:
            types = [keyword.type for keyword in keyword_only[start : start + count]]
            if [type_.element if isinstance(type_, OptionalType) else type_ for type_ in types] == _OPTION_TYPES:
                return start
    return None


def _without_options(keyword_only: tuple[Argument, ...]) -> tuple[Argument, ...]:
    start = tensor_options_start(keyword_only)
    return keyword_only if start is None else keyword_only[:start] + keyword_only[start + len(TENSOR_OPTIONS) :]


def _signature_base(name: OperatorName, strip_view_copy: bool) -> str:
    base = name.functional_base
    if strip_view_copy and not name.is_dunder:
        if base.endswith("_copy"):
            return base.replace("_copy", "")
        if base.endswith("_scatter"):
            return base.replace("scatter", "inverse")
    return base


def _bare(schema: FunctionSchema, arguments: tuple[Argument, ...], strip_defaults: bool) -> tuple[Argument, ...]:
    """Return arguments without their alias annotations, with the defaults that signatures have."""
    if strip_defaults:
        return tuple([Argument(argument.name, argument.type) for argument in arguments])
    name, text = SIGNATURE_DEFAULTS.get((schema.name.base, schema.name.overload), (None, ""))
    if name is not None:
        seen = Default(text, float(text))
        return tuple(
            [
                Argument(argument.name, argument.type, seen if argument.name == name else argument.default)
                for argument in arguments
            ]
        )
    for argument in arguments:
        if argument.alias is not None:
            return tuple(
                [
                    Argument(argument.name, argument.type, argument.default) if argument.alias else argument
                    for argument in arguments
                ]
            )
    return arguments


def _bare_return(value: Return, keep_name: bool) -> Return:
    """Return a return value without its alias annotation, and without its name unless that is kept."""
    name = value.name if keep_name else None
    return value if value.alias is None and value.name == name else Return(name, value.type)


def _written_unreturned(schema: FunctionSchema) -> list[Argument]:
    """Return the written arguments that are not returned, in the order of all variants: self, out, others."""
    self_argument = schema.self_argument
    candidates = (() if self_argument is None else (self_argument,)) + schema.out + schema.after_self
    returned = [value.alias for value in schema.returns]
    return [argument for argument in candidates if argument.is_written and argument.alias not in returned]
