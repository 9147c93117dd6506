"""Benchmark of the most used calls on small tensors, compared with PyTorch in the same process, statement by statement.

The clock counts the processor time of this process, which runs on one thread, since other programs may use the machine.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

import numpy
import torch
from harness import Case, Report, compare, main

import opdsl

GROUPS = {
    "Arithmetic": (
        "a + b",
        "a + 1",
        "2 * a",
        "1 - a",
        "1 / a",
        "a ** 2",
        "a // b",
        "a % 2",
        "-a",
        "a @ a",
        "m @ m",
        "m @ a",
        "l.clone()",
        "a == b",
        "a > 0",
        "a.abs()",
        "a.exp()",
        "a.sqrt()",
        "a.add_(0)",
        "a.mul_(1.0)",
        "a.zero_()",
        "a.fill_(2.0)",
        "a.copy_(b)",
        "a.clamp(0, 1)",
        "a.clamp(min=0)",
        "a.clamp_(0, 1)",
        "xp.maximum(a, b)",
        "xp.pow(a, 2)",
        "xp.where(k, a, b)",
        "xp.where(k, a, 0.0)",
        "xp.lerp(a, b, 0.5)",
        "xp.addcmul(a, a, b)",
        "xp.add(a, b, alpha=2)",
        "xp.add(a, b, out=c)",
        "xp.isnan(a)",
        "xp.isfinite(a)",
        "a.masked_fill(k, 0.0)",
        "a.masked_fill_(k, 2.0)",
        "xp.logical_not(k)",
        "k & k",
        "~k",
        "i + 1",
        "i % 2",
    ),
    "Reductions": (
        "a.sum()",
        "m.sum(0)",
        "m.sum(dim=1)",
        "m.sum(-1, keepdim=True)",
        "m.sum((0, 1))",
        "t.sum(dim=[0, 2])",
        "a.mean()",
        "m.mean(0)",
        "t.mean(dim=(1, 2))",
        "a.max()",
        "m.max(1)",
        "m.max(dim=1)",
        "m.min(0)",
        "a.amax()",
        "m.amax(1)",
        "m.argmax(1)",
        "a.argmax()",
        "a.prod()",
        "a.var()",
        "m.var(0)",
        "a.std()",
        "m.std(dim=1)",
        "xp.var_mean(m, 1)",
        "a.norm()",
        "m.norm(2, 1)",
        "k.any()",
        "k.all()",
        "m.logsumexp(1)",
        "xp.count_nonzero(a)",
        "m.cumsum(0)",
        "a.cumsum(-1)",
        "m.cumprod(1)",
        "m.cummax(0)",
        "xp.equal(a, b)",
        "xp.allclose(a, b)",
        "xp.aminmax(a)",
    ),
    "Sorting and searching": (
        "a.sort()",
        "m.sort(1, descending=True)",
        "a.argsort()",
        "a.topk(2)",
        "m.topk(2, 1)",
        "a.kthvalue(2)",
        "a.nonzero()",
        "k.nonzero()",
        "xp.where(k)",
    ),
    "Subscripts": (
        "a[0]",
        "a[1:]",
        "a[1:3]",
        "a[::2]",
        "a[None]",
        "a[...]",
        "m[0, 1]",
        "m[:, 0]",
        "m[:, 1:]",
        "m[..., 0]",
        "m[0]",
        "a[k]",
        "m[km]",
        "a[j]",
        "m[j]",
        "m[:, j]",
        "m[j, j]",
        "a[[0, 2]]",
        "a[0] = 1.0",
        "a[1:] = 1.0",
        "m[0] = a",
        "m[:, 0] = 2.0",
        "a[k] = 1.0",
        "a[j] = 1.0",
        "a[j] = b2",
        "m[0, 1] = 3.0",
    ),
    "Gathering and scattering": (
        "m.gather(1, jm)",
        "m.scatter(1, jm, m)",
        "m.scatter(1, jm, 1.0)",
        "m.scatter_add(1, jm, m)",
        "m.scatter_(1, jm, 1.0)",
        "a.index_select(0, j)",
        "a.index_add(0, j, b2)",
        "a.index_fill(0, j, 1.0)",
        "a.index_copy(0, j, b2)",
        "a.take(j)",
        "a.masked_select(k)",
        "xp.take_along_dim(m, jm, 1)",
        "a.index_put((j,), b2)",
        "xp.embedding(m, j)",
    ),
    "Shapes": (
        "a.view(2, 2)",
        "a.reshape(2, 2)",
        "a.reshape(-1)",
        "m.t()",
        "m.T",
        "m.transpose(0, 1)",
        "t.permute(2, 0, 1)",
        "a.unsqueeze(0)",
        "u.squeeze(0)",
        "u.squeeze()",
        "m.flatten()",
        "a.expand(3, 4)",
        "m.t().contiguous()",
        "m.contiguous()",
        "m.narrow(0, 0, 2)",
        "m.select(0, 1)",
        "m.unbind(0)",
        "m.split(2)",
        "m.split([1, 3])",
        "m.chunk(2)",
        "m.tensor_split(2)",
        "m.diagonal()",
        "xp.diag(a)",
        "xp.movedim(t, 0, 1)",
        "a.view_as(b)",
        "xp.broadcast_to(a, (3, 4))",
        "xp.cat([a, b])",
        "xp.cat((m, m), 1)",
        "xp.stack([a, b])",
        "xp.stack((a, b), dim=-1)",
        "xp.hstack([a, b])",
        "a.repeat(2)",
        "m.repeat(2, 2)",
        "xp.tile(a, (2,))",
        "a.repeat_interleave(2)",
        "m.flip(0)",
        "m.flip((0, 1))",
        "m.roll(1)",
        "m.roll(1, 0)",
        "m.tril()",
        "m.triu(1)",
        "xp.rot90(m)",
        "m.trace()",
        "nn.pad(m, (1, 1))",
    ),
    "Factories": (
        "xp.tensor(1.0)",
        "xp.tensor([1.0, 2.0, 3.0])",
        "xp.tensor([[1, 2], [3, 4]])",
        "xp.tensor([True, False])",
        "xp.as_tensor(a)",
        "xp.from_numpy(n)",
        "xp.as_tensor(n)",
        "xp.zeros(4)",
        "xp.zeros(2, 2)",
        "xp.zeros((2, 2))",
        "xp.zeros(2, dtype=xp.int64)",
        "xp.ones(2, 2)",
        "xp.empty(2, 2)",
        "xp.full((2, 2), 7.0)",
        "xp.arange(4)",
        "xp.arange(0, 4, 2)",
        "xp.arange(0.0, 1.0, 0.25)",
        "xp.linspace(0, 1, 5)",
        "xp.eye(3)",
        "xp.zeros_like(a)",
        "xp.ones_like(a)",
        "xp.empty_like(a)",
        "xp.full_like(a, 2.0)",
        "xp.rand(4)",
        "xp.randn(4)",
        "xp.randn(2, 2)",
        "xp.randint(0, 10, (4,))",
        "xp.randperm(4)",
        "xp.rand_like(a)",
        "xp.randn_like(a)",
        "a.uniform_()",
        "a.normal_()",
        "xp.bernoulli(r)",
        "xp.multinomial(r, 2)",
        "a.new_zeros(3)",
        "xp.scalar_tensor(1.0)",
    ),
    "Conversions": (
        "s.item()",
        "a[0].item()",
        "float(s)",
        "int(i[0])",
        "bool(s)",
        "a.tolist()",
        "m.tolist()",
        "repr(a)",
        "len(a)",
        "a.shape",
        "a.size(0)",
        "a.dim()",
        "a.numel()",
        "a.dtype",
        "a.device",
        "a.stride()",
        "a.is_contiguous()",
        "a.requires_grad",
        "list(a)",
        "[each for each in m]",
        "a.to(xp.float64)",
        "a.to(xp.float32)",
        "a.double()",
        "a.int()",
        "a.bool()",
        "a.float()",
        "i.float()",
        "a.type_as(i)",
        "a.numpy()",
        "a.detach()",
        "a.clone()",
        "a.cpu()",
        "a.data_ptr()",
    ),
    "Networks": (
        "a.relu()",
        "nn.gelu(a)",
        "a.sigmoid()",
        "a.tanh()",
        "nn.silu(a)",
        "nn.leaky_relu(a)",
        "a.softmax(-1)",
        "m.softmax(1)",
        "m.log_softmax(1)",
        "xp.mm(m, m)",
        "xp.bmm(t, t)",
        "xp.matmul(t, m)",
        "xp.matmul(t, t)",
        "xp.addmm(a, m, m)",
        "nn.linear(m, m, a)",
        "nn.linear(m, m)",
        "xp.mv(m, a)",
        "xp.dot(a, a)",
        "xp.outer(a, a)",
        "xp.baddbmm(t, t, t)",
        "xp.addmv(a, m, a)",
        "xp.layer_norm(m, (4,))",
        "xp.layer_norm(m, (4,), a, a)",
        "xp.batch_norm(m, None, None, None, None, True, 0.1, 1e-5, False)",
        "xp.group_norm(m, 2)",
        "xp.dropout(a, 0.5, True)",
        "xp.dropout(a, 0.5, False)",
        "nn.mse_loss(a, b)",
        "nn.cross_entropy_loss(m, j4)",
        "nn.nll_loss(m, j4)",
        "xp.conv1d(w, w)",
        "xp.conv2d(v, v)",
        "xp.max_pool2d(v, 2)",
        "nn.avg_pool2d(v, 2)",
        "xp.cosine_similarity(m, m)",
    ),
}

# Names that differ on PyTorch's side.
THEIRS = {
    "nn.cross_entropy_loss": "nn.cross_entropy",
    "nn.": "F.",
}


def values() -> dict[str, numpy.ndarray]:
    """Return the arrays from which both sides build the tensors that statements use, by name."""
    a = numpy.array([0.5, 2.0, 1.5, 3.0], numpy.float32)
    m = numpy.arange(16, dtype=numpy.float32).reshape(4, 4) % 7
    place = numpy.array([0, 2])
    return {
        "a": a,
        "b": numpy.ones(4, numpy.float32),
        "b2": numpy.ones(2, numpy.float32),
        "c": numpy.zeros(4, numpy.float32),
        "r": numpy.array([0.1, 0.2, 0.3, 0.4], numpy.float32),
        "m": m,
        "l": numpy.zeros((8, 8), numpy.float32),
        "t": numpy.arange(64, dtype=numpy.float32).reshape(4, 4, 4),
        "u": numpy.ones((1, 4), numpy.float32),
        "v": numpy.ones((1, 1, 4, 4), numpy.float32),
        "w": numpy.ones((1, 1, 4), numpy.float32),
        "s": numpy.array(1.5, numpy.float32),
        "i": numpy.arange(4),
        "j": place,
        "j4": numpy.array([0, 1, 2, 3]),
        "jm": numpy.arange(16).reshape(4, 4) % 4,
        "k": numpy.array([True, False, True, False]),
        "km": m > 3,
    }


def sides() -> dict[str, object]:
    """Return the variables of both sides' statements: ``our_a`` is the tensor ``a`` of opdsl, ``their_a`` that of
    PyTorch.
    """
    own = {"xp": opdsl, "nn": opdsl.nn, **{name: opdsl.from_numpy(value.copy()) for name, value in values().items()}}
    theirs = {
        "xp": torch,
        "F": torch.nn.functional,
        **{name: torch.from_numpy(value.copy()) for name, value in values().items()},
    }
    named = {f"our_{name}": value for name, value in own.items()} | {
        f"their_{name}": value for name, value in theirs.items()
    }
    return {**named, "n": numpy.ones(4, numpy.float32)}


def cases(statements: Iterable[str]) -> list[Case]:
    """Return a case for each statement, with the names of each side filled in."""
    names = "|".join(["xp", "nn", "F", *values()])

    def of(side: str, statement: str) -> str:
        return re.sub(rf"(?<![.\w])({names})\b(?!\s*=[^=])", rf"{side}_\1", statement)

    output = []
    for statement in statements:
        other = statement
        for ours, theirs in THEIRS.items():
            other = other.replace(ours, theirs)
        output.append(Case(statement, of("our", statement), of("their", other), 1.0))
    return output


def run() -> Report:
    """Measure all statements."""
    torch.set_num_threads(1)
    report = Report("The most used calls on small tensors", threads=1)
    known = sides()
    for heading, statements in GROUPS.items():
        report.comparison(heading, compare(cases(statements), known, clock=time.process_time), theirs="torch")
    return report


if __name__ == "__main__":
    main("calls", run)
