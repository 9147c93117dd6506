"""OpenCL backend: prints loop programs (``kernels.loops``) as OpenCL C, and runs them on a queue of each device.

``dialect`` and ``printer`` need no device. ``devices`` is the only module that opens them; it is used by ``arrays``
(buffers), ``memory`` and ``compiler`` (the protocols) and ``launcher`` (programs as functions).
May import: lower layers, and pyopencl in ``devices``.
"""

from opdsl.backends.siblings import serve

FUSED = True
"""Flag that this backend's kernels allocate and check their own outputs, so that the kernels at Common are skipped."""

serve("PrivateUse3")
