"""The CUDA backend: scalar graphs become CUDA C++, which runs on streams of the driver.

What needs no GPU: a call of the compiler protocol becomes a ``program``, a source and how its kernels are launched.
``pointwise`` and its kin make programs, ``printer`` prints scalar graphs, the skeletons around them are the ``.cuh``
files; ``loops`` makes programs of the loop IR, which ``loop_kernel`` prints. ``nvrtc`` compiles sources to CUBIN.

What needs a driver, from the ground up: ``driver`` (the only module that calls it), ``streams``, ``allocator``,
``arrays``, ``host`` (page-locked memory), ``copies``, ``memory`` (the protocol), ``launcher`` (programs as functions),
``author`` (kernels in CUDA C++), ``product`` (cuBLAS), ``graphs``.
May import: lower layers, and cuda-python at the edge.
"""
