"""Tests of objects whose addresses machine code holds: created once, however many threads need them first, and never
freed.
"""

from __future__ import annotations

import ast
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from opdsl.backends.cpu.processor import processor
from opdsl.runtime.permanent import kept_forever
from tests.forks import Outcome, outcomes_of

PACKAGE = Path(__file__).resolve().parents[3] / "opdsl"
THREADS = 8


def program_of(work: str, setup: str = "") -> str:
    """Return a program that runs a statement in eight threads, which start at once.

    It fails if a thread raises, or appends another object to ``results`` than the others.
    """
    return "\n".join(
        [
            "import threading, sys, traceback",
            "import opdsl",
            setup,
            f"together, results, faults = threading.Barrier({THREADS}), [], []",
            "def work():",
            "    together.wait()",
            "    try:",
            *(f"        {line}" for line in work.splitlines()),
            "    except BaseException: faults.append(traceback.format_exc())",
            f"threads = [threading.Thread(target=work) for _ in range({THREADS})]",
            "for thread in threads: thread.start()",
            "for thread in threads: thread.join()",
            "if faults: sys.exit(faults[0])",
            "if len(set(map(id, results))) > 1: sys.exit(f'{len(set(map(id, results)))} of them were made')",
        ]
    )


# ---------------------------------------------------------------------------------------------------------- the helper


def test_threads_that_ask_at_once_get_the_same() -> None:
    calls: list[int] = []

    @kept_forever
    def make(number: int) -> object:
        calls.append(number)
        time.sleep(0.02)
        return object()

    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(make(3))) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, results))) == 1
    assert len(results) == THREADS
    assert calls == [3]
    assert make(4) is not make(3)
    assert calls == [3, 4]


def test_nothing_is_kept_of_what_raises() -> None:
    attempts: list[int] = []

    @kept_forever
    def make() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("not yet")
        return "made"

    with pytest.raises(OSError, match="not yet"):
        make()
    assert make() == "made"
    assert make() == "made"
    assert len(attempts) == 2


# ---------------------------------------------------------------------------------------------------------- its users

# Each function whose result is kept forever, with arguments for it.
USERS = {
    "opdsl.backends.cpu.attention._compiled": "module.machine, 'float32', 4",
    "opdsl.backends.cpu.author_compiler._environment": "",
    "opdsl.backends.cpu.blas._blas": "*map(module.load, module._MODULES)",
    "opdsl.backends.cpu.builtin._definition": "'name', module.native.entry('kernel_call'), 0x80",
    "opdsl.backends.cpu.convolution._code": "module.whole, module.target('float32', 4)",
    "opdsl.backends.cpu.engine._halves": "",
    "opdsl.backends.cpu.engine._initialise": "",
    "opdsl.backends.cpu.engine._jit": "",
    "opdsl.backends.cpu.engine._machine": "3, None",
    "opdsl.backends.cpu.engine._tuning": "True",
    "opdsl.backends.cpu.fourier._compiled": "",
    "opdsl.backends.cpu.handwritten._kernel": "'triangle'",
    "opdsl.backends.cpu.lapack._loop": "'potrf', module.numpy.dtype('float32'), 'ccaca', module.blas()",
    "opdsl.backends.cpu.mkl._opened": "",
    "opdsl.backends.cpu.narrow_product._code": "",
    "opdsl.backends.cpu.native._apart": "module.tensor, 'view_call'",
    "opdsl.backends.cpu.native._pool": "",
    "opdsl.backends.cpu.native.code": "",
    "opdsl.backends.cpu.native.imports": "",
    "opdsl.backends.cpu.pool._function": "'pool_get_threads', module.ctypes.c_int64",
    "opdsl.backends.cpu.product._code": "'float32', module.blas()",
    "opdsl.backends.cpu.scipy_modules._load": "importlib.import_module('scipy') and 'scipy.linalg.cython_blas'",
    "opdsl.backends.cpu.turning.turning_code": "4",
    "opdsl.backends.cuda.allocator.block_functions": "",
    "opdsl.backends.cuda.native.code": "",
    "opdsl.dispatch.binding.return_types._named_tuple": "'pair', ('first', 'second')",
    "opdsl.interop.torch.compiling.make_backend": "",
    "opdsl.interop.torch.native._known": "",
    "opdsl.interop.torch.native.array_function": "",
    "opdsl.interop.torch.native.code": "",
    "opdsl.interop.torch.native.form_function": "",
    "opdsl.interop.torch.overrides._registry": "",
    "opdsl.testing.memory_samples._folder": "",
}

# Functions that need an OpenCL device.
ELSEWHERE = {"opdsl.backends.opencl.devices._devices", "opdsl.backends.opencl.launcher._kernel"}


# Expressions whose first call needs a library.
LIBRARY_CALLS = [
    "x @ x",
    "opdsl.ones(2, 4, 4).bmm(opdsl.ones(2, 4, 4))",
    "x.to(opdsl.bfloat16) @ x.to(opdsl.bfloat16)",
    "opdsl.linalg.solve(x + opdsl.eye(4), x)",
    "opdsl.linalg.svdvals(x)",
    "opdsl.linalg.eigh(x)",
    "opdsl.fft.fft(x)",
    "opdsl.conv2d(opdsl.ones(1, 1, 8, 8), opdsl.ones(1, 1, 3, 3))",
]


