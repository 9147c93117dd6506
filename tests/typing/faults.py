"""Wrong declarations and implementations, with the errors that mypy with the plugin and the decorators report.

Each fault is checked in its own module, after ``PRELUDE``.
"""

from __future__ import annotations

from typing import NamedTuple

PRELUDE = """
from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from opdsl import Alias, Array, CPUTensor, CUDATensor, Ints, Library, Out, Scalar, Tensor, TensorOptions

lib = Library("faults")


class Extremes(NamedTuple):
    values: Tensor
    indices: Tensor


@lib.op(inplace=True, out=True)
def scaled(self: Tensor, other: Tensor, factor: float = 1.0, *, power: Scalar = 1) -> Tensor: ...


@lib.op(out=Out(args=("values", "indices"), precomputed=("dim -> int size, int step", "bool ascending")))
def extremes(self: Tensor, dim: int, label: str | None = None) -> Extremes: ...


@lib.op
def joined(tensors: list[Tensor], size: Ints[2], *, weight: Tensor | None = None) -> list[Tensor]: ...


@lib.op
def made(size: list[int], *, options: TensorOptions) -> Tensor: ...


@lib.op
def viewed(self: Tensor[Alias("a")], dim: int) -> Tensor[Alias("a")]: ...


@lib.op
def total(self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False) -> Tensor: ...


@lib.op
def parted(self: Tensor) -> tuple[Tensor, Tensor]: ...


@lib.op
def declared_alone(self: Tensor, beta: float = 1.0) -> Tensor: ...


@extremes.meta
def extremes_meta(ctx, self, dim, label):
    return {"size": 1, "step": 1, "ascending": True}


@lib.op(out=True)
def filled(self: Tensor, size: int, dtype: str = "x") -> Tensor: ...


@filled.meta
def filled_meta(ctx, self, size, dtype):
    ctx.set_output(0, (size,), like=self)
"""


class Fault(NamedTuple):
    """Wrong declaration or implementation, with the expected errors.

    about: the operator that every message names.
    source: the text after the prelude.
    mypy: a part of mypy's report, or None if mypy cannot find the fault.
    decorated: a part of the error that the decorator raises, or None if it raises none.
    """

    about: str
    source: str
    mypy: str | None
    decorated: str | None


def _kernel(parameters: str, body: str = "return self", keys: str = '"CPU"', result: str = "") -> str:
    return f"@scaled.kernel({keys})\ndef scaled_kernel({parameters}){result}:\n    {body}\n"


def _derivative(names: str, parameters: str, body: str) -> str:
    return f"@scaled.derivative({names})\ndef scaled_derivative({parameters}):\n    {body}\n"


def _formula(parameters: str, body: str) -> str:
    return f'@declared_alone.formula(dtypes="floating")\ndef of_floats({parameters}):\n    {body}\n'


def _filled(parameters: str, body: str = "pass", options: str = "", annotation: str = "") -> str:
    return f'@filled.out_kernel("CPU"{options})\ndef filled_cpu({parameters}){annotation}:\n    {body}\n'


def _extremes(parameters: str) -> str:
    return f'@extremes.out_kernel("CPU", compiled=False)\ndef extremes_cpu({parameters}):\n    pass\n'


def _view(parameters: str) -> str:
    return f'@viewed.view_kernel("CPU")\ndef viewed_kernel({parameters}):\n    return self\n'


def _op(text: str) -> str:
    return f"@lib.op\ndef {text}: ...\n"


