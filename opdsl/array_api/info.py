"""What the standard lets programs ask of a namespace: devices, dtypes, limits."""

from __future__ import annotations

from opdsl.array_api.data_types import DTYPES, of_kind
from opdsl.dispatch import get_default_dtype
from opdsl.runtime import Device, DType, cpu, int64


class Info:
    """What ``__array_namespace_info__()`` gives."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """Which features are there: boolean indexing and shapes that depend on elements; and the most dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Where tensors are made unless a device is named."""
        return cpu

    def default_dtypes(self, *, device: Device | str | None = None) -> dict[str, DType]:
        """The dtypes of what is made unless one is named."""
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
        """The dtypes by name, all or those of a kind (see ``isdtype``).

        Raises:
            OptionError: there is no such kind.
        """
        kinds = (kind,) if isinstance(kind, str) else kind
        dtypes = DTYPES if kinds is None else tuple(dtype for one in kinds for dtype in of_kind(one))
        return {dtype.name: dtype for dtype in DTYPES if dtype in dtypes}

    def devices(self) -> list[Device]:
        """The devices that are there."""
        from opdsl.cuda import device_count  # loads nothing of CUDA's own, but takes a moment

        return [cpu, *(Device("cuda", index) for index in range(device_count()))]
