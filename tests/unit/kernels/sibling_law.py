"""Laws of an operator of the library on a device that is no CUDA device."""

from __future__ import annotations

import warnings

import opdsl
from opdsl.runtime import Device
from opdsl.testing.laws import bad_input, devices, effects, meta
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject


def problems(name: str, device: Device, most: int) -> list[str]:
    """How an operator on a device departs from the CPU (law 6), for some of its samples.

    Args:
        name: ``add.Tensor``, of the namespace aten.
        device: where it has to give the same.
        most: samples.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(devices.disagreements(subject_of(name, most), device))


def subject_of(name: str, most: int) -> Subject:
    """An operator with some of its samples."""
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(opdsl.ops.aten, packet), overload or "default").operator
    subject = Subject(operator, [])
    subject.samples = fitting(samples_of(operator), subject.function)
    step = max(1, len(subject.samples) // most)
    subject.samples = subject.samples[::step][:most]
    assert subject.samples, f"{name} has samples"
    return subject


def faults_there(name: str, device: Device, most: int) -> list[str]:
    """What laws 3, 4 and 10 say of an operator whose arguments are on a device: meta, what is written, bad input."""
    subject = subject_of(name, most)
    moved = [devices._moved(devices._placed(sample.copy(), subject), subject, device) for sample in subject.samples]
    subject.samples = [sample for sample in moved if sample is not None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [violation for law in (meta, effects, bad_input) for violation in law.check(subject)]
