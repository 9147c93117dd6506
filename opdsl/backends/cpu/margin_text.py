"""Printers of the modes by which ``Bound`` maps indices into bounds (clamp, reflect, wrap around), as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable

from opdsl.backends.cpu.storage import Text

__all__ = ["BOUNDS", "DECLARATIONS"]

DECLARATIONS = {
    "declare i64 @llvm.abs.i64(i64, i1)",
    "declare i64 @llvm.smax.i64(i64, i64)",
    "declare i64 @llvm.smin.i64(i64, i64)",
}


def _larger(text: Text, first: str, second: str) -> str:
    return text.value(f"call i64 @llvm.smax.i64(i64 {first}, i64 {second})")


def _replicated(text: Text, place: str, size: str) -> str:
    last = text.value(f"sub i64 {size}, 1")
    return text.value(f"call i64 @llvm.smin.i64(i64 {_larger(text, place, '0')}, i64 {last})")


def _seldom(text: Text, condition: str, value: str, other: Callable[[], str]) -> str:
    """Emit the result of ``other`` if a condition holds, else ``value``, with a branch that avoids the slow division of
    ``other``.
    """
    label = f"seldom{condition[1:]}"
    text.line(f"  br label %{label}_test\n{label}_test:")
    text.line(f"  br i1 {condition}, label %{label}, label %{label}_end\n{label}:")
    word = other()
    text.line(f"  br label %{label}_end\n{label}_end:")
    return text.value(f"phi i64 [ {value}, %{label}_test ], [ {word}, %{label} ]")


def _reflected(text: Text, place: str, size: str) -> str:
    """Emit an index reflected at the first and at the last element, repeatedly if it is far outside."""
    last = text.value(f"sub i64 {size}, 1")
    period = text.value(f"mul i64 {last}, 2")
    distance = text.value(f"call i64 @llvm.abs.i64(i64 {place}, i1 false)")
    is_far = text.value(f"icmp sgt i64 {distance}, {period}")
    near = _seldom(text, is_far, distance, lambda: text.value(f"urem i64 {distance}, {_larger(text, period, '1')}"))
    is_mirrored = text.value(f"icmp sgt i64 {near}, {last}")
    return text.value(f"select i1 {is_mirrored}, i64 {text.value(f'sub i64 {period}, {near}')}, i64 {near}")


def _turned(text: Text, place: str, size: str) -> str:
    """Emit an index that counts from the end if it is negative."""
    turned = text.value(f"add i64 {place}, {size}")
    is_negative = text.value(f"icmp slt i64 {place}, 0")
    return text.value(f"select i1 {is_negative}, i64 {turned}, i64 {place}")


def _wrapped(text: Text, place: str, size: str) -> str:
    forth = _turned(text, place, size)
    is_behind = text.value(f"icmp sge i64 {place}, {size}")
    near = text.value(f"select i1 {is_behind}, i64 {text.value(f'sub i64 {place}, {size}')}, i64 {forth}")
    is_far = text.value(f"icmp uge i64 {near}, {size}")
    return _seldom(text, is_far, near, lambda: _turned(text, text.value(f"srem i64 {place}, {size}"), size))


BOUNDS: dict[str, Callable[[Text, str, str], str]] = {
    "replicate": _replicated,
    "reflect": _reflected,
    "circular": _wrapped,
    "wrap": _turned,
    "trusted": lambda text, place, size: place,
}
"""Functions that emit the index in bounds for an index and a size, by the name of the mode."""
