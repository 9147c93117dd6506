"""Tests that the records of decorators agree with the options that authors write, type checkers see and definitions
accept.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, get_overloads

import pytest

import opdsl
from opdsl import Ints, Library, Tensor, formula, loop_bodies, primitives
from opdsl.declare.attaching import PROCEDURES
from opdsl.declare.operator import Operator
from opdsl.errors import DispatchKeyError, KernelSignatureError, OpdslError
from opdsl.schema import parse_schema
from opdsl.schema.kinds import DECORATORS, KINDS, Function, Meta

WITH_DEFINITION = [name for name, kind in KINDS.items() if kind.definition]


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("kinds") as lib:
        yield lib


def options_of(function: object) -> set[str]:
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    return {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}


def test_every_kind_of_function_has_a_procedure() -> None:
    assert set(PROCEDURES) == {decorator.function for decorator in DECORATORS.values()}
    assert {kind.function for kind in KINDS.values()} == set(Function)


@pytest.mark.parametrize("name", DECORATORS)
def test_type_checkers_see_the_options_of_a_record(name: str) -> None:
    typed = get_overloads(getattr(Operator, name)) or [getattr(Operator, name)]
    assert set().union(*map(options_of, typed)) == set(KINDS[name].options)


@pytest.mark.parametrize(("name", "maker"), loop_bodies.LOOPS.items())
def test_type_checkers_see_the_options_of_a_loop(name: str, maker: str) -> None:
    options = getattr(loop_bodies, maker.capitalize())
    assert set(options.__annotations__) == set(KINDS[name].options) - {"when"}
    assert [
        annotation for annotation in options.__annotations__ if f"    {annotation}: " not in str(options.__doc__)
    ] == []


def test_help_tells_every_value_that_options_take() -> None:
    from opdsl.kernels.definitions import reduction_dtypes, scan
    from opdsl.kernels.iteration.dtypes import PROMOTIONS
    from opdsl.runtime.dtype import ALL_DTYPES

    rules = (reduction_dtypes.DTYPE_RULES, reduction_dtypes.ACCUMULATOR_RULES, reduction_dtypes.RESULT_RULES)
    for options, values in (
        (loop_bodies.Elements, PROMOTIONS),
        (loop_bodies.Fold, {rule for one in rules for rule in one}),
    ):
        assert [value for value in values if f"``{value}``" not in str(options.__doc__)] == []
    told = str(loop_bodies.Scan.__doc__)
    dtypes = {dtype.name for dtype in ALL_DTYPES}  # "or the name of a dtype"
    assert [result for result in ("wide", *scan.RESULTS) if f"``{result}``" not in told and result not in dtypes] == []
    assert "name of a dtype" in told


@pytest.mark.parametrize("name", WITH_DEFINITION)
def test_a_definition_takes_the_options_of_its_record(name: str) -> None:
    kind = KINDS[name]
    module, _, class_name = kind.definition.partition(":")
    definition = getattr(import_module(module), class_name)
    assert definition(parse_schema("f(Tensor self, int dim) -> Tensor"), "f").kind == name
    parameters = inspect.signature(definition.add).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):  # passed on
        from opdsl.kernels.definitions.reduction_functions import make_fold

        parameters = inspect.signature(make_fold).parameters
    taken = {parameter.name for parameter in parameters.values() if parameter.kind is parameter.KEYWORD_ONLY}
    taken.discard("known")  # values that a formula for one case fixes
    assert taken - ({"meta"} if kind.meta in (Meta.SHAPE, Meta.PERHAPS) else set()) == set(kind.options)


@pytest.mark.parametrize("name", sorted(set(DECORATORS) - {"meta"}))
def test_help_shows_what_authors_write(library: Library, name: str) -> None:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    declared = inspect.signature(getattr(Operator, name))
    shown = inspect.signature(getattr(f, name))
    assert list(shown.parameters) == list(declared.parameters)[1:]


def test_a_further_function_of_a_kind_is_part_of_the_kernels_that_are_there(library: Library) -> None:
    @library.op(out=True)
    def f(self: Tensor, mode: str = "a") -> Tensor: ...

    one, two = primitives.elements(lambda x: x + 1), primitives.elements(lambda x: x + 2)
    f.formula(when={"mode": "a"})(lambda self: one(self))
    before = {variant: dict(function.operator.registrations) for variant, function in f.variants.items()}
    f.formula(when={"mode": "b"})(lambda self: two(self))
    assert {variant: dict(function.operator.registrations) for variant, function in f.variants.items()} == before
    assert (f(opdsl.ones(1)).item(), f(opdsl.ones(1), "b").item()) == (2, 3)


# ----------------------------------------------------------------------------------------- refusals leave no trace


@pytest.mark.parametrize("decorator", ["kernel", "view_kernel", "out_kernel"])
def test_what_is_no_key_is_refused(library: Library, decorator: str) -> None:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    with pytest.raises(DispatchKeyError, match=rf'@f.{decorator} takes dispatch keys. Write @f.{decorator}\("CPU"\)'):
        getattr(f, decorator)(3)


@pytest.mark.parametrize("make", [primitives.elements, primitives.rows])
def test_unknown_options_are_told_with_those_that_there_are(library: Library, make: Callable[..., Any]) -> None:
    loop = make(lambda self: self, kept="self")
    with pytest.raises(KernelSignatureError, match=r"kinds::f: .* has no option 'kept'\. It takes promote"):

        @library.op
        @formula
        def f(self: Tensor) -> Tensor:
            return loop(self)


def test_a_refused_formula_leaves_the_derived_gradient(library: Library) -> None:
    @library.op
    @formula
    def f(self: Tensor) -> Tensor:
        return self * self

    refused = [lambda grad, nope: grad, lambda self: self]

    def annotated(grad: int) -> Tensor: ...

    for function in (*refused, annotated):
        with pytest.raises(KernelSignatureError):
            f.derivative("self")(function)
    with pytest.raises(KernelSignatureError):
        f.non_differentiable("other")
    x = opdsl.tensor([3.0], requires_grad=True)
    f(x).sum().backward()
    assert x.grad.tolist() == [6.0]
    f.derivative("self")(lambda grad, self: grad * self)


def test_a_refused_key_leaves_the_way_free(library: Library) -> None:
    @library.op
    def f(self: Tensor, dim: int) -> Tensor: ...

    wrong, sums = (primitives.scan(lambda a, b: a + b, *keys, init=0) for keys in (("GPU",), ()))
    with pytest.raises(OpdslError, match="no dispatch key 'GPU'"):
        f.formula(lambda self, dim: wrong(self, dim))
    f.formula(lambda self, dim: sums(self, dim))
    assert f(opdsl.ones(3), 0).tolist() == [1, 2, 3]


def test_a_refused_out_kernel_leaves_the_way_free(library: Library) -> None:
    @library.op
    def f(self: Tensor, size: Ints[1]) -> Tensor: ...

    f.meta(lambda ctx, self, size: ctx.set_output(0, size, like=self))

    def rebinding(self, size, out):
        out = self  # noqa: F841

    with pytest.raises(KernelSignatureError, match="assigns to the name 'out'"):
        f.out_kernel("CPU", compiled=False)(rebinding)

    @f.out_kernel("CPU", compiled=False)
    def filling(self, size, out):
        out.fill_(2.0)

    assert f(opdsl.ones(1), [2]).tolist() == [2, 2]


def test_a_warning_names_the_line_of_the_function(library: Library) -> None:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    def log_gamma(x):
        return math.lgamma(x)

    loop = primitives.elements(log_gamma)
    with pytest.warns(UserWarning, match="kinds::f: no gradient can be derived") as caught:
        f.formula(lambda self: loop(self))
    assert [(warning.filename, warning.lineno) for warning in caught] == [(__file__, log_gamma.__code__.co_firstlineno)]
