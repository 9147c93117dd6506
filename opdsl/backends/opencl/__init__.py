"""OpenCL backend: prints loop programs (``kernels.loops``) as OpenCL C, and runs them on a queue of each device.

``dialect`` and ``printer`` need no device. ``devices`` is the only module that opens them; it is used by ``arrays``
(buffers), ``memory`` and ``compiler`` (the protocols) and ``launcher`` (programs as functions).
May import: lower layers, and pyopencl in ``devices``.
"""

from opdsl.backends.siblings import serve

FUSED = True
"""Kernels check and make their outputs themselves, so that Common has nothing to do for it."""

serve("PrivateUse3")
