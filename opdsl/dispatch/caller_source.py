"""The source of the functions that users call. What it names of ours is marked with ``§`` until it is written out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from opdsl.schema.model import python_name

if TYPE_CHECKING:
    from opdsl.dispatch.caller import Caller


def _parameters(caller: Caller) -> str:
    """The parameter list of the generated function."""
    spread = caller.spread
    parts: list[str] = []
    after_star = False
    for place, slot in enumerate(caller.slots):
        if spread is not None and place == spread:
            parts.append(f"*{slot.name}")
            after_star = True
            continue
        if slot.keyword_only and not after_star:
            parts.append("*")
            after_star = True
        if not slot.required:
            parts.append(f"{slot.name}=§default_{slot.name}")
        else:
            parts.append(f"{slot.name}=§missing" if caller.is_lenient else slot.name)
    if caller.required_out:
        names = dict.fromkeys((*caller.out_names, "out"))
        named = [f"{name}=§missing" for name in names] if caller.out_names else ["out"]
        parts += named if after_star else ["*", *named]
    elif caller.out is not None:
        parts += ["out=None"] if after_star else ["*", "out=None"]
    if spread is not None or caller.renames:
        parts.append("**§named")
    return ", ".join(parts)


def _keys(caller: Caller, *, with_options: bool, as_tensor: bool = True, of_form: bool = False) -> list[str]:
    """The expressions of the nested keys: one level for each required argument, the options within the last one."""
    spread = caller.spread
    levels: list[str] = []
    options: list[str] = []
    for place, slot in enumerate(caller.slots):
        if spread is not None and place == spread:
            levels.append(f"§value_form({slot.name})" if of_form and slot.is_sized else "§spread")
        elif slot.required:
            levels.append(slot.key(as_tensor=as_tensor, of_form=of_form))
        else:
            options.append(slot.key(of_form=of_form))
    if caller.required_out:
        which = "form" if of_form else "key"
        levels.append(f"§out_{which}(out)" if caller.has_several_outs else f"out.geometry{'.form' * of_form}")
    if not with_options or not options:
        return levels or ["None"]
    return [*levels[:-1], f"({', '.join([*levels[-1:], *options])},)"]


def _spread(caller: Caller) -> list[str]:
    """The lines that make the key of arguments that are spread: themselves, where all of them are ints."""
    if caller.spread is None:
        return []
    name = caller.slots[caller.spread].name
    return [
        f"    for §each in {name}:",
        "        if §type(§each) is not §int:",
        f"            §spread = §spread_key({name})",
        "            break",
        "    else:",
        f"        §spread = {name}",
    ]


def _outputs(names: Sequence[str]) -> list[str]:
    """The lines that make ``out``, which may have been given for all, of outputs that are given by their names."""
    given = " or ".join(f"{name} is not §missing" for name in names if name != "out")
    together = names[0] if len(names) == 1 else f"({', '.join(names)})"
    # Outputs that are given in both ways are given in none.
    both = "" if "out" in names else " if out is §missing else §missing"
    return [f"    if {given}:", f"        out = {together}{both}"]


def _arguments(caller: Caller) -> str:
    """Everything that was given, as the slow path takes it: a tuple and a dict."""
    if caller.spread is not None:
        before = [slot.name for slot in caller.slots[: caller.spread]]
        spread_name = caller.slots[caller.spread].name
        positional = f"({', '.join([*before, '*' + spread_name])},)"
        rest = [slot for slot in caller.slots if slot.keyword_only]
    else:
        names = [slot.name for slot in caller.slots if not slot.keyword_only]
        positional = f"({', '.join(names)}{',' * (len(names) == 1)})"
        rest = [slot for slot in caller.slots if slot.keyword_only]
    named = [f"{slot.name!r}: {slot.name}" for slot in rest]
    if caller.required_out:
        named.append("'out': out")
    if caller.spread is not None:
        named.append("**§named")
    return f"{positional}, {{{', '.join(named)}}}"


def _short_of_frames(call: str) -> list[str]:
    """The lines that return what a call gives, and hide our frames where it raises."""
    handler = ["    except §Exception as §error:", "        §shorten(§error)", "        raise"]
    return ["    try:", f"        return {call}", *handler]


def write(caller: Caller) -> str:
    """The source of the function and of ``path``, which forms the same keys for the slow path."""
    parameters = _parameters(caller)
    slow = _short_of_frames(f"§slow({_arguments(caller)})")
    lines = [f"def {python_name(caller.name)}({parameters}):"]
    if caller.renames:
        values = ", ".join(f"{slot.name!r}: {slot.name}" for slot in caller.slots)
        out = ", 'out': out" if caller.out is not None else ""
        renamed = _short_of_frames(f"§by_other_names({{{values}{out}}}, §named)")
        lines += ["    if §named:", *(f"    {line}" for line in renamed)]
    if caller.out is not None:
        lines += ["    if out is not None:", f"        return §call_out({_passed_on(caller)})"]
    if caller.out_names:
        lines += _outputs(caller.out_names)
    if caller.spread is not None:
        lines += ["    if §named:", *(f"    {line}" for line in slow)]
    lines += _look_up(caller)
    if caller.number_first is not None:
        lines.append(f"    if §type({caller.number_first}) is not §Tensor:")
        lines += [f"    {line}" for line in _look_up(caller, as_tensor=False)]
    lines += [*_look_form_up(caller), *slow]
    lines += _path(caller, "path", parameters, of_form=False) + _path(caller, "form_path", parameters, of_form=True)
    return with_free_names("\n".join(lines) + "\n", caller.taken)


def _path(caller: Caller, name: str, parameters: str, *, of_form: bool) -> list[str]:
    """The function that forms the keys of a call for the slow path."""
    lines = ["", "", f"def {name}({parameters}):", *_spread(caller)]
    tuple_of = [
        ", ".join(_keys(caller, with_options=each, as_tensor=of_form, of_form=of_form)) for each in (False, True)
    ]
    at_default = _at_default(caller)
    if at_default:
        lines += [f"    if {at_default}:", f"        return ({tuple_of[0]},)"]
    return [*lines, f"    return ({tuple_of[1]},)"]


def _look_form_up(caller: Caller) -> list[str]:
    """The lines that call the plan of the form of a call whose geometries have none."""
    short, full = (", ".join(_keys(caller, with_options=each, of_form=True)) for each in (False, True))
    at_default = _at_default(caller)
    key = f"({short},) if {at_default} else ({full},)" if at_default else f"({full},)"
    passed = ", ".join([slot.name for slot in caller.slots] + (["out"] if caller.required_out else []))
    return [
        "    try:",
        *(f"    {line}" for line in _spread(caller) if "§spread)" in key or "§spread," in key),
        f"        §form = §forms[§state()][{key}]",
        "    except (§KeyError, §AttributeError, §TypeError):",
        "        pass",
        "    else:",
        "        try:",
        f"            §result = §form({passed})",
        "        except §OverflowError:",
        "            §result = §unserved  # sizes that no 64 bits hold",
        "        except §Exception as §error:",
        f"            §explain(§error, {_arguments(caller)})",
        "            raise",
        "        if §result is not §unserved:",
        "            return §result",
    ]


def _passed_on(caller: Caller) -> str:
    """The arguments with which the caller of the ``out=`` forms is called."""
    arguments = [slot.name for slot in caller.slots if not slot.keyword_only]
    if caller.spread is not None:
        arguments[caller.spread] = "*" + arguments[caller.spread]
    arguments += [f"{slot.name}={slot.name}" for slot in caller.slots if slot.keyword_only]
    return ", ".join([*arguments, "out=out", *(["**§named"] if caller.spread is not None else [])])


def _at_default(caller: Caller) -> str:
    """The expression that tells whether no option is given; empty where there are none."""
    options = [slot for place, slot in enumerate(caller.slots) if not slot.required and place != caller.spread]
    return " and ".join(f"{slot.name} is §default_{slot.name}" for slot in options)


def _look_up(caller: Caller, *, as_tensor: bool = True) -> list[str]:
    """The lines that look a plan up and return what it gives.

    The slow path lies outside the handler, so that its errors do not show a KeyError as their context.
    """
    dynamic = [slot.name for place, slot in enumerate(caller.slots) if slot.is_dynamic and place != caller.spread]
    passed = ", ".join(dynamic + (["out"] if caller.required_out else []))
    direct, full = (
        "§plans[§state()]" + "".join(f"[{key}]" for key in _keys(caller, with_options=each, as_tensor=as_tensor))
        for each in (False, True)
    )
    at_default = _at_default(caller)
    lines = [f"        §plan = {direct}"]
    if at_default:
        lines = [
            f"        if {at_default}:",
            f"            §plan = {direct}",
            "        else:",
            f"            §plan = {full}",
        ]
    handler = ["    except (§KeyError, §AttributeError, §TypeError):", "        pass"]
    spread = [f"    {line}" for line in _spread(caller)]
    return [
        *("    try:", *spread, *lines, *handler),
        *("    else:", "        try:", f"            return §plan({passed})"),
        *(
            "        except §Exception as §error:",
            f"            §explain(§error, {_arguments(caller)})",
            "            raise",
        ),
    ]


def free_name(name: str, taken: Collection[str]) -> str:
    """A name of ours; a number behind it makes it one that is not taken."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def with_free_names(source: str, taken: Collection[str]) -> str:
    """The source with our own names, which are marked in it, made different from those of the parameters."""
    plain, *marked = source.split("§")
    parts = [plain]
    for part in marked:
        length = next((place for place, each in enumerate(part) if not (each.isalnum() or each == "_")), len(part))
        parts += [free_name(part[:length], taken), part[length:]]
    return "".join(parts)


__all__ = ["free_name", "with_free_names", "write"]
