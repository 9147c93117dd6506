"""Check of an operator against the laws: ``check_op`` and ``violations_of``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opdsl.dispatch.warning import warn
from opdsl.errors import LawError, OptionError
from opdsl.runtime import DType, float32
from opdsl.testing.laws import LAWS, USUAL
from opdsl.testing.sample import Sample
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import LawNotTried, Subject, operator_of


class Violation(NamedTuple):
    """Violation of a law by an operator.

    law: the law's number. title: the law's statement. problem: the violation, with the sample that shows it.

    >>> import opdsl
    >>> from opdsl.testing import Violation
    >>> Violation(4, "a kernel writes what its schema says", "self is changed").law
    4
    """

    law: int
    title: str
    problem: str

    def __str__(self) -> str:
        return f"law {self.law} ({self.title}): {self.problem}"


def violations_of(
    function: object,
    samples: Iterable[Sample] | None = None,
    *,
    dtypes: Iterable[DType] = (float32,),
    laws: Iterable[int] | None = None,
) -> list[Violation]:
    """Return the violations of laws by an operator; see ``check_op``, which raises an error for them.

    A law that cannot be tried on this machine, such as the one about CUDA without a device, gives a warning.

    Args:
        function: a declared function, or an operator.
        samples: calls to check it with; by default they are made from the schema.
        dtypes: of the tensors in samples that are made.
        laws: the numbers of the laws; by default all but 15, which compares with PyTorch and takes seconds.

    Raises:
        DeclarationError: the function is not a declared operator.
        OptionError: the operator accepts none of the samples that were made, ``samples`` contains other objects, or
            there is no law with a given number.

    >>> import opdsl
    >>> from opdsl.testing import violations_of
    >>> violations_of(opdsl.exp)
    []
    """
    operator = operator_of(function)
    checked = None if samples is None else _checked(samples)
    numbers = list(USUAL if laws is None else laws)
    if unknown := [number for number in numbers if number not in LAWS]:
        raise OptionError(f"there is no law {unknown[0]!r}. There are {', '.join(map(str, LAWS))}.")
    violations: list[Violation] = []
    for dtype in dtypes:
        candidates = iter(checked) if checked is not None else samples_of(operator, dtype)
        subject = Subject(operator, [])
        subject.samples = fitting(candidates, subject.function)
        for law in numbers:
            title, check = LAWS[law]
            try:
                violations += [Violation(law, title, text) for text in check(subject)]
            except LawNotTried as reason:
                warn(f"law {law} ({title}) has not been tried: {reason}")
        if checked is not None:
            break
    return list(dict.fromkeys(violations))


def _checked(samples: Iterable[Sample]) -> list[Sample]:
    checked = list(samples)
    for sample in checked:
        if not isinstance(sample, Sample):
            raise OptionError(
                f"a sample holds the arguments of a call, but got {type(sample).__name__}. Write "
                "samples=[opdsl.testing.Sample(x, 2), ...]."
            )
    return checked


def check_op(
    function: object,
    samples: Iterable[Sample] | None = None,
    *,
    dtypes: Iterable[DType] = (float32,),
    laws: Iterable[int] | None = None,
) -> None:
    """Check an operator against the laws that every operator keeps.

    A law that cannot be tried on this machine, such as the one about CUDA without a device, gives a warning.

    Args:
        function: a declared function (``@op``), or one of ``opdsl.ops``.
        samples: calls to check it with; by default they are made from the schema.
        dtypes: of the tensors in samples that are made.
        laws: the numbers of the laws to check; by default all but 15, which compares with PyTorch and takes seconds.

    Raises:
        LawError: the operator violates a law; the message lists every violation with the sample that shows it.
        DeclarationError: the function is not a declared operator.
        OptionError: the operator accepts none of the samples that were made, ``samples`` contains other objects, or
            there is no law with a given number.

    >>> import opdsl
    >>> check_op(opdsl.ops.aten.add.Tensor)
    """
    violations = violations_of(function, samples, dtypes=dtypes, laws=laws)
    if violations:
        lines = "".join(f"\n  {violation}" for violation in violations)
        raise LawError(f"{operator_of(function).name} breaks the laws of an operator:{lines}")
