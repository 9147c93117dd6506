"""Tests of registered operators on DTensors: they are sharded as declared, and send no more bytes than aten's
operators.
"""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

import opdsl
from opdsl.dispatch.binding.boxed import unbox
from opdsl.errors import OpdslError
from opdsl.interop.torch.calls import Completion
from opdsl.interop.torch.definition import find
from opdsl.interop.torch.tensors import TORCH_DTYPES, to_torch
from opdsl.runtime.snapshot import tensors_in
from opdsl.sharding.composites import ByItsCalls
from opdsl.sharding.operators import rule_of
from opdsl.sharding.rules import Moved, Whole
from opdsl.testing import samples_of


def test_in_processes(tmp_path: Path) -> None:
    """Values, gradients, in-place variants and sent bytes are right in two and in four processes (see
    ``sharded.py``).
    """
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("sharded.py")), str(tmp_path), "2", "4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.endswith("done\n"), done.stderr[-3000:]


# ---------------------------------------------------------------------------------------------- comparison with aten

# Number of random placements of an operator's tensors that are tested.
_PLACINGS = 6

_RESIZED = ("upsample_nearest", "_upsample_nearest_exact")

# Partial placements that aten keeps and that do not follow from the declaration, with the kind of placement.
_COMBINED_HERE = {
    # These are monotonic, which samples cannot show.
    **dict.fromkeys(
        (
            "nan_to_num",
            "round.decimals",
            "sign",
            "sgn",
            "fmax",
            "fmin",
            "threshold",
            "hardshrink",
            "logaddexp",
            "logaddexp2",
        ),
        "max",
    ),
    **dict.fromkeys(("special_modified_bessel_i1", "special_erfcx"), "max"),
    "special_xlog1py": "sum",  # linear if its second argument is not NaN
    # aten keeps partial sums, which may cancel each other.
    **dict.fromkeys(("any", "any.dim", "any.dims", "nansum"), "sum"),
    # aten keeps partial sums or maxima whose indices differ.
    **dict.fromkeys(("sort.stable", "topk", "cummax", "cummin"), "max"),
    "cat": "sum",  # a rule for one dimension does not state that elements are unchanged
    "linalg_vector_norm": "shard",  # aten has a special placement for norms
    **dict.fromkeys(("addmm", "baddbmm"), "sum"),  # jointly linear in the first and one of the other arguments
    "dot": "sum",  # aten computes with shards of one vector and the whole of the other
    "ormqr": "sum",  # rules of batches of matrices do not state in which arguments these are linear
    # aten keeps partial values if elements do not matter, or are converted one by one.
    **dict.fromkeys(("full_like", "zeros_like", "ones_like", "rand_like", "randn_like"), "sum"),
    **dict.fromkeys(("randint_like", "randint_like.low_dtype"), "sum"),
    "_to_copy": "max",
    # Rules of windows do not state which results are linear or monotonic in images.
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool2d_with_indices_backward", "max_pool3d_with_indices"), "max"),
    **dict.fromkeys(("avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"), "sum"),
    **dict.fromkeys(("adaptive_max_pool2d", "adaptive_max_pool3d"), "max"),
    **dict.fromkeys((f"{kind}{rank}d" for kind in _RESIZED for rank in (1, 2, 3)), "sum"),
    **dict.fromkeys(("upsample_linear1d", "upsample_bilinear2d", "upsample_bicubic2d", "upsample_trilinear3d"), "sum"),
}


@pytest.fixture
def mesh() -> Iterator[Any]:
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    from torch.distributed.tensor import init_device_mesh

    yield init_device_mesh("cpu", (2,))
    dist.destroy_process_group()


def test_redistribution_costs_no_more_than_in_aten(mesh: Any) -> None:
    """Redistributing arguments never costs more than in aten, for every operator with a rule here and a
    strategy there.
    """
    worse = {}
    compared = 0
    for operator in opdsl.registry:
        if not operator.name.startswith("aten::") or operator.schema.kind.value != "functional":
            continue
        if isinstance(rule_of(operator), (Whole, ByItsCalls, Moved)):
            continue
        for ours, theirs, how in _costs(operator, mesh, random.Random(operator.name)):
            compared += 1
            if ours > theirs * 1.0001:
                worse.setdefault(operator.name.removeprefix("aten::"), how)
    assert compared > 800
    assert worse.keys() <= _COMBINED_HERE.keys(), {name: worse[name] for name in worse.keys() - _COMBINED_HERE.keys()}


def _costs(operator: Any, mesh: Any, draw: random.Random) -> Iterator[tuple[float, float, object]]:
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
    from torch.distributed.tensor._op_schema import OpSchema

    from opdsl.interop.torch.sharding import strategy_of

    propagator: Any = DTensor._op_dispatcher.sharding_propagator
    overload: Any = find(operator.schema)
    sample = next(iter(samples_of(operator)), None)
    known = overload in propagator.op_single_dim_strategy_funcs or overload in propagator.op_strategy_funcs
    if sample is None or not known:
        return
    arguments = unbox(operator, sample.positional, sample.named)
    if operator.name.endswith(("shift__.Tensor", "shift__.Scalar")):
        return  # integers are no partial sums
    tensors = list(tensors_in(arguments))
    sums = [Partial(name) for name in ("sum", "avg", "max")]
    choices = [[Replicate(), *sums, *map(Shard, range(tensor.ndim))] for tensor in tensors]
    every = list(itertools.product(*choices))
    completion = Completion(operator)
    for placing in draw.sample(every, min(_PLACINGS, len(every))):
        rest = iter(placing)

        def placed(value: Any, rest: Iterator[Any] = rest) -> Any:
            if isinstance(value, (list, tuple)):
                return [placed(element) for element in value]
            if not isinstance(value, opdsl.Tensor):
                return to_torch(value)
            meta = TensorMeta(torch.Size(value.shape), torch.empty(value.shape).stride(), TORCH_DTYPES[value.dtype])
            return DTensorSpec(mesh, (next(rest),), meta)

        inputs, named = completion.split([placed(input) for input in arguments])
        info = propagator.op_to_schema_info.get(overload) or propagator.op_to_schema_info_for_single_dim_strategy.get(
            overload
        )
        schema = OpSchema(overload, tuple(inputs), dict(named), info)
        try:
            theirs = _cheapest(_their_strategy(propagator, schema, mesh))
        except (RuntimeError, ValueError, NotImplementedError, OpdslError):
            continue  # torch rejects the sample
        wrapped = propagator._wrap_with_op_strategy(schema)
        yield _cheapest(strategy_of(operator, completion.complete, wrapped)), theirs, placing


def _their_strategy(propagator: Any, schema: Any, mesh: Any) -> Any:
    from torch.distributed.tensor._ops.single_dim_strategy import _expand_single_dim_strategy_to_mesh

    wrapped = propagator._wrap_with_op_strategy(schema)
    info = propagator.op_single_dim_strategy_funcs.get(schema.op)
    if info is None:
        return propagator.op_strategy_funcs[schema.op](wrapped)
    meta = propagator._propagate_tensor_meta_non_cached(schema)
    expanded = _expand_single_dim_strategy_to_mesh(mesh, wrapped, info, meta)
    return expanded(schema.op, wrapped.args_meta, wrapped.kwargs_meta)


def _cheapest(strategy: Any) -> float:
    return min(sum(itertools.chain.from_iterable(spec.redistribute_cost)) for spec in strategy.strategies)
