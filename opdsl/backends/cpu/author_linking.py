"""Functions that a kernel of numba's calls: compiled into the kernel, instead of each into code of its own.

numba optimises a function that another one calls, makes machine code of it and loads that, before its text is linked
into the caller and optimised again. Nobody calls that code here, so that the text is linked as it is lowered.
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
    """The text of a function and of those that it calls, which is linked into its callers and nothing else."""

    def finalize(self) -> None:
        """Link what the function calls; its callers optimise it."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LinkedLowering(NativeLowering):
    """Lowering of a function into a linked library."""

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower a function, and let its callers find it under a function that cannot be called from Python."""
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
    """numba's compiler with ``LinkedLowering`` in the place of its own."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (LinkedLowering, name) if kind is NativeLowering else (kind, name) for kind, name in passes.passes
        ]
        passes._finalized = False
        passes.finalize()
        return [passes]
