"""Stub files of opdsl and of libraries: their text by path.

``opdsl/_operators.pyi``, which is not a module at run time, has all packets as classes, and ``opdsl.ops``;
``opdsl/__init__.pyi`` imports the functions from there; ``opdsl/runtime/tensor.pyi`` has Tensor with its methods;
``opdsl/nn/functional/__init__.pyi`` imports each function from its module. In the stubs of a library's modules, packets
replace declarations. They contain no new classes, since a type checker that gets the library's sources does not read
its stubs.
"""

from __future__ import annotations

import sys
from pathlib import PurePosixPath

from opdsl import nn
from opdsl.aten import load
from opdsl.aten.catalog import METHODS
from opdsl.declare.generated import declare_generated
from opdsl.dispatch import Operator, Packet, Registry, registry
from opdsl.dispatch.model.bindings import PYTHON_MODULES, module_of
from opdsl.errors import UnknownOperatorError
from opdsl.nn import functional
from opdsl.schema.model import python_name
from opdsl.typing.stubs.layout import Statement, class_of, function, import_from, variable
from opdsl.typing.stubs.libraries import Library
from opdsl.typing.stubs.names import OPERATORS, Names
from opdsl.typing.stubs.packets import Results, class_name, library_class_name, packet_class
from opdsl.typing.stubs.sources import Source, file_of, source_of
from opdsl.typing.stubs.tensor import TensorMethods

# ``opdsl.linalg`` and similar modules are objects; opdsl.nn is a package.
_OBJECTS = tuple(python_module for python_module in PYTHON_MODULES if python_module != "nn")
_OF_NN = (OPERATORS, "opdsl.nn.functional")


def stub_files(declared: Registry | None = None) -> dict[PurePosixPath, str]:
    """Return the stubs of opdsl; with a library, also its stubs, and its operators and methods in those of opdsl.

    Args:
        declared: the library's operators, in a separate registry.

    Returns:
        The text of each file, by its path in the folder of stubs.
    """
    results = Results()
    library = None if declared is None else Library(declared, results)
    modules = {} if library is None else dict(library.files())
    return {**Stubs(results, library).files(), **modules}


