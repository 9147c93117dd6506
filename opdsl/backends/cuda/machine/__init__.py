"""Machine code for the common case of device calls: take memory, launch kernels, return memory.

It is written as ``opdsl.backends.cpu.machine`` is, and handles only the common case: one stream, free memory in its
pool, loaded kernels, no capture. In all other cases it calls Python functions with the same arguments.
``opdsl.backends.cuda.native`` writes the records that it reads.

The interpreter's lock is held except during the driver's launches, so that lists, dicts and counters change atomically.
"""
