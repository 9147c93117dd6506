"""CUDA backend: prints scalar graphs and loop IR as CUDA C++, compiles the source, and launches kernels on streams.

Modules that need no GPU: ``compiler`` is called by ``opdsl.kernels``. ``schedules`` turns a call into a ``program``, a
source together with the launches of its kernels. ``points`` splits array accesses into a part that depends on the
thread and a rest, ``kernel`` describes kernels of the loop IR, ``loop_kernel`` and ``team_kernel`` print them, and
``loop_program`` computes their launch parameters. ``dialect`` spells scalar graphs as CUDA C++, ``nvrtc`` compiles
sources to CUBIN.

Modules that need a driver, lowest layer first: ``driver`` (the only module that calls it), ``lifetime``, ``devices``,
``finalization`` (work of finalizers that is done later), ``pools`` (free memory), ``draws`` (random numbers of graphs),
``reports`` (errors that kernels find), ``streams``, ``allocator``,
``arrays``, ``host`` (page-locked memory), ``copies``, ``memory`` (the protocol), ``launcher`` (programs as functions),
``positions`` (index checks on the device), ``author`` (kernels in CUDA C++), ``product`` (cuBLAS), ``graphs``.
May import: lower layers, and cuda-python at the edge.
"""
