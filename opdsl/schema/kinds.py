"""Kinds of implementations of an operator: a record for each decorator of declarations, and for each kind of loop.

Decorators and loops check their options by the records, declarations register implementations, the mypy plugin types
and checks them, and messages list the kinds. The records are plain data, so that a type checker needs no kernels to
read them; classes are given by import path and imported when an implementation of the kind is first attached.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple


class Function(Enum):
    """Kind of function that a decorator takes, by its arguments and results."""

    NUMBERS = "scalar function: from numbers to numbers"
    CONTEXT = "shape function: receives a context and the arguments, and may return precomputed values"
    OUTPUTS = "out-kernel: receives arguments, precomputed values and the outputs to write, and returns None"
    TENSORS = "Python kernel: from the arguments to the results"
    FORMULA = "formula: from the arguments to the results, compiled"
    VIEW = "view kernel: from the View of a tensor and the other arguments to the View of the result"
    GRADIENTS = "derivative: from gradients of results, arguments and results to gradients of arguments"


class Texts(Enum):
    """Meaning of the strings that a decorator takes before its options."""

    NONE = "none: the decorator may be written without parentheses"
    KEYS_OR_ALL = "dispatch keys; without any, all backends"
    ARGUMENTS = "arguments of the operator"


class Meta(Enum):
    """Role of the shape function (``.meta``) for a kind of implementation."""

    NONE = "none: the result has the shape of the input"
    CHECK = "checks the arguments"
    SHAPE = "sets the shapes of the outputs, and is attached first"
    PERHAPS = "sets the shapes of the outputs if they do not follow from the arguments, and is attached first"


class Option(NamedTuple):
    """Check of a keyword argument of a decorator.

    type: the type of its values.
    is_optional: whether None is allowed and means the default.
    is_listed: whether it is a list of strings, for which a single string is allowed as well.
    is_function: whether it is a scalar function, like the decorated one.
    required: the error message if it is missing; empty if it is optional.
    """

    type: type = object
    is_optional: bool = False
    is_listed: bool = False
    is_function: bool = False
    required: str = ""


ANY = Option()
TEXT = Option(str)
TABLE = Option(dict, is_optional=True)
NAMES = Option(Collection, is_listed=True)
NAMES_OR_NONE = Option(Collection, is_listed=True, is_optional=True)
FUNCTION = Option(is_function=True)


class Kind(NamedTuple):
    """Description of one decorator, or of one kind of loop over scalar functions (``opdsl.primitives``).

    name: the decorator's name: ``out_kernel`` of ``@f.out_kernel("CPU")``.
    function: the kind of function that it decorates.
    texts: the strings that it takes before its options.
    options: its keyword arguments, by name.
    definition: the subclass of ``Definition`` (``opdsl.kernels.definitions.structured``) to which functions of this
        kind are added, and which makes the kernels of all variants: ``module:Class``. Empty for kinds that make no
        kernels, or only those of one key.
    stepping: the class for a function that takes carried values, then arguments of the operator by name.
    by_cases: the class for functions that compare strings, or test for None; it combines the others.
    meta: the role of ``.meta``.
    is_way: whether it computes the operator for all variants, so that it cannot be combined with another such kind.
    shares_plans: whether calls with different numbers may share a plan, which ``.meta(reads_numbers=False)`` allows.
    derivative: the class (``module:Class``) that derives gradients from a definition; empty if none are derived.
    is_structured: whether its kernels are structured kernels, compiled by a function of its name in each backend.
    tag: the operator's tag, unless its declaration names tags; empty for none.
    entry: further defaults of the operator's entries, by key.
    out_entry: further defaults of the ``out=`` variant's entry, if the operator is structured.
    """

    name: str
    function: Function
    texts: Texts = Texts.NONE
    options: Mapping[str, Option] = MappingProxyType({})
    definition: str = ""
    stepping: str = ""
    by_cases: str = ""
    meta: Meta = Meta.CHECK
    is_way: bool = False
    shares_plans: bool = False
    derivative: str = ""
    is_structured: bool = True
    tag: str = ""
    entry: Mapping[str, object] = MappingProxyType({})
    out_entry: Mapping[str, object] = MappingProxyType({})


_ACCUMULATING = {
    "init": Option(required="the value of no elements"),
    "lift": FUNCTION,
    "finish": FUNCTION,
    "promote": TEXT,
    "accumulators": NAMES,
    "results": NAMES,
}

_BY_CASES = "opdsl.kernels.definitions.cases:CasesDefinition"

_KINDS = (
    Kind(
        "pointwise",
        Function.NUMBERS,
        options={
            "promote": TEXT,
            **dict.fromkeys(("keep", "wrapped", "promoting", "rounded", "nonzero", "dtypes"), NAMES),
            "when": TABLE,
            "cast": ANY,
        },
        definition="opdsl.kernels.definitions.pointwise:PointwiseDefinition",
        is_way=True,
        shares_plans=True,
        derivative="opdsl.autograd.pointwise:PointwiseDerivative",
        tag="pointwise",
        entry={"device_check": "NoCheck"},
        out_entry={"structured_inherits": "TensorIteratorBase"},
    ),
    Kind(
        "reduction",
        Function.NUMBERS,
        options={
            **_ACCUMULATING,
            "results": NAMES_OR_NONE,
            "when": TABLE,
            **dict.fromkeys(("in_order", "needs_elements", "empty_is_all"), ANY),
        },
        definition="opdsl.kernels.definitions.reduction:ReductionDefinition",
        is_way=True,
        derivative="opdsl.autograd.reduction:ReductionDerivative",
        tag="reduction",
    ),
    Kind(
        "scan",
        Function.NUMBERS,
        Texts.KEYS_OR_ALL,
        _ACCUMULATING,
        definition="opdsl.kernels.definitions.scan:ScanDefinition",
        stepping="opdsl.kernels.definitions.recurrence:RecurrenceDefinition",
        by_cases=_BY_CASES,
        derivative="opdsl.autograd.recurrence:RecurrenceDerivative",
        meta=Meta.NONE,
        is_way=True,
    ),
    Kind(
        "row",
        Function.NUMBERS,
        options={"promote": TEXT},
        definition="opdsl.kernels.definitions.row:RowDefinition",
        by_cases=_BY_CASES,
        meta=Meta.SHAPE,
        is_way=True,
        derivative="opdsl.autograd.row:RowDerivative",
    ),
    Kind(
        "indexed",
        Function.NUMBERS,
        options={
            "at": NAMES._replace(required="the indices of the result"),
            "over": NAMES,
            "fold": Option(str, is_optional=True),
            "margin": ANY,
            "finish": FUNCTION._replace(is_optional=True),
        },
        definition="opdsl.kernels.definitions.indexed:IndexedDefinition",
        meta=Meta.PERHAPS,
        is_way=True,
        derivative="opdsl.autograd.indexed:IndexedDerivative",
    ),
    Kind(
        "random",
        Function.NUMBERS,
        options={"from_zero": NAMES},
        definition="opdsl.kernels.definitions.random:RandomDefinition",
        is_way=True,
        is_structured=False,
        tag="nondeterministic_seeded",
        entry={"device_check": "NoCheck"},
    ),
    Kind(
        "formula",
        Function.FORMULA,
        options={"dtypes": NAMES, "when": TABLE},
        is_way=True,
        shares_plans=True,
    ),
    Kind("meta", Function.CONTEXT, options={"reads_numbers": ANY}),
    Kind(
        "out_kernel",
        Function.OUTPUTS,
        Texts.KEYS_OR_ALL,
        {**dict.fromkeys(("compiled", "alias_safe", "source", "entry"), ANY), "dtypes": NAMES},
        meta=Meta.SHAPE,
        is_way=True,
    ),
    Kind("kernel", Function.TENSORS, Texts.KEYS_OR_ALL),
    Kind("view_kernel", Function.VIEW, Texts.KEYS_OR_ALL),
    Kind("derivative", Function.GRADIENTS, Texts.ARGUMENTS, {"output_differentiability": ANY}),
)

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Kinds by the names of their decorators."""

DECORATORS: Mapping[str, Kind] = MappingProxyType(
    {name: kind for name, kind in KINDS.items() if kind.function is not Function.NUMBERS}
)
"""Kinds with a decorator that attaches an implementation to a declaration; loops over scalar functions are bodies of
formulas.
"""

COMPILED = (*(kind.name for kind in _KINDS if kind.definition and kind.is_structured), "recurrence")
"""Names of the kinds that backends compile; a backend's function for a kind has its name
(``opdsl.kernels.compiler``).
"""
