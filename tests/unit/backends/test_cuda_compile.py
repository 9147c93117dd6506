"""Tests that NVRTC compiles the kernels of all operators, which needs no GPU, and that resources of hot kernels are
those in a table.

``OPDSL_TEST_FULL=1`` compiles all kernels of all operators for all dtypes and architectures, which takes half an hour;
``OPDSL_REFRESH=1`` rewrites the table.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import opdsl
from opdsl.backends import cache
from opdsl.backends.cuda import allocator, compiler, driver, finalization, host, nvrtc, streams
from opdsl.backends.cuda.attention import scheduled as attention_program
from opdsl.backends.cuda.convolution import scheduled as convolution_program
from opdsl.backends.cuda.nvrtc import compile_cubin
from opdsl.backends.cuda.program import Source
from opdsl.backends.cuda.schedules import order
from opdsl.declare import Library
from opdsl.errors import KernelCompileError
from opdsl.kernels.calls import AttentionCall, ConvolutionCall, OperandSpec, Ordering, WindowSpec
from opdsl.native.generated import GENERATED
from opdsl.runtime import Tensor
from opdsl.testing import ahead
from tests.unit.backends.cubin import Resources, resources
from tests.unit.backends.recording import Recorder, forget_kernels
from tests.unit.kernels.computations import rows_layout

pytest.importorskip("cuda.bindings", reason="needs the extra cuda")

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128")  # fmt: skip
FULL = bool(os.environ.get("OPDSL_TEST_FULL"))
TABLE = Path(__file__).with_name("cuda_resources.txt")

# The number of parts that the operators are divided into; the number of dtypes that are tried, and the step between
# them, which reaches all kinds of dtypes.
PARTS = 12
TRIED, STRIDE = 5, 5


@pytest.fixture
def dry_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install devices of all architectures on which kernels are compiled, but do not run."""
    for kind in ("attention", "author", "compile", "convolution", "order", "product"):
        monkeypatch.setattr(compiler, kind, getattr(compiler, kind))  # restored after the test
    forget_kernels()
    ahead.dry_run_on(ARCHITECTURES)
    yield
    forget_kernels()
    gc.collect()  # objects in cycles end while their driver is installed
    for forget in (streams.forget, allocator.forget, host.forget, finalization.forget):
        forget()
    driver.use(None)


@pytest.mark.parametrize("part", range(PARTS))
def test_the_kernels_of_operators_compile(part: int, dry_run: None) -> None:
    """For every operator name the kernels of one sample compile, for one dtype and one architecture.

    With ``OPDSL_TEST_FULL=1`` the kernels of all samples of all its operators do, for all dtypes and architectures.

    Variants and overloads have most kernels in common. The dtype is the first one that needs kernels, starting at one
    that depends on the name's index in the registry; the architecture depends on the dtype. So all dtypes and
    architectures are covered. Operators that need no kernels for bools, integers, floats and complex numbers are
    assumed to need none.
    """
    own = [
        operator for operator in opdsl.registry if operator.name.startswith("aten::") and GENERATED not in operator.tags
    ]
    # Composites and operators on lists run kernels of other operators.
    operators = [operator for operator in own if opdsl.DispatchKey("CUDA") in operator.registrations or FULL]
    names = {name: index for index, name in enumerate(dict.fromkeys(map(base_name, operators)))}
    order = DTYPES if FULL else [DTYPES[(part + STRIDE * index) % len(DTYPES)] for index in range(TRIED)]
    served, refused = set(), []
    for operator in operators:
        name = base_name(operator)
        if names[name] % PARTS != part or (name in served and not FULL):
            continue
        for dtype in order:
            own = ARCHITECTURES[DTYPES.index(dtype) % len(ARCHITECTURES)]
            chosen = ARCHITECTURES if FULL else [own]
            outcomes = [
                ahead.run(ahead.Task(operator.name, dtype, architecture), first=not FULL) for architecture in chosen
            ]
            refused += [outcome for outcome in outcomes if outcome.refused]
            if any(outcome.compiled or outcome.loaded for outcome in outcomes):
                served.add(name)
                if not FULL:
                    break
    assert refused == []
    assert len(served) > len(names) // PARTS // 3


def base_name(operator: Any) -> str:
    """Return the name that an operator shares with its variants."""
    return operator.schema.name.base.removesuffix("_")


# ------------------------------------------------------------------------------------------------------- hot kernels


lib = Library("cuda_compile_test")


@lib.op
@opdsl.formula
def formula(x: Tensor, y: Tensor) -> Tensor:
    """Combine five pointwise operations."""
    return opdsl.tanh(x) * y + opdsl.exp(-x * x)


def some(*shape: int, dtype: Any = opdsl.float32) -> Tensor:
    """Return a tensor of ones."""
    return opdsl.ones(shape, dtype=dtype)


