"""Faster numba compilation of functions that a kernel calls: their LLVM IR is linked into the kernel only.

By default numba optimizes each called function, emits its machine code and loads that, before its IR is linked into the
caller and optimized again. Nothing calls that separate code here, so the IR is linked right after lowering.
"""
# mypy: disable-error-code="no-untyped-call, no-untyped-def"
# numba's extension interface has no types.

from __future__ import annotations

from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["LinkedCompiler"]


class LinkedLibrary(JITCodeLibrary):
    """numba code library whose LLVM IR is only linked into callers, without its own machine code."""

    def finalize(self) -> None:
        """Link the IR of the called functions into this library, without optimization; the callers optimize it."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LinkedLowering(NativeLowering):
    """numba lowering pass that lowers a function into a ``LinkedLibrary``."""

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower a function, and register it for its callers under an entry that Python cannot call."""
        context = state.targetctx
        library = state.library = LinkedLibrary(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        described = lowered.fndesc
        named = (described.lookup_module(), described.qualname.split(".")[-1], "linked into its callers")
        entry = _dynfunc.make_function(*named, 0, lowered.env, (library,))
        context.insert_user_function(entry, described, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class LinkedCompiler(CompilerBase):
    """numba compiler pipeline with ``LinkedLowering`` in place of numba's own lowering pass."""

    def define_pipelines(self) -> list[Any]:
        """Return the default pipeline with the lowering pass replaced."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (LinkedLowering, name) if kind is NativeLowering else (kind, name) for kind, name in passes.passes
        ]
        passes._finalized = False
        passes.finalize()
        return [passes]
