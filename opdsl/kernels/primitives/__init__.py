"""Primitives for kernels written in Python: copies, fills, products, gathering, sorting, random numbers."""