HOT: dict[str, tuple[str, Callable[[], Any]]] = {
    "add float32": ("pointwise", lambda: opdsl.add(some(4096), some(4096))),
    "add bfloat16": ("pointwise", lambda: opdsl.add(*[some(4096, dtype=opdsl.bfloat16)] * 2)),
    "add float32 of columns": ("pointwise", lambda: opdsl.add(some(64, 64), some(64, 64).t())),
    "copy bfloat16 of columns": ("pointwise", lambda: some(96, 64, dtype=opdsl.bfloat16).t().contiguous()),
    "add bfloat16 of a bias": (
        "pointwise", lambda: opdsl.add(some(64, 4096, dtype=opdsl.bfloat16), some(4096, dtype=opdsl.bfloat16))
    ),
    "exp float32": ("pointwise", lambda: opdsl.exp(some(4096))),
    "gelu float16": ("pointwise", lambda: opdsl.nn.gelu(some(4096, dtype=opdsl.float16))),
    "gelu bfloat16": ("pointwise", lambda: opdsl.nn.gelu(some(4096, dtype=opdsl.bfloat16))),
    "formula float32": ("pointwise", lambda: formula(some(4096), some(4096))),
    "sum float32": ("reduction", lambda: some(1 << 20).sum()),
    "sum float32 of rows": ("reduction", lambda: some(512, 1024).sum([1])),
    "sum bfloat16 of columns": ("reduction", lambda: some(1024, 512, dtype=opdsl.bfloat16).sum([0])),
    "argmax float32": ("reduction", lambda: some(512, 1024).argmax(1)),
    "var float32": ("reduction", lambda: some(512, 1024).var([1])),
    "softmax float32 of 1024": ("row", lambda: opdsl.softmax(some(512, 1024), 1)),
    "softmax bfloat16 of 4096": ("row", lambda: opdsl.softmax(some(8, 4096, dtype=opdsl.bfloat16), 1)),
    "softmax bfloat16 of 100000": ("row", lambda: opdsl.softmax(some(2, 100_000, dtype=opdsl.bfloat16), 1)),
    "softmax float32 of 100000": ("row", lambda: opdsl.softmax(some(2, 100_000), 1)),
    "layer_norm bfloat16 of 4096": (
        "row",
        lambda: opdsl.layer_norm(some(8, 4096, dtype=opdsl.bfloat16), [4096], *[some(4096, dtype=opdsl.bfloat16)] * 2),
    ),
    "cumsum float32": ("scan", lambda: some(512, 1024).cumsum(1)),
    "embedding float32": ("indirect", lambda: some(64, 128).index_select(0, opdsl.arange(64))),
    "avg_pool2d float32": ("indexed", lambda: opdsl.nn.functional.avg_pool2d(some(2, 8, 64, 64), 3, 2, 1)),
    "max_pool2d float32": ("indexed", lambda: opdsl.nn.functional.max_pool2d(some(2, 8, 64, 64), 3, 2, 1)),
    "reflection_pad2d bfloat16": (
        "indexed",
        lambda: opdsl.nn.functional.pad(some(2, 8, 64, 64, dtype=opdsl.bfloat16), (1, 1, 1, 1), mode="reflect"),
    ),
    "index_add float32": ("indirect", lambda: some(64, 128).index_add(0, opdsl.arange(64), some(64, 128))),
}  # fmt: skip


def hot_sources(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Source]]:
    """Yield the names and sources of hot kernels."""
    for name, (kind, run) in HOT.items():
        recorder = Recorder([kind])
        with recorder.installed(monkeypatch):
            run()
        yield name, recorder.records[-1].program.source
    values, places = OperandSpec(opdsl.float32, (4 << 20, 4)), OperandSpec(opdsl.int64, (8 << 20, 8))
    for length in (1 << 10, 1 << 20):
        layout = rows_layout((4,), length, (values,), (values, places))
        yield f"sort float32 of {length}", order(Ordering(False, length), layout).source
    yield "topk float32 of 1048576", order(Ordering(True, 100), layout).source
    for dtype in (opdsl.float32, opdsl.bfloat16):
        steps = (64 << 10, 64 << 10, 64 << 10, 64, 1)
        call = AttentionCall(dtype, 1, 2, 1, 1024, 1024, 64, 64, steps, steps[1:], steps[1:], steps, None, (), True)
        yield f"attention {dtype.name} of 64", attention_program(call).source
        window = WindowSpec(56, 56, 3, -1, 1, 1)
        images, weight = (64 * 3136, 3136, 56, 1), (576, 9, 3, 1)
        sizes = (1, 1, 64, 64, (window, window), images, weight, images)
        yield (
            f"conv2d {dtype.name} of 3 x 3",
            convolution_program(ConvolutionCall("correlate", dtype, *sizes, True)).source,
        )


