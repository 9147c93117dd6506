"""CPU backend: kernels compiled by LLVM, a worker pool, tensor memory, and author kernels compiled by numba.

In the order of their dependencies: ``engine`` (LLVM), ``native`` (the machine code that all calls share: the call entry
and the worker pool), ``storage`` and ``loops`` (LLVM IR), ``builtin`` (a plan as a Python built-in function),
``pointwise``, ``reduction``, ``author`` (called by the layers above), ``memory``.
May import: numpy, llvmlite (in ``engine``), numba (in ``author``, only to compile), and lower layers.
"""

FUSED = True
"""Flag that this backend's kernels allocate and check their own outputs, so that the kernels at Common are skipped."""
