"""Source code of the functions that users call. Names of our own are marked with ``§`` until they are made unique."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from opdsl.dispatch.binding.union_signature import UnionSignature
from opdsl.schema.model import python_name

_MARKED = re.compile(r"§(\w+)")


def _parameters(union: UnionSignature) -> str:
    """Return the parameter list of the generated function."""
    spread = union.spread
    parts: list[str] = []
    after_star = False
    for index, parameter in enumerate(union.parameters):
        if spread is not None and index == spread:
            parts.append(f"*{parameter.name}")
            after_star = True
            continue
        if parameter.keyword_only and not after_star:
            parts.append("*")
            after_star = True
        if not parameter.required:
            parts.append(f"{parameter.name}=§default_{parameter.name}")
        else:
            parts.append(f"{parameter.name}=§missing" if union.is_lenient else parameter.name)
    if union.required_out:
        names = dict.fromkeys((*union.out_names, "out"))
        named = [f"{name}=§missing" for name in names] if union.out_names else ["out"]
        parts += named if after_star else ["*", *named]
    elif union.has_out:
        parts += ["out=None"] if after_star else ["*", "out=None"]
    if spread is not None or union.renames:
        parts.append("**§named")
    return ", ".join(parts)


def _keys(union: UnionSignature, *, with_options: bool, as_tensor: bool = True, of_form: bool = False) -> list[str]:
    """Return the expressions of the nested plan keys: one per required argument; the last one contains the options."""
    spread = union.spread
    levels: list[str] = []
    options: list[str] = []
    for index, parameter in enumerate(union.parameters):
        if spread is not None and index == spread:
            is_read = of_form and parameter.integers_from is not None
            levels.append(f"§value_form({parameter.name}, {parameter.integers_from})" if is_read else "§spread")
        elif parameter.required:
            levels.append(parameter.key(as_tensor=as_tensor, of_form=of_form))
        else:
            options.append(parameter.key(of_form=of_form))
    if union.required_out:
        which = "form" if of_form else "key"
        levels.append(f"§out_{which}(out)" if union.has_several_outs else f"out.geometry{'.form' * of_form}")
    if not with_options or not options:
        return levels or ["None"]
    return [*levels[:-1], f"({', '.join([*levels[-1:], *options])},)"]


def _spread(union: UnionSignature) -> list[str]:
    """Return the lines that compute the key of spread arguments (``x.view(2, 3)``): the arguments if all are ints."""
    if union.spread is None:
        return []
    name = union.parameters[union.spread].name
    return [
        f"    for §number in {name}:",
        "        if §type(§number) is not §int:",
        f"            §spread = §spread_key({name})",
        "            break",
        "    else:",
        f"        §spread = {name}",
    ]


def _outputs(names: Sequence[str]) -> list[str]:
    """Return the lines that compute ``out`` from outputs that are given by their own names."""
    text = " or ".join(f"{name} is not §missing" for name in names if name != "out")
    together = names[0] if len(names) == 1 else f"({', '.join(names)})"
    # Outputs that are given both by name and as `out` count as missing, so that binding raises an error.
    both = "" if "out" in names else " if out is §missing else §missing"
    return [f"    if {text}:", f"        out = {together}{both}"]


def _arguments(union: UnionSignature) -> str:
    """Return the expression of all given arguments as the slow path takes them: a tuple and a dict."""
    if union.spread is not None:
        before = [parameter.name for parameter in union.parameters[: union.spread]]
        spread_name = union.parameters[union.spread].name
        positional = f"({', '.join([*before, '*' + spread_name])},)"
        rest = [parameter for parameter in union.parameters if parameter.keyword_only]
    else:
        names = [parameter.name for parameter in union.parameters if not parameter.keyword_only]
        positional = f"({', '.join(names)}{',' * (len(names) == 1)})"
        rest = [parameter for parameter in union.parameters if parameter.keyword_only]
    named = [f"{parameter.name!r}: {parameter.name}" for parameter in rest]
    if union.required_out:
        named.append("'out': out")
    if union.spread is not None:
        named.append("**§named")
    return f"{positional}, {{{', '.join(named)}}}"


def _short_of_frames(call: str) -> list[str]:
    """Return the lines that return a call's value, and remove opdsl's frames from the traceback of an error."""
    handler = ["    except §Exception as §error:", "        §shorten(§error)", "        raise"]
    return ["    try:", f"        return {call}", *handler]


def write(union: UnionSignature, taken: Collection[str]) -> str:
    """Return the source of the function that users call, and of the two functions that compute its plan keys.

    Args:
        union: the parameters of the function.
        taken: names that only the function's parameters may use.
    """
    parameters = _parameters(union)
    slow = _short_of_frames(f"§slow({_arguments(union)})")
    lines = [f"def {python_name(union.name)}({parameters}):"]
    if union.renames:
        values = ", ".join(f"{parameter.name!r}: {parameter.name}" for parameter in union.parameters)
        out = ", 'out': out" if union.has_out else ""
        renamed = _short_of_frames(f"§by_other_names({{{values}{out}}}, §named)")
        lines += ["    if §named:", *(f"    {line}" for line in renamed)]
    if union.has_out:
        lines += ["    if out is not None:", f"        return §call_out({_passed_on(union)})"]
    if union.out_names:
        lines += _outputs(union.out_names)
    if union.spread is not None:
        lines += ["    if §named:", *(f"    {line}" for line in slow)]
    lines += _look_up(union)
    if union.number_first is not None:
        lines.append(f"    if §type({union.number_first}) is not §Tensor:")
        lines += [f"    {line}" for line in _look_up(union, as_tensor=False)]
    lines += [*_look_form_up(union), *slow]
    lines += _path(union, "§path", parameters, of_form=False) + _path(union, "§form_path", parameters, of_form=True)
    return with_free_names("\n".join(lines) + "\n", taken)


def _path(union: UnionSignature, name: str, parameters: str, *, of_form: bool) -> list[str]:
    """Return the lines of a function that computes the plan keys of a call for the slow path."""
    lines = ["", "", f"def {name}({parameters}):", *_spread(union)]
    tuple_of = [
        ", ".join(_keys(union, with_options=number, as_tensor=of_form, of_form=of_form)) for number in (False, True)
    ]
    at_default = _at_default(union)
    if at_default:
        lines += [f"    if {at_default}:", f"        return ({tuple_of[0]},)"]
    return [*lines, f"    return ({tuple_of[1]},)"]


def _look_form_up(union: UnionSignature) -> list[str]:
    """Return the lines that call the plan of a call's form, for geometries without a plan."""
    short, full = (", ".join(_keys(union, with_options=number, of_form=True)) for number in (False, True))
    at_default = _at_default(union)
    key = f"({short},) if {at_default} else ({full},)" if at_default else f"({full},)"
    passed = ", ".join([parameter.name for parameter in union.parameters] + (["out"] if union.required_out else []))
    return [
        "    try:",
        *(f"    {line}" for line in _spread(union) if "§spread)" in key or "§spread," in key),
        f"        §form = §forms[§state()][{key}]",
        "    except (§KeyError, §AttributeError, §TypeError):",
        "        pass",
        "    else:",
        "        try:",
        f"            §result = §form({passed})",
        "        except §OverflowError:",
        "            §result = §guard_failed  # sizes that no 64 bits hold",
        "        except §Exception as §error:",
        f"            §explain(§error, {_arguments(union)})",
        "            raise",
        "        if §result is not §guard_failed:",
        "            return §result",
    ]


