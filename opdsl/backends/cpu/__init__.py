"""The CPU backend: LLVM code for pointwise loops and reductions, a worker pool, memory, and authors' numba kernels.

From the ground up: ``engine`` (LLVM), ``native`` (the code that every call shares:
the call entry and the worker pool), ``storage`` and ``loops`` (LLVM IR), ``builtin`` (a plan as a Python built-in
function), ``pointwise``, ``reduction``, ``author`` (what the layers above call), ``memory``.
May import: numpy, llvmlite (in ``engine``), numba (in ``author``, only to compile), and lower layers.
"""

FUSED = True
"""Its kernels check and make their outputs themselves, so that Common has nothing to do for it."""
