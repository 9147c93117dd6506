"""The device ``numpy_device``: a backend that lives outside of opdsl.

``memory`` is what opdsl asks for arrays; ``kernels`` are the five out-kernels that are all this backend computes. Both
are imported when the first tensor is made on the device.
"""

from __future__ import annotations

from opdsl_numpy_device import kernels as kernels