KERNELS = {
    "renamed": Fault("scaled", _kernel("self, other, scale, power"), "'scale' is no par", "'scale' is no par"),
    "added": Fault("scaled", _kernel("self, other, factor, power, more"), "'more' is no par", "'more' is no par"),
    "variable": Fault("scaled", _kernel("*given: Any", "return given[0]"), "'given' is no par", "*args or **kwargs"),
    "default_of_none": Fault(
        "scaled", _kernel("self, other=None, factor=1.0, power=1"), "gives it none", "gives it none"
    ),
    "other_default": Fault("scaled", _kernel("self, other, factor=2.0, power=1"), None, "the schema's is 1.0"),
    "annotated_text": Fault(
        "scaled",
        _kernel("self: Tensor, other: Tensor, factor: str, power: Any"),
        "'factor' is annotated str, but gets float",
        "'factor' is annotated str, but gets float",
    ),
    "annotated_int": Fault(
        "scaled", _kernel("self, other, factor: int, power"), "'factor' is annotated int", "'factor' is annotated int"
    ),
    "annotated_optional": Fault(
        "joined",
        '@joined.kernel("CPU")\ndef joined_kernel(tensors, size, weight: Tensor):\n    return tensors\n',
        "'weight' is annotated Tensor",
        "'weight' is annotated Tensor, but gets CPUTensor?",
    ),
    "annotated_list": Fault(
        "joined",
        '@joined.kernel("CPU")\ndef joined_kernel(tensors: Tensor, size, weight):\n    return [tensors]\n',
        "'tensors' is annotated Tensor",
        "'tensors' is annotated Tensor, but gets CPUTensor[]",
    ),
    "annotated_elements": Fault(
        "joined",
        '@joined.kernel("CPU")\ndef joined_kernel(tensors, size: list[str], weight):\n    return tensors\n',
        "'size' is annotated",
        "'size' is annotated list[str], but gets int[2]",
    ),
    "cuda_on_the_cpu": Fault(
        "scaled", _kernel("self: CUDATensor, other, factor, power"), "gets CPUTensor", "gets CPUTensor"
    ),
    "cpu_everywhere": Fault(
        "scaled",
        _kernel("self: CPUTensor, other, factor, power", keys='"CompositeExplicitAutograd"'),
        "'self' is annotated CPUTensor",
        "'self' is annotated CPUTensor",
    ),
    "cpu_on_two": Fault(
        "scaled",
        _kernel("self: CPUTensor, other, factor, power", keys='"CPU", "CUDA"'),
        "'self' is annotated CPUTensor",
        "'self' is annotated CPUTensor",
    ),
    "array_in_a_kernel": Fault(
        "scaled",
        _kernel("self: Array, other, factor, power", "return other"),
        "'self' is annotated",
        "'self' is annotated ndarray",
    ),
    "returns_a_pair": Fault(
        "scaled", _kernel("self, other, factor, power", "return self, other"), "tuple of 2", "tuple of 2"
    ),
    "returns_a_number": Fault(
        "scaled", _kernel("self, other, factor, power", "return factor"), "Incompatible return", None
    ),
    "says_a_number": Fault(
        "scaled",
        _kernel("self, other, factor, power", "return factor", result=" -> float"),
        "it returns float",
        "it returns float, but the schema returns Tensor",
    ),
    "returns_one_of_two": Fault(
        "extremes",
        '@extremes.kernel("CPU")\ndef extremes_kernel(self, dim, label):\n    return self, self, self\n',
        "it returns a tuple of 3, but the schema has 2 results",
        "it returns a tuple of 3, but the schema has 2 results",
    ),
    "a_view_of_two": Fault("viewed", _view("self, start"), "'start' is no par", "'start' is no par"),
    "a_view_that_is_none": Fault(
        "scaled",
        '@scaled.view_kernel("CPU")\ndef scaled_view(self, other, factor, power):\n    return self\n',
        None,
        "returns none",
    ),
    "unknown_key": Fault("scaled", _kernel("self, other, factor, power", keys='"CPV"'), None, "CPV"),
    "twice": Fault("scaled", 2 * _kernel("self, other, factor, power"), "already defined", "a second kernel CPU"),
}

