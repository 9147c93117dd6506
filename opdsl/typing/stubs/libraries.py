"""What a library declares: its packets, the modules that they stand in, and those modules' stubs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import FunctionType

import attrs

from opdsl.declare.generated import declare_generated
from opdsl.dispatch import Operator, Packet, Registry
from opdsl.typing.stubs.forms import ResultOf, schema_form
from opdsl.typing.stubs.layout import Statement, function, variable
from opdsl.typing.stubs.names import Names
from opdsl.typing.stubs.packets import Results, class_name, packet_class
from opdsl.typing.stubs.sources import Source, file_of


@attrs.frozen
class Module:
    """A module that declares operators.

    name: its full name.
    file: where its source is.
    source: what stands in it.
    packets: those that begin in it.
    """

    name: str
    file: Path
    source: Source
    packets: list[Packet]


class Library:
    """The operators of a registry, by the modules that declare them.

    modules: by name.
    packets: in the order of their declarations.
    """

    def __init__(self, registry: Registry) -> None:
        for namespace in {name.partition("::")[0] for name in registry.packets}:
            declare_generated(registry, namespace)
        self.packets = list(registry.packets.values())
        self.modules: dict[str, Module] = {}
        self._results: dict[str, Results] = {}
        self._homes: dict[Operator, str] = {}
        for packet in self.packets:
            module = self._module(declared(next(iter(packet.overloads.values()))))
            module.packets.append(packet)
            self._homes.update(dict.fromkeys(packet.overloads.values(), module.name))

    def _module(self, function: FunctionType) -> Module:
        name = function.__module__
        if name not in self.modules:
            file = Path(function.__code__.co_filename)
            self.modules[name] = Module(name, file, read(file, function.__globals__), [])
            self._results[name] = Results()
        return self.modules[name]

    def __contains__(self, operator: Operator) -> bool:
        return operator in self._homes

    def reference(self, packet: Packet) -> str:
        """The class of a packet as other modules write it."""
        return f"{self._homes[next(iter(packet.overloads.values()))]}.{class_name(packet)}"

    def result(self, operator: Operator) -> str:
        """What an operator returns, as its module writes it."""
        home = self._homes[operator]
        function = declared(operator)
        annotation = function.__annotations__.get("return")
        name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        if operator.result_type is not None and name in self.modules[home].source.names():
            return str(name)
        return self._results[home].of(operator)

    def result_elsewhere(self, operator: Operator) -> str:
        """What an operator returns, as other modules write it."""
        written = self.result(operator)
        return written if operator.result_type is None else f"{self._homes[operator]}.{written}"

    def files(self) -> Iterator[tuple[PurePosixPath, str]]:
        """The stubs of the modules, and of the packages that they are in."""
        for module in self.modules.values():
            yield path_of(module.name, module.source), self._written(module)
        for name, file in self._packages().items():
            source = read(file, vars(sys.modules[name]) if name in sys.modules else {})
            yield path_of(name, source), file_of(source.doc, *source.statements())

    def _packages(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for module in self.modules.values():
            folder, name = module.file.parent, module.name
            if module.source.is_package:
                folder = folder.parent
            while "." in name:
                name = name.rpartition(".")[0]
                file = folder / "__init__.py"
                if name not in self.modules and file.is_file():
                    found[name] = file
                folder = folder.parent
        return found

    def _written(self, module: Module) -> str:
        source = module.source
        names = Names(source.names(), module.name)
        functions = self._functions(module)
        packets = [packet_class(each, names, self.result) for each in module.packets]
        body: list[Statement] = []
        for name, node in source.by_name():
            made = functions.get(name)
            body += source.statement(node) if made is None else [_declaration(name, made, names, self.result)]
        results = self._results[module.name].classes(names)
        imports = source.imports()
        return file_of(source.doc, [*imports, *names.imports()], [*results, *packets, *body, *source.given()])

    def _functions(self, module: Module) -> dict[str, FunctionType]:
        """The operators that are functions of a module, by their names there."""
        values = {name: each for name, each in module.source.values.items() if isinstance(each, FunctionType)}
        return {name: each for name, each in values.items() if getattr(each, "operator", None) in self._homes}


def _declaration(name: str, written: FunctionType, names: Names, result_of: ResultOf) -> Statement:
    """What a declaration is in its module: the packet where it is the packet's first, otherwise one overload."""
    operator: Operator = written.__dict__["operator"]
    packet = operator.packet
    if written is packet.function:
        return variable(name, class_name(packet), declared(operator).__doc__)
    form = schema_form(operator, result_of)
    parameters = [names.use_parameter(each) for each in form.written()]
    return function(name, parameters, names.use(form.result), form.doc, decorators=[names.use("_operator")])


def declared(operator: Operator) -> FunctionType:
    """The function of an operator's declaration."""
    found = getattr(operator.declaration, "function", None)
    assert isinstance(found, FunctionType), "what a library declares has a function"
    return found


def read(file: Path, values: Mapping[str, object]) -> Source:
    """The source of a module."""
    return Source(file.read_text(encoding="utf-8"), values, is_package=file.name == "__init__.py")


def path_of(name: str, source: Source) -> PurePosixPath:
    """Where the stub of a module lies."""
    path = PurePosixPath(*name.split("."))
    return path / "__init__.pyi" if source.is_package else path.with_suffix(".pyi")
