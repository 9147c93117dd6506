"""Stubs of a library: its packets, the modules that declare them, and the stubs of these modules."""

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
from opdsl.typing.stubs.packets import Results, library_class_name
from opdsl.typing.stubs.sources import Source, file_of


@attrs.frozen
class Module:
    """Module that declares operators.

    name: its full name.
    file: the path of its source.
    source: its parsed source.
    """

    name: str
    file: Path
    source: Source


class Library:
    """Operators of a registry, by the modules that declare them.

    Args:
        registry: the library's own.
        results: the classes of named results, to which its operators may add.

    modules: by name.
    packets: in the order of their declarations.
    """

    def __init__(self, registry: Registry, results: Results) -> None:
        for namespace in {name.partition("::")[0] for name in registry.packets}:
            declare_generated(registry, namespace)
        self.packets = list(registry.packets.values())
        self.modules: dict[str, Module] = {}
        self._results = results
        self._homes: dict[Operator, str] = {}
        for packet in self.packets:
            module = self._module(declared(next(iter(packet.overloads.values()))))
            self._homes.update(dict.fromkeys(packet.overloads.values(), module.name))

    def _module(self, function: FunctionType) -> Module:
        module_name = function.__module__
        if module_name not in self.modules:
            file = Path(function.__code__.co_filename)
            self.modules[module_name] = Module(module_name, file, read(file, function.__globals__))
        return self.modules[module_name]

    def __contains__(self, operator: Operator) -> bool:
        return operator in self._homes

    def result(self, operator: Operator, *, is_elsewhere: bool = False) -> str:
        """Return the annotation of an operator's return value, as written in its own module or in another one."""
        home = self._homes[operator]
        function = declared(operator)
        annotation = function.__annotations__.get("return")
        name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        if operator.result_type is not None and name in self.modules[home].source.names():
            return f"{home}.{name}" if is_elsewhere else str(name)
        return self._results.of(operator)

    def files(self) -> Iterator[tuple[PurePosixPath, str]]:
        """Yield the stubs of the modules, and of the packages that contain them."""
        for module in self.modules.values():
            yield path_of(module.name, module.source), self._written(module)
        for name, file in self._packages().items():
            source = read(file, vars(sys.modules[name]) if name in sys.modules else {})
            yield path_of(name, source), file_of(source.doc, *source.statements())

    def _packages(self) -> dict[str, Path]:
        packages: dict[str, Path] = {}
        for module in self.modules.values():
            folder, module_name = module.file.parent, module.name
            if module.source.is_package:
                folder = folder.parent
            while "." in module_name:
                module_name = module_name.rpartition(".")[0]
                file = folder / "__init__.py"
                if module_name not in self.modules and file.is_file():
                    packages[module_name] = file
                folder = folder.parent
        return packages

    def _written(self, module: Module) -> str:
        source = module.source
        names = Names(source.names(), module.name)
        functions = self._functions(module)
        body: list[Statement] = []
        for name, node in source.by_name():
            function = functions.get(name)
            body += source.statement(node) if function is None else [_declaration(name, function, names, self.result)]
        return file_of(source.doc, [*source.imports(), *names.imports()], [*body, *source.given()])

    def _functions(self, module: Module) -> dict[str, FunctionType]:
        """Return the operators that are functions of a module, by their names there."""
        values = {name: value for name, value in module.source.values.items() if isinstance(value, FunctionType)}
        return {name: value for name, value in values.items() if getattr(value, "operator", None) in self._homes}


def _declaration(name: str, written: FunctionType, names: Names, result_of: ResultOf) -> Statement:
    """Return the stub of a declaration: the packet for the packet's first declaration, otherwise one overload."""
    operator: Operator = written.__dict__["operator"]
    packet = operator.packet
    assert isinstance(packet, Packet), "it has been defined"
    if written is packet.function:
        return variable(name, names.use(library_class_name(packet)), declared(operator).__doc__)
    form = schema_form(operator, result_of)
    parameters = [names.use_parameter(text) for text in form.written()]
    return function(name, parameters, names.use(form.result), form.doc, decorators=[names.use("_operator")])


def declared(operator: Operator) -> FunctionType:
    """Return the function of an operator's declaration."""
    function = getattr(operator.declaration, "function", None)
    assert isinstance(function, FunctionType), "what a library declares has a function"
    return function


def read(file: Path, values: Mapping[str, object]) -> Source:
    """Read and parse the source of a module."""
    return Source(file.read_text(encoding="utf-8"), values, is_package=file.name == "__init__.py")


def path_of(name: str, source: Source) -> PurePosixPath:
    """Return the path of a module's stub."""
    path = PurePosixPath(*name.split("."))
    return path / "__init__.pyi" if source.is_package else path.with_suffix(".pyi")
