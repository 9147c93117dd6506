"""Machine code in typed Python that is compiled by LLVM: what every kernel call shares (call entries, walks, the worker
pool), and kernels that are written for a processor's registers (convolutions, products).

``language`` says what the Python may hold, ``text`` prints it; the other modules are written in it. They are read, not
run: nothing here runs in Python.
"""
