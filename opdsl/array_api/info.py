"""Namespace information of the array API: devices, dtypes, limits."""

from __future__ import annotations

from opdsl.array_api.data_types import DTYPES, of_kind
from opdsl.dispatch import get_default_dtype
from opdsl.runtime import Device, DType, cpu, int64


class Info:
    """Description of the namespace, returned by ``__array_namespace_info__()``."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """Return the supported features: boolean indexing, shapes that depend on elements, and the maximum number of
        dimensions.
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Return the device on which tensors are created by default."""
        return cpu

    def default_dtypes(self, *, device: Device | str | None = None) -> dict[str, DType]:
        """Return the default dtypes of created tensors."""
        floating = get_default_dtype()
        return {
            "real floating": floating,
            "complex floating": floating.to_complex(),
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(
        self, *, device: Device | str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the dtypes by name, all or those of a kind (see ``isdtype``).

        Raises:
            OptionError: there is no such kind.
        """
        kinds = (kind,) if isinstance(kind, str) else kind
        dtypes = DTYPES if kinds is None else tuple(dtype for one in kinds for dtype in of_kind(one))
        return {dtype.name: dtype for dtype in DTYPES if dtype in dtypes}

    def devices(self) -> list[Device]:
        """Return the available devices."""
        from opdsl.cuda import device_count  # slow to import, although it loads no CUDA library

        return [cpu, *(Device("cuda", index) for index in range(device_count()))]
