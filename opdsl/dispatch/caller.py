"""The functions that users call: generated source with real parameters, whose common path is one look-up and one call.

A caller looks a **plan** up by the current state, the geometries of the tensors, the types of the Python numbers and
the values of everything else, and calls it with the tensors and numbers. What is not planned takes the slow road:
bind, dispatch, run, and ask the kernel for a plan. ``facts/calls.md`` of the project's design measured this shape.
"""

from __future__ import annotations

import linecache
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from types import FunctionType

from opdsl.dispatch.arguments import MISSING, mixed_key, spread_key, value_key
from opdsl.dispatch.operator import Operator
from opdsl.dispatch.recording import recorded
from opdsl.dispatch.signature import Bound, Kind, Parameter, Signature, bind
from opdsl.dispatch.state import State, current
from opdsl.errors import ArgumentError, DTypeError, OpdslError
from opdsl.runtime import Tensor

PLAN_LIMIT = 4096  # plans of one caller; a stream of ever new shapes must not grow without bound

Plan = Callable[..., object]


class Slot:
    """One parameter of the generated function: the union of the overloads' parameters at its place.

    Its default is the overloads' own where all agree, otherwise ``MISSING``: an overload may then do without it.
    """

    __slots__ = ("default", "keyword_only", "kinds", "name", "numbers", "required")

    def __init__(self, parameters: Sequence[Parameter], *, everywhere: bool, keyword_only: bool) -> None:
        first = parameters[0]
        self.name = first.name
        self.keyword_only = keyword_only
        self.kinds = {each.kind for each in parameters}
        self.numbers = Kind.NUMBER in self.kinds or any(each.accepts_number for each in parameters)
        agreed = everywhere and all(each.default is first.default for each in parameters)
        self.default = first.default if agreed else MISSING
        self.required = everywhere and all(each.default is MISSING for each in parameters)

    @property
    def is_dynamic(self) -> bool:
        """Whether plans are handed its value, and do not know it beforehand."""
        return bool(self.kinds & {Kind.TENSOR, Kind.NUMBER, Kind.TENSORS})

    def key(self) -> str:
        """The expression of its part of a plan's key."""
        name = self.name
        if self.kinds == {Kind.NUMBER}:
            return f"§type({name})"
        if self.kinds <= {Kind.TENSOR, Kind.NUMBER}:
            # A number before the tensor is rare enough for the slow road.
            plain = self.required and (name == "self" or not self.numbers)
            return f"{name}.geometry" if plain else f"({name}.geometry if §type({name}) is §Tensor else §type({name}))"
        if self.kinds == {Kind.TENSORS}:
            return f"§tuple([§each.geometry for §each in {name}])"
        if self.kinds == {Kind.VALUE}:
            # An int is its own key: no other key is an int, so nothing that equals it is taken for it.
            return f"({name} if §type({name}) is §int else §value_key({name}))"
        return f"§mixed_key({name})"


def _slots(signatures: Sequence[Signature]) -> list[Slot]:
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


