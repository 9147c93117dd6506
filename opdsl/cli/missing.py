"""``opdsl list --missing``: operators of a native_functions.yaml that are not declared, and what stands for them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import NamedTuple

from opdsl.cli.output import Row
from opdsl.native import load
from opdsl.native.entry import NativeFunction
from opdsl.native.generated import generated

HEADER = ("operator", "category", "instead")
STYLES = ("bold", "green", "cyan")


class Category(NamedTuple):
    """Operators that are missing for one reason.

    name: of the reason.
    words: parts of the operators' names, or of all the dispatch keys that they have kernels for.
    instead: ``wrap`` where ``opdsl.interop.torch.wrap`` calls PyTorch's; ``-`` where tensors of ours cannot be given.
    """

    name: str
    words: tuple[str, ...]
    instead: str


CATEGORIES = (
    Category("test", ("_test_",), "-"),
    Category("nested", ("nested", "jagged"), "-"),
    Category(
        "sparse",
        ("sparse", "csr", "csc", "bsr", "bsc", "coalesce", "to_dense", "crow_", "ccol_", "smm", "sspaddmm"),
        "-",
    ),
    Category("quantized", ("quantized", "quantize", "q_", "qint", "int_repr", "fbgemm", "qparams"), "-"),
    Category("mkldnn", ("mkldnn",), "-"),
    Category("vendor", ("cudnn", "miopen", "mps", "xnnpack", "nnpack", "vulkan", "cslt"), "-"),
)
DENSE = Category("dense", (), "wrap")


def missing(path: Path, here: Container[str]) -> Iterator[Row]:
    """Name, category and replacement of what a file declares or generates.

    Args:
        path: a native_functions.yaml.
        here: the qualified names of the operators that there are.
    """
    entries = load(path)
    for entry in (*entries, *generated(entries)):
        name = f"{entry.schema.name.namespace or 'aten'}::{str(entry.schema.name).rpartition('::')[2]}"
        if name not in here:
            category = category_of(entry)
            yield name, category.name, category.instead


def category_of(entry: NativeFunction) -> Category:
    """The first category of which the name, or each dispatch key, has a word."""
    name = entry.schema.name.base
    keys = [key.lower() for each in entry.dispatch or () for key in each.keys]

    def is_of(category: Category) -> bool:
        in_keys = [any(word in key for word in category.words) for key in keys]
        return any(word in name for word in category.words) or (bool(keys) and all(in_keys))

    return next(filter(is_of, CATEGORIES), DENSE)
