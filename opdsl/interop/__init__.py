"""Adapters for other libraries: PyTorch and dask. opdsl itself never imports these libraries.

``opdsl.interop.torch`` registers operators in a running torch. May import: everything but testing, typing and cli.
"""
