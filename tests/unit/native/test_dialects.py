"""Tests of every dialect of native_functions.yaml since PyTorch 0.4: it loads, and is upgraded to today's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opdsl.errors import DialectError, NativeYamlError
from opdsl.native import Variant, check_text, detect, dumps, load, loads, upgrade
from opdsl.native.dialects import DIALECTS, TODAY, dialect_of
from opdsl.native.retired import RETIRED_DISPATCH_KEYS, RETIRED_KEYS, RETIRED_TYPES
from opdsl.schema import parse_schema

FIXTURE = Path(__file__).parent / "fixtures/dialects/0.4.yaml"

SCHEMAS = {
    # types
    "f(TensorList x) -> TensorList": "f(Tensor[] x) -> Tensor[]",
    "f(IntList x, IntList[2] y, IntList? z) -> Tensor": "f(int[] x, int[2] y, int[]? z) -> Tensor",
    "f(IntArrayRef x) -> Tensor": "f(int[] x) -> Tensor",
    "f(int64_t x, int64_t? y) -> int64_t": "f(int x, int? y) -> int",
    "f(double x) -> double": "f(float x) -> float",
    "f(std::string x) -> Tensor": "f(str x) -> Tensor",
    "f(std::array<bool,3> x) -> Tensor": "f(bool[3] x) -> Tensor",
    "f(std::array<bool, 3> x) -> Tensor": "f(bool[3] x) -> Tensor",
    "f(BoolTensor x, IntegerTensor? y, IndexTensor z) -> Tensor": "f(Tensor x, Tensor? y, Tensor z) -> Tensor",
    "f(SparseTensorRef x) -> Tensor": "f(Tensor x) -> Tensor",
    # values
    "f(bool x=true, bool y=FALSE) -> Tensor": "f(bool x=True, bool y=False) -> Tensor",
    "f(IntList[2] x={0,1}, IntList[2] y={0, 1}) -> Tensor": "f(int[2] x=[0,1], int[2] y=[0,1]) -> Tensor",
    "f(IntList[2] x=1, IntList y={}) -> Tensor": "f(int[2] x=1, int[] y=[]) -> Tensor",
    "f(Tensor x={}, Tensor? y={}) -> Tensor": "f(Tensor? x=None, Tensor? y=None) -> Tensor",
    "f(Scalar? x=nullopt, Scalar? y=c10::nullopt) -> Tensor": "f(Scalar? x=None, Scalar? y=None) -> Tensor",
    "f(int64_t reduction=Reduction::ElementwiseMean) -> Tensor": "f(int reduction=Mean) -> Tensor",
    "f(ScalarType dtype=at::kComplexFloat) -> Tensor": "f(ScalarType dtype=complex_float) -> Tensor",
    # returns
    "f(Tensor x) -> void": "f(Tensor x) -> ()",
    "f(Tensor x)": "f(Tensor x) -> ()",
    "f(Tensor x) ->(Tensor,Tensor  y)": "f(Tensor x) -> (Tensor, Tensor y)",
    "f(Tensor x) -> (Tensor)": "f(Tensor x) -> Tensor",
    "f(Tensor x) -> Tensor grad": "f(Tensor x) -> Tensor grad",
    # spaces and stars
    "f( Tensor  x,Tensor y )->Tensor": "f(Tensor x, Tensor y) -> Tensor",
    "f(Tensor x, *) -> Tensor": "f(Tensor x) -> Tensor",
    # annotations
    "f_(Tensor self) -> Tensor": "f_(Tensor(a!) self) -> Tensor(a!)",
    "__iand__(Tensor self, Scalar other) -> Tensor": "__iand__(Tensor(a!) self, Scalar other) -> Tensor(a!)",
    "f(Tensor?(a!) x, Tensor[](b) y) -> Tensor[](b)": "f(Tensor(a!)? x, Tensor(b)[] y) -> Tensor(b)[]",
    "f.out(Tensor! x, Tensor(a!) y, *, Tensor! out) -> (Tensor!, Tensor(a!))": (
        "f.out(Tensor(b!) x, Tensor(a!) y, *, Tensor(c!) out) -> (Tensor(c!), Tensor(a!))"
    ),
    "f(Tensor(a -> *) x) -> Tensor(a)[]": "f(Tensor(a -> *) x) -> Tensor(a)[]",
    "f_out(Tensor result, Tensor self) -> Tensor": "f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    "f_out(Tensor result0, Tensor result1, Tensor self, *, int64_t n) -> (Tensor, Tensor)": (
        "f.out(Tensor self, *, int n, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"
    ),
    "f_out(Tensor values, Tensor self) -> Tensor values": (
        "f.out(Tensor self, *, Tensor(a!) values) -> Tensor(a!) values"
    ),
    # options
    "f(IntList size, TensorOptions options={}) -> Tensor": (
        "f(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)"
        " -> Tensor"
    ),
    "f(Type dtype, int64_t n=1) -> Tensor": (
        "f(*, ScalarType dtype, Layout layout, Device device, bool pin_memory=False, int n=1) -> Tensor"
    ),
    "f(Type dtype, int64_t n) -> Tensor": (
        "f(int n, *, ScalarType dtype, Layout layout, Device device, bool pin_memory=False) -> Tensor"
    ),
    "f(int64_t n, *, TensorOptions options=at::kLong, bool x=true) -> Tensor": (
        "f(int n, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None,"
        " bool x=True) -> Tensor"
    ),
}


def entry(schema: str, *lines: str) -> str:
    return "\n".join([f'- func: "{schema}"', *(f"  {line}" for line in lines), ""])


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_former_schema_is_todays(schema: str) -> None:
    [read] = loads(entry(schema), dialect="1.0")
    assert str(read.schema) == SCHEMAS[schema]


@pytest.mark.parametrize("star", ["Generator* generator=nullptr", "Generator *generator=nullptr"])
def test_a_pointer_may_be_none(star: str) -> None:
    [read] = loads(entry(f"f({star}) -> Tensor"), dialect="1.0")
    assert str(read.schema) == "f(Generator? generator=None) -> Tensor"


@pytest.mark.parametrize(
    "schema", [schema for schema, today in SCHEMAS.items() if schema not in (today, "f(Tensor x) -> Tensor grad")]
)
def test_nothing_former_is_todays_without_saying_so(schema: str) -> None:
    with pytest.raises(NativeYamlError):
        loads(entry(schema))


@pytest.mark.parametrize("name", RETIRED_TYPES)
def test_types_that_are_no_more_are_kept(name: str) -> None:
    [read] = loads(entry(f"f(Tensor self) -> {name}"), dialect=RETIRED_TYPES[name].until)
    assert str(read.schema) == f"f(Tensor self) -> {name}"


def test_a_type_that_was_read_once_is_still_none_of_todays() -> None:
    loads(entry("f(Dimname dim) -> Dimname"), dialect="1.9")
    with pytest.raises(NativeYamlError, match="Dimname is no schema type today"):
        loads(entry("f(Dimname dim) -> Dimname"))


# -------------------------------------------------------------------------------------------------------------- keys


@pytest.mark.parametrize("key", sorted(RETIRED_KEYS.keys() - {"python_default_init", "return"}))
def test_a_retired_key_is_named_by_todays_check(key: str) -> None:
    faults, _ = check_text(entry("f(Tensor self) -> Tensor", f"{key}: True"))
    assert [(fault.rule, fault.location.line) for fault in faults] == [("INV-17", 2)]
    assert f"it {RETIRED_KEYS[key]}" in faults[0].message


@pytest.mark.parametrize("key", sorted(RETIRED_KEYS.keys() - {"python_default_init", "return"}))
def test_a_retired_key_is_dropped_and_that_is_said(key: str) -> None:
    done = upgrade(entry("f(Tensor self) -> Tensor", f"{key}: True", "variants: function"))
    assert key not in done.text
    [change] = [change for change in done.changes if change.message.startswith(f"{key} is dropped")]
    assert (change.location.line, change.needs_person) == (2, RETIRED_KEYS[key].is_lost)


def test_the_key_return_is_moved_into_func() -> None:
    text = entry("f(Tensor x) -> Tensor", "return:", "  - {type: Tensor, name: a}", "  - {type: Tensor, name: b}")
    assert upgrade(text, dialect="1.0").text == "- func: f(Tensor x) -> (Tensor a, Tensor b)\n"


def test_a_default_that_only_python_had_is_one_that_cpp_has_not() -> None:
    text = entry("f(Tensor self, Scalar p, bool x=false) -> Tensor", "python_default_init:", "  p: 2")
    [read] = loads(text, dialect="1.0")
    assert str(read.schema) == "f(Tensor self, Scalar p=2, bool x=False) -> Tensor"
    assert read.cpp_no_default_args == ("p",)


@pytest.mark.parametrize(("schema", "value"), [("f(int64_t p, int64_t q) -> Tensor", "2"), ("f(int64_t p)", "q >> 2")])
def test_a_default_that_no_schema_can_say_needs_a_person(schema: str, value: str) -> None:
    done = upgrade(entry(schema, "python_default_init:", f"  p: {value}"))
    assert [fault.rule for fault in done.faults] == ["INV-17"]
    assert "python_default_init" in done.text


def test_a_kernel_without_a_dispatch_key_serves_every_backend() -> None:
    [read] = loads(entry("f(Tensor self) -> Tensor", "dispatch: f_kernel"), dialect="1.0")
    assert [str(line) for line in read.dispatch or ()] == ["CompositeExplicitAutograd: f_kernel"]


def test_dispatch_keys_have_new_names() -> None:
    [read] = loads(
        entry("f(Tensor self) -> Tensor", "dispatch:", "  CPU, DefaultBackend: f", "  Math: g"), dialect="1.8"
    )
    assert [line.keys for line in read.dispatch or ()] == [
        ("CPU", "CompositeExplicitAutograd"),
        ("CompositeImplicitAutograd",),
    ]


@pytest.mark.parametrize("key", RETIRED_DISPATCH_KEYS)
def test_a_kernel_of_a_retired_dispatch_key_is_dropped_and_that_is_said(key: str) -> None:
    done = upgrade(entry("f(Tensor self) -> Tensor", "dispatch:", "  CPU: f", f"  {key}: g"), dialect="1.6")
    assert done.text == entry("f(Tensor self) -> Tensor", "dispatch:", "  CPU: f")
    assert [(change.location.line, change.needs_person) for change in done.changes] == [
        (4, RETIRED_DISPATCH_KEYS[key].is_lost)
    ]


@pytest.mark.parametrize(("key", "said"), [("Math", "write CompositeImplicitAutograd"), ("Vulkan", "PyTorch 1.6")])
def test_a_former_dispatch_key_is_named_by_todays_check(key: str, said: str) -> None:
    [fault] = check_text(entry("f(Tensor self) -> Tensor", "dispatch:", f"  {key}: g"))[0]
    assert fault.rule == "INV-26"
    assert said in fault.message


def test_the_last_of_a_key_that_is_given_twice_counts() -> None:
    text = entry("f(double self) -> Tensor", "variants: function", "# why", "variants: function, method")
    assert upgrade(text).text == "- func: f(float self) -> Tensor\n  # why\n  variants: function, method\n"


@pytest.mark.parametrize(("written", "variants"), [("[]", "function"), ("[method, function]", "function, method")])
def test_variants_in_a_list(written: str, variants: str) -> None:
    assert f"variants: {variants}\n" in upgrade(entry("f(double self) -> Tensor", f"variants: {written}")).text


# ------------------------------------------------------------------------------------------------------------ variants


def test_an_entry_of_0_4_is_a_method_too() -> None:
    [read] = loads(entry("f(Tensor self, double x) -> Tensor"), dialect="0.4")
    assert read.variants == {Variant.function, Variant.method}


def test_an_entry_of_1_0_is_a_function_only() -> None:
    [read] = loads(entry("f(Tensor self, double x) -> Tensor"), dialect="1.0")
    assert read.variants == {Variant.function}


@pytest.mark.parametrize("schema", ["f(double x) -> Tensor", "f_out(Tensor result, Tensor self) -> Tensor"])
def test_what_cannot_be_a_method_is_none(schema: str) -> None:
    [read] = loads(entry(schema), dialect="0.4")
    assert read.variants == {Variant.function}


# ---------------------------------------------------------------------------------------------------------- overloads


def names(*schemas: str) -> list[str]:
    return [str(function.name) for function in loads("".join(map(entry, schemas)), dialect="1.1")]


def test_overloads_are_named_after_the_types_that_differ() -> None:
    assert names("f(Tensor self, Tensor x) -> Tensor", "f(Tensor self, Scalar x) -> Tensor") == ["f.Tensor", "f.Scalar"]


def test_overloads_are_named_after_the_arguments_that_others_lack() -> None:
    result = names("f(int end) -> int", "f(int start, int end) -> int", "f(int start, int end, int step) -> int")
    assert result == ["f", "f.start", "f.start_step"]


def test_variants_have_the_overload_of_the_functional_one() -> None:
    result = names(
        "f(Tensor self, Tensor x) -> Tensor",
        "f(Tensor self, Scalar x) -> Tensor",
        "f_(Tensor(a!) self, Scalar x) -> Tensor(a!)",
        "f(Tensor self, Scalar x, *, Tensor(a!) out) -> Tensor(a!)",
    )
    assert result == ["f.Tensor", "f.Scalar", "f_.Scalar", "f.Scalar_out"]


def test_names_do_not_depend_on_the_order() -> None:
    schemas = ["f(int[] x) -> int", "f(Tensor x) -> int", "f(float x, *, Tensor(a!) out) -> Tensor(a!)", "f() -> int"]
    assert sorted(names(*schemas)) == sorted(names(*reversed(schemas)))


def test_names_that_are_there_stay() -> None:
    assert names("f.x(Tensor self) -> int", "f(int self) -> int", "f(float self) -> int")[0] == "f.x"


def test_overloads_that_nothing_tells_apart_get_numbers() -> None:
    assert sorted(names("f(int x) -> int", "f(int x) -> Tensor")) == ["f", "f.2"]


# ------------------------------------------------------------------------------------------------------ today's rules


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (entry("f(Tensor self, Generator* g=nullptr) -> Tensor"), "tags: nondeterministic_seeded"),
        (entry("f_like(Tensor self, double x) -> Tensor"), "CompositeExplicitAutograd: f_like"),
        (entry("_foreach_f(TensorList self) -> Tensor[]", "dispatch: {CPU: f}"), "device_check: NoCheck"),
        (entry("f_(Tensor self) -> Tensor", "dispatch: {CPU: f_}"), "autogen: f.out, f"),
        (entry("f_(Tensor self) -> Tensor", "dispatch: {CPU: f_}", "autogen: f.functional"), "autogen: f.out, f"),
    ],
)
def test_what_a_rule_of_today_tells_is_written(text: str, line: str) -> None:
    done = upgrade(text, dialect="1.0")
    assert line in done.text
    assert done.faults == ()


# ------------------------------------------------------------------------------------------------- which dialect it is

EVIDENCE = {
    "0.4": [
        entry("f(double x) -> Tensor"),
        entry("f_(Tensor self) -> Tensor"),
        entry("f(Type dtype) -> Tensor", "variants: function"),
        entry("f(IntList x) -> Tensor", "deprecated: true"),
    ],
    "1.0": [
        entry("f(Tensor self, double x) -> Tensor", "variants: function, method"),
        entry("f(Tensor self, double x) -> void"),
        entry("f(double x) -> Tensor", "python_module: nn"),
    ],
    "1.1": [entry("f(Tensor self) -> Tensor", "matches_jit_signature: True"), entry("f(Tensor?(a!) x) -> Tensor")],
    "1.4": [
        entry("f(Tensor self) -> Tensor", "use_c10_dispatcher: full"),
        entry("f(Tensor self) -> Tensor", "dispatch: {DefaultBackend: f}"),
        entry("f(Tensor self) -> Tensor", "manual_kernel_registration: True", "cpu_half: True"),
    ],
    "1.9": [
        entry("f(Dimname dim) -> Tensor"),
        entry("f(Tensor! x) -> ()"),
        entry("f(Tensor self) -> Tensor", "tags: core", "deprecated: True"),
    ],
    "2.13": [entry("f(Tensor self) -> Tensor")],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in EVIDENCE.items() for text in texts])
def test_the_dialect_is_found_out(name: str, text: str) -> None:
    assert detect(text)[0].name == name


@pytest.mark.parametrize(
    ("version", "name"), [("0.4.1", "0.4"), ("1.3.1", "1.1"), ("1.10.2", "1.9"), ("2.12", "1.9"), ("2.13.0", "2.13")]
)
def test_a_release_has_a_dialect(version: str, name: str) -> None:
    assert dialect_of(version).name == name


@pytest.mark.parametrize("name", ["", "2018", "1.x", "0.3", "-1.2", "1.5.1.dev0"])
def test_what_is_no_release_is_refused(name: str) -> None:
    with pytest.raises(DialectError):
        loads("", dialect=name)


def test_the_dialects_follow_each_other() -> None:
    assert [dialect.last is None for dialect in DIALECTS] == [False] * (len(DIALECTS) - 1) + [True]
    assert DIALECTS[-1] is TODAY


# ---------------------------------------------------------------------------------------------------- a file as a whole


def test_the_fixture_upgrades_to_what_todays_check_accepts() -> None:
    done = upgrade(FIXTURE.read_text(), file=str(FIXTURE))
    assert [fault.shown(done.source) for fault in done.faults] == []
    assert done.dialect.name == "0.4"


def test_torchgen_reads_the_upgraded_fixture(tmp_path: Path) -> None:
    gen = pytest.importorskip("torchgen.gen")
    shutil.copy(Path(gen.__file__).parent / "packaged/ATen/native/tags.yaml", tmp_path)
    path = tmp_path / "native_functions.yaml"
    path.write_text(upgrade(FIXTURE.read_text()).text)
    gen._GLOBAL_PARSE_NATIVE_YAML_CACHE.clear()
    parsed = gen.parse_native_yaml(str(path), str(tmp_path / "tags.yaml"))
    theirs = [
        str(native_function.func)
        for native_function in parsed.native_functions
        if "generated" not in native_function.tags
    ]
    assert theirs == [str(function.schema) for function in load(path)]


def test_loading_gives_what_the_upgraded_text_says() -> None:
    assert load(FIXTURE, dialect="detect") == loads(upgrade(FIXTURE.read_text()).text)


def test_values_know_where_they_stood() -> None:
    lines = FIXTURE.read_text().splitlines()
    for read in load(FIXTURE, dialect="0.4"):
        location = read.location("func")
        assert lines[location.line - 1][location.column - 1 :].startswith(read.name.root)


def test_what_was_rewritten_is_written_as_it_is_now() -> None:
    written = dumps(load(FIXTURE, dialect="0.4"))
    assert loads(written) == load(FIXTURE, dialect="0.4")
    assert "# Overloads that only their arguments tell apart." in written


def test_comments_and_order_are_kept() -> None:
    before, after = FIXTURE.read_text(), upgrade(FIXTURE.read_text()).text
    assert [line for line in before.splitlines() if line.startswith("#")] == [
        line for line in after.splitlines() if line.startswith("#")
    ]
    assert "(Tensor self, Scalar bound=0.5) -> Tensor  # both variants\n  variants: function, method\n" in after
    order = [function.name.functional_base for function in loads(after)]
    assert order == [function.name.functional_base for function in load(FIXTURE, dialect="0.4")]


def test_a_text_of_today_stays_as_it_is() -> None:
    text = "# kept\n- func: f.x(Tensor(a!) self, *, Tensor(b!) out) -> Tensor(b!)   # too\n  variants:  function\n\n"
    done = upgrade(text)
    assert (done.text, done.dialect, done.changes) == (text, TODAY, ())


def test_upgrading_twice_is_upgrading_once() -> None:
    once = upgrade(FIXTURE.read_text()).text
    assert upgrade(once).text == once


def test_every_change_is_told_with_its_place() -> None:
    before = FIXTURE.read_text().splitlines()
    done = upgrade(FIXTURE.read_text(), file="old.yaml")
    told = {change.location.line for change in done.changes}
    kept = set(done.text.splitlines())
    assert [line for number, line in enumerate(before, 1) if line not in kept and line.startswith("- func")] == [
        line
        for number, line in enumerate(before, 1)
        if line not in kept and line.startswith("- func") and number in told
    ]
    assert str(done.changes[0]).startswith("old.yaml:")


def test_what_needs_a_person_has_its_place_in_the_new_text() -> None:
    done = upgrade("- func: f(double x,\n    Dimname d) -> Tensor\n", file="old.yaml", to="new.yaml")
    [fault] = done.faults
    assert str(fault.location).startswith("new.yaml:1:")
    assert done.needs_person


@pytest.mark.parametrize(
    "text",
    [
        '[{func: "f(double x, IntList y) -> Tensor", cpu_half: True, variants: function}]',
        '- {cpu_half: True, func: "f(double x, IntList y) -> Tensor"}\n',
        "- cpu_half: True\n  func: f(double x, IntList y) -> Tensor\n",
        "- func: 'f(double x, IntList y) -> Tensor'\n  cpu_half: True",
        "- func: >\n    f(double x,\n    IntList y) -> Tensor\n  cpu_half: True\n",
        "---\n- func: f(double x,\n        IntList y) -> Tensor # end\n  cpu_half: True\n...\n",
    ],
)
def test_entries_of_every_style_are_rewritten(text: str) -> None:
    [read] = loads(upgrade(text).text)
    assert str(read.schema) == "f(float x, int[] y) -> Tensor"


def test_schemas_print_as_the_grammar_of_today_reads_them() -> None:
    for read in load(FIXTURE, dialect="0.4"):
        assert parse_schema(str(read.schema)) == read.schema


def test_a_schema_that_cannot_be_read_has_its_place() -> None:
    with pytest.raises(NativeYamlError) as caught:
        loads("- func: f(double x) -> Tensor\n- func: f(double -> Tensor\n", file="old.yaml", dialect="0.4")
    assert str(caught.value).startswith("old.yaml:2:")
