"""The operator library: PyTorch's own operators, written in the language, one module a topic.

A topic is loaded when one of its operators is first asked for: ``index`` knows which one that is. May import:
everything below; nothing private of it.
"""

from __future__ import annotations

import importlib
import threading
from types import ModuleType

from opdsl.aten.index import METHODS, PACKETS
from opdsl.collecting import without_collecting
from opdsl.dispatch.model.loading import library_loads
from opdsl.runtime import install_late_methods
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.init_hooks import prepare

TOPICS = (
    "views",
    "transpositions",
    "slicing",
    "splitting",
    "complex_views",
    "complex_parts",
    "factories",
    "likes",
    "filling",
    "copying",
    "conversions",
    "pinning",
    "arithmetic",
    "division",
    "common_divisors",
    "mathematics",
    "trigonometry",
    "rounding",
    "activations",
    "combined",
    "bounds",
    "powers",
    "special_functions",
    "bessel",
    "gamma_functions",
    "incomplete_gamma",
    "normal_functions",
    "orthogonal_polynomials",
    "activation_gradients",
    "gated_activations",
    "exponents",
    "questions",
    "tapering",
    "logical",
    "bitwise",
    "comparison",
    "gathering",
    "scattering",
    "index_writing",
    "masking",
    "indexing",
    "reductions",
    "view_copies",
    "scans",
    "normalization",
    "batch_normalization",
    "group_normalization",
    "convolution",
    "convolutions",
    "pooling",
    "average_pooling",
    "adaptive_pooling",
    "upsampling",
    "extrema",
    "statistics",
    "norms",
    "selection",
    "sorting",
    "searching",
    "order_statistics",
    "uniqueness",
    "bucketization",
    "histograms",
    "embedding",
    "linear_algebra",
    "matrix_sums",
    "vector_products",
    "matrices",
    "triangular_systems",
    "cholesky_factors",
    "lu_factors",
    "linear_equations",
    "determinants",
    "spectral_factors",
    "orthogonal_factors",
    "fourier_kernels",
    "fourier",
    "short_time",
    "contractions",
    "vector_algebra",
    "distances",
    "differences",
    "grids",
    "grid_sampling",
    "shuffles",
    "aliases",
    "joining",
    "stacking",
    "comparing",
    "view_scatters",
    "padding",
    "closeness",
    "losses",
    "regression_losses",
    "classification_losses",
    "robust_losses",
    "margin_losses",
    "ranges",
    "identity",
    "rearranging",
    "triangles",
    "random",
    "random_integers",
    "permutations",
    "normal",
    "bernoulli",
    "dropout",
    "attention",
    "named_gradients",
    "matrix_functions",
    "embedding_bags",
    "sampling",
    "special_methods",
    "subscripts",
    "by_hand",
    "lists",
)


# One thread loads at a time: another that needs the same method waits until it is there.
_loading = held_across_fork(threading.RLock())
_is_loaded = False


def load() -> None:
    """Import every topic, which registers its operators, and install every method; a second time does nothing."""
    global _is_loaded
    if _is_loaded:
        return
    with _loading:
        for topic in TOPICS:
            load_topic(topic)
        for name in METHODS:
            load_method(name)
        _is_loaded = True


def load_topic(topic: str) -> ModuleType:
    """Import a topic. Its operators may make the first tensor, so tensors have their methods from here on."""
    prepare()
    with _loading, library_loads, without_collecting():
        return importlib.import_module(f"opdsl.aten.{topic}")


def load_packet(name: str) -> None:
    """Import the topic that declares a packet; every topic for a name that none of them has."""
    if name in PACKETS:
        load_topic(PACKETS[name])
    else:
        load()


def load_method(name: str) -> None:
    """Install a method of Tensor, by loading what it needs."""
    with _loading:
        topic = load_topic(METHODS[name])
        install = getattr(topic, "install", None)
        if install is not None:
            install(name)


def prepare_tensor() -> None:
    """Give Tensor its methods, each loaded when it is first looked up."""
    install_late_methods(METHODS, load_method)
