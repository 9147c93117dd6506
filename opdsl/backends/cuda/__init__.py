"""The CUDA backend: scalar graphs become CUDA C++, which runs on streams of the driver.

What needs no GPU: a call of the compiler protocol becomes a ``program``, a source and how its kernels are launched.
``loops`` and ``reduction`` make programs of the loop IR: ``points`` tells where threads stand, ``kernel`` what kernels
are, ``loop_kernel`` and ``team_kernel`` print them, ``loop_program`` tells what they are launched with. ``row``,
``scan`` and ``order`` make programs whose skeletons are ``.cuh`` files. ``printer`` prints scalar graphs, ``nvrtc``
compiles sources to CUBIN.

What needs a driver, from the ground up: ``driver`` (the only module that calls it), ``lifetime``, ``devices``,
``finalization`` (what finalizers leave for later), ``pools`` (free memory), ``draws`` (random numbers of graphs),
``reports`` (errors that kernels find), ``streams``, ``allocator``,
``arrays``, ``host`` (page-locked memory), ``copies``, ``memory`` (the protocol), ``launcher`` (programs as functions),
``positions`` (what the device looks at), ``author`` (kernels in CUDA C++), ``product`` (cuBLAS), ``graphs``.
May import: lower layers, and cuda-python at the edge.
"""
