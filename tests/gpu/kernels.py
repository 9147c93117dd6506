"""Script that runs kernels of every kind once, for compute-sanitizer: python tests/gpu/kernels.py [operator ...]

Each result is compared with the CPU's. The exit status is 1 if one differs or if there is no GPU.
"""

from __future__ import annotations

import sys
import warnings

import opdsl
from opdsl.runtime import Device
from opdsl.testing.laws.devices import disagreements
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject

# Some operators for each kind of kernel and each of its templates: pointwise, reductions, rows, scans, indices,
# sorting.
OPERATORS = [
    "add.Tensor",
    "add_.Tensor",
    "add.out",
    "exp",
    "where.self",
    "clone",
    "_to_copy",
    "sum.dim_IntList",
    "mean.dim",
    "amax",
    "argmax",
    "var.correction",
    "any",
    "_softmax",
    "_log_softmax",
    "native_layer_norm",
    "cumsum",
    "cumprod",
    "cummax",
    "gather",
    "scatter.src",
    "scatter_add",
    "index.Tensor",
    "index_put",
    "index_select",
    "index_add",
    "embedding",
    "cat",
    "topk",
    "sort.stable",
    "nll_loss_forward",
    "nonzero",
    "masked_select",
    "masked_fill.Scalar",
    "tril",
    "arange.start_step",
    "uniform",
    "normal_functional",
    "flip",
    "roll",
    "mm",
    "bmm",
    "addmm",
    "convolution",
    "scaled_dot_product_attention",
]


def main(names: list[str]) -> int:
    """Run the operators' samples on the GPU, and print results that differ from the CPU's."""
    if not opdsl.cuda.is_available():
        print("no CUDA device: opdsl.cuda.is_available() is False")
        return 1
    opdsl.add  # noqa: B018  loads the operators
    wanted = {f"aten::{name}" for name in names}
    missing = wanted - {operator.name for operator in opdsl.registry}
    if missing:
        print(f"no such operators: {', '.join(sorted(missing))}")
        return 1
    wrong = calls = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for operator in [operator for operator in opdsl.registry if operator.name in wanted]:
            subject = Subject(operator, [])
            subject.samples = fitting(samples_of(operator), subject.function)
            calls += len(subject.samples)
            for problem in disagreements(subject, Device("cuda:0")):
                wrong += 1
                print(f"{operator.name}: {problem}")
    print(f"{opdsl.cuda.get_device_name()}: {len(wanted)} operators, {calls} calls, {wrong} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or OPERATORS))
