"""Tests of DTensors on two ranks: two threads of this process that communicate by PyTorch's threaded process group."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard, distribute_tensor
from torch.testing._internal.distributed import multi_threaded_pg

from opdsl.testing.pytorch.twins import Twin

_PLACES = 2
_SECONDS = 60

# C++ functions that torch's stubs lack.
c10d: Any = importlib.import_module("torch._C._distributed_c10d")

Found = list[torch.Tensor] | BaseException


def on_two_places(twin: Twin) -> Iterator[tuple[str, Found]]:
    """Run an operator on DTensors with several placements, and yield for each a name and the full results, or the
    error.
    """
    for name, place in _WAYS.items():
        placements = [place(at, tensor) for at, tensor in enumerate(twin.tensors)]
        if all(isinstance(placement, Replicate) for placement in placements):
            continue

        def run(mesh: DeviceMesh, rank: int, placements: list[Placement] = placements) -> list[torch.Tensor]:
            tensors = [_placed(tensor, to, mesh, rank) for tensor, to in zip(twin.tensors, placements, strict=True)]
            results = twin.with_others(lambda tensor: distribute_tensor(tensor, mesh, [Replicate()]))(*tensors)
            return [tensor.full_tensor() if isinstance(tensor, DTensor) else tensor for tensor in results]

        yield name, _in_threads(run)[0]


def _first(dim: int) -> Callable[[int, torch.Tensor], Placement]:
    return lambda at, tensor: Shard(dim % tensor.ndim) if tensor.ndim and at == 0 else Replicate()


def _all(dim: int) -> Callable[[int, torch.Tensor], Placement]:
    return lambda at, tensor: Shard(dim % tensor.ndim) if tensor.ndim else Replicate()


_WAYS: dict[str, Callable[[int, torch.Tensor], Placement]] = {
    "all cut along the first dimension": _all(0),
    "all cut along the last dimension": _all(-1),
    "the first one cut along its first dimension": _first(0),
    "the first one as summands": lambda at, tensor: Partial("sum") if at == 0 else Replicate(),
}


def _placed(local: torch.Tensor, placement: Placement, mesh: DeviceMesh, rank: int) -> DTensor:
    if isinstance(placement, Partial):
        return DTensor.from_local(local if rank == 0 else torch.zeros_like(local), mesh, [placement])
    return distribute_tensor(local.clone(), mesh, [placement])


def _in_threads(run: Callable[[DeviceMesh, int], list[torch.Tensor]]) -> list[Any]:
    """Run a function in several threads that count as ranks, and return the result or error of each."""
    in_threads: list[Any] = [TimeoutError(f"nothing after {_SECONDS} seconds")] * _PLACES
    store = c10d.HashStore()

    def work(rank: int) -> None:
        try:
            dist.init_process_group("threaded", rank=rank, world_size=_PLACES, store=store)
            in_threads[rank] = run(init_device_mesh("cpu", (_PLACES,)), rank)
        except BaseException as error:
            in_threads[rank] = error
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()

    multi_threaded_pg._install_threaded_pg()  # type: ignore[no-untyped-call]
    c10d._set_thread_isolation_mode(True)
    try:
        threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(_PLACES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_SECONDS)
    finally:
        c10d._set_thread_isolation_mode(False)
        multi_threaded_pg._uninstall_threaded_pg()  # type: ignore[no-untyped-call]
    return in_threads
