"""Generator of a page for each operator: declaration, derived parts, accepted dtypes, an example with its output."""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from markdown import definition_of, documented, fenced, folded, table

import opdsl
from opdsl import Tensor, registry
from opdsl.errors import OpdslError
from opdsl.testing import Sample, samples_of
from opdsl.typing.stubs import annotations

_KINDS = ("bool", "uint", "int", "float", "bfloat", "complex")
DTYPES = [
    dtype.name
    for dtype in sorted(
        {var for var in vars(opdsl).values() if isinstance(var, opdsl.DType) and not var.is_stored_only},
        key=lambda dtype: (_KINDS.index(dtype.name.rstrip("0123456789")), dtype.itemsize),
    )
]
_MODULES = ("nn", "linalg", "fft", "special")
_SHOWN_KEYS = {"key", "CPU", "CUDA", "Meta", "AutogradCPU", "AutogradCUDA"}
_LARGEST_EXAMPLE = 40


def write(folder: Path, only: tuple[str, ...] = ()) -> list[str]:
    """Write the pages of all operators, and the page that lists them.

    Args:
        folder: where they are written.
        only: names of packets, for a part of them.

    Returns:
        The names of the packets that have a page.
    """
    dir(opdsl.ops.aten)  # loads all of its operators
    folder.mkdir(parents=True, exist_ok=True)
    topics: dict[str, list[str]] = defaultdict(list)
    for base, overloads in sorted(packets().items()):
        if only and base not in only:
            continue
        _write(folder / f"{base}.md", page(base, overloads))
        topics[module_of(overloads[0])].append(base)
    _write(folder / "index.md", index(topics))
    return [name for names in topics.values() for name in names]


