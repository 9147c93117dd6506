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
"""Dispatch keys for which an entry may name a kernel (INV-26)."""

COMPOSITE_IMPLICIT = "CompositeImplicitAutograd"
COMPOSITE_IMPLICIT_NESTED = "CompositeImplicitAutogradNestedTensor"
COMPOSITE_EXPLICIT = "CompositeExplicitAutograd"
COMPOSITE_NON_FUNCTIONAL = "CompositeExplicitAutogradNonFunctional"

COMPOSITES = (COMPOSITE_IMPLICIT, COMPOSITE_EXPLICIT, COMPOSITE_NON_FUNCTIONAL, COMPOSITE_IMPLICIT_NESTED)
"""Dispatch keys of kernels that serve every backend (INV-27)."""

STRUCTURED_KEYS = ("CPU", "CUDA", "MPS", "XPU", "MTIA")
"""Dispatch keys whose kernels a delegate inherits from its structured entry (INV-31)."""

PYTHON_MODULES = ("fft", "linalg", "nested", "nn", "sparse", "special")
"""Modules of PyTorch for functions that are not in ``torch`` itself (INV-19). Source: ``gen_python_functions.py``."""

STRUCTURED_PARENTS = ("TensorIteratorBase",)
"""Classes from which a structured kernel may derive (INV-30)."""

UFUNC_KEYS = ("CPU", "CUDA")
"""Dispatch keys whose kernels are generated from ``ufunc_inner_loop``."""

TAGS = {
    "inplace_view": "changes only the metadata of its argument",
    "pt2_compliant_tag": "works under torch.compile and torch.export",
    "view_copy": "the copying variant of a view",
    "dynamic_output_shape": "the shape of its result depends on the data of its arguments",
    "data_dependent_output": "a result that is no Tensor depends on the data of its arguments",
    "generated": "has no entry: it was generated",
    "nondeterministic_seeded": "random, and reproducible from the seed of a Generator",
    "nondeterministic_bitwise": "results differ in bits from run to run",
    "needs_exact_strides": "compiled code has to pass the strides of eager mode",
    "needs_contiguous_strides": "compiled code has to pass contiguous Tensors",
    "needs_fixed_stride_order": "compiled code has to pass the stride order of eager mode",
    "flexible_layout": "accepts Tensors of any strides",
    "core": "part of the core ATen operator set",
    "pointwise": "each element of the result depends on the elements at its index only",
    "maybe_aliasing_or_mutating": "may share memory or write in ways that its schema does not declare",
    "cudagraph_unsafe": "cannot be captured in a CUDA graph",
    "reduction": "reduces dimensions of its argument",
    "inplace": "the in-place variant, by its name",
    "out": "the out= variant, by its out arguments",
    "out_variant": "an out= variant of an operator outside ATen",
}
"""Tags that an entry may have, each with its meaning (INV-22)."""

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
"""Classes of dtypes that a ufunc may name (INV-33)."""

DTYPES = _words(
    "Byte Char Short Int Long Half Float Double ComplexHalf ComplexFloat ComplexDouble Bool BFloat16 "
    "Float8_e5m2 Float8_e5m2fnuz Float8_e4m3fn Float8_e4m3fnuz Float8_e8m0fnu"
)
"""Dtypes that a ufunc may name (INV-33)."""

# ----------------------------------------------------------------------------------- operators older than the rules

KEYWORD_ARGUMENTS = frozenset(
    (("_has_compatible_shallow_copy_type", "from"), ("random_.from", "from"), ("uniform_", "from"))
)
"""Operators with an argument whose name is a keyword of Python (INV-37)."""

INPLACE_VIEWS_WITHOUT_BASE = frozenset(("resize_", "resize_as_", "set_"))
"""Base names with the tag ``inplace_view`` that need no functional view of the name (INV-38)."""

LONE_OUT = _words("adaptive_avg_pool3d_backward.grad_input _slow_conv2d_backward.grad_input")
"""Out variants without a functional variant (INV-44)."""

LONE_INPLACE = _words("polygamma_")
"""In-place variants without a functional variant of the same signature, since another argument precedes ``self``
(INV-43).
"""

LONE_MUTABLE = (
    _words(
        "_cummax_helper _cummin_helper record_stream resize_ resize_as_ _fill_mem_eff_dropout_mask_ "
        "_flash_attention_forward_no_dropout_inplace"
    )
    | LONE_OUT
    | LONE_INPLACE
)
"""Operators that write an argument, belong to no group and have no composite kernel (INV-53)."""
