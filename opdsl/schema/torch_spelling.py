"""Other spellings of schemas: those that PyTorch prints, and those that its ``Library.define`` accepts."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

__all__ = ["as_torch_prints", "as_written"]

# A quoted string; an unclosed one extends to the end of the text.
_QUOTED = r"""("(?:[^"\\]|\\.?)*+(?:"|\Z)|'(?:[^'\\]|\\.?)*+(?:'|\Z))"""
_LIST = r"(?<==)\[[^\[\]]*\]"
_ASSIGNMENT = r"(?<!\s)\s*=\s*"
_ONLY_RESULT = r"-> \(([^,()]++(?:\([^()]*+\))?+[^,()]*+)\)\Z"

# The names of enumerators, in the order of their numbers. Source: c10/core/ScalarType.h, MemoryFormat.h, Layout.h.
_ENUMERATORS = {
    "ScalarType": (
        "byte char short int long half float double complex_half complex_float complex_double bool qint8 quint8 qint32 "
        "bfloat16 quint4x2 quint2x4"
    ),
    "MemoryFormat": "contiguous_format preserve_format channels_last channels_last_3d",
    "Layout": "strided sparse sparse_csr _mkldnn sparse_csc sparse_bsr sparse_bsc jagged",
}
_NUMBERED = rf"\b({'|'.join(_ENUMERATORS)})(\?? [A-Za-z_][A-Za-z0-9_]*=)([0-9]{{1,2}})(?![0-9.])"


def as_torch_prints(text: str) -> str:
    """Convert a schema that PyTorch has printed, with enumerators as numbers, to the form of opdsl.

    >>> as_torch_prints("f(int[2] d=[-2, -1], *, ScalarType? dtype=4, str s=', =[ ]') -> Tensor")
    "f(int[2] d=[-2,-1], *, ScalarType? dtype=long, str s=', =[ ]') -> Tensor"
    """

    def printed(piece: str) -> str:
        piece = _compiled(_LIST).sub(lambda match: match[0].replace(", ", ","), piece)
        return _compiled(_NUMBERED).sub(_named, piece)

    return _between_quotes(text, printed)


def as_written(text: str) -> str:
    """Convert a schema that was written for PyTorch's ``Library.define`` to the form of opdsl.

    >>> as_written("f(Tensor self, int[] d=[-2, -1], int a = 2) -> (Tensor)")
    'f(Tensor self, int[] d=[-2,-1], int a=2) -> Tensor'
    """

    def written(piece: str) -> str:
        piece = _compiled(_ASSIGNMENT).sub("=", piece)
        return _compiled(_LIST).sub(lambda match: match[0].replace(" ", ""), piece)

    return as_torch_prints(_compiled(_ONLY_RESULT).sub(r"-> \1", _between_quotes(text.strip(), written)))


def _between_quotes(text: str, change: Callable[[str], str]) -> str:
    """Apply a function to the parts of a text that are not in quotes."""
    pieces = _compiled(_QUOTED).split(text)
    pieces[::2] = map(change, pieces[::2])
    return "".join(pieces)


def _named(match: re.Match[str]) -> str:
    """Return the text of an enumerator with its name in place of its number, if it has a name."""
    kind, name, number = match.groups()
    names = _ENUMERATORS[kind].split()
    return f"{kind}{name}{names[int(number)] if int(number) < len(names) else number}"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use, since most schemas need none."""
    return re.compile(pattern, re.DOTALL)
