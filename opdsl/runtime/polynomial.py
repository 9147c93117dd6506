"""Polynomials of sizes: sums, products and exact quotients, and bounds that decide comparisons.

They are used for each guard of a lowering, so the functions are written to call few others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Product", "Terms", "added", "bounds_of", "divided", "expression", "multiplied", "settled"]

# A sorted product of atoms; a polynomial maps each of its products to its factor.
Product = tuple[str, ...]
Terms = dict[Product, int]


def added(first: Terms, second: Terms, times: int = 1) -> Terms:
    """Add a polynomial, multiplied by an integer, to another one; terms with factor 0 are dropped."""
    terms = dict(first)
    for product, factor in second.items():
        total = terms.get(product, 0) + times * factor
        if total:
            terms[product] = total
        else:
            terms.pop(product, None)
    return terms


def multiplied(first: Terms, second: Terms) -> Terms:
    """Multiply two polynomials; terms with factor 0 are dropped."""
    terms: Terms = {}
    for product, factor in first.items():
        for another, times in second.items():
            joined = tuple(sorted(product + another)) if product and another else product or another
            total = terms.get(joined, 0) + factor * times
            if total:
                terms[joined] = total
            else:
                terms.pop(joined, None)
    return terms


def divided(first: Terms, second: Terms) -> Terms | None:
    """Return the exact quotient of two polynomials; None if the division leaves a remainder.

    It is only searched for if the divisor is a single product.
    """
    if not first:
        return {}
    if first == second:
        return {(): 1}
    if len(second) != 1:
        return None
    ((product, factor),) = second.items()
    quotient: Terms = {}
    for dividend, times in first.items():
        rest = list(dividend)
        for atom in product:
            if atom not in rest:
                return None
            rest.remove(atom)
        if times % factor:
            return None
        quotient[tuple(rest)] = times // factor
    return quotient


def expression(terms: Terms) -> str:
    """Return a polynomial as an expression, which is the same for equal polynomials."""
    if len(terms) == 1:
        ((product, factor),) = terms.items()
        if factor == 1 and len(product) == 1:
            return product[0] if " " not in product[0] else f"({product[0]})"
    parts = []
    for product, factor in sorted(terms.items(), key=_degree_first):
        factors = [*product] if factor == 1 and product else [repr(factor), *product]
        parts.append(" * ".join(factors))
    return parts[0] if len(parts) == 1 and " " not in parts[0] else f"({' + '.join(parts)})"


def _degree_first(term: tuple[Product, int]) -> tuple[int, Product]:
    return -len(term[0]), term[0]


def bounds_of(terms: Terms, least: Mapping[str, int | None]) -> tuple[int | None, int | None]:
    """Return a lower and an upper bound of a polynomial; None for a bound that is not found.

    The polynomial is rewritten in the differences of its atoms from their least values.

    Args:
        terms: the terms of the polynomial.
        least: the least values of the atoms; None if unknown.
    """
    shifted: Terms = {}
    for product, factor in terms.items():
        expanded: Terms = {(): factor}
        for atom in product:
            bound = least.get(atom)
            if bound is None:
                return None, None
            grown: Terms = {}
            for earlier, times in expanded.items():
                grown[earlier] = grown.get(earlier, 0) + bound * times
                further = tuple(sorted((*earlier, atom))) if earlier else (atom,)
                grown[further] = grown.get(further, 0) + times
            expanded = grown
        for part, times in expanded.items():
            shifted[part] = shifted.get(part, 0) + times
    fixed = shifted.pop((), 0)
    falls = grows = False
    for times in shifted.values():
        if times < 0:
            falls = True
        elif times > 0:
            grows = True
    return None if falls else fixed, None if grows else fixed


def settled(
    difference: Terms, least: Mapping[str, int | None], function: Callable[[Any, Any], bool], sign: str
) -> bool | None:
    """Return the outcome of comparing a difference with 0, if it is the same for all sizes, else None.

    Args:
        difference: the difference, as a polynomial.
        least: see ``bounds_of``.
        function, sign: the comparison, as a function and as an operator's text.
    """
    lowest, highest = bounds_of(difference, least)
    if lowest is not None and lowest == highest:
        return function(lowest, 0)
    if sign in ("==", "!="):
        apart = (lowest is not None and lowest > 0) or (highest is not None and highest < 0)
        return (sign == "!=") if apart else None
    above, below = lowest, None if highest is None else -highest
    if sign in ("<", "<="):
        above, below = below, above
    # From here on, the question is whether the difference (or its negative) is greater than (or equal to) 0.
    strict = sign in ("<", ">")
    if above is not None and (above > 0 if strict else above >= 0):
        return True
    if below is not None and (below >= 0 if strict else below > 0):
        return False
    return None