STRUCTURED = {
    "meta_without_context": Fault(
        "scaled",
        "@scaled.meta\ndef scaled_meta(self, other, factor, power):\n    pass\n",
        "'ctx' is missing",
        "'ctx' is missing",
    ),
    "meta_renamed": Fault(
        "scaled",
        "@scaled.meta\ndef scaled_meta(ctx, self, other, scale, power):\n    pass\n",
        "'scale' is no parameter",
        "'scale' is no parameter",
    ),
    "meta_annotated": Fault(
        "scaled",
        "@scaled.meta\ndef scaled_meta(ctx, self, other: float, factor, power):\n    pass\n",
        "'other' is annotated float",
        "'other' is annotated float, but gets Tensor",
    ),
    "out_dropped": Fault("filled", _filled("self, size, dtype"), "'out' is missing", "'out' is missing"),
    "out_first": Fault("filled", _filled("out, self, size, dtype"), "another order", "another order"),
    "out_renamed": Fault("filled", _filled("self, size, dtype, result"), None, "'out' is missing"),
    "out_with_a_default": Fault("filled", _filled("self, size, dtype, out=None"), "gives it none", "gives it none"),
    "out_by_name": Fault("filled", _filled("self, size, dtype, *, out"), "'out' is keyword-only", "'out' is keyword"),
    "tensor_where_compiled": Fault(
        "filled", _filled("self: Tensor, size, dtype, out"), "'self' is annotated Tensor", "gets Array"
    ),
    "array_where_not_compiled": Fault(
        "filled", _filled("self: Array, size, dtype, out", options=", compiled=False"), "'self' is annotated", "ndarray"
    ),
    "out_annotated": Fault(
        "filled", _filled("self, size, dtype, out: int"), "'out' is annotated int", "'out' is annot"
    ),
    "fills_and_returns": Fault(
        "filled", _filled("self, size, dtype, out", "return self", ", compiled=False"), "[return-value]", None
    ),
    "says_that_it_returns": Fault(
        "filled",
        _filled("self, size, dtype, out", "return self", ", compiled=False", " -> Tensor"),
        "it returns Tensor",
        "it returns Tensor, but the schema returns",
    ),
    "replaced_argument": Fault(
        "extremes", _extremes("self, dim, label, values, indices"), "'dim' is no par", "'dim' is no par"
    ),
    "precomputed_annotated": Fault(
        "extremes",
        _extremes("self, size: str, step, label, ascending, values, indices"),
        None,
        "'size' is annotated str, but gets int",
    ),
    "one_output_of_two": Fault(
        "extremes", _extremes("self, size, step, label, ascending, values"), "is missing", "'indices' is missing"
    ),
    "without_meta": Fault(
        "scaled",
        '@scaled.out_kernel("CPU")\ndef scaled_cpu(self, other, factor, power, out):\n    pass\n',
        None,
        "Write @scaled.meta above it",
    ),
}

FORMULAS = {
    "formula_of_no_argument": Fault(
        "declared_alone",
        _formula("self, gamma", "return self"),
        "'gamma' is no parameter",
        "'gamma' is no parameter",
    ),
    "formula_of_a_wrong_type": Fault(
        "declared_alone",
        _formula("self: Tensor, beta: Tensor", "return self"),
        "'beta' is annotated Tensor, but gets float",
        "'beta' is annotated",
    ),
    "formula_with_two_results": Fault(
        "declared_alone", _formula("self", "return self, self"), "it returns a tuple of 2", "it returns a tuple of 2"
    ),
}

DERIVATIVES = {
    "of_no_argument": Fault(
        "scaled", _derivative('"slf"', "grad", "return grad"), "'slf' is no tensor", "'slf' is no tensor"
    ),
    "of_a_number": Fault(
        "scaled", _derivative('"factor"', "grad", "return grad"), "'factor' is no tensor", "'factor' is no tensor"
    ),
    "one_of_two": Fault(
        "scaled",
        _derivative('"self", "other"', "grad, self, other", "return (grad * other,)"),
        "it returns 1 gradients for self, other",
        "it returns 1 gradients for self, other",
    ),
    "three_of_two": Fault(
        "scaled",
        _derivative('"self", "other"', "grad", "return grad, grad, None"),
        "it returns 3 gradients",
        "it returns 3 gradients",
    ),
    "two_of_one": Fault(
        "scaled", _derivative('"self"', "grad", "return grad, grad"), "it returns 2 gradients", "it returns 2 gradients"
    ),
    "no_tuple": Fault("scaled", _derivative('"self", "other"', "grad", "return grad"), "Incompatible return", None),
    "unknown_value": Fault(
        "scaled", _derivative('"self"', "grad, weight", "return grad"), "'weight' is no argument", "'weight' is no arg"
    ),
    "without_grad": Fault(
        "scaled", _derivative('"self"', "self, other", "return other"), "neither grad nor", "neither grad nor"
    ),
    "both_grads": Fault(
        "scaled", _derivative('"self"', "grad, grads", "return grad"), "both grad and grads", "both grad and grads"
    ),
    "mask_of_one": Fault(
        "scaled", _derivative('"self"', "grad, output_mask", "return grad"), "output_mask is for", "output_mask is for"
    ),
    "named_twice": Fault(
        "scaled", _derivative('"self", "self"', "grad", "return grad, grad"), "is named twice", "is named twice"
    ),
    "grad_annotated": Fault(
        "scaled",
        _derivative('"self"', "grad: int", "return None"),
        "'grad' is annotated int",
        "'grad' is annotated int",
    ),
}

