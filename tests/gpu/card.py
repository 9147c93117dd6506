"""Report and first checks of a CUDA card: versions, the card, and behavior that no emulated device proves. The last
line names the card.
"""

from __future__ import annotations

import gc
import platform
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version

import opdsl
from opdsl.errors import MissingDependencyError, PositionError


def versions() -> None:
    """Print the versions of Python and of installed packages."""
    print("python", platform.python_version())
    for name in ("numpy", "numba", "torch", "cuda-bindings", "nvidia-cuda-nvrtc"):
        try:
            print(name, version(name))
        except PackageNotFoundError:
            print(name, "is not there")


def graph_memory() -> None:
    """Check that a graph's memory is not reused by other tensors, and that its random numbers differ in each run."""
    x = opdsl.arange(1000.0).cuda()
    run = opdsl.cuda.graph(lambda x: ((x + 1) * 2).softmax(0))
    first = run(x).tolist()
    opdsl.cuda.empty_cache()
    others = [opdsl.full((1000,), 7.0, device="cuda") for _ in range(20)]
    assert run(x).tolist() == first
    assert {other.sum().item() for other in others} == {7000.0}
    draw = opdsl.cuda.graph(lambda x: x + opdsl.rand_like(x))
    assert draw(x).tolist() != draw(x).tolist()


def positions() -> None:
    """Check that an index out of bounds raises an error, and the device stays usable."""
    table = opdsl.ones(5, 3, device="cuda")
    table.index_select(0, opdsl.tensor([9]).cuda())
    try:
        opdsl.cuda.synchronize()
        raise AssertionError("nothing was reported")
    except PositionError as error:
        print(error)
    assert table.sum().item() == 15


def products() -> None:
    """Check products of matrices by cuBLAS for each dtype."""
    for dtype in (opdsl.float16, opdsl.bfloat16, opdsl.float32, opdsl.float64, opdsl.complex64, opdsl.complex128):
        x = opdsl.ones(8, 8, dtype=dtype, device="cuda")
        try:
            assert (x @ x).cpu().to(opdsl.complex128)[0, 0].item() == 8
        except MissingDependencyError as error:
            print(error)
            return


def main() -> int:
    """Run all checks, continuing after failures, and return the number of failed ones."""
    versions()
    assert opdsl.cuda.is_available(), "no device can be used"
    properties = opdsl.cuda.get_device_properties()
    major, minor = properties.capability[:2]
    name = f"card: {properties.name}, sm_{major}{minor}, {properties.total_memory >> 30} GiB"
    print(name, opdsl.cuda.mem_get_info())
    failures = 0
    for check in (graph_memory, positions, products):
        try:
            check()
            opdsl.cuda.synchronize()
            print(check.__name__, "passed")
        except Exception:
            failures += 1
            print(check.__name__, "failed:", traceback.format_exc())
        gc.collect()
    print(name)
    return failures


if __name__ == "__main__":
    sys.exit(main())
