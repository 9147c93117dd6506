"""Other libraries: PyTorch, the array API, dask. Each is imported by its own module only, and never by opdsl itself.

Nothing of it is here yet; tensors cross over by NumPy and DLPack (``opdsl.from_numpy``, ``opdsl.from_dlpack``). May
import: everything but testing, typing and cli.
"""
