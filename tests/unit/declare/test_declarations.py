"""Tests of declarations: what they register, replace, refuse and remove."""

from __future__ import annotations

import inspect
import re
from typing import Annotated, get_overloads

import pytest

import opdsl
from opdsl import Alias, Inplace, Library, Name, Out, Tensor, TensorOptions, errors, formula, primitives, registry
from opdsl.declare import Operator, op
from opdsl.declare.export import entry_of
from opdsl.declare.options import OF_DECLARATIONS


@pytest.fixture
def lib():
    with Library("declared") as library:
        yield library


def names() -> set[str]:
    return {operator for operator in registry.operators if operator.startswith("declared::")}


def test_a_library_takes_back_what_it_declared():
    with Library("declared") as lib:

        @lib.op(inplace=True, out=True)
        def f(self: Tensor) -> Tensor: ...

        assert names() == {"declared::f", "declared::f_", "declared::f.out"}
    assert names() == set()


def test_variants_of_a_composite_hand_keywords_on_by_name():
    with Library("declared") as lib:

        @lib.op(inplace=True, out=True)
        def scaled(self: Tensor, *, scale: float = 2.0) -> Tensor:
            return self * scale

        assert scaled.variants["inplace"](opdsl.ones(2), scale=3.0).tolist() == [3.0, 3.0]
        assert scaled.variants["out"](opdsl.ones(2), scale=4.0, out=opdsl.empty(2)).tolist() == [4.0, 4.0]


def test_a_method_is_installed_and_taken_back():
    with Library("declared") as lib:

        @lib.op(variants="function, method")
        def shown_twice(self: Tensor) -> Tensor:
            return self + self

        assert opdsl.tensor([1.0]).shown_twice().tolist() == [2.0]
    assert not hasattr(Tensor, "shown_twice")


def test_a_taken_method_is_refused_and_nothing_stays(lib):
    def numel(self: Tensor) -> Tensor: ...

    with pytest.raises(errors.DuplicateOperatorError, match="numel is taken"):
        lib.op(variants="method", out=True)(numel)
    assert names() == set()


def test_the_function_keeps_name_documentation_and_signature(lib):
    @lib.op
    def f(self: Tensor, n: int = 3) -> Tensor:
        """What it does."""
        return self

    assert (f.__name__, f.__doc__, str(inspect.signature(f))) == (
        "f",
        "What it does.",
        "(self: 'Tensor', n: 'int' = 3) -> 'Tensor'",
    )


def test_the_source_has_the_real_parameters(lib):
    @lib.op(out=True)
    def f(self: Tensor, other: Tensor, *, alpha: float = 1.0) -> Tensor: ...

    assert f.source.startswith("def f(self, other, *, alpha=default_alpha, out=None):")


def test_a_cell_that_is_run_again_replaces_its_declaration():
    cell = "@lib.op\ndef f(self: Tensor, n: int = {}) -> Tensor:\n    return self\n"
    with Library("declared") as lib:
        namespace = {"lib": lib, "Tensor": Tensor, "__name__": "__main__"}
        for run in (1, 2):
            exec(compile(cell.format(run), f"<cell {run}>", "exec"), namespace)
        assert str(registry.operator("declared::f").schema) == "declared::f(Tensor self, int n=2) -> Tensor"


def test_the_same_name_elsewhere_is_an_error_that_names_both_places(lib):
    def declare_here():
        @lib.op
        def f(self: Tensor) -> Tensor: ...

    def declare_there():
        @lib.op
        def f(self: Tensor) -> Tensor: ...

    declare_here()
    with pytest.raises(errors.DuplicateOperatorError) as caught:
        declare_there()
    assert len(re.findall(r"test_declarations\.py:\d+", str(caught.value))) == 2


