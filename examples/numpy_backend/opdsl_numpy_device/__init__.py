"""Device ``numpy_device``: a backend in its own package, outside of opdsl.

``memory`` has the functions that opdsl needs to manage arrays; ``kernels`` has the five out-kernels, which are all that
this backend computes. Both are imported when the first tensor is created on the device.
"""

from __future__ import annotations

from opdsl_numpy_device import kernels as kernels