class Caller:
    """A function over the signatures of a packet (or of one operator), with its plans.

    Args:
        name: the function's name, as error messages and tracebacks show it.
        signatures: in the order in which they are tried.
        namespace: the globals of the generated function.
        out: whether ``out`` is a parameter: ``None`` for no, the caller of the ``out=`` forms otherwise.
        required_out: whether this is the caller of the ``out=`` forms itself.
        returns_not_implemented: whether a call that fits no overload returns ``NotImplemented``, as the special
            methods of Python's operators must.
        parameters_of: the signatures whose parameters the function has, if these are not all; the caller of the
            ``out=`` forms has those of the caller that hands calls on to it, which so mean the same in both.
    """

    def __init__(
        self,
        name: str,
        signatures: Sequence[Signature],
        namespace: dict[str, object],
        *,
        out: Caller | None = None,
        required_out: bool = False,
        returns_not_implemented: bool = False,
        parameters_of: Sequence[Signature] | None = None,
    ) -> None:
        self.name = name
        self.signatures = tuple(signatures)
        self.out = out
        self.required_out = required_out
        self.returns_not_implemented = returns_not_implemented
        union = self.signatures if parameters_of is None else parameters_of
        self.slots = _slots(union)
        spread = {each.spread for each in union if each.spread is not None}
        self.spread = spread.pop() if len(spread) == 1 else None
        self.plans: dict[State, dict[object, object]] = {}
        self.stored = 0
        self.generation = 0
        self.lock = threading.Lock()
        self.source = _write(self)
        self.namespace = namespace
        self.function = _compile(self)
        self._path: Callable[..., tuple[object, ...]] = namespace.pop("path")  # type: ignore[assignment]

    def forget(self) -> None:
        """Drop all plans; the ones being made now are not stored any more."""
        with self.lock:
            self.generation += 1
            self.plans.clear()
            self.stored = 0
        if self.out is not None:
            self.out.forget()

    def slow(self, given: tuple[object, ...], named: dict[str, object], path: tuple[object, ...] | None) -> object:
        """The complete road: bind, dispatch, run, and keep a plan where the kernel makes one.

        Args:
            given: positional arguments, without those left at their default at the end.
            named: the other arguments that are not at their default.
            path: the keys under which a plan would be found, or None if they cannot be formed.
        """
        try:
            bound = bind(self.name, self.signatures, given, named)
        except ArgumentError:
            if self.returns_not_implemented:
                return NotImplemented
            raise
        state = current.get()
        generation = self.generation
        kernel = bound.operator.find(bound.arguments, state)
        try:
            result = (recorded(bound.operator, kernel) if state.recording else kernel)(*bound.arguments)
        except OpdslError as error:
            _name_operator(error, bound.operator.name)
            raise
        if bound.requires_grad:
            return _requiring_grad(result)
        if path is not None and state.plans and _is_hashable(path):
            self._keep(bound, kernel, (given, named), (state, *path), generation)
        return result

    def _keep(
        self,
        bound: Bound,
        kernel: Callable[..., object],
        call: tuple[tuple[object, ...], dict[str, object]],
        path: tuple[object, ...],
        generation: int,
    ) -> None:
        make = getattr(kernel, "plan", None)
        if make is None or not self._is_unchanged(bound, call, path):
            return
        plan = make(bound.arguments)
        if plan is None:
            return
        if path[0].recording:  # type: ignore[attr-defined]
            plan = recorded(bound.operator, plan)
        plan = self._adapt(bound.operator, plan, call[1])
        with self.lock:
            if generation != self.generation:
                return
            if self.stored >= PLAN_LIMIT:
                self.plans.clear()
                self.stored = 0
            node: dict[object, object] = self.plans.setdefault(path[0], {})  # type: ignore[arg-type]
            for key in path[1:-1]:
                node = node.setdefault(key, {})  # type: ignore[assignment]
            node[path[-1]] = plan
            self.stored += 1

    def _is_unchanged(
        self, bound: Bound, call: tuple[tuple[object, ...], dict[str, object]], path: tuple[object, ...]
    ) -> bool:
        """Whether a plan for these arguments holds for the same call again.

        It does not when an argument was converted on the way (a tensor taken for a number, a NumPy scalar), nor when
        the call changed the geometry of an argument (a resized ``out``).
        """
        given, named = call
        handed = {id(each) for each in (*given, *named.values())}
        for argument, value in zip(bound.operator.schema.arguments, bound.arguments, strict=True):
            text = str(argument.type)
            if text.startswith(("Tensor", "Scalar", "float")) and "[" not in text and value is not None:
                default = argument.default
                if id(value) not in handed and (default is None or default.value is not value):
                    return False
        return self.path(given, named) == path[1:]

    def path(self, given: tuple[object, ...], named: dict[str, object]) -> tuple[object, ...] | None:
        """The keys of a call, as the generated function forms them."""
        try:
            return self._path(*given, **named)
        except (AttributeError, TypeError):
            return None

    def _adapt(self, operator: Operator, plan: Plan, named: Collection[str]) -> Plan:
        """The plan with this caller's parameters: it is handed what is dynamic here, it takes what is dynamic there.

        Args:
            named: what the call gives by name, and not at the parameter's place.
        """
        handed = [slot.name for place, slot in enumerate(self.slots) if slot.is_dynamic and place != self.spread]
        signature = next(each for each in self.signatures if operator in (each.operator, each.out))
        places = dict(zip((each.name for each in signature.parameters[: signature.maximum]), self.slots, strict=False))
        names = [places[each].name if each in places and each not in named else each for each in operator.dynamic_names]
        # What is left out is the overload's own default, where the union of the overloads has none.
        open_slots = {slot.name for slot in self.slots if slot.default is MISSING and not slot.required}
        defaults = {
            name: next(each.default for each in signature.parameters if each.name == parameter)
            for name, parameter in zip(names, operator.dynamic_names, strict=True)
            if name in open_slots
        }
        if self.required_out:
            handed.append("out")
            names[-1] = "out"
        return plan if names == handed and not defaults else _adapter(handed, names, defaults, plan)


