"""Machine code for what device calls do most often: take memory, launch kernels, put memory back.

It is written as ``opdsl.backends.cpu.machine`` is, and serves the usual case alone: one stream, on which memory waits,
kernels that are loaded, no capture. Whatever else there is, functions of Python do, which are called with the same
arguments. ``opdsl.backends.cuda.native`` writes the records.

The interpreter's lock is held but for the driver's launches, so that lists, dicts and counters change as a whole.
"""
