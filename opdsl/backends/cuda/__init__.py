"""The CUDA backend: scalar graphs become CUDA C++.

A call of the compiler protocol becomes a ``program``: a source and how its kernels are launched. ``pointwise`` makes
programs, ``printer`` prints scalar graphs, the skeletons around them are the ``.cuh`` files, ``nvrtc`` compiles sources
to CUBIN. None of that needs a GPU or a driver.
May import: lower layers, and cuda-python at the edge.
"""
