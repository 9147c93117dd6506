"""Laws that operators keep, one module each: a function that yields what is wrong with an operator on its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.testing.laws import (
    bad_input,
    composites,
    devices,
    effects,
    forms,
    gradients,
    in_pytorch,
    meta,
    pieces,
    programs,
    schema,
    signatures,
    variants,
)
from opdsl.testing.subject import Subject

Law = Callable[[Subject], Iterator[str]]

# By number.
LAWS: dict[int, tuple[str, Law]] = {
    1: ("the schema's text and its YAML read back as the same", schema.check),
    2: ("all variants agree bit for bit", variants.check),
    3: ("meta agrees with the result and takes no memory", meta.check),
    4: ("a kernel writes and shares what its schema says, and nothing else", effects.check),
    5: ("gradients agree with finite differences", gradients.check),
    6: ("CUDA agrees with the CPU", devices.check),
    8: ("the function's parameters are the schema's", signatures.check),
    9: ("composite bodies and derivatives call operators, and nothing else", composites.check),
    10: ("bad input raises and changes nothing", bad_input.check),
    11: ("a plan of a form serves sizes that it has not seen", forms.check),
    12: ("run on pieces and combined it is what it is when run whole", pieces.check),
    13: ("a program after any pass gives what the call gives that it was traced of", programs.check),
    15: ("in PyTorch it gives what it gives here", in_pytorch.check),
}

# Laws that are tried by default: all but slow ones.
USUAL = tuple(law for law in LAWS if law != 15)