def test_a_derived_and_a_written_variant_are_an_error_that_names_both_lines(lib):
    @lib.op(inplace=True)
    def f(self: Tensor) -> Tensor: ...

    with pytest.raises(errors.DuplicateOperatorError) as caught:

        @f.inplace_variant()
        def f_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...

    assert len(re.findall(r"test_declarations\.py:\d+", str(caught.value))) == 2


def test_a_written_variant_is_found_by_the_packet(lib):
    @lib.op
    def f(self: Tensor) -> Tensor:
        return self + 1

    @f.out_variant()
    def f_out(self: Tensor, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
        return opdsl.add(self, 1, out=out)

    out = opdsl.empty(1)
    assert f(opdsl.tensor([1.0]), out=out) is out
    assert out.tolist() == [2.0]


def test_a_variant_of_another_signature_is_refused(lib):
    @lib.op
    def f(self: Tensor) -> Tensor: ...

    with pytest.raises(errors.DeclarationError, match="is no inplace variant"):

        @f.inplace_variant()
        def f_(self: Tensor[Alias("a", write=True)], n: int) -> Tensor[Alias("a", write=True)]: ...


def test_an_overload_is_reached_by_its_arguments(lib):
    @lib.op
    def f(self: Tensor, n: int) -> Tensor:
        return self + n

    @f.overload("Tensor")
    def f_tensor(self: Tensor, n: Tensor) -> Tensor:
        return self - n

    x = opdsl.tensor([1.0])
    assert (f(x, 2).item(), f(x, x).item()) == (3.0, 0.0)


def test_overloads_are_attributes_of_the_packet_in_ops(lib):
    @lib.op("f.X")
    def f(self: Tensor) -> Tensor:
        return self + 1

    assert opdsl.ops.declared.f.X(opdsl.tensor([1.0])).item() == 2.0


def test_a_composite_derives_inplace_and_out(lib):
    @lib.op(inplace=True, out=True)
    def f(self: Tensor) -> Tensor:
        return self * 2

    x = opdsl.tensor([1.0, 2.0])
    out = opdsl.empty(0)
    opdsl.ops.declared.f_(x)
    f(x, out=out)
    assert (x.tolist(), out.tolist()) == ([2.0, 4.0], [4.0, 8.0])


def test_a_kernel_gets_the_key_set_it_asks_for(lib):
    @lib.op
    def f(self: Tensor) -> Tensor: ...

    seen = []

    @f.kernel("CPU")
    def f_cpu(keys: opdsl.DispatchKeySet, self):
        seen.append(keys)
        return self

    f(opdsl.tensor([1.0]))
    assert "CPU" in seen[0]


WRONG = {
    "no annotation": ("def f(self: Tensor, n) -> Tensor: ...", "the parameter 'n' has no annotation"),
    "no return": ("def f(self: Tensor): ...", "has no return annotation"),
    "variable arguments": ("def f(*tensors: Tensor) -> Tensor: ...", "takes *args or **kwargs"),
    "unknown annotation": ("def f(self: Tensor, n: dict) -> Tensor: ...", "dict"),
    "unknown name": ("def f(self: Tensro) -> Tensor: ...", "NameError"),
    "in place without write": ("def f_(self: Tensor) -> Tensor: ...", "f_"),
}


@pytest.mark.parametrize(("source", "reason"), WRONG.values(), ids=WRONG)
def test_a_wrong_declaration_fails_with_file_and_line(lib, source, reason):
    namespace: dict[str, object] = {"Tensor": Tensor}
    exec(compile("from __future__ import annotations\n" + source, "wrong.py", "exec"), namespace)
    function = namespace.get("f") or namespace["f_"]
    with pytest.raises(errors.DeclarationError) as caught:
        lib.op(function)
    assert str(caught.value).startswith("wrong.py:2: ")
    assert reason in str(caught.value)
    assert names() == set()


OPTIONS = {
    "an unknown option": ({"dispach": {}}, "no option 'dispach'"),
    "unknown variants": ({"variants": "methods"}, "neither function nor method"),
    "in place without self": ({"inplace": True}, "self"),
    "a bad variant name": ({"out": Out("not a name")}, "not a name"),
    "too many out names": ({"out": Out(args=("a", "b"))}, "names 2 results of 1"),
}


@pytest.mark.parametrize("returned", ["int", "None", "list[Tensor]", "tuple[Tensor, int]", "Tensor[opdsl.Alias('a')]"])
def test_an_out_variant_is_derived_for_fresh_tensors_only(lib, returned):
    def f(x: Tensor[Alias("a")]) -> Tensor: ...

    f.__annotations__["return"] = eval(returned)
    with pytest.raises(errors.DeclarationError, match="it does not return fresh Tensors only"):
        lib.op(out=True)(f)
    assert names() == set()


@pytest.mark.parametrize(("options", "reason"), OPTIONS.values(), ids=OPTIONS)
def test_a_wrong_option_is_refused(lib, options, reason):
    def f(x: Tensor) -> Tensor: ...

    with pytest.raises((errors.DeclarationError, errors.SchemaError), match=re.escape(reason)):
        lib.op(**options)(f)
    assert names() == set()


def test_an_unknown_option_of_a_variant_is_refused():
    with pytest.raises(errors.DeclarationError, match=re.escape("Inplace(...) has no option 'tag'")):
        Inplace(tag="core")


def test_options_that_may_be_meant_are_those_of_op():
    parameters = [
        parameter for typed in get_overloads(op) for parameter in inspect.signature(typed).parameters.values()
    ]
    assert {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY} == set(
        OF_DECLARATIONS
    )


def test_an_unknown_option_names_one_that_is_spelled_alike(lib):
    def f(self: Tensor) -> Tensor: ...

    with pytest.raises(errors.DeclarationError, match=re.escape("Did you mean inplace?")):
        lib.op(in_place=True)(f)


KERNELS = {
    "unknown": ("def kernel(self, n, m): ...", "'m' is no parameter"),
    "variable": ("def kernel(*given): ...", "*args or **kwargs"),
}


@pytest.mark.parametrize(("source", "reason"), KERNELS.values(), ids=KERNELS)
def test_a_kernel_that_does_not_fit_is_refused_with_both_signatures(lib, source, reason):
    @lib.op
    def f(self: Tensor, n: int) -> Tensor: ...

    namespace: dict[str, object] = {}
    exec(compile(source, "kernels.py", "exec"), namespace)
    with pytest.raises(errors.KernelSignatureError) as caught:
        f.kernel("CPU")(namespace["kernel"])
    text = str(caught.value)
    assert text.startswith("kernels.py:1: declared::f: ")
    assert reason in text
    assert "declared::f(Tensor self, int n) -> Tensor" in text


def test_a_second_kernel_for_a_key_is_refused(lib):
    @lib.op
    def f(self: Tensor) -> Tensor: ...

    f.kernel("CPU")(lambda self: self)
    with pytest.raises(errors.DuplicateOperatorError, match="a second kernel CPU"):
        f.kernel("CPU")(lambda self: self)


def test_an_unknown_dispatch_key_is_refused(lib):
    @lib.op
    def f(self: Tensor) -> Tensor: ...

    with pytest.raises(errors.DispatchKeyError, match="GPU"):
        f.kernel("GPU")(lambda self: self)


def test_an_out_kernel_without_a_shape_function_is_refused(lib):
    @lib.op
    def f(self: Tensor) -> Tensor: ...

    with pytest.raises(errors.KernelSignatureError, match=re.escape("Write @f.meta above it")):

        @f.out_kernel("CPU")
        def f_cpu(self, out): ...


def test_a_missing_kernel_says_what_there_is(lib):
    @lib.op("f.X")
    def f(self: Tensor) -> Tensor: ...

    f.kernel("CUDA")(lambda self: self)
    with pytest.raises(errors.MissingKernelError) as caught:
        f(opdsl.tensor([1.0]))
    assert str(caught.value) == 'declared::f.X: no CPU kernel (have CUDA). Register one with @f.X.kernel("CPU").'


def test_a_kernel_that_returns_something_else_is_an_error(lib):
    @lib.op
    def f(self: Tensor) -> Tensor: ...

    @f.kernel("CPU")
    def f_cpu(self):
        return 3

    with pytest.raises(errors.KernelError, match="returned int, but the schema returns a Tensor"):
        f(opdsl.tensor([1.0]))


def test_op_decorates_functions_only():
    with pytest.raises(errors.DeclarationError, match="decorates a function"):
        opdsl.op()(3)


def test_an_argument_that_python_cannot_name_is_called_with_an_underscore(lib):
    @lib.op
    def f(self: Tensor, from_: Annotated[int, Name("from")]) -> Tensor:
        return self + from_

    assert f(opdsl.tensor([1.0]), from_=2).item() == 3.0


def test_an_operator_that_python_cannot_name_is_called(lib):
    @lib.op("is", inplace=True, out=True)
    def is_(self: Tensor) -> Tensor:
        return self + 1

    @lib.op("def")
    def forwarded(self: Tensor) -> Tensor: ...

    forwarded.forward(is_)
    defined = lib.define("lambda(Tensor self) -> Tensor", lambda self: self + 1)
    x = opdsl.ones(1)
    for f in (is_, defined, is_.alias("in"), forwarded, getattr(opdsl.ops.declared, "is"), is_.variants["inplace"]):
        assert f(x.clone()).item() == 2.0
    assert is_(x, out=opdsl.empty(1)).item() == 2.0


def scaled_by_pointwise(f):
    sums = primitives.elements(lambda self, from_, lambda_: self + from_ * lambda_, keep="lambda_")

    @f.formula
    def formula_of_elements(self: Tensor, from_: Tensor, lambda_: float) -> Tensor:
        return sums(self, from_, lambda_)


def scaled_by_row(f):
    @f.meta
    def meta(ctx, self, from_, lambda_):
        ctx.set_output(0, self.shape, like=self)
        return (0,)

    added = primitives.rows(lambda self, from_, lambda_: self + from_ * lambda_, promote="floating")

    @f.formula
    def formula_of_rows(self: Tensor, from_: Tensor, lambda_: float) -> Tensor:
        return added(self, from_, lambda_)


def scaled_by_out_kernel(f):
    @f.meta
    def meta(ctx, self, from_, lambda_):
        ctx.set_output(0, self.shape, like=self)

    @f.out_kernel("CPU")
    def kernel(self, from_, lambda_, out):
        for place in range(out.shape[0]):
            out[place] = self[place] + from_[place] * lambda_


def scaled_by_kernel(f):
    f.kernel("CPU")(lambda self, from_, lambda_: self + from_ * lambda_)


@pytest.mark.parametrize("attach", [scaled_by_pointwise, scaled_by_row, scaled_by_out_kernel, scaled_by_kernel])
def test_arguments_that_python_cannot_name_reach_each_kind_of_kernel(lib, attach):
    @lib.op(inplace=True, out=True)
    def f(
        self: Tensor, from_: Annotated[Tensor, Name("from")], lambda_: Annotated[float, Name("lambda")] = 0.5
    ) -> Tensor: ...

    attach(f)
    f.derivative("from_")(lambda grad, lambda_: grad * lambda_)
    x, y = opdsl.tensor([1.0, 2.0]), opdsl.tensor([3.0, 4.0], requires_grad=True)
    for _ in range(2):  # the second call has a plan
        with opdsl.no_grad():
            assert f(x, y).tolist() == [2.5, 4.0]
            assert f(x, lambda_=2.0, from_=y).tolist() == [7.0, 10.0]
            assert f(x, y, 2.0, out=opdsl.empty(2)).tolist() == [7.0, 10.0]
            assert f.variants["inplace"](x.clone(), y, lambda_=2.0).tolist() == [7.0, 10.0]
        y.grad = None
        f(x, y, lambda_=2.0).sum().backward()
        assert y.grad.tolist() == [2.0, 2.0]


def test_a_number_that_python_cannot_name_reaches_a_reduction(lib):
    finish = lambda total, count, lambda_: total * lambda_  # noqa: E731
    sums = primitives.fold(lambda a, b: a + b, init=0, finish=finish, promote="floating")

    @lib.op(out=True)
    @formula
    def f(self: Tensor, dim: int, lambda_: Annotated[float, Name("lambda")] = 0.5) -> Tensor:
        return sums(self, dim, lambda_)

    for _ in range(2):
        assert f(opdsl.tensor([1.0, 2.0]), 0, lambda_=2.0).item() == 6.0
        assert f(opdsl.tensor([1.0, 2.0]), 0, out=opdsl.empty(())).item() == 1.5


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("-> int: return 3", 3),
        ("-> bool: return True", True),
        ("-> float: return 0.5", 0.5),
        ("-> str: return 'text'", "text"),
        ("-> bool:\n    'What it does.'\n    return False", False),
    ],
)
def test_a_body_that_returns_a_constant_is_a_body(lib, source, result):
    namespace = {"Tensor": Tensor}
    exec(f"def f(self: Tensor) {source}", namespace)
    assert lib.op(namespace["f"])(opdsl.ones(2)) == result