class Stubs:
    """Writer of the stubs of opdsl itself.

    Args:
        results: the classes of named results.
        library: whose operators are added to ``opdsl.ops`` and to the methods of Tensor.
    """

    def __init__(self, results: Results, library: Library | None = None) -> None:
        load()
        declare_generated(registry, "aten")
        self.library = library
        self.results = results
        prefix = "aten::"
        self.own = {
            name.removeprefix(prefix): packet for name, packet in registry.packets.items() if name.startswith(prefix)
        }
        # By namespace and name: aten operators of a library replace those of opdsl.
        self.classes = {("aten", name): class_name(value) for name, value in self.own.items()}
        self.packets = dict(self.own)
        if library is not None:
            self._take(library)
        self.functions = self._functions()

    def _take(self, library: Library) -> None:
        for packet in library.packets:
            namespace, _, base = packet.name.partition("::")
            self.classes[namespace, base] = library_class_name(packet)
            if namespace == "aten":
                self.packets[base] = packet

    def files(self) -> dict[PurePosixPath, str]:
        """Return the text of each file, by path."""
        root = PurePosixPath("opdsl")
        package, runtime = (source_of(sys.modules[name]) for name in ("opdsl", "opdsl.runtime"))
        return {
            root / "__init__.pyi": self._package(package),
            root / "_operators.pyi": self._operators(),
            root / "nn" / "__init__.pyi": self._networks(),
            root / "nn" / "functional" / "__init__.pyi": _functional(),
            root / "runtime" / "__init__.pyi": file_of(runtime.doc, *runtime.statements()),
            root / "runtime" / "tensor.pyi": self._tensor(source_of(sys.modules["opdsl.runtime.tensor"])),
        }

    def _functions(self) -> dict[str, dict[str, str]]:
        """Return the classes of the packets that are functions, by ``python_module``; ``""`` for opdsl itself."""
        functions: dict[str, dict[str, str]] = {python_module: {} for python_module in ("", *PYTHON_MODULES)}
        for name, packet in sorted(self.packets.items()):
            try:
                place = module_of(packet) or ""
            except UnknownOperatorError:
                continue
            reference = self.classes["aten", name]
            functions.setdefault(place, {})[name] = reference
            if place and name.startswith(f"{place}_"):
                functions[place][name.removeprefix(f"{place}_")] = reference
        return functions

    def _package(self, source: Source) -> str:
        present = source.names()
        taken = ["ops", *_OBJECTS]
        texts = [text for text in self.functions[""] if text not in present]
        imports, body = source.statements(without=[*taken, "__getattr__"])
        imports.append(import_from(OPERATORS, [f"{text} as {text}" for text in [*taken, *texts]]))
        # pyright searches for `from opdsl import native` next to the stub, where the modules may be missing.
        imports = [statement for statement in imports if not statement.lines[0].startswith("from opdsl import")]
        submodules = sorted(name for name, home in present.items() if home == "opdsl")
        imports += [Statement("import", (f"import opdsl.{submodule} as _{submodule}",)) for submodule in submodules]
        return file_of(
            source.doc,
            imports,
            [*(Statement("variable", (f"{submodule} = _{submodule}",)) for submodule in submodules), *body],
        )

    def _operators(self) -> str:
        names = Names(dict.fromkeys(self.own, ""), OPERATORS)
        packets = [packet_class(class_name(value), value, names, self._result) for _, value in sorted(self.own.items())]
        packets += [packet_class(library_class_name(packet), packet, names, self._result) for packet in self._others()]
        body = [_operator_decorator(names), *self.results.classes(names), *packets]
        body += [variable(name, reference) for name, reference in self.functions[""].items()]
        for index in _OBJECTS:
            members = [variable(name, reference, indent=1) for name, reference in sorted(self.functions[index].items())]
            body += [class_of(f"_module_{index}", [], members), variable(index, f"_module_{index}")]
        # Invalid Python names can be reached by getattr only.
        written = {key: text for key, text in self.classes.items() if all(python_name(text) == text for text in key)}
        namespaces = sorted({namespace for namespace, _ in written})
        for namespace in namespaces:
            chosen = sorted((name, text) for (space, name), text in written.items() if space == namespace)
            body.append(class_of(f"_namespace_{namespace}", [], [variable(*texts, indent=1) for texts in chosen]))
        spaces = [variable(namespace, f"_namespace_{namespace}") for namespace in namespaces]
        body += [class_of("_Operators", [names.use("Operators")], spaces), variable("ops", "_Operators")]
        doc = "Operators of aten, with packets as classes. This module does not exist at run time."
        return file_of(doc, [*self._library_imports(), *names.imports()], body)

    def _networks(self) -> str:
        """Return the stub of ``opdsl.nn``, with the functions of ``python_module: nn``."""
        imports = [Statement("import", (f"import {text} as _{text.rpartition('.')[2].strip('_')}",)) for text in _OF_NN]
        members = [variable(name, f"_operators.{value}") for name, value in sorted(self.functions["nn"].items())]
        return file_of(nn.__doc__, imports, [Statement("variable", ("functional = _functional",)), *members])

    def _tensor(self, source: Source) -> str:
        names = Names(source.names(), "opdsl.runtime.tensor")
        others = self._others()
        methods = TensorMethods(source, [*self.own.values(), *others], self._result, names)
        for name in METHODS:
            methods.add_installed(name)
        for packet in others:
            methods.add_packet(packet)
        imports, body = source.statements(without=["Tensor"])
        written = methods.written()
        return file_of(source.doc, [*imports, *self._library_imports(), *names.imports()], [written, *body])

    def _result(self, operator: Operator) -> str:
        if self.library is not None and operator in self.library:
            return self.library.result(operator, is_elsewhere=True)
        return self.results.of(operator)

    def _others(self) -> list[Packet]:
        """Return the library's packets."""
        return [] if self.library is None else self.library.packets

    def _library_imports(self) -> list[Statement]:
        modules = [] if self.library is None else sorted(self.library.modules)
        return [Statement("import", (f"import {module}",)) for module in modules]


def _functional() -> str:
    """Return the stub of ``opdsl.nn.functional``, which imports functions from modules by topic."""
    texts: dict[str, list[str]] = {}
    for name in functional.__all__:
        texts.setdefault(getattr(functional, name).__module__, []).append(f"{name} as {name}")
    imports = [import_from(*entry) for entry in texts.items()]
    return file_of(functional.__doc__, imports, [function("__getattr__", ["name: str"], "Any")])


def _operator_decorator(names: Names) -> Statement:
    """Return the decorator that converts the function of an overload to an Operator."""
    parameters = [f"function: {names.use('Callable')}[_P, _R]"]
    statement = function("_operator", parameters, f"{names.use('Operator')}[_P, _R]")
    variables = (f'_P = {names.use("ParamSpec")}("_P")', f'_R = {names.use("TypeVar")}("_R")', "")
    return Statement("function", (*variables, *statement.lines))


__all__ = ["Stubs", "stub_files"]