def _write(path: Path, text: str) -> None:
    """Write a file if its text changed, so that Sphinx reads only changed pages again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def packets() -> dict[str, list[Any]]:
    """Return the overloads of each aten packet that has a page; ``add_`` shares the page of ``add``."""
    values = {
        name.removeprefix("aten::"): list(packet.overloads.values())
        for name, packet in tuple(registry.packets.items())
        if name.startswith("aten::")
    }
    return {base: value for base, value in values.items() if not base.endswith("_") or base[:-1] not in values}


def index(topics: dict[str, list[str]]) -> str:
    """Return the page that lists all operators by the module that declares them."""
    count = sum(map(len, topics.values()))
    parts = [f"# Operators\n\nThe {count} operators of the library, by the modules that declare them.\n"]
    for module in sorted(topics):
        doc = (sys.modules[module].__doc__ or "").partition("\n")[0]
        links = ", ".join(f"[`{topic}`]({topic}.md)" for topic in topics[module])
        parts.append(f"## {module.rpartition('.')[2].replace('_', ' ').capitalize()}\n\n{doc}\n\n{links}\n")
    return "\n".join(parts)


def module_of(operator: Any) -> str:
    """Return the module that declares an operator."""
    return str(operator.packet.module)


def function_of(operator: Any) -> Any:
    """Return the function that calls an overload, for example ``opdsl.ops.aten.add.Tensor``."""
    namespace, _, name = operator.name.partition("::")
    base, _, overload = name.partition(".")
    return getattr(getattr(getattr(opdsl.ops, namespace), base), overload or "default")


def page(base: str, overloads: list[Any]) -> str:
    """Return the Markdown page of a packet."""
    shown = [overload for overload in overloads if overload.schema.kind.name != "out"] or overloads
    parts = ["---\norphan: true\n---\n", f"# {base}\n", documented(function_of(shown[0]).__doc__)]
    places = list(_places(base))
    if places:
        parts.append(f"Called as {', '.join(f'`{place}`' for place in places)}.\n")
    for operator in shown:
        parts += _overload(operator, shown, places)
    return "\n".join(parts)


def _places(base: str) -> Iterator[str]:
    """Yield the Python names that reach a packet, for example ``opdsl.add`` and ``Tensor.add``."""
    homes: list[tuple[str, Any]] = [
        ("opdsl", opdsl),
        *((f"opdsl.{module}", getattr(opdsl, module)) for module in _MODULES),
    ]
    for name, home in homes:
        short = base.removeprefix(f"{name.removeprefix('opdsl.')}_")
        try:
            getattr(home, short)
        except AttributeError:
            continue
        yield f"{name}.{short}"
    if base in vars(Tensor) or callable(getattr(Tensor, base, None)):
        yield f"Tensor.{base}"


def _overload(operator: Any, shown: list[Any], places: list[str]) -> Iterator[str]:
    function = function_of(operator)
    name = operator.name.removeprefix("aten::")
    yield f"## {name if '.' in name or len(shown) == 1 else f'{name} (default)'}\n"
    yield fenced(str(function.schema), "text")
    yield _parameters(function.schema)
    declared = getattr(function, "variants", {})
    others = ((kind, f"`{value.schema}`") for kind, value in declared.items() if value.schema is not function.schema)
    yield table(("variant", "schema"), others)
    if function.tags:
        yield f"Tags: {', '.join(f'`{tag}`' for tag in function.tags)}.\n"
    samples = Samples(operator, function)
    yield f"Dtypes: {samples.dtypes()}.\n"
    yield _gradient(function)
    yield f"Sharding: {_sharding(function)}.\n"
    limits = list(_limits(operator, function))
    if limits:
        yield "Limits:\n\n" + "".join(f"- {limit}\n" for limit in limits)
    example = samples.example(places)
    if example:
        yield f"**Example**\n\n{fenced(example, 'pycon')}"
    source = definition_of(inspect.unwrap(function), operator.name)
    if source:
        yield folded("Definition", fenced(source))
    derivative = str(function.derivative_source)
    if not derivative.startswith("# "):
        yield folded("Gradient", fenced(derivative))
    yield folded("Dispatch table", fenced(_table(function), "text"))


def _parameters(schema: Any) -> str:
    """Return a table of the values that callers may pass, or nothing if all arguments are tensors without a default."""
    rows = []
    for argument in schema.arguments:
        kind = annotations.text(annotations.taken(argument.type))
        default = f"`{annotations.default(argument)}`" if argument.default else ""
        rows.append((f"`{argument.name}`", f"`{kind}`", default))
    is_obvious = all(row[1:] == ("`Tensor`", "") for row in rows)
    return table(("argument", "type", "default"), iter(() if is_obvious else rows))


def _gradient(function: Any) -> str:
    """Return a sentence that says how the gradient of an operator is computed."""
    text = str(function.derivative_source)
    if not text.startswith("# "):
        return "Gradient: a formula, below.\n"
    text = text.removeprefix(f"# {function.operator.name} ").strip()
    return f"Gradient: {text.partition(': ')[2] or text}\n"


def _sharding(function: Any) -> str:
    """Return the operator's sharding rule in words: along which dimensions calls may be split."""
    try:
        return str(function.sharding()).rstrip(".")
    except OpdslError:
        return "not known"


def _table(function: Any) -> str:
    """Return the rows of the dispatch table that matter most to a reader."""
    lines = str(function.dispatch_table()).splitlines()
    return "\n".join(line for line in lines if line.split()[0] in _SHOWN_KEYS or set(line) == {"-"})


def _limits(operator: Any, function: Any) -> Iterator[str]:
    """Yield limitations of an operator that its schema does not show, for example that it has no CUDA kernel."""
    table = str(function.dispatch_table())
    keys = {line.split()[0] for line in table.splitlines() if line.strip()}
    if "CUDA" not in keys:
        yield "There is no CUDA kernel."
    if "dynamic_output_shape" in function.tags:
        yield "The shape of its result depends on elements, so no shape function can tell it."
    if "data_dependent_output" in function.tags:
        yield "It reads elements to answer, so tensors on `meta` are refused."
    if "nondeterministic_seeded" in function.tags:
        yield "It draws random numbers: `opdsl.manual_seed` or a `generator` decides which."
    if not operator.is_bound:
        yield "Calls of the function or method reach other overloads; `opdsl.ops` reaches this one."


