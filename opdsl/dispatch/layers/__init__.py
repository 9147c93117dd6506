"""Layers around kernels: each wraps a kernel in one that does something before or after calling it."""
