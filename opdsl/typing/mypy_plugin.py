"""A mypy plugin for modules of declarations; ``plugins = opdsl.typing.mypy_plugin`` turns it on.

What it adds, one feature a module: ``Tensor[Alias("a", write=True)]`` is a Tensor wherever an annotation may stand,
``Ints[2]`` and its kin are one element or a list of them (``annotations``); a declaration whose body is ``...`` may
promise a return, and takes what operators take (``declarations``); what its alias sets, types and defaults break is
reported (``declared``); a packet also takes what its overloads take, and ``out=`` (``calls``); implementations, which
``implementations`` finds, get their types from the declaration above them (``resolution``), and what does not fit it is
reported (``faults``).
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

# mypy drops what it has cached when the text of a plugin changes, and looks at this module and its version alone: this
# stands for all that the plugin consists of.
_TEXTS = sorted(Path(__file__).parents[1].glob("typing/*.py")) + sorted(Path(__file__).parents[1].glob("schema/*.py"))
__version__ = hashlib.sha256(b"".join(path.read_bytes() for path in _TEXTS)).hexdigest()

# mypy's priority of ordinary imports, when it looks for an order of the modules in a cycle.
_MEDIUM = 10


def plugin(version: str) -> type[Plugin]:
    """What mypy asks for when it loads the module."""
    return OpdslPlugin


class OpdslPlugin(Plugin):
    """The hooks, each handing on to a function of its own."""

    def get_type_analyze_hook(self, fullname: str) -> TypeHook | None:
        """How a name is read where an annotation stands."""
        return HOOKS.get(fullname)

    def get_method_signature_hook(self, fullname: str) -> SignatureHook | None:
        """What a method of ours takes."""
        return SIGNATURES.get(fullname)

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """What an attribute of ours is."""
        return ATTRIBUTES.get(fullname)

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """What else a file depends on."""
        return [(_MEDIUM, RECEIVED, 1)] if imports_opdsl(file) else []


def text(context: AnalyzeTypeContext) -> Type:
    """``str``; where it is the type of a module's ``__name__``, the module is prepared first.

    That attribute is the first thing that mypy analyses of a module, before anything is resolved. There is no earlier
    hook that it always calls: ``get_additional_deps`` does not see a file again that has not changed, and has to be
    analysed anew because of what it imports.
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
    """Change the declarations and implementations of a file as ``declarations`` and ``implementations`` say."""
    if imports_opdsl(file):
        marked = [mark_declarations(block) | mark_implementations(block) for block in blocks(file.defs)]
        outside = list(blocks(file.defs, in_functions=False))
        symbols = [call.symbol for block in outside for call in calls_in(block)]
        symbols += [symbol for block in outside for symbol in symbols_in(block)]
        if any(marked) or symbols:
            import_received(file, symbols)


def report(analyzer: SemanticAnalyzer) -> None:
    """Report what is wrong with the declarations of the module that is being analysed."""
    file = analyzer.cur_mod_node
    path = Path(file.path)
    if imports_opdsl(file) and declares(file) and path.is_file():
        for line, message in faults_in(path.read_text(encoding="utf-8", errors="replace")):
            analyzer.fail(message, Context(line, 0))


HOOKS: dict[str, TypeHook] = {"builtins.str": text, **ANNOTATIONS, **DECLARATIONS, **IMPLEMENTATIONS}
"""How names in annotations are read, by full name."""
