"""The kinds of implementations that an operator takes: a record for each decorator of a declaration, and each loop.

Decorators and loops check their options by it, declarations register by it, the mypy plugin types and checks by it,
messages name what there is by it. Its contents are plain data, so that a type checker loads no kernels to read it;
classes are named by their place and imported when the first implementation of the kind is attached.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple


class Function(Enum):
    """What the decorated function is, in a word for each: what it is handed, and what it gives back."""

    NUMBERS = "scalar function: numbers in, numbers out"
    CONTEXT = "shape function: a context and the arguments in, perhaps precomputed values out"
    OUTPUTS = "out-kernel: arguments, precomputed values and outputs in, nothing out"
    TENSORS = "Python kernel: the arguments in, the results out"
    FORMULA = "formula: the arguments in, the results out, compiled"
    VIEW = "view kernel: where a tensor's elements lie and the other arguments in, where a view's do out"
    GRADIENTS = "derivative: gradients, arguments and results in, gradients out"


class Texts(Enum):
    """What the texts are that a decorator takes before its options."""

    NONE = "none: the decorator may stand without parentheses"
    KEYS_OR_ALL = "dispatch keys; without any, all backends"
    ARGUMENTS = "arguments of the operator"


class Meta(Enum):
    """What ``.meta`` is to a way of computing."""

    NONE = "nothing: the result has the shape of the input"
    CHECK = "a check of the arguments"
    SHAPE = "what sets the outputs: it is attached first"
    PERHAPS = "what sets the outputs, where these do not follow from arguments: it is attached first"


class Option(NamedTuple):
    """What a keyword argument of a decorator may be.

    type: what it is an instance of.
    is_optional: whether None stands for its default.
    is_listed: whether one text stands for a list of one, and lists hold texts.
    is_function: whether it is a scalar function, as the decorated one is.
    required: what is said where it is missing; empty where it need not be given.
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
    """What is to be known of one decorator, or of one loop over scalar functions (``opdsl.primitives``).

    name: of the decorator: ``out_kernel`` of ``@f.out_kernel("CPU")``.
    function: what it decorates.
    texts: what it takes before its options.
    options: what else it takes, by name.
    definition: the subclass of ``Definition`` (``opdsl.kernels.definitions.structured``) that functions of this kind
        are added to, and which makes the kernels of all variants: ``module:Class``. Empty for what makes no kernels,
        or those of one key.
    stepping: the class for a function that takes what is carried, then arguments of the operator by name.
    by_cases: the class for functions that compare texts, or ask what is None, which is made of the others.
    meta: what ``.meta`` is to it.
    is_way: whether it computes the operator for all variants, so that no other way stands beside it.
    shares_plans: whether calls with other numbers may share a plan, which ``.meta(reads_numbers=False)`` allows.
    derivative: the class (``module:Class``) that derives gradients from a definition; empty where none are derived.
    is_structured: whether its kernels are structured ones, compiled by a function of its name in each backend.
    tag: of the operator, unless its declaration names tags; empty for none.
    entry: what else its entries say unless the declaration says otherwise, by the key of an entry.
    out_entry: what that of ``out=`` says besides, where the operator is structured.
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
"""The kinds by the names of their decorators."""

DECORATORS: Mapping[str, Kind] = MappingProxyType(
    {name: kind for name, kind in KINDS.items() if kind.function is not Function.NUMBERS}
)
"""The kinds that a decorator beneath a declaration attaches; loops over scalar functions are bodies of formulas."""

COMPILED = (*(kind.name for kind in _KINDS if kind.definition and kind.is_structured), "recurrence")
"""The kinds that backends compile; a backend's function for one has its name (``opdsl.kernels.compiler``)."""