def _requiring_grad(made: object) -> object:
    """A new tensor as a leaf that autograd follows.

    Raises:
        DTypeError: integers and bools have no gradients.
    """
    if isinstance(made, Tensor):
        if not (made.dtype.is_floating_point or made.dtype.is_complex):
            raise DTypeError(
                f"Only Tensors of floating point and complex dtype can require gradients (got {made.dtype}). "
                "Give another dtype=, or leave requires_grad= away."
            )
        made.geometry = made.geometry.replace(requires_grad=True)
    return made


def _name_operator(error: OpdslError, name: str) -> None:
    """Put the operator's name in front of a message that does not begin with one; of nested calls the innermost."""
    text = str(error)
    if "::" not in text.partition(" ")[0]:
        error.args = (f"{name}: {text}", *error.args[1:])


def _is_hashable(path: tuple[object, ...]) -> bool:
    """Whether a path can be kept: a list among spread arguments cannot."""
    try:
        hash(path)
    except TypeError:
        return False
    return True


def _adapter(handed: Sequence[str], wanted: Sequence[str], defaults: dict[str, object], plan: Plan) -> Plan:
    """A function that takes the handed names and calls the plan with the wanted ones, or their defaults."""
    names: dict[str, object] = {"plan": plan, "missing": MISSING}
    names.update({f"default_{name}": value for name, value in defaults.items()})
    passed = [f"§default_{name} if {name} is §missing else {name}" if name in defaults else name for name in wanted]
    namespace = {_free_name(name, handed): value for name, value in names.items()}
    text = f"def adapted({', '.join(handed)}):\n    return §plan({', '.join(passed)})\n"
    exec(_with_free_names(text, handed), namespace)
    adapted = namespace["adapted"]
    assert callable(adapted)
    return adapted


# ------------------------------------------------------------------------------------------------- writing the source


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
        parts.append(slot.name if slot.required else f"{slot.name}=§default_{slot.name}")
    if caller.required_out:
        parts += ["out"] if after_star else ["*", "out"]
    elif caller.out is not None:
        parts += ["out=None"] if after_star else ["*", "out=None"]
    if spread is not None:
        parts.append("**§named")
    return ", ".join(parts)


def _keys(caller: Caller, *, with_options: bool) -> list[str]:
    """The expressions of the nested keys: one level for each required argument, the options within the last one."""
    spread = caller.spread
    levels: list[str] = []
    options: list[str] = []
    for place, slot in enumerate(caller.slots):
        if spread is not None and place == spread:
            levels.append("§spread")
        elif slot.required:
            levels.append(slot.key())
        else:
            options.append(slot.key())
    if caller.required_out:
        levels.append("out.geometry")
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


def _slow_call(caller: Caller) -> str:
    """The expression that hands everything given to the slow road."""
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
    return f"§slow({positional}, {{{', '.join(named)}}})"


