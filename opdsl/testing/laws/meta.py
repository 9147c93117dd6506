"""Law 3: ``operator.meta`` returns the result's shape, dtype and strides on the meta device, without allocating
memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from opdsl.errors import MissingKernelError, OpdslError
from opdsl.runtime import Device, MetaArray
from opdsl.runtime.snapshot import tensors_in
from opdsl.testing.sample import Sample
from opdsl.testing.subject import Subject, watching


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    for sample in subject.samples:
        with watching() as watch:
            result = sample.copy().call(subject.function)
        try:
            shown = _on_meta(sample).call(subject.function.meta)
        except MissingKernelError as error:
            dynamic = subject.is_dynamic or any("dynamic_output_shape" in call.operator.tags for call in watch.calls)
            if not dynamic:
                yield f"{sample}: {error}"
            return
        except OpdslError as error:
            if subject.is_dynamic:
                return
            yield f"{sample}: meta raises {type(error).__name__}: {error}"
            continue
        yield from (
            f"{sample}: {difference}" for difference in _differences(list(tensors_in(shown)), list(tensors_in(result)))
        )


def _on_meta(sample: Sample) -> Sample:
    """Return the call with the meta device in place of its device arguments, since meta tensors cannot be moved
    elsewhere.
    """
    copy, meta = sample.copy(), Device("meta")
    generator = (meta if isinstance(value, Device) else value for value in copy.positional)
    return Sample(
        *generator, **{name: meta if isinstance(value, Device) else value for name, value in copy.named.items()}
    )


def _differences(shown: list[object], results: list[object]) -> Iterator[str]:
    if len(shown) != len(results):
        yield f"meta gives {len(shown)} tensors, the kernel {len(results)}"
        return
    for one, other in zip(shown, results, strict=True):
        for what in ("dtype", "shape", "strides"):
            if getattr(one, what) != getattr(other, what):
                yield f"meta gives the {what} {getattr(one, what)}, the kernel {getattr(other, what)}"
        if str(getattr(one, "device", "")) != "meta":
            yield f"meta gives a tensor on {getattr(one, 'device', '')}"
        if not isinstance(getattr(one, "array", MetaArray(0)), MetaArray):
            yield "meta takes memory"
