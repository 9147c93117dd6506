"""Tests of checked mode: results, writes and shared memory of kernels, wrong calls, gradients; no effects outside the
mode.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Alias, CPUTensor, Library, Tensor
from opdsl.dispatch import Operator, current
from opdsl.errors import ArgumentError, GradientError, KernelError, OpdslError


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("checked") as library:
        yield library


def operator_with(
    lib: Library, body: Callable[..., object], schema: str = "f(Tensor self, Tensor other) -> Tensor"
) -> Any:
    """Declare an operator whose CPU kernel is a function."""
    return lib.define(schema, body, key="CPU")


def error_of(call: Callable[[], object]) -> str:
    """Return the error text of a call in checked mode."""
    with opdsl.checked(), pytest.raises(OpdslError) as caught:
        call()
    return str(caught.value)


# ---------------------------------------------------------------------------------------------------------- kernels


def writes_other(self, other):
    other.array[...] = 0
    return self.clone()


def gives_self(self, other):
    return self


def gives_part(self, other):
    return other[0]


def right(self, other):
    return self + other


def test_a_written_argument_is_named_and_marked(lib: Library) -> None:
    f = lib.define("f(Tensor self, Tensor other) -> Tensor")
    f.kernel("CPU")(writes_other)
    text = error_of(lambda: f(opdsl.ones(2), opdsl.ones(2)))
    lines = text.splitlines()
    assert "checked::f" in lines[0]
    assert "writes_other" in lines[0]
    assert "other is changed, but is not declared as written" in lines[0]
    schema = lines[1]
    assert schema == "checked::f(Tensor self, Tensor other) -> Tensor"
    assert lines[2] == " " * schema.index("Tensor other") + "~" * (len("Tensor other") - 1) + "^"


@pytest.mark.parametrize(("body", "name"), [(gives_self, "self"), (gives_part, "other")])
def test_a_result_that_is_an_undeclared_view_is_refused(lib: Library, body: Any, name: str) -> None:
    f = operator_with(lib, body)
    assert f"shares the memory of {name}" in error_of(lambda: f(opdsl.ones(2), opdsl.ones(2, 2)))


def test_a_declared_view_is_let_pass(lib: Library) -> None:
    f = operator_with(lib, lambda self: self[0], "f(Tensor(a) self) -> Tensor(a)")
    with opdsl.checked():
        assert f(opdsl.ones(2, 3)).shape == (3,)


def test_views_in_a_list_belong_to_the_set_of_their_tensor(lib: Library) -> None:
    declared = operator_with(lib, lambda self: list(self.unbind()), "f(Tensor(a -> *) self) -> Tensor(a)[]")
    silent = operator_with(lib, lambda self: list(self.unbind()), "g(Tensor self) -> Tensor[]")
    with opdsl.checked():
        assert len(declared(opdsl.ones(2, 3))) == 2
    assert "shares the memory of self" in error_of(lambda: silent(opdsl.ones(2, 3)))


def test_two_results_that_share_memory_are_refused(lib: Library) -> None:
    def twice(self):
        copy = self.clone()
        return copy, copy.view(-1)

    f = operator_with(lib, twice, "f(Tensor self) -> (Tensor, Tensor)")
    assert "results 0 and 1 share memory" in error_of(lambda: f(opdsl.ones(2)))


def test_an_output_that_is_not_returned_is_refused(lib: Library) -> None:
    @lib.op
    def f(self: Tensor) -> Tensor:
        return self.clone()

    @f.out_variant()
    def f_out(self: Tensor, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
        out.copy_(self)
        return self.clone()

    assert "result 0 is declared to be out" in error_of(lambda: f(opdsl.ones(2), out=opdsl.empty(2)))


def test_a_write_that_counts_no_version_is_refused(lib: Library) -> None:
    def fill(self):
        self.array[...] = 7

    f = lib.define("f_(Tensor(a!) self) -> Tensor(a!)", fill, key="CompositeImplicitAutograd")
    assert "its version was not increased" in error_of(lambda: f(opdsl.ones(2)))


def test_written_arguments_may_be_the_same_tensor(lib: Library) -> None:
    x = opdsl.ones(3)
    with opdsl.checked():
        assert x.add_(x) is x
        assert opdsl.mul(x, x, out=x) is x
    assert x.tolist() == [4.0] * 3


@pytest.mark.parametrize("value", [3.0, None, "text"])
def test_a_result_of_another_type_is_refused(lib: Library, value: object) -> None:
    f = operator_with(lib, lambda self, other: value)
    assert "the schema returns a Tensor" in error_of(lambda: f(opdsl.ones(1), opdsl.ones(1)))


def test_a_part_of_a_result_of_another_type_is_refused(lib: Library) -> None:
    f = operator_with(lib, lambda self: (self.clone(), 1), "f(Tensor self) -> (Tensor, Tensor)")
    text = error_of(lambda: f(opdsl.ones(1)))
    assert "result 1 is int, but the schema has Tensor" in text


def test_a_number_of_another_type_is_refused(lib: Library) -> None:
    f = operator_with(lib, lambda self: "1", "f(Tensor self) -> int")
    assert "result 0 is str, but the schema has int" in error_of(lambda: f(opdsl.ones(1)))


def test_the_annotation_of_a_kernel_holds(lib: Library) -> None:
    @lib.op
    def f(self: Tensor) -> Tensor: ...

    @f.kernel("CPU", "Meta")
    def on_the_cpu(self: Tensor) -> CPUTensor:
        return self.clone()

    with opdsl.checked():
        f(opdsl.ones(1))
    text = error_of(lambda: f(opdsl.empty(1, device="meta")))
    assert "on_the_cpu returned Tensor, but is annotated CPUTensor" in text


def test_the_annotation_of_a_shape_function_holds(lib: Library) -> None:
    @lib.op(out=opdsl.Out(precomputed=("int size",)))
    def f(self: Tensor) -> Tensor: ...

    @f.meta
    def shape_of_f(ctx, self) -> dict[str, int]:
        ctx.set_output(0, self.shape, like=self)
        return {"size": "2"}  # type: ignore[dict-item]

    @f.out_kernel("CPU", compiled=False)
    def fill_f(self, size, out):
        out.copy_(self)

    assert "shape_of_f returned dict, but is annotated dict[str, int]" in error_of(lambda: f(opdsl.ones(1)))


def test_what_overrides_and_fallbacks_do_is_checked(lib: Library) -> None:
    f = operator_with(lib, right)

    class Wrong(opdsl.DispatchMode):
        def dispatch(self, operator: Any, args: Any, kwargs: Any) -> object:
            return args[0]

    x, y = opdsl.ones(1), opdsl.ones(1)

    def call() -> object:
        with Wrong():
            return f(x, y)

    assert "shares the memory of self" in error_of(call)


# ---------------------------------------------------------------------------------------------------------- wrong calls


def test_a_wrong_argument_is_marked_in_the_schema(lib: Library) -> None:
    f = operator_with(lib, right)
    lines = error_of(lambda: f(opdsl.ones(1), 2)).splitlines()
    assert lines[0].startswith("f(): argument 'other' (position 2) must be Tensor, not int")
    assert lines[1] == "checked::f(Tensor self, Tensor other) -> Tensor"
    assert lines[2].index("~") == lines[1].index("Tensor other")


def test_every_overload_is_shown() -> None:
    text = error_of(lambda: opdsl.eq(opdsl.ones(1), "text"))
    for name in ("eq.Tensor(Tensor self, Tensor other) -> Tensor", "eq.Scalar(Tensor self, Scalar other) -> Tensor"):
        assert name in text
    assert text.count("~^") == 2


def test_an_operator_that_answers_for_python_returns_not_implemented() -> None:
    with opdsl.checked(), pytest.raises(TypeError, match="unsupported operand"):
        opdsl.ones(1) + "text"


@pytest.mark.parametrize(
    "call",
    [
        lambda x: opdsl.sum(x, dim="0"),
        lambda x: opdsl.cat([x, 1]),
        lambda x: opdsl.clamp(x, min=[1]),
        lambda x: x.reshape("2"),
        lambda x: opdsl.add(x, x, out=1),
        lambda x: opdsl.empty(2, dtype="float32"),
    ],
)
def test_wrong_calls_raise_an_argument_error_in_the_words_of_the_schema(call: Callable[[Tensor], object]) -> None:
    x = opdsl.ones(2)
    text = error_of(lambda: call(x))
    assert "->" in text
    assert "typeguard" not in text


# ------------------------------------------------------------------------------------------------------------ gradients


@pytest.fixture
def formula(lib: Library) -> Callable[[Callable[..., Any]], Any]:
    def declare(function: Callable[..., Any]) -> Any:
        f = operator_with(lib, lambda self: self * 2, "f(Tensor self) -> Tensor")
        f.derivative("self")(function)
        return f

    return declare


def test_a_gradient_that_is_no_tensor_is_refused(formula: Any) -> None:
    f = formula(lambda grad: 2)
    x = opdsl.ones(2, requires_grad=True)
    with opdsl.checked(), pytest.raises(GradientError, match=r"checked::f: the derivative: a gradient is int"):
        f(x).sum().backward()


def test_a_gradient_of_another_shape_names_the_operator(formula: Any) -> None:
    f = formula(lambda grad: grad[:1].expand(5))
    x = opdsl.ones(2, requires_grad=True)
    with opdsl.checked(), pytest.raises(GradientError, match=r"checked::f: .*has shape \[5\]"):
        f(x).sum().backward()


def test_the_annotation_of_a_derivative_holds(formula: Any) -> None:
    def refined(grad: Tensor) -> CPUTensor:
        return None  # type: ignore[return-value]

    f = formula(refined)
    x = opdsl.ones(2, requires_grad=True)
    with opdsl.checked(), pytest.raises(KernelError, match="refined returned NoneType, but is annotated CPUTensor"):
        f(x).sum().backward()


def test_right_gradients_pass() -> None:
    x = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with opdsl.checked():
        (x.exp() @ x).sum().backward()
        seen = x.grad
    x.grad = None
    (x.exp() @ x).sum().backward()
    assert seen.tolist() == x.grad.tolist()


# ------------------------------------------------------------------------------------------------------------ the mode


def test_calls_outside_keep_their_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    x = opdsl.ones(2)
    opdsl.add(x, x)
    opdsl.add(x, x)
    with opdsl.checked():
        opdsl.add(x, x)
    monkeypatch.setattr(Operator, "find", None)  # plans do not look up kernels
    assert opdsl.add(x, x).tolist() == [2.0, 2.0]
    with opdsl.checked(), pytest.raises(TypeError):
        opdsl.add(x, x)


def test_checked_calls_leave_no_plan() -> None:
    with opdsl.checked():
        assert current.get().checking
        assert not current.get().plans
    assert not current.get().checking


def test_another_thread_is_not_checked() -> None:
    seen: list[bool] = []
    with opdsl.checked():
        thread = threading.Thread(target=lambda: seen.append(current.get().checking))
        thread.start()
        thread.join()
    assert seen == [False]


def test_a_function_is_checked_during_its_calls() -> None:
    @opdsl.checked
    def inside() -> bool:
        return current.get().checking

    assert inside()
    assert not current.get().checking


@pytest.mark.parametrize(("value", "checks"), [("1", True), ("0", False), ("", False)])
def test_the_environment_checks_a_whole_process(value: str, checks: bool) -> None:
    text = "import opdsl; print(opdsl.dispatch.current.get().checking, (opdsl.ones(2) + 1).tolist())"
    environment = {**os.environ, "OPDSL_CHECKED": value}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split(" ", 1) == [str(checks), "[2.0, 2.0]\n"]


def test_importing_opdsl_does_not_load_typeguard() -> None:
    text = "import sys, opdsl; opdsl.ones(2) + 1; print('typeguard' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_undefined_gradients_of_masked_results_are_let_pass() -> None:
    grad, x = opdsl.ones(3, 4), opdsl.ones(3, 4)
    mean, rstd = opdsl.ones(3, 1), opdsl.ones(3, 1)
    with opdsl.checked():
        gradients = opdsl.ops.aten.native_layer_norm_backward.default(
            grad, x, [4], mean, rstd, None, None, [True, False, False]
        )
    assert gradients[0].shape == (3, 4)


def test_optional_arguments_and_results_of_variants(lib: Library) -> None:
    @lib.op(inplace=True, out=True)
    def f(self: Tensor, other: Tensor | None = None) -> Tensor: ...

    @f.kernel("CPU")
    def f_cpu(self, other):
        return self * 2 if other is None else self * other

    x, out = opdsl.ones(2), opdsl.empty(2)
    with opdsl.checked():
        assert f(x).tolist() == [2.0, 2.0]
        assert f(x, out=out) is out
        assert f.variants["inplace"](x, x) is x


def test_alias_annotations_of_a_body_hold(lib: Library) -> None:
    @lib.op
    def f(self: Tensor[Alias("a")], copies: bool) -> Tensor:
        return self.clone() if copies else self.t()

    with opdsl.checked():
        f(opdsl.ones(2, 2), True)
    assert "shares the memory of self" in error_of(lambda: f(opdsl.ones(2, 2), False))


def test_a_wrong_argument_from_a_mode_is_refused(lib: Library) -> None:
    f = operator_with(lib, right)
    inner = f.operator

    def call() -> object:
        with opdsl.checked():
            return inner.find((arguments := (opdsl.ones(1), "text")), current.get())(*arguments)

    with pytest.raises(ArgumentError, match="other is str, but the schema has Tensor"):
        call()
