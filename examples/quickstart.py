"""Tour of opdsl: declare operators in typed Python, run them on handwritten digits, print the derived parts.

Run it with ``make demo``, or ``python examples/quickstart.py [FOLDER]``. It saves a picture and a YAML file in the
folder (``out`` by default).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

import opdsl
from opdsl import Alias, Array, Ints, Library, Tensor, check, formula

lib = Library("quickstart")

# --------------------------------------------------------------------------------------------------------------------
# 1. A composite operator. Its body is its kernel: it calls other operators, so it works on every backend.


@lib.op
def affine(self: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``self @ weight.T (+ bias)``"""
    out = self @ weight.t()
    return out if bias is None else out + bias


# --------------------------------------------------------------------------------------------------------------------
# 2. A formula. Its body is compiled, not run: one kernel for every dtype and memory layout. Broadcasting, type
# promotion, the shape function, the gradient, the in-place and the out= variant are derived.


@lib.op(variants="function, method", inplace=True, out=True)
@formula
def smooth_relu(self: Tensor, beta: float = 1.0) -> Tensor:
    """``log(1 + exp(beta * self)) / beta``, without overflow."""
    z = beta * self
    return (opdsl.maximum(z, opdsl.tensor(0.0)) + opdsl.log1p(opdsl.exp(-abs(z)))) / beta


# --------------------------------------------------------------------------------------------------------------------
# 3. A structured operator: a shape function sets the shape of the result, a kernel fills it. numba compiles the kernel;
# allocation, the out= variant and its checks are derived.


@lib.op(out=True)
def upsample_nearest1d(self: Tensor, output_size: Ints[1], scales: float | None = None) -> Tensor:
    """Enlarge the last dimension of an (N, C, L) tensor by repeating the nearest element."""
    ...


@upsample_nearest1d.meta
def upsample_nearest1d_meta(ctx, self, output_size, scales):
    check(self.ndim == 3, "expected a (N, C, L) tensor", got=self.shape)
    ctx.set_output(0, (*self.shape[:2], output_size[0]), like=self)


@upsample_nearest1d.out_kernel("CPU")
def upsample_nearest1d_cpu(self: Array, output_size, scales, out: Array) -> None:
    length = self.shape[2]
    step = length / out.shape[2] if scales is None else 1.0 / scales
    for n in range(out.shape[0]):
        for c in range(out.shape[1]):
            for i in range(out.shape[2]):
                out[n, c, i] = self[n, c, min(int(i * step), length - 1)]


# --------------------------------------------------------------------------------------------------------------------
# 4. A view. Aliasing is part of the type: the result shares the argument's memory.


@lib.op
def first_half(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
    """Return the first half of the first dimension, without a copy."""
    ...


@first_half.kernel("CPU", "CUDA")
def first_half_kernel(self):
    return self.narrow(0, 0, self.shape[0] // 2)


# --------------------------------------------------------------------------------------------------------------------
# 5. An overload: another signature of the same packet. A call selects the overload that its arguments fit.


@smooth_relu.overload("Tensor")
def smooth_relu_tensor(self: Tensor, beta: Tensor) -> Tensor:
    """Compute ``smooth_relu`` with a separate ``beta`` for every element."""
    z = beta * self
    return smooth_relu(z) / beta


def enlarge(images: Tensor, size: int) -> Tensor:
    """Enlarge images from (N, H, W) to (N, size, size): columns first, then rows."""
    wide = upsample_nearest1d(images, [size])
    return upsample_nearest1d(wide.transpose(1, 2), [size]).transpose(1, 2)


def agree(name: str, ours: Tensor, numpys: np.ndarray) -> None:
    """Check that a result equals NumPy's, and print that it does."""
    np.testing.assert_allclose(ours.numpy(), numpys, rtol=1e-5, atol=1e-5)
    print(f"   {name:22s} {ours.shape!s:16s} agrees with NumPy")


def main(folder: Path) -> None:
    """Run the operators, check their results, print the derived parts, export the YAML, and save a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits().images.astype(np.float32)
    images = opdsl.from_numpy(digits)  # no copy: the tensor and the array share their memory

    print(f"1. {images.shape[0]} handwritten digits of {images.shape[1]} x {images.shape[2]} pixels, {images.dtype}")
    sample = first_half(images)
    assert sample.data_ptr() == images.data_ptr(), "a view shares memory"

    print("\n2. Run the operators")
    enlarged = enlarge(sample, 32)
    agree("upsample_nearest1d", enlarged, digits[: len(digits) // 2].repeat(4, axis=1).repeat(4, axis=2))

    random = np.random.default_rng(0)
    weight = random.normal(size=(10, 64)).astype(np.float32)
    scores = affine(sample.reshape(-1, 64), opdsl.from_numpy(weight))
    agree("affine", scores, digits[: len(digits) // 2].reshape(-1, 64) @ weight.T)

    contrast = enlarged - 8.0
    softened = smooth_relu(contrast, 0.5)
    agree("smooth_relu", softened, np.logaddexp(0, 0.5 * contrast.numpy()) / 0.5)
    in_place = contrast.clone()
    in_place.smooth_relu_(0.5)  # derived, and installed as a method
    agree("smooth_relu_", in_place, softened.numpy())
    agree("smooth_relu.Tensor", smooth_relu(contrast, opdsl.full((), 0.5)), softened.numpy())

    print("\n3. What was derived for smooth_relu")
    for name, function in smooth_relu.variants.items():
        print(f"   {name:11s} {function.schema}")
    print(f"   meta        {smooth_relu.meta(opdsl.empty(2, 1, 10**9, device='meta')).shape}, no memory taken")
    print("\n   its computed dispatch table")
    for line in str(smooth_relu.dispatch_table()).splitlines():
        print(f"   {line}")
    print("\n   the function that you call")
    for line in smooth_relu.source.splitlines()[:8]:
        print(f"   {line}")

    from opdsl import native
    from opdsl.declare.export import export

    yaml = folder / "quickstart.yaml"
    yaml.write_text(native.dumps(export(opdsl.registry, [lib.namespace])))
    print(f"\n4. {yaml} holds all of it as native_functions.yaml has it; it begins")
    for line in yaml.read_text().splitlines()[:8]:
        print(f"   {line}")

    picture = folder / "quickstart.png"
    before, after = images.numpy()[:8], softened.numpy()[:8]
    draw(picture, [before.repeat(4, axis=1).repeat(4, axis=2), after])
    print(f"\n5. {picture}: the digits before (above) and after (below)")


def draw(path: Path, rows: list[np.ndarray]) -> None:
    """Save rows of images, three times as large, each row scaled to its own brightness."""
    bands = [np.concatenate(list(row / row.max()), axis=1) for row in rows]
    pixels = (255 * (1 - np.concatenate(bands, axis=0))).astype(np.uint8)
    Image.fromarray(pixels).resize((pixels.shape[1] * 3, pixels.shape[0] * 3), Image.Resampling.NEAREST).save(path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
