"""Names that native_functions.yaml may use: dispatch keys, tags, and dtypes of ufuncs.

Source: torch 2.13.0, ``torchgen/model.py`` and ``torchgen/packaged/ATen/native/tags.yaml``.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DISPATCH_KEYS = _words(
    "CPU SparseCPU SparseCsrCPU MkldnnCPU CUDA MPS XPU SparseXPU SparseCsrXPU SparseCUDA SparseCsrCUDA "
    "SparseMPS SparseCsrMPS QuantizedCPU QuantizedCUDA CompositeImplicitAutograd "
    "CompositeImplicitAutogradNestedTensor CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional "
    "NestedTensorCPU NestedTensorCUDA NestedTensorXPU NestedTensorHPU Meta SparseMeta SparseCsrMeta "
    "QuantizedMeta NestedTensorMeta ZeroTensor MTIA"
)
"""The dispatch keys that an entry may name a kernel for (INV-26)."""

COMPOSITE_IMPLICIT = "CompositeImplicitAutograd"
COMPOSITE_IMPLICIT_NESTED = "CompositeImplicitAutogradNestedTensor"
COMPOSITE_EXPLICIT = "CompositeExplicitAutograd"
COMPOSITE_NON_FUNCTIONAL = "CompositeExplicitAutogradNonFunctional"

COMPOSITES = (COMPOSITE_IMPLICIT, COMPOSITE_EXPLICIT, COMPOSITE_NON_FUNCTIONAL, COMPOSITE_IMPLICIT_NESTED)
"""The dispatch keys of kernels that serve every backend (INV-27)."""

STRUCTURED_KEYS = ("CPU", "CUDA", "MPS", "XPU", "MTIA")
"""The dispatch keys whose kernels a delegate has from its structured entry (INV-31)."""

PYTHON_MODULES = ("fft", "linalg", "nested", "nn", "sparse", "special")
"""Where Python finds a function that is not in ``torch`` itself (INV-19). Source: ``gen_python_functions.py``."""

STRUCTURED_PARENTS = ("TensorIteratorBase",)
"""The classes that a structured kernel may derive from (INV-30)."""

UFUNC_KEYS = ("CPU", "CUDA")
"""The dispatch keys whose kernels are generated from ``ufunc_inner_loop``."""

TAGS = {
    "inplace_view": "changes only the metadata of its argument",
    "pt2_compliant_tag": "works under torch.compile and torch.export",
    "view_copy": "the copying variant of a view",
    "dynamic_output_shape": "the shape of its result depends on the data of its arguments",
    "data_dependent_output": "a result that is no Tensor depends on the data of its arguments",
    "generated": "has no entry of its own: it was generated",
    "nondeterministic_seeded": "random, and repeatable from the seed of a Generator",
    "nondeterministic_bitwise": "not equal bit for bit from run to run",
    "needs_exact_strides": "compiled code has to pass the strides of eager mode",
    "needs_contiguous_strides": "compiled code has to pass contiguous Tensors",
    "needs_fixed_stride_order": "compiled code has to pass the stride order of eager mode",
    "flexible_layout": "takes Tensors of any strides",
    "core": "part of the core ATen operator set",
    "pointwise": "each element of the result comes from the elements at its place",
    "maybe_aliasing_or_mutating": "may share memory or write in ways that its schema does not say",
    "cudagraph_unsafe": "cannot be captured in a CUDA graph",
    "reduction": "folds dimensions of its argument",
    "inplace": "the in-place variant, by its name",
    "out": "the out= variant, by its out arguments",
    "out_variant": "an out= variant of an operator outside ATen",
}
"""The tags that an entry may carry, each with what it says (INV-22)."""

PT2_TAG = "pt2_compliant_tag"

DTYPE_CLASSES = {
    "Integral": ("Byte", "Char", "Int", "Long", "Short"),
    "Floating": ("Float", "Double"),
    "Complex": ("ComplexFloat", "ComplexDouble"),
    "All": ("Byte", "Char", "Int", "Long", "Short", "Float", "Double"),
    "AllAndComplex": (
        *("Byte", "Char", "Int", "Long", "Short", "Float", "Double"),
        *("ComplexFloat", "ComplexDouble"),
    ),
    "FloatingAndComplex": ("Float", "Double", "ComplexFloat", "ComplexDouble"),
}
"""The classes of dtypes that a ufunc may name (INV-33)."""

DTYPES = _words(
    "Byte Char Short Int Long Half Float Double ComplexHalf ComplexFloat ComplexDouble Bool BFloat16 "
    "Float8_e5m2 Float8_e5m2fnuz Float8_e4m3fn Float8_e4m3fnuz Float8_e8m0fnu"
)
"""The dtypes that a ufunc may name (INV-33)."""

# ----------------------------------------------------------------------------------- operators older than the rules

KEYWORD_ARGUMENTS = frozenset(
    (("_has_compatible_shallow_copy_type", "from"), ("random_.from", "from"), ("uniform_", "from"))
)
"""Operators and their arguments whose names Python forbids (INV-37)."""

INPLACE_VIEWS_WITHOUT_BASE = frozenset(("resize_", "resize_as_", "set_"))
"""Base names that are tagged ``inplace_view`` and need no view of their name (INV-38)."""

LONE_OUT = _words("adaptive_avg_pool3d_backward.grad_input _slow_conv2d_backward.grad_input")
"""Out variants that pair with nothing (INV-44)."""

LONE_INPLACE = _words("polygamma_")
"""In-place variants that pair with nothing, since another argument comes before ``self`` (INV-43)."""

LONE_MUTABLE = (
    _words(
        "_cummax_helper _cummin_helper record_stream resize_ resize_as_ _fill_mem_eff_dropout_mask_ "
        "_flash_attention_forward_no_dropout_inplace"
    )
    | LONE_OUT
    | LONE_INPLACE
)
"""Operators that write, are in no group and have no composite kernel (INV-53)."""
