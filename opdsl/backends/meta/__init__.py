"""Meta backend: tensors without elements. Shape functions run on them, kernels do nothing.

Implements the memory protocol of ``opdsl.runtime`` and the compiler protocol of ``opdsl.kernels``.
May import: lower layers.
"""

FUSED = True
"""Flag that this backend's kernels allocate and check their own outputs, so that the kernels at Common are skipped."""