@pytest.mark.parametrize("body", ["...", "pass", "'What it does.'", "'What it does.'\n    ..."])
def test_a_body_that_holds_nothing_only_declares(lib, body):
    namespace = {"Tensor": Tensor}
    exec(f"def f(self: Tensor) -> Tensor:\n    {body}", namespace)
    with pytest.raises(errors.MissingKernelError):
        lib.op(namespace["f"])(opdsl.ones(2))


@pytest.mark.parametrize(
    "option", [{"tags": 3}, {"device_check": "Maybe"}, {"device_guard": "yes"}, {"dispatch": ["CPU"]}]
)
def test_an_option_of_another_type_is_refused(lib, option):
    def f(self: Tensor) -> Tensor: ...

    with pytest.raises(errors.DeclarationError, match=f"the option {next(iter(option))}="):
        lib.op(**option)(f)
    assert names() == set()


@pytest.mark.parametrize("with_keys", [False, True])
def test_a_kernel_receives_tensor_options_as_one_value(lib, with_keys):
    @lib.op
    def sevens(size: list[int], *, options: TensorOptions = None) -> Tensor: ...

    if with_keys:

        @sevens.kernel("CompositeExplicitAutograd")
        def sevens_with_keys(keys: opdsl.DispatchKeySet, size, options):
            assert "CPU" in keys
            return opdsl.full(size, 7, dtype=options.dtype, device=options.device)
    else:

        @sevens.kernel("CompositeExplicitAutograd")
        def sevens_kernel(size, options):
            return opdsl.full(size, 7, dtype=options.dtype, device=options.device)

    assert sevens([2], dtype=opdsl.int32).dtype is opdsl.int32
    assert sevens([2], device="cpu").tolist() == [7, 7]


