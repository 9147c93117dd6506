"""Machine code written in typed Python and compiled by LLVM: the code that all kernel calls share, and handwritten
kernels.

Shared are the call entries, strided traversals (``walk``) and the worker pool; handwritten for a processor's registers
are convolutions and matrix products. ``language`` defines what the Python may contain, and ``text`` prints it as LLVM
IR; the other modules are written in it. Their functions are parsed and compiled, and never run as Python.
"""
