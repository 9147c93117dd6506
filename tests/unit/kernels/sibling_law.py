"""Checks of laws for a library operator on a device other than CUDA."""

from __future__ import annotations

import warnings

import opdsl
from opdsl.runtime import Device
from opdsl.testing.laws import bad_input, devices, effects, meta
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject


def problems(name: str, device: Device, most: int) -> list[str]:
    """Return the differences of an operator on a device from the CPU (law 6), for some of its samples.

    Args:
        name: ``add.Tensor``, in the namespace aten.
        device: the device to compare with the CPU.
        most: maximum number of samples.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(devices.disagreements(subject_of(name, most), device))


def subject_of(name: str, most: int) -> Subject:
    """Return an operator with some of its samples, as a subject of laws."""
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(opdsl.ops.aten, packet), overload or "default").operator
    subject = Subject(operator, [])
    subject.samples = fitting(samples_of(operator), subject.function)
    step = max(1, len(subject.samples) // most)
    subject.samples = subject.samples[::step][:most]
    assert subject.samples, f"{name} has samples"
    return subject


def faults_there(name: str, device: Device, most: int) -> list[str]:
    """Return the violations of laws 3, 4 and 10 (meta, effects, bad input) by an operator with arguments on a
    device.
    """
    subject = subject_of(name, most)
    moved = [devices._moved(devices._placed(sample.copy(), subject), subject, device) for sample in subject.samples]
    subject.samples = [sample for sample in moved if sample is not None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [violation for law in (meta, effects, bad_input) for violation in law.check(subject)]
