"""Other libraries: PyTorch, the array API, dask. Each is imported by its own module only, and never by opdsl itself.

``opdsl.interop.torch`` registers operators in a running torch. May import: everything but testing, typing and cli.
"""
