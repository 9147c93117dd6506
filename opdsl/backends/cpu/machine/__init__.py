"""What every kernel call shares, in typed Python that is compiled by LLVM: call entries, walks, the worker pool.

``language`` says what the Python may hold, ``text`` prints it; the other modules are written in it. They are read, not
run: nothing here runs in Python.
"""
