"""Wrong declarations, found with the plugin; each ignored line has an error of the code, or mypy reports the
comment.
"""

from __future__ import annotations

from opdsl import Alias, Ints, Library, Tensor

lib = Library("typing_fail")


@lib.op
def sized(self: Tensor, size: Ints[2]) -> Tensor: ...


def call(x: Tensor) -> None:
    sized(x, "2")  # type: ignore[arg-type]
    sized(x)  # type: ignore[call-arg]
    number: int = sized(x, 2)  # type: ignore[assignment]
    print(number)


def text(x: Tensor["a"]) -> None: ...  # type: ignore[misc, name-defined]  # noqa: F821, UP037


def other(x: Tensor[int]) -> None: ...  # type: ignore[misc]


def bare(x: Tensor[Alias]) -> None: ...  # type: ignore[misc]


def number(x: Tensor[1]) -> None: ...  # type: ignore[misc]


def two(x: Tensor[Alias("a"), Alias("b")]) -> None: ...  # type: ignore[misc]


def unsized(x: Ints) -> None: ...  # type: ignore[misc]


def zero(x: Ints[0]) -> None: ...  # type: ignore[misc]


def undeclared(x: Tensor) -> Tensor: ...  # type: ignore[empty-body]


@lib.op
def half_written(self: Tensor) -> Tensor:  # type: ignore[return]
    self.t()