def table(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the table of the resources of hot kernels on each architecture."""
    head = ("kernel", "entry", "architecture", *Resources._fields)
    lines = [head]
    for name, source in hot_sources(monkeypatch):
        for architecture in ARCHITECTURES:
            used = resources(compile_cubin(source, architecture))
            lines += [(name, entry, architecture, *map(str, used[entry])) for entry in sorted(used)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines) + "\n"


def test_hot_kernels_take_what_the_table_says(monkeypatch: pytest.MonkeyPatch) -> None:
    result = table(monkeypatch)
    if os.environ.get("OPDSL_REFRESH"):
        TABLE.write_text(result)
    assert result == TABLE.read_text(), "OPDSL_REFRESH=1 writes the table anew; look at what has changed"


def test_no_hot_kernel_spills() -> None:
    rows = table_rows()
    assert all(row.stack == 0 and row.registers <= 128 for _, _, row in rows)


def test_kernels_of_aligned_operands_move_128_bits() -> None:
    rows = [row for _, entry, row in table_rows() if entry in ("vectors", "packs")]
    assert rows
    assert all(row.loads > 0 and row.stores > 0 for row in rows)


@pytest.mark.parametrize(
    ("kernel", "entry", "elements", "most"),
    [
        ("layer_norm bfloat16 of 4096", "packs", 16, 40),
        ("softmax bfloat16 of 4096", "packs", 16, 26),
        ("gelu bfloat16", "vectors", 8, 26),
        ("add bfloat16 of a bias", "together", 8, 18),
    ],
)
def test_bfloat16_takes_few_instructions_for_each_element(kernel: str, entry: str, elements: int, most: int) -> None:
    """The number of instructions of a kernel by the elements of a thread, of which memory allows about 24."""
    rows = [row for name, own, row in table_rows() if (name, own) == (kernel, entry)]
    assert len(rows) == len(ARCHITECTURES)
    assert max(row.instructions for row in rows) <= most * elements


def test_rows_of_16_bits_divide_once() -> None:
    """Divisions and square roots of what is the same along a row are made once a row, not for each of 16 elements."""
    rows = [row for name, entry, row in table_rows() if "bfloat16 of 4096" in name and entry == "packs"]
    assert len(rows) == 2 * len(ARCHITECTURES)
    assert all(row.divisions == 0 and row.calls <= 2 and row.functions <= 17 for row in rows)


def table_rows() -> list[tuple[str, str, Resources]]:
    """Return the lines of the stored table: name of the kernel, entry and resources."""
    lines = [line.split() for line in TABLE.read_text().splitlines()[1:]]
    count = len(Resources._fields)
    return [(" ".join(line[: -count - 2]), line[-count - 2], Resources(*map(int, line[-count:]))) for line in lines]


# --------------------------------------------------------------------------------------------------------- the cache


TWICE = """extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }"""


@pytest.fixture
def own_cache(tmp_path: Path) -> Any:
    """Provide an empty kernel cache for a test, and yield its path."""
    cache.set_kernel_cache(tmp_path / "kernels")
    yield tmp_path / "kernels"
    cache.set_kernel_cache(None)


def test_a_cubin_is_compiled_once_for_each_architecture(own_cache: Path) -> None:
    before = nvrtc.Statistics.compiled
    first = compile_cubin(Source.of(TWICE), "sm_90")
    assert compile_cubin(Source.of(TWICE), "sm_90") == first
    assert compile_cubin(Source.of(TWICE), "sm_80") != first
    assert nvrtc.Statistics.compiled - before == 2


def test_options_count(own_cache: Path) -> None:
    compile_cubin(Source.of(TWICE, contracts=True), "sm_90")
    before = nvrtc.Statistics.compiled
    compile_cubin(Source.of(TWICE, contracts=False), "sm_90")
    assert nvrtc.Statistics.compiled == before + 1


def test_a_damaged_cubin_is_compiled_again(own_cache: Path) -> None:
    first = compile_cubin(Source.of(TWICE), "sm_90")
    (file,) = own_cache.iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"\x00")
    assert compile_cubin(Source.of(TWICE), "sm_90") == first


def test_what_nvrtc_refuses_is_shown(own_cache: Path) -> None:
    with pytest.raises(KernelCompileError, match=r"(?s)sm_90.*identifier .y. is undefined"):
        compile_cubin(Source.of(TWICE.replace("*=", "= y *")), "sm_90")


def test_a_warm_process_loads_nothing_of_nvidia(own_cache: Path) -> None:
    compile_cubin(Source.of(TWICE), "sm_90")
    program = f"""
import sys
from opdsl.backends.cuda.nvrtc import Statistics, compile_cubin
from opdsl.backends.cuda.program import Source
compile_cubin(Source.of({TWICE!r}), "sm_90")
assert Statistics.compiled == 0
assert not [name for name in sys.modules if name == "cuda" or name.startswith("cuda.")]
"""
    environment = {**os.environ, "OPDSL_CACHE_DIR": str(own_cache)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=60)
    assert run.returncode == 0, run.stderr