def _passed_on(union: UnionSignature) -> str:
    """Return the arguments with which the function calls the call cache of the ``out=`` forms."""
    arguments = [parameter.name for parameter in union.parameters if not parameter.keyword_only]
    if union.spread is not None:
        arguments[union.spread] = "*" + arguments[union.spread]
    arguments += [f"{parameter.name}={parameter.name}" for parameter in union.parameters if parameter.keyword_only]
    return ", ".join([*arguments, "out=out", *(["**§named"] if union.spread is not None else [])])


def _at_default(union: UnionSignature) -> str:
    """Return the condition that all options are at their defaults; empty if there are no options."""
    options = [
        parameter
        for index, parameter in enumerate(union.parameters)
        if not parameter.required and index != union.spread
    ]
    return " and ".join(f"{parameter.name} is §default_{parameter.name}" for parameter in options)


def _look_up(union: UnionSignature, *, as_tensor: bool = True) -> list[str]:
    """Return the lines that look a plan up by its key and return its result.

    The slow path is outside the handler, so that its errors do not show a KeyError as their context.
    """
    dynamic = [
        parameter.name
        for index, parameter in enumerate(union.parameters)
        if parameter.is_dynamic and index != union.spread
    ]
    passed = ", ".join(dynamic + (["out"] if union.required_out else []))
    direct, full = (
        "§plans[§state()]" + "".join(f"[{key}]" for key in _keys(union, with_options=number, as_tensor=as_tensor))
        for number in (False, True)
    )
    at_default = _at_default(union)
    lines = [f"        §plan = {direct}"]
    if at_default:
        lines = [
            f"        if {at_default}:",
            f"            §plan = {direct}",
            "        else:",
            f"            §plan = {full}",
        ]
    handler = ["    except (§KeyError, §AttributeError, §TypeError):", "        pass"]
    spread = [f"    {line}" for line in _spread(union)]
    return [
        *("    try:", *spread, *lines, *handler),
        *("    else:", "        try:", f"            return §plan({passed})"),
        *(
            "        except §Exception as §error:",
            f"            §explain(§error, {_arguments(union)})",
            "            raise",
        ),
    ]


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the given one, or the given one with a number appended."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def with_free_names(source: str, taken: Collection[str]) -> str:
    """Replace the ``§``-marked names in generated source by names that differ from those of the parameters."""
    parts = _MARKED.split(source)
    free = {name: free_name(name, taken) for name in dict.fromkeys(parts[1::2])}
    parts[1::2] = map(free.__getitem__, parts[1::2])
    return "".join(parts)


__all__ = ["free_name", "with_free_names", "write"]
