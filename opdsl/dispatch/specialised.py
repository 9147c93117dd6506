"""Plans that know the Python numbers of a call: one for each combination of numbers, made when it is first met."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opdsl.dispatch.code import code_of

Plan = Callable[..., object]

# Numbers that never come again must not be planned without end.
LIMIT = 64


def by_numbers(
    parameters: Sequence[str], numbers: Mapping[str, object], first: Plan, make: Callable[..., Plan | None], slow: Plan
) -> Plan:
    """A plan that hands a call on to that of its numbers.

    Args:
        parameters: the names of what it is handed.
        numbers: those of them that are numbers, with their values in the call that has been made; other calls have
            numbers of the same types.
        first: the plan of these.
        make: takes the arguments of a call with other numbers, and gives the plan of these; None if there is none.
        slow: takes the calls that have no plan.
    """
    if not numbers:
        return first
    known: dict[tuple[object, ...], Plan] = {}

    def learn(key: tuple[object, ...], *given: object) -> object:
        result = slow(*given)
        if len(known) < LIMIT:
            known[key] = make(*given) or slow
        return result

    handed = ", ".join(parameters)
    key = "".join(f"{_key(name, value)}, " for name, value in numbers.items())
    lines = [
        f"def path({handed}):",
        f"    return ({key})",
        f"def plan({handed}):",
        f"    found = known.get(({key}))",
        f"    return learn(({key}), {handed}) if found is None else found({handed})",
    ]
    namespace: dict[str, object] = {"known": known, "learn": learn}
    exec(code_of("\n".join(lines) + "\n", "plan by numbers"), namespace)
    made, path = namespace["plan"], namespace["path"]
    assert callable(made) and callable(path)
    known[path(**{name: numbers.get(name) for name in parameters})] = first
    return made


def _key(name: str, value: object) -> str:
    """The expression that tells numbers of one type apart; the two zeros are two."""
    if isinstance(value, float):
        return f"{name} or repr({name})"
    return f"repr({name})" if isinstance(value, complex) else name


__all__ = ["LIMIT", "by_numbers"]