DECLARATIONS = {
    "in_place_without_write": Fault("zeroed_", _op("zeroed_(self: Tensor) -> Tensor"), "INV-14", "INV-14"),
    "written_and_not_returned": Fault(
        "zeroed_", _op('zeroed_(self: Tensor[Alias("a", write=True)]) -> Tensor'), "returns self and nothing", "INV-14"
    ),
    "two_writes_of_one_set": Fault(
        "swapped",
        _op('swapped(self: Tensor[Alias("a", write=True)], other: Tensor[Alias("a", write=True)]) -> None'),
        "both write the alias set a",
        "both write the alias set a",
    ),
    "view_of_nothing": Fault(
        "half",
        _op('half(self: Tensor) -> Tensor[Alias("a")]'),
        "no argument belongs to the",
        "no argument belongs to the",
    ),
    "written_and_new": Fault(
        "split",
        _op('split(self: Tensor[Alias("a", write=True)]) -> tuple[Tensor[Alias("a", write=True)], Tensor]'),
        "cannot be returned together",
        "cannot be returned together",
    ),
    "written_argument_returned": Fault(
        "moved",
        _op('moved(self: Tensor, to: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]'),
        "positional and written",
        "positional and written",
    ),
    "out_before_option": Fault(
        "late",
        _op('late(self: Tensor, *, out: Tensor[Alias("a", write=True)], n: int) -> Tensor[Alias("a", write=True)]'),
        "has to be before",
        "has to be before",
    ),
    "out_not_returned": Fault(
        "kept",
        _op('kept(self: Tensor, *, out: Tensor[Alias("a", write=True)]) -> Tensor'),
        "has to be the out argument",
        "has to be the out argument",
    ),
    "a_name_for_out": Fault("sum_out", _op("sum_out(self: Tensor) -> Tensor"), "INV-3", "INV-3"),
    "options_by_place": Fault("fresh", _op("fresh(options: TensorOptions) -> Tensor"), "keyword-only", "keyword-only"),
    "wrong_default": Fault(
        "shifted", _op("shifted(self: Tensor, by: int = 1.5) -> Tensor"), "no value of int", "no value"
    ),
    "a_mapping": Fault(
        "named", _op("named(self: Tensor, by: dict[str, int]) -> Tensor"), "no schema type", "no schema"
    ),
    "an_aliased_number": Fault(
        "sized", _op('sized(self: Tensor, n: Annotated[int, Alias("a")]) -> Tensor'), "take an Alias", "take an Alias"
    ),
    "variant_of_others": Fault(
        "scaled",
        "@scaled.overload('more')\ndef scaled_more(self: Tensor) -> Tensor: ...\n\n"
        "@scaled_more.inplace_variant()\n"
        'def scaled_more_(self: Tensor[Alias("a", write=True)], n: int) -> Tensor[Alias("a", write=True)]: ...\n',
        None,
        "is no inplace variant",
    ),
    "derived_twice": Fault(
        "scaled",
        "@scaled.inplace_variant()\ndef scaled_(self: Tensor[Alias('a', write=True)], other: Tensor, "
        "factor: float = 1.0, *, power: Scalar = 1) -> Tensor[Alias('a', write=True)]: ...\n",
        None,
        "has an inplace variant already",
    ),
}

FAULTS = {**KERNELS, **STRUCTURED, **FORMULAS, **DERIVATIVES, **DECLARATIONS}