def reason_to_skip(user: str) -> str:
    """Return why a function cannot be called here; an empty text if it can."""
    if user.startswith("opdsl.backends.cpu.narrow_product.") and "avx512bf16" not in processor().features:
        return "this processor multiplies no bfloat16, see narrow_product.multiplies"
    return "needs PyTorch" if user.startswith("opdsl.interop.torch") and not find_spec("torch") else ""


def program_of_user(user: str) -> str:
    module, _, name = user.rpartition(".")
    setup = f"import importlib\nmodule = importlib.import_module({module!r})\nsys.setswitchinterval(1e-5)"
    return program_of(f"results.append(module.{name}({USERS[user]}))", setup)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """Return the outcomes of all programs, each in a process that has imported opdsl, and PyTorch if it needs it."""
    tried = [user for user in sorted(USERS) if not reason_to_skip(user)]
    calls = {text: program_of(f"for _ in range(100): {text}", "x = opdsl.ones(4, 4)") for text in LIBRARY_CALLS}
    plain = {user: program_of_user(user) for user in tried if not user.startswith("opdsl.interop.torch")}
    of_torch = {user: program_of_user(user) for user in tried if user not in plain}
    result = outcomes_of({**plain, **calls}, imports="import opdsl")
    return result | (outcomes_of(of_torch, imports="import opdsl, torch") if of_torch else {})


@pytest.mark.parametrize("user", sorted(USERS))
def test_each_user_makes_one_for_all_threads(user: str, outcomes: dict[str, Outcome]) -> None:
    if reason := reason_to_skip(user):
        pytest.skip(reason)
    outcomes[user].check()


@pytest.mark.parametrize("expression", LIBRARY_CALLS)
def test_the_first_call_of_a_library_in_several_threads(expression: str, outcomes: dict[str, Outcome]) -> None:
    outcomes[expression].check()


# ------------------------------------------------------------------------------------------------------------ the lint

# Types of values that machine code does not refer to, and that equal values can replace.
_PLAIN = (
    "int float str bool bytes None type tuple dict list ModuleType CodeType FunctionDef Array TypedGraph Program "
    "Accesses CDLL Target Field Variants _Owner Device TensorMeta Layout Places Source Argument Path Processor "
    "Signature Computation Tiling"
)
# Types of values that calls own while they use them: a cache that evicts entries may return them.
_OWNED = "Code Kernel Callable NDArray Any"
# Functions that create or return an address, and classes with state.
_MAKERS = (
    "compile_ir load_object link function_of plan_of builtin builtin_over addressof address_of CFUNCTYPE PYFUNCTYPE "
    "create_lljit_compiler Lock RLock TemporaryDirectory"
)
PLAIN, OWNED, MAKERS = (frozenset(names.split()) for names in (_PLAIN, _OWNED, _MAKERS))


def cached_functions() -> Iterator[tuple[str, ast.FunctionDef, str]]:
    """Yield every function of the package with a decorator that caches results: qualified name, node,
    decorator's name.
    """
    for path in sorted(PACKAGE.rglob("*.py")):
        if "cache" not in path.read_text() and "kept_forever" not in path.read_text():
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                word = ast.unparse(called).rpartition(".")[2]
                if word in ("cache", "lru_cache", "cache_results", "kept_forever"):
                    module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
                    yield f"{module}.{node.name}", node, word


def names_in(node: ast.AST | None) -> set[str]:
    """Return the last components of the names in an expression, without those in string annotations."""
    names: set[str] = set()
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.Attribute):
            names.add(part.attr)
        elif isinstance(part, ast.Name):
            names.add(part.id)
        elif isinstance(part, ast.Constant) and part.value is None:
            names.add("None")
    return names


def faults_of(place: str, function: ast.FunctionDef, word: str) -> list[str]:
    """Return the reasons why functools must not cache a function's results."""
    faults = []
    if word != "lru_cache" and place != "opdsl.runtime.permanent.once":
        called = {name for part in ast.walk(function) if isinstance(part, ast.Call) for name in names_in(part.func)}
        faults += [f"{place} calls {name}" for name in sorted(called & MAKERS)]
    if place.startswith(("opdsl.backends.", "opdsl.interop.torch.native", "opdsl.interop.torch.places")):
        allowed = PLAIN | OWNED if word == "lru_cache" else PLAIN
        modules = {"engine", "ast", "model", "ctypes"}
        if place == "opdsl.backends.cpu.machine.language.hints":
            allowed = allowed | {"Any"}  # annotations, which have no common class
        faults += [f"{place} returns {name}" for name in sorted(names_in(function.returns) - allowed - modules)]
    return faults


def test_no_functools_cache_keeps_what_owns_machine_code() -> None:
    faults = [
        fault
        for place, function, word in cached_functions()
        if word != "kept_forever"
        for fault in faults_of(place, function, word)
    ]
    assert faults == [], "take opdsl.runtime.permanent.kept_forever, of which threads get one"


@pytest.mark.parametrize(
    "source",
    [
        "@functools.cache\ndef blas() -> Blas: ...",
        "@functools.cache\ndef code() -> engine.Code: ...",
        "@cache\ndef code() -> str:\n    return engine.compile_ir('', text, [])",
        "@functools.lru_cache(maxsize=8)\ndef blas() -> Blas: ...",
    ],
)
def test_the_lint_sees_what_owns_machine_code(source: str) -> None:
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    word = "lru_cache" if "lru_cache" in source else "cache"
    assert faults_of("opdsl.backends.cpu.some.code", function, word)


def test_every_user_is_tried() -> None:
    kept = {place for place, _, word in cached_functions() if word == "kept_forever"}
    assert kept == USERS.keys() | ELSEWHERE
