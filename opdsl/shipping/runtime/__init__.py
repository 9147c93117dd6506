"""Run time of packages that ``opdsl build`` makes: it calls compiled kernels on arrays of NumPy, or tensors of PyTorch.

``opdsl build`` copies this folder into each package. Its modules need Python's standard library, and NumPy or PyTorch;
they import neither opdsl nor anything else.
"""
