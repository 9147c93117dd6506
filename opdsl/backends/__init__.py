"""What runs kernels: one package per device, loaded on first use.

Each implements the memory protocol of ``opdsl.runtime`` and the compiler protocol of ``opdsl.kernels``.
May import: everything below declare; nothing here is imported by another layer at import time.
"""
