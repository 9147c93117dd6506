"""Kernels of native DSLs that stand before an operator's own."""