class Samples:
    """Valid calls of an operator, generated by `opdsl.testing`.

    Args:
        operator: an overload.
        function: the function that calls the overload.
    """

    def __init__(self, operator: Any, function: Callable[..., Any]) -> None:
        self.operator = operator
        self.function: Any = function

    def dtypes(self) -> str:
        """Return the dtypes that the operator accepts, in words."""
        taken = [dtype for dtype in DTYPES if self._is_taken(dtype)]
        if len(taken) == len(DTYPES):
            return "all"
        missing = [dtype for dtype in DTYPES if dtype not in taken]
        if not taken:
            return "its samples do not tell"
        return f"all but {', '.join(missing)}" if len(missing) <= 3 else ", ".join(taken)

    def _is_taken(self, dtype: str) -> bool:
        # Only compiling the scalar function shows whether complex numbers are supported, so call the operator itself.
        is_complex = dtype.startswith("complex")
        wanted = getattr(opdsl, "complex64" if is_complex else dtype)
        for sample in islice(samples_of(self.operator, wanted), 3):
            for call in (self.function,) if is_complex else (self.function.meta, self.function):
                try:
                    sample.copy().call(call)
                except (OpdslError, NotImplementedError, OverflowError):
                    if call is self.function or not self._needs_elements:
                        break
                else:
                    return True
        return False

    @property
    def _needs_elements(self) -> bool:
        return bool({"dynamic_output_shape", "data_dependent_output"} & set(self.function.tags))

    def example(self, places: list[str]) -> str:
        """Return a short call with its output as a Python session, or an empty string if no sample is small enough."""
        for dtype in ("float32", "int64", "bool"):
            for sample in islice(samples_of(self.operator, getattr(opdsl, dtype)), 6):
                sizes = [tensor.numel() for tensor in sample.tensors()]
                if sizes and not 0 < sum(sizes) <= _LARGEST_EXAMPLE:
                    continue
                text = self._session(rounded(sample), places)
                if text:
                    return text
        return ""

    def _session(self, sample: Sample, places: list[str]) -> str:
        name = self.operator.name.removeprefix("aten::")
        base, _, overload = name.partition(".")
        path = next((place for place in places if not place.startswith("Tensor.")), "")
        if not path or not self.operator.is_bound:
            path = f"opdsl.ops.aten.{base}.{overload or 'default'}"
        if set(self.function.tags) & {"nondeterministic_seeded"}:
            return ""
        arguments = [argument.name for argument in self.operator.schema.positional]
        lines: list[str] = []
        written = [_argument(value, name, lines) for name, value in zip(arguments, sample.positional, strict=False)]
        written += [f"{name}={_argument(value, name, lines)}" for name, value in sample.named.items()]
        call = f"{path}({', '.join(written)})"
        names: dict[str, Any] = {"opdsl": opdsl}
        try:
            for line in lines:
                exec(line, names)
            result = eval(call, names)
        except (OpdslError, NotImplementedError, SyntaxError, NameError, AttributeError, TypeError):
            return ""
        shown = repr(result)
        if result is None or " at 0x" in shown or "device='meta'" in shown or len(shown) > 2000 or _is_unset(name):
            return ""
        return "\n".join([*(f">>> {line.replace(chr(10), chr(10) + '... ')}" for line in lines), f">>> {call}", shown])


def _is_unset(name: str) -> bool:
    """Return whether an operator returns uninitialized memory, which no example can show."""
    return "empty" in name


def rounded(sample: Sample) -> Sample:
    """Return a sample with floats rounded to two digits after the point, which are easier to read."""

    def short(value: object) -> object:
        if isinstance(value, Tensor) and value.dtype.is_floating_point:
            return value.contiguous().mul(100).round().div(100)
        if isinstance(value, (list, tuple)):
            return type(value)(map(short, value))
        return value

    try:
        return Sample(*map(short, sample.positional), **{name: short(value) for name, value in sample.named.items()})
    except (OpdslError, TypeError):
        return sample


def _argument(value: object, name: str, lines: list[str]) -> str:
    """Return an argument as source code; a tensor becomes a variable whose assignment is added to ``lines``."""
    if isinstance(value, Tensor):
        variable = f"{name}_{len(lines)}" if any(line.startswith(f"{name} ") for line in lines) else name
        text = repr(value).replace("\n", "\n" + " " * len(f"{variable} = opdsl."))
        lines.append(f"{variable} = opdsl.{text}")
        return variable
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_argument(element, f"{name}{at}", lines) for at, element in enumerate(value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    return repr(value)
