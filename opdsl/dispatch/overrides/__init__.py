"""Overrides: kernels of native DSLs that take precedence over an operator's own kernels."""
