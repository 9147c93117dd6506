"""Backends that compile and run kernels: one package per device type, imported on first use.

Each implements the memory protocol of ``opdsl.runtime`` and the compiler protocol of ``opdsl.kernels``.
May import: everything below declare; nothing here is imported by another layer at import time.
"""
