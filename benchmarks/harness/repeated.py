"""Program that times repetitions of one program in a process that has done nothing before, and prints them as JSON.

python -m harness.repeated decoding opdsl 64   # a small GPT that generates 64 tokens
python -m harness.repeated step opdsl 0        # training steps of a model of harness.models
python -m harness.repeated llama opdsl         # training steps of a small Llama under torch.compile(backend="opdsl")
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

DECODINGS, STEPS = 3, 40


def decoding(library: str, count: str) -> Callable[[], Any]:
    """Return a function that generates tokens with a growing cache."""
    from harness.gpt import Gpt

    lib = importlib.import_module(library)
    model = Gpt(lib)

    def decode() -> Any:
        cache: list[Any] = []
        logits = model(lib.from_numpy(numpy.arange(8).reshape(1, 8)), cache)
        for _ in range(int(count)):
            logits = model(logits[:, -1:].argmax(-1), cache)
        return logits

    decode_without_gradients: Callable[[], Any] = lib.no_grad()(decode)
    return decode_without_gradients


def step(library: str, index: str) -> Callable[[], Any]:
    """Return an eager training step of a model."""
    from harness.models import MODELS

    return MODELS[int(index)].make(importlib.import_module(library)).step


def llama(backend: str) -> Callable[[], Any]:
    """Return a training step of a small Llama; the backend ``eager`` does not compile it."""
    import torch

    from harness.llama import VOCABULARY, Llama

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Llama()
    call: Any = model if backend == "eager" else torch.compile(model, backend=backend)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    tokens = torch.randint(0, VOCABULARY, (2, 33))

    def run() -> float:
        optimizer.zero_grad()
        logits = call(tokens[:, :-1]).flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.item()

    return run


def main() -> None:
    """Time the repetitions that the command line asks for, in seconds of the processor."""
    kind, library, *rest = sys.argv[1:]
    for name in {"opdsl", library} & {"opdsl", "torch"}:
        importlib.import_module(name).set_num_threads(1)
    makers: dict[str, Callable[..., Callable[[], Any]]] = {"decoding": decoding, "step": step, "llama": llama}
    run = makers[kind](library, *rest)
    seconds = []
    for _ in range(DECODINGS if kind == "decoding" else STEPS):
        started = time.process_time()
        run()
        seconds.append(time.process_time() - started)
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
