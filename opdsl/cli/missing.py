"""Command option ``opdsl list --missing``: operators of a native_functions.yaml that opdsl lacks, with replacements."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import NamedTuple

from opdsl.cli.output import Row
from opdsl.native import load
from opdsl.native.entry import NativeFunction
from opdsl.native.generated import generated

HEADER = ("operator", "category", "instead", "why")
STYLES = ("bold", "green", "cyan", "")


class Category(NamedTuple):
    """Category of operators that are missing for the same reason.

    name: of the category.
    words: parts of the operators' names, or of all the dispatch keys that they have kernels for.
    instead: ``wrap`` if ``opdsl.interop.torch.wrap`` calls PyTorch's; ``-`` if opdsl has no tensors of the kind.
    why: the reason.
    """

    name: str
    words: tuple[str, ...]
    instead: str
    why: str


CATEGORIES = (
    Category("test", ("_test_", "_foobar"), "-", "made for PyTorch's tests of its own dispatcher"),
    Category(
        "nested",
        ("nested", "jagged", "to_padded_tensor"),
        "-",
        "a layout of rows of different lengths: use lists of tensors",
    ),
    Category(
        "sparse",
        ("sparse", "csr", "csc", "bsr", "bsc", "coalesce", "to_dense", "crow_", "ccol_", "smm", "sspaddmm", "spdiags"),
        "-",
        "layouts that store only some elements: tensors of opdsl are dense",
    ),
    Category(
        "quantized",
        (
            *(
                "quantized",
                "quantize",
                "q_scale",
                "q_zero",
                "q_per",
                "qscheme",
                "qint",
                "int_repr",
                "qparams",
                "fbgemm",
            ),
            *("int4pack", "4bit", "_mixed_dtypes_linear", "_wrapped_linear"),
        ),
        "-",
        "dtypes with a scale, and weights packed for one library",
    ),
    Category("mkldnn", ("mkldnn",), "-", "the layout of oneDNN"),
    Category(
        "vendor",
        (
            *("cudnn", "miopen", "mps", "xnnpack", "nnpack", "vulkan", "cslt", "cufft", "xla"),
            "_copy_from",
        ),
        "-",
        "for one library or device only: another operator serves all devices",
    ),
    Category(
        "cuda",
        ("_flash_attention_", "_efficient_attention_", "_fill_mem_eff_", "_philox_"),
        "wrap",
        "PyTorch has CUDA kernels only, with their own layouts or random numbers",
    ),
    Category(
        "dtype", ("_scaled_", "chalf"), "wrap", "scaled products of 8-bit floats, and complex32, which opdsl lacks"
    ),
    Category(
        "level",
        ("_add_batch_dim", "_remove_batch_dim", "_make_dual", "_unpack_dual"),
        "-",
        "levels of PyTorch's transforms: use opdsl.vmap and opdsl.autograd.forward",
    ),
    Category("storage", ("Storage",), "wrap", "opdsl has no storage objects: set_ accepts a tensor"),
)
DENSE = Category("dense", (), "wrap", "not written yet")


def missing(path: Path, here: Container[str]) -> Iterator[Row]:
    """Yield name, category, replacement and reason for operators of a file that are not declared.

    Args:
        path: a native_functions.yaml.
        here: the qualified names of the declared operators.
    """
    entries = load(path)
    for entry in (*entries, *generated(entries)):
        operator_name = f"{entry.schema.name.namespace or 'aten'}::{str(entry.schema.name).rpartition('::')[2]}"
        if operator_name not in here:
            category = category_of(entry)
            yield operator_name, category.name, category.instead, category.why


def category_of(entry: NativeFunction) -> Category:
    """Return the first category with a word that occurs in the entry's name, or in each of its dispatch keys."""
    operator_name = str(entry.schema.name)
    keys = [key.lower() for listed in entry.dispatch or () for key in listed.keys]

    def is_of(category: Category) -> bool:
        in_keys = [any(word in key for word in category.words) for key in keys]
        return any(word in operator_name for word in category.words) or (bool(keys) and all(in_keys))

    return next(filter(is_of, CATEGORIES), DENSE)