def test_an_implementation_elsewhere_receives_tensor_options_as_one_value(lib):
    @lib.op
    def sevens(size: list[int], *, options: TensorOptions = None) -> Tensor: ...

    @lib.impl("sevens", "CPU")
    def sevens_cpu(size, options):
        return opdsl.full(size, 7, dtype=options.dtype)

    assert sevens([2], dtype=opdsl.int32).dtype is opdsl.int32


def test_a_body_receives_tensor_options_as_one_value(lib):
    @lib.op
    def sevens(size: list[int], *, options: TensorOptions = None) -> Tensor:
        return opdsl.full(size, 7, dtype=options.dtype, device=options.device)

    assert sevens([2], dtype=opdsl.int32).dtype is opdsl.int32
    assert sevens([2]).tolist() == [7, 7]


VARIANTS = {
    "a number": {"inplace": 3},
    "a text": {"out": "f.out"},
    "no name": {"inplace": Inplace("3")},
    "no in-place name": {"inplace": Inplace("g")},
    "no names": {"out": Out(args=())},
    "the functional's name": {"out": Out("f")},
    "an argument's name": {"out": Out(args=("self",))},
}


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_a_variant_that_cannot_be_is_refused(lib, options):
    def f(self: Tensor) -> Tensor: ...

    with pytest.raises((errors.DeclarationError, errors.SchemaError)):
        lib.op(**options)(f)
    assert names() == set()


