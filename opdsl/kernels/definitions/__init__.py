"""Definitions: what an operator returns and what it computes, from which the kernels of all variants come."""
