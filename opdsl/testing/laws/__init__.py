"""Laws that operators keep, one module each: a function that yields the violations of an operator on its samples."""

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

# Title and check of each law, by number.
LAWS: dict[int, tuple[str, Law]] = {
    1: ("the schema's text and its YAML entry are read back as the same schema", schema.check),
    2: ("the results of all variants agree bit for bit", variants.check),
    3: ("the meta function agrees with the results and allocates no memory", meta.check),
    4: ("kernels write and alias exactly the tensors that the schema declares", effects.check),
    5: ("gradients agree with finite differences", gradients.check),
    6: ("CUDA agrees with the CPU", devices.check),
    8: ("the Python function has the parameters of the schema", signatures.check),
    9: ("bodies of composites and derivatives call only operators", composites.check),
    10: ("invalid arguments raise an error and change nothing", bad_input.check),
    11: ("a plan for dynamic shapes is correct for new sizes", forms.check),
    12: ("the combined results of shards agree with the result of the whole", pieces.check),
    13: ("a traced program agrees with the call after every pass", programs.check),
    15: ("results in PyTorch agree with those in opdsl", in_pytorch.check),
}

# Laws that are checked by default: all but the slow one.
USUAL = tuple(law for law in LAWS if law != 15)
