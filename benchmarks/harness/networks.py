"""Small versions of networks from Hugging Face's transformers, with random weights.

python -m harness.networks times BERT 3            time the three ways of running a network, on one and two threads
python -m harness.networks first BERT eval opdsl   time the first result in a process, and its memory
"""

from __future__ import annotations

import copy
import importlib
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

import opdsl

__all__ = ["MODES", "NETWORKS", "THREADS", "WAYS", "Network"]

WAYS = ("eager", "inductor", "opdsl")
MODES = ("eval", "train")
THREADS = (1, 2)
# The least time that one way runs before the next one, so that the caches of the processor hold its data.
_SECONDS_OF_A_TURN = 0.1
_FIRST_CALLS = 3


class Network(NamedTuple):
    """Network to measure.

    model: the name of its class in transformers.
    configuration: settings by name that differ from the defaults.
    arguments: returns the arguments of a call.
    """

    model: str
    configuration: Mapping[str, Any]
    arguments: Callable[[], dict[str, torch.Tensor]]

    def make(self) -> torch.nn.Module:
        """Return the model with weights drawn from one seed."""
        torch.manual_seed(0)
        kind = getattr(importlib.import_module("transformers"), self.model)
        model: torch.nn.Module = kind(kind.config_class(**self.configuration))
        return model


def images(batch: int, size: int) -> Callable[[], dict[str, torch.Tensor]]:
    """Return a function that creates a batch of square images."""
    return lambda: {"pixel_values": torch.rand(batch, 3, size, size)}


def tokens(batch: int, length: int) -> Callable[[], dict[str, torch.Tensor]]:
    """Return a function that creates a batch of token sequences."""
    return lambda: {"input_ids": torch.randint(0, 1000, (batch, length))}


_TEXT = {"vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8}

NETWORKS = {
    "ResNet-18": Network(
        "ResNetModel",
        {"layer_type": "basic", "depths": [2, 2, 2, 2], "hidden_sizes": [64, 128, 256, 512]},
        images(2, 96),
    ),
    "ConvNeXt": Network("ConvNextModel", {"depths": [2, 2, 4, 2], "hidden_sizes": [48, 96, 192, 384]}, images(2, 96)),
    "MobileNetV2": Network("MobileNetV2Model", {}, images(2, 96)),
    "ViT": Network(
        "ViTModel",
        {"hidden_size": 192, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 768},
        images(4, 224),
    ),
    "Swin": Network(
        "SwinModel",
        {"image_size": 112, "embed_dim": 48, "depths": [2, 2, 2], "num_heads": [2, 4, 8], "window_size": 7},
        images(2, 112),
    ),
    "BERT": Network("BertModel", {**_TEXT, "intermediate_size": 1024}, tokens(4, 128)),
    "GPT-2": Network(
        "GPT2Model",
        {"vocab_size": 1000, "n_embd": 256, "n_layer": 4, "n_head": 8, "use_cache": False},
        tokens(4, 128),
    ),
    "Llama": Network("LlamaModel", {**_TEXT, "intermediate_size": 688, "use_cache": False}, tokens(4, 128)),
    "T5": Network(
        "T5EncoderModel",
        {"vocab_size": 1000, "d_model": 256, "d_kv": 32, "d_ff": 1024, "num_layers": 4, "num_heads": 8},
        tokens(4, 128),
    ),
    "Mamba": Network(
        "MambaModel",
        {"vocab_size": 1000, "hidden_size": 128, "num_hidden_layers": 4, "state_size": 16, "use_cache": False},
        tokens(2, 64),
    ),
}


def prepared(network: Network, way: str, mode: str) -> Callable[[], Any]:
    """Return a function without arguments that runs a network forward, or runs a training step of AdamW."""
    model = network.make().train(mode == "train")
    # Random masks would make results differ between the ways.
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    arguments = network.arguments()
    called: Any = model if way == "eager" else torch.compile(model, backend=way)
    if mode == "eval":
        return torch.no_grad()(lambda: called(**arguments)[0])
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

    def step() -> Any:
        optimizer.zero_grad()
        loss = called(**arguments)[0].square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def times(network: Network, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of a call in each round, for each way, mode and number of threads; the ways alternate."""
    kept: dict[str, list[float]] = {}
    for mode in MODES:
        functions = {way: prepared(network, way, mode) for way in WAYS}
        results = [copy.deepcopy(function()) for function in functions.values()]
        for result in results[1:]:
            torch.testing.assert_close(result, results[0], rtol=5e-3, atol=5e-3)
        for turn in range(rounds):
            for threads in THREADS:
                torch.set_num_threads(threads)
                opdsl.set_num_threads(threads)
                # Each way is first equally often.
                for way in (*WAYS[turn % 3 :], *WAYS[: turn % 3]):
                    kept.setdefault(f"{mode} {threads} {way}", []).append(seconds(functions[way]))
    return kept


def seconds(function: Callable[[], Any]) -> float:
    """Return the median time of repeated calls, after a few calls that warm up the caches."""
    for _ in range(_FIRST_CALLS):
        function()
    calls: list[float] = []
    while sum(calls) < _SECONDS_OF_A_TURN:
        started = time.perf_counter()
        function()
        calls.append(time.perf_counter() - started)
    return statistics.median(calls)


def first(network: Network, mode: str, way: str) -> dict[str, float]:
    """Return the seconds of the first call, and the MiB by which it raised the peak memory of the process."""
    torch.set_num_threads(1)
    opdsl.set_num_threads(1)
    function = prepared(network, way, mode)
    before = _peak()
    started = time.perf_counter()
    function()
    return {"seconds": time.perf_counter() - started, "memory": _peak() - before}


def _peak() -> float:
    """Return the peak memory of the process in MiB."""
    line = re.search(r"^VmHWM:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(line[1]) / 1024 if line else 0.0


def main() -> None:
    """Run the task that the command line names and print its result as JSON."""
    task, name, *rest = sys.argv[1:]
    network = NETWORKS[name]
    print(json.dumps(times(network, int(rest[0])) if task == "times" else first(network, *rest)))


if __name__ == "__main__":
    main()
