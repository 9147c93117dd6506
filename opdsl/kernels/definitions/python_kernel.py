"""Kernels that are plain Python functions from tensors to results, for any dispatch key."""

from __future__ import annotations

from types import FunctionType

from opdsl.dispatch.binding.results import checked_result, written_values
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.plans.traceable import is_traceable
from opdsl.dispatch.state import current
from opdsl.kernels.outputs import restored_on_error
from opdsl.runtime import bump_version, version_of
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.symbol import NotLoweredError
from opdsl.schema import FunctionSchema


class PythonKernel(Kernel):
    """Kernel that calls a Python function.

    Args:
        function: takes the schema's parameters, its keyword-only ones by name or by position, as it declares them.
        schema: the operator's.
        operator: its qualified name, for messages.
        bumps_version: whether the function writes memory itself, so that written arguments get a new version; a
            composite body does not, the operators that it calls do.
    """

    __slots__ = ("_keywords", "bumps_version", "function", "key_set", "operator", "schema", "wants_key_set")

    def __init__(
        self,
        function: FunctionType,
        schema: FunctionSchema,
        operator: str,
        *,
        bumps_version: bool,
        wants_key_set: bool = False,
    ) -> None:
        self.function = function
        self.schema = schema
        self.operator = operator
        self.bumps_version = bumps_version and bool(schema.written_arguments)
        self.wants_key_set = wants_key_set
        self.key_set: tuple[object, ...] = ()
        code = function.__code__
        keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self._keywords = frozenset(keyword_only)

    def for_call(self, operator: object, keys: object) -> PythonKernel:
        """Return the kernel for a call with a key set, which the function receives as its first argument if it wants
        it.
        """
        if not self.wants_key_set:
            return self
        bound = object.__new__(PythonKernel)
        for field in self.__slots__:
            setattr(bound, field, getattr(self, field))
        bound.key_set = (keys,)
        return bound

    def __call__(self, *arguments: object) -> object:
        """Run the function, check its result against the schema, and bump the versions of written arguments.

        Raises:
            KernelError: the result does not fit the schema.
        """
        if not self.bumps_version:
            return self.run(*arguments)
        written = list(tensors_in(written_values(self.schema, arguments)))
        before = [version_of(tensor) for tensor in written]
        result = self.run(*arguments)
        for tensor, version in zip(written, before, strict=True):
            bump_version(tensor, version)
        return result

    def run(self, *arguments: object) -> object:
        """Run the function without bumping versions, for a caller that does so itself.

        Raises:
            KernelError: the result does not fit the schema.
        """
        if current.get().lowering and not is_traceable(self.function):
            function_name = self.function.__name__
            raise NotLoweredError(
                f"{function_name}, which may do more than call operators (@opdsl.traceable promises not to)"
            )
        positional: list[object] = []
        named: dict[str, object] = {}
        for declared, value in zip(self.schema.arguments, arguments, strict=True):
            if declared.python_name in self._keywords:
                named[declared.python_name] = value
            else:
                positional.append(value)
        written = tensors_in(written_values(self.schema, arguments)) if self.schema.written_arguments else ()
        with restored_on_error(written):
            result = self.function(*self.key_set, *positional, **named)
        return checked_result(self.schema, arguments, result, self._describe)

    @property
    def direct(self) -> FunctionType | None:
        """Return the function if a later call of the same kind needs nothing but to run it; else None."""
        returns_written = any(returned.alias is not None and returned.alias.write for returned in self.schema.returns)
        is_all = not (self.bumps_version or self.key_set or self._keywords or returns_written)
        return self.function if is_all else None

    def _describe(self) -> str:
        code = self.function.__code__
        return f"{self.operator}: the kernel {self.function.__name__} ({code.co_filename}:{code.co_firstlineno})"

    @property
    def kind(self) -> str:
        """See ``Kernel``."""
        return "function"

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """See ``Kernel``."""
        return (self.function,)
