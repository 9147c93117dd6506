"""CPU backend: kernels compiled by LLVM, a worker pool, tensor memory, and author kernels compiled by numba.

In the order of their dependencies: ``engine`` (LLVM), ``native`` (the machine code that all calls share: the call entry
and the worker pool), ``storage`` and ``loops`` (LLVM IR), ``builtin`` (a plan as a Python built-in function),
``pointwise``, ``reduction``, ``author`` (what the layers above call), ``memory``.
May import: numpy, llvmlite (in ``engine``), numba (in ``author``, only to compile), and lower layers.
"""

FUSED = True
"""Its kernels check and make their outputs themselves, so that Common has nothing to do for it."""