def test_a_namespace_is_a_text():
    with pytest.raises(errors.DeclarationError, match="a namespace is a Python identifier"):
        Library(3)


@pytest.mark.parametrize("attached", ["body", "kernel", "meta"])
def test_kernels_that_are_registered_apart_are_not_attached(lib, attached):
    def f(self: Tensor) -> Tensor: ...

    def with_body(self: Tensor) -> Tensor:
        return self

    def meta(ctx, self):
        ctx.set_output(0, self.shape, like=self)

    declare = lib.op(manual_kernel_registration=True)
    with pytest.raises(errors.DeclarationError, match="its entry has no kernel"):
        if attached == "body":
            declare(with_body)
        elif attached == "kernel":
            declare(f).kernel("CPU")(f)
        else:
            declare(f).meta(meta)


def test_kernels_are_registered_apart(lib):
    @lib.op(manual_kernel_registration=True)
    def f(self: Tensor) -> Tensor: ...

    @lib.impl("f", "CPU")
    def f_cpu(self):
        return self + 1

    assert f(opdsl.tensor([1.0])).item() == 2.0
    assert "dispatch" not in opdsl.native.dumps([entry_of(f.operator)])


def test_one_kernel_under_several_keys_is_one_line_of_an_entry(lib):
    @lib.op
    def f(self: Tensor) -> Tensor: ...

    @f.kernel("CPU", "CUDA")
    def f_kernel(self):
        return self + 1

    assert "CPU, CUDA: f\n" in opdsl.native.dumps([entry_of(f.operator)])
    table = f.dispatch_table()
    assert table["CPU"].kernel.functions == table["CUDA"].kernel.functions == (f_kernel,)