def _write(caller: Caller) -> str:
    """The source of the function and of ``path``, which forms the same keys for the slow road."""
    parameters = _parameters(caller)
    options = [slot for place, slot in enumerate(caller.slots) if not slot.required and place != caller.spread]
    dynamic = [slot.name for place, slot in enumerate(caller.slots) if slot.is_dynamic and place != caller.spread]
    passed = ", ".join(dynamic + (["out"] if caller.required_out else []))
    direct = "§plans[§state()]" + "".join(f"[{key}]" for key in _keys(caller, with_options=False))
    full = "§plans[§state()]" + "".join(f"[{key}]" for key in _keys(caller, with_options=True))
    at_default = " and ".join(f"{slot.name} is §default_{slot.name}" for slot in options)
    slow = _slow_call(caller)
    lines = [f"def {caller.name}({parameters}):"]
    if caller.out is not None:
        arguments = [slot.name for slot in caller.slots if not slot.keyword_only]
        if caller.spread is not None:
            arguments[caller.spread] = "*" + arguments[caller.spread]
        arguments += [f"{slot.name}={slot.name}" for slot in caller.slots if slot.keyword_only]
        more = ["**§named"] if caller.spread is not None else []
        lines += [
            "    if out is not None:",
            f"        return §call_out({', '.join([*arguments, 'out=out', *more])})",
        ]
    if caller.spread is not None:
        lines += ["    if §named:", f"        return {slow}"]
    lines += [*_spread(caller), "    try:"]
    if options:
        lines += [
            f"        if {at_default}:",
            f"            §plan = {direct}",
            "        else:",
            f"            §plan = {full}",
        ]
    else:
        lines.append(f"        §plan = {direct}")
    # The slow road lies outside the handler, so that its errors do not show a KeyError as their context.
    lines += [
        "    except (§KeyError, §AttributeError, §TypeError):",
        "        pass",
        "    else:",
        f"        return §plan({passed})",
        f"    return {slow}",
    ]
    tuple_of = [", ".join(_keys(caller, with_options=each)) for each in (False, True)]
    lines += ["", "", f"def path({parameters}):", *_spread(caller)]
    if options:
        lines += [f"    if {at_default}:", f"        return ({tuple_of[0]},)"]
    lines.append(f"    return ({tuple_of[1]},)")
    return _with_free_names("\n".join(lines) + "\n", {slot.name for slot in caller.slots})


def _free_name(name: str, taken: Collection[str]) -> str:
    """A name of ours, made longer until no parameter has it."""
    while name in taken:
        name += "_"
    return name


def _with_free_names(source: str, taken: Collection[str]) -> str:
    """The source with our own names, which are marked in it, made different from those of the parameters."""
    plain, *marked = source.split("§")
    parts = [plain]
    for part in marked:
        length = next((place for place, each in enumerate(part) if not (each.isalnum() or each == "_")), len(part))
        parts += [_free_name(part[:length], taken), part[length:]]
    return "".join(parts)


def _compile(caller: Caller) -> FunctionType:
    """Run the generated source in a namespace of its own, known to ``linecache`` so that tracebacks show it."""
    names: dict[str, object] = {
        "plans": caller.plans,
        "state": current.get,
        "Tensor": Tensor,
        "value_key": value_key,
        "mixed_key": mixed_key,
        "spread_key": spread_key,
        "slow": _slow_road(caller),
        "call_out": None if caller.out is None else caller.out.function,
        **{each.__name__: each for each in (type, tuple, int, KeyError, AttributeError, TypeError)},
        **{f"default_{slot.name}": slot.default for slot in caller.slots},
    }
    taken = {slot.name for slot in caller.slots}
    namespace = caller.namespace
    namespace.update({_free_name(name, taken): value for name, value in names.items()})
    filename = f"<opdsl caller {caller.name} {id(caller):x}>"
    exec(compile(caller.source, filename, "exec"), namespace)
    linecache.cache[filename] = (len(caller.source), None, caller.source.splitlines(keepends=True), filename)
    function = namespace[caller.name]
    assert isinstance(function, FunctionType)
    return function


def _slow_road(caller: Caller) -> Callable[[tuple[object, ...], dict[str, object]], object]:
    """The slow road of a caller: takes away what was left at its default, then binds and dispatches."""
    places = [slot for slot in caller.slots if not slot.keyword_only]
    # What only some overloads take by position is handed on by name, which all of them take.
    by_name = {each.name for one in caller.signatures for each in one.parameters if each.keyword_only}
    defaults = {slot.name: slot.default for slot in caller.slots if not slot.required}

    def slow(given: tuple[object, ...], named: dict[str, object]) -> object:
        positional: list[object] = []
        rest: dict[str, object] = {}
        pairs: Iterable[tuple[Slot, object]] = zip(places, given, strict=False)
        if caller.spread is not None:
            positional = list(given)
            pairs = ()
        for slot, value in pairs:
            if slot.name in defaults and value is defaults[slot.name]:
                continue
            if len(positional) == places.index(slot) and slot.name not in by_name:
                positional.append(value)
            else:
                rest[slot.name] = value
        rest |= {name: value for name, value in named.items() if name not in defaults or value is not defaults[name]}
        arguments = tuple(positional)
        return caller.slow(arguments, rest, caller.path(arguments, rest))

    return slow


__all__ = ["Caller", "Plan", "Slot"]
