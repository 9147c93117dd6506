"""Meta backend: tensors without elements. Shape functions run on them, kernels do nothing.

Implements the memory protocol of ``opdsl.runtime`` and the compiler protocol of ``opdsl.kernels``.
May import: lower layers.
"""

FUSED = True
"""Its kernels check and make their outputs themselves, so that Common has nothing to do for it."""
