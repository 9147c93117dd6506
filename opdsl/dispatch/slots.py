"""The parameters of a caller's function: the union of those of its overloads."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.dispatch.arguments import MISSING, Kind
from opdsl.dispatch.signature import Parameter, Signature


class Slot:
    """One parameter of the generated function: the union of the overloads' parameters at its place.

    Its default is the overloads' own where all agree, otherwise ``MISSING``: an overload may then do without it.
    """

    __slots__ = (
        "accepts_none",
        "default",
        "has_one_name",
        "is_sized",
        "keyword_only",
        "kinds",
        "name",
        "numbers",
        "required",
    )

    def __init__(self, parameters: Sequence[Parameter], *, everywhere: bool, keyword_only: bool) -> None:
        first = parameters[0]
        self.name = first.name
        self.keyword_only = keyword_only
        self.kinds = {each.kind for each in parameters}
        self.numbers = Kind.NUMBER in self.kinds or any(each.accepts_number for each in parameters)
        agreed = everywhere and all(each.default is first.default for each in parameters)
        self.default = first.default if agreed else MISSING
        self.required = everywhere and all(each.default is MISSING for each in parameters)
        self.accepts_none = any(each.accepts_none for each in parameters)
        # PyTorch types what is a size, or may become one, as SymInt; dimensions are ints.
        self.is_sized = any("SymInt" in str(each.type) for each in parameters)
        self.has_one_name = all(each.name == self.name for each in parameters)

    @property
    def is_dynamic(self) -> bool:
        """Whether plans are handed its value, and do not know it beforehand."""
        return bool(self.kinds & {Kind.TENSOR, Kind.NUMBER, Kind.TENSORS})

    @property
    def may_lead_as_number(self) -> bool:
        """Whether it is a ``self`` that may be a Python number, as in ``add(2, x)``."""
        return self.name == "self" and self.numbers and Kind.TENSOR in self.kinds <= {Kind.TENSOR, Kind.NUMBER}

    def key(self, *, as_tensor: bool = True, of_form: bool = False) -> str:
        """The expression of its part of a plan's key.

        Args:
            as_tensor: whether a ``self`` that may be a number is taken for a tensor: calls with a number there are
                rare, so they are looked up in a second try.
            of_form: whether the plan is that of a form, and sizes are no part of its key.
        """
        name = self.name
        geometry = "geometry.form" if of_form else "geometry"
        if self.kinds == {Kind.NUMBER}:
            return f"§type({name})"
        if self.kinds <= {Kind.TENSOR, Kind.NUMBER}:
            plain = (
                self.required
                and not self.accepts_none
                and (not self.numbers or (self.may_lead_as_number and as_tensor))
            )
            return (
                f"{name}.{geometry}" if plain else f"({name}.{geometry} if §type({name}) is §Tensor else §type({name}))"
            )
        if self.kinds == {Kind.TENSORS}:
            return f"(§type({name}), *[§each.{geometry} for §each in {name}])"
        if self.kinds == {Kind.VALUE}:
            if of_form and self.is_sized:
                return f"§value_form({name})"
            # An int is its own key: no other key is an int, so nothing that equals it is taken for it. So is None.
            return f"({name} if {name} is None or §type({name}) is §int else §value_key({name}))"
        return f"§mixed_form({name})" if of_form else f"§mixed_key({name})"


def slots_of(signatures: Sequence[Signature]) -> list[Slot]:
    """The union of the signatures' parameters: positional places first, then every name that has no place yet."""
    longest = max((each.maximum for each in signatures), default=0)
    slots: list[Slot] = []
    names: set[str] = set()
    for place in range(longest):
        here = [each.parameters[place] for each in signatures if place < each.maximum]
        # A name that stands further behind in another overload, as `end` in arange, is the name of that place.
        later = {each.name for one in signatures for each in one.parameters[place + 1 : one.maximum]}
        here.sort(key=lambda each: each.name in later or each.name in names)
        # Overloads that name this place otherwise share it; their names are keyword-only in the union.
        slots.append(Slot(here, everywhere=len(here) == len(signatures), keyword_only=False))
        names.add(slots[-1].name)
    for signature in signatures:
        for parameter in signature.parameters:
            if parameter.name not in names:
                names.add(parameter.name)
                same = [each for one in signatures for each in one.parameters if each.name == parameter.name]
                keyword_only = all(each.keyword_only for each in same)
                slots.append(Slot(same, everywhere=len(same) == len(signatures) and keyword_only, keyword_only=True))
    return slots


__all__ = ["Slot", "slots_of"]
