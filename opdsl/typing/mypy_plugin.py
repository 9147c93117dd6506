"""Plugin for mypy that checks modules of declarations; ``plugins = opdsl.typing.mypy_plugin`` enables it.

Its features, one per module: ``Tensor[Alias("a", write=True)]`` is a Tensor in any annotation, and ``Ints[2]`` is an
int or a list of ints (``annotations``); a declaration whose body is ``...`` may have a return type, and accepts the
arguments that operators accept (``declarations``); errors in alias sets, types and defaults are reported
(``declared``); a packet also has the signatures of its overloads, and ``out=`` (``calls``); implementations, which
``implementations`` finds, get their types from their declaration (``resolution``), and mismatches are reported
(``faults``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from mypy.nodes import Context, MypyFile, TypeInfo
from mypy.plugin import AnalyzeTypeContext, AttributeContext, Plugin
from mypy.semanal import SemanticAnalyzer
from mypy.typeanal import TypeAnalyser
from mypy.types import AnyType, Type, TypeOfAny

from opdsl.typing.annotations import HOOKS as ANNOTATIONS
from opdsl.typing.annotations import TypeHook
from opdsl.typing.calls import HOOKS as SIGNATURES
from opdsl.typing.calls import SignatureHook, calls_in
from opdsl.typing.declarations import ATTRIBUTES, mark_declarations
from opdsl.typing.declarations import HOOKS as DECLARATIONS
from opdsl.typing.declared import faults_in
from opdsl.typing.implementations import mark_implementations
from opdsl.typing.precomputed import symbols_in
from opdsl.typing.resolution import HOOKS as IMPLEMENTATIONS
from opdsl.typing.syntax import RECEIVED, blocks, declares, import_received, imports_opdsl

# mypy invalidates its cache when a plugin changes, but compares only this module and its version: the version is a
# digest of all modules of the plugin.
_TEXTS = sorted(Path(__file__).parents[1].glob("typing/*.py")) + sorted(Path(__file__).parents[1].glob("schema/*.py"))
__version__ = hashlib.sha256(b"".join(path.read_bytes() for path in _TEXTS)).hexdigest()

# mypy's priority of ordinary imports, used to order the modules of an import cycle.
_MEDIUM = 10


def plugin(version: str) -> type[Plugin]:
    """Return the plugin class; mypy calls this function when it loads the module."""
    return OpdslPlugin


class OpdslPlugin(Plugin):
    """Plugin class whose hooks delegate to the functions of other modules."""

    def get_type_analyze_hook(self, fullname: str) -> TypeHook | None:
        """Return the hook that analyzes a name in an annotation."""
        return HOOKS.get(fullname)

    def get_method_signature_hook(self, fullname: str) -> SignatureHook | None:
        """Return the hook that computes the signature of a method of opdsl."""
        return SIGNATURES.get(fullname)

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Return the hook that computes the type of an attribute of opdsl."""
        return ATTRIBUTES.get(fullname)

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Return further modules that a file depends on."""
        return [(_MEDIUM, RECEIVED, 1)] if imports_opdsl(file) else []


def text(context: AnalyzeTypeContext) -> Type:
    """Return the type ``str``. Where it is the type of a module's ``__name__``, the module is prepared first.

    That attribute is the first thing that mypy analyzes in a module, before anything is resolved. No earlier hook is
    called in all cases: ``get_additional_deps`` is not called for an unchanged file that has to be analyzed again
    because of its imports.
    """
    analyser = context.api
    if not isinstance(analyser, TypeAnalyser):
        return context.api.named_type("builtins.str", [])
    written = context.type
    if written.name == "__builtins__.str" and isinstance(analyser.api, SemanticAnalyzer):
        prepare(analyser.api.cur_mod_node)
        report(analyser.api)
    symbol = analyser.lookup_qualified(written.name, written)
    if symbol is None or not isinstance(symbol.node, TypeInfo):
        return AnyType(TypeOfAny.from_error)
    return analyser.analyze_type_with_type_info(symbol.node, written.args, written, written.empty_tuple_index)


def prepare(file: MypyFile) -> None:
    """Change the declarations and implementations of a file as described in ``declarations`` and
    ``implementations``.
    """
    if imports_opdsl(file):
        marked = [mark_declarations(block) | mark_implementations(block) for block in blocks(file.defs)]
        outside = list(blocks(file.defs, in_functions=False))
        symbols = [call.symbol for block in outside for call in calls_in(block)]
        symbols += [symbol for block in outside for symbol in symbols_in(block)]
        if any(marked) or symbols:
            import_received(file, symbols)


def report(analyzer: SemanticAnalyzer) -> None:
    """Report the errors in the declarations of the module that is being analyzed."""
    file = analyzer.cur_mod_node
    path = Path(file.path)
    if imports_opdsl(file) and declares(file) and path.is_file():
        for line, message in faults_in(path.read_text(encoding="utf-8", errors="replace")):
            analyzer.fail(message, Context(line, 0))


HOOKS: dict[str, TypeHook] = {"builtins.str": text, **ANNOTATIONS, **DECLARATIONS, **IMPLEMENTATIONS}
"""Hooks that analyze names in annotations, by full name."""