def test_a_method_declared_again_in_the_same_place_replaces_the_one_before():
    lib = Library("testagain")

    def declare(by):
        @lib.op(variants="function, method")
        def testagain_shift(self: Tensor) -> Tensor:
            return self + by

        return testagain_shift

    x = opdsl.ones(1)
    declare(1.0)
    assert x.testagain_shift().tolist() == [2.0]
    function = declare(2.0)
    assert x.testagain_shift().tolist() == function(x).tolist() == [3.0]
    lib.close()
    assert not hasattr(x, "testagain_shift")


def test_a_method_stays_while_an_overload_has_it():
    lib, other = Library("teststays"), Library("teststays")

    @lib.op(variants="function, method")
    def teststays_shift(self: Tensor) -> Tensor:
        return self + 1

    @other.op("teststays::teststays_shift.by", variants="function, method")
    def shift_by(self: Tensor, by: Tensor) -> Tensor:
        return self + by

    x = opdsl.ones(1)
    lib.close()
    assert x.teststays_shift(x).tolist() == [2.0]
    other.close()
    assert not hasattr(x, "teststays_shift")


@pytest.mark.parametrize("name", ["formula", "meta", "out_kernel", "sharding", "inplace_variant", "non_differentiable"])
def test_help_on_what_a_function_carries_is_that_of_the_class_that_types_it(name):
    shown = inspect.getdoc(getattr(opdsl.ops.aten.relu.default, name))
    assert shown == inspect.getdoc(getattr(Operator, name))
    assert ">>> " in shown
