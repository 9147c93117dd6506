"""Entry that runs several kernels one after another."""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.call import Plan, run_frame, take_array, wrong_count
from opdsl.backends.cpu.machine.language import Address, Pointer, Records, Struct, Words, copy_bytes, exported, local
from opdsl.backends.cpu.machine.objects import Array, Object, python


class Spot(Struct):
    """Address in a frame, which is filled in at each call.

    where: index of the word.
    which: index of the array that it points into.
    offset: bytes from the array's first element.
    """

    where: int
    which: int
    offset: int


class Step(Struct):
    """Kernel call in a sequence of kernels: the kernel's plan, and the frame of arguments with which it runs.

    plan: of the kernel.
    words, frame: the number of words of its frame, and the words, without addresses.
    spots, spot_list: the number of addresses in the frame, and where they go.
    """

    plan: Plan
    words: int
    frame: Words
    spots: int
    spot_list: Records[Spot]


class Sequence(Struct):
    """Sequence of kernels.

    arrays: the number of arrays that they read and write.
    steps, step_list: the number of kernels, and the kernels.
    longest: words of the longest frame.
    """

    arrays: int
    steps: int
    step_list: Records[Step]
    longest: int


@exported
def sequence_call(plan: Array, arguments: Pointer[Object], count: int) -> Object | None:
    """Run kernels one after another on given arrays, without allocating any, and return the first array."""
    sequence = cast(Sequence, plan.data)
    if count != sequence.arrays:
        return wrong_count()
    addresses = local(Address, count)
    frame = local(int, sequence.longest)
    for i in range(count):
        if not take_array(arguments[i], cast(Words, addresses + i)):
            return None
    for s in range(sequence.steps):
        step = sequence.step_list[s]
        copy_bytes(frame, step.frame, step.words * 8)
        for p in range(step.spots):
            spot = step.spot_list[p]
            cast(Pointer[Address], frame)[spot.where] = addresses[spot.which] + spot.offset
        if not run_frame(step.plan, frame):
            return None
    python.Py_IncRef(arguments[0])
    return arguments[0]
