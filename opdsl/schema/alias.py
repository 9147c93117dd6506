"""Class ``Alias``: the memory that an argument or a return shares, in annotations and in schemas."""

from __future__ import annotations

import attrs

from opdsl.errors import AnnotationError

WILDCARD = "*"
"""After-set of an argument whose memory may end up in any result, such as a member of a list."""


@attrs.frozen(init=False, repr=False)
class Alias:
    """Alias annotation of a Tensor: its alias sets before and after the call, and whether the call writes to it.

    ``Tensor[Alias("a")]`` is ``Tensor(a)``; ``write=True`` gives ``(a!)``, ``Alias("a|b")`` gives ``(a|b)``,
    ``after="*"`` gives ``(a -> *)``. Names are a lower-case letter, optionally followed by digits.

    before: the alias sets that the Tensor belongs to.
    write: whether the operator writes to it.
    after: the alias sets that it belongs to after the call, empty if they do not change.

    Raises AnnotationError if a part is malformed, or if the parts do not go together.

    >>> str(Alias("a", write=True, after="a|b"))
    'a! -> a|b'
    """

    before: tuple[str, ...]
    write: bool
    after: tuple[str, ...]

    def __init__(self, before: str, *, write: bool = False, after: str | None = None) -> None:
        names = _alias_sets(before, "before")
        later = () if after is None else (WILDCARD,) if after == WILDCARD else _alias_sets(after, "after")
        self.__attrs_init__(names, write, later)
        fault = alias_fault(self)
        if fault is not None:
            raise AnnotationError(f"{self!r}: {fault}")

    def __str__(self) -> str:
        before = "|".join(self.before) + ("!" if self.write else "")
        return f"{before} -> {'|'.join(self.after)}" if self.after else before

    def __repr__(self) -> str:
        parts = [repr("|".join(self.before)).replace("'", '"')]
        if self.write:
            parts.append("write=True")
        if self.after:
            parts.append(f'after="{"|".join(self.after)}"')
        return f"Alias({', '.join(parts)})"

    @property
    def is_wildcard(self) -> bool:
        """Return whether the Tensor may belong to any alias set after the call."""
        return WILDCARD in self.after


def is_alias_name(text: str) -> bool:
    """Return whether a text names an alias set: a lower-case letter, optionally followed by digits."""
    return text[:1].isascii() and text[:1].islower() and (len(text) == 1 or (text[1:].isascii() and text[1:].isdigit()))


def alias_fault(alias: Alias) -> str | None:
    """Return why the parts of an alias annotation do not go together (INV-6), or None."""
    if alias.write and len(alias.before) > 1:
        return "a written Tensor belongs to exactly one alias set"
    if len(alias.before) > 2:
        return "there may be at most two alias sets before the arrow"
    if len(alias.before) > 1 and len(alias.after) > 1:
        return "either side of the arrow may hold several alias sets, not both"
    if len(set(alias.before)) < len(alias.before) or len(set(alias.after)) < len(alias.after):
        return "an alias set is named twice"
    return None


def _alias_sets(text: str, side: str) -> tuple[str, ...]:
    """Return the names of ``"a|b"``, or raise an error that shows the right form."""
    if not isinstance(text, str):
        raise AnnotationError(f'Alias takes the names of alias sets as text, like Alias("a") (got {text!r})')
    names = tuple(text.split("|"))
    if all(is_alias_name(name) for name in names):
        return names
    raise AnnotationError(f"Alias({text!r}): {_advice(text, side)}")


def _advice(text: str, side: str) -> str:
    """Return an error text with the correct form of a faulty alias text."""
    before, arrow, after = (part.strip() for part in text.partition("->"))
    alias_set = before.rstrip("!") or "a"
    if arrow:
        write = ", write=True" if before.endswith("!") else ""
        return f'the set after the call is an argument of its own: Alias("{alias_set}"{write}, after="{after}")'
    if text.endswith("!"):
        return f'a write is said with an argument: Alias("{alias_set}", write=True)'
    if WILDCARD in text:
        return f'"*" has to be alone, and after the call: Alias("a", after="*") (got it {side})'
    return 'alias sets have names of one lower-case letter, several of them joined by "|"'
