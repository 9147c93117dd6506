"""``Library`` and ``op``, with which operators are declared."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from opdsl.declare.options import Inplace, Out, Overload
from opdsl.declare.scope import Scope
from opdsl.declare.signature import caller_names
from opdsl.dispatch import DispatchKey, Registry, declared_into
from opdsl.dispatch.model.registry import Implementation
from opdsl.errors import DeclarationError, DispatchKeyError, DuplicateOperatorError, NotPickledError
from opdsl.schema import FunctionSchema, parse_schema
from opdsl.schema.model import is_plain_name
from opdsl.schema.torch_spelling import as_written
from opdsl.tracebacks import without_own_frames

if TYPE_CHECKING:
    from opdsl.declare.operator import Operator as OperatorFunction

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])


class Library(Scope):
    """Namespace in which operators are declared and kernels are registered.

    Args:
        namespace: of the operators; by default the name of the top-level package that makes the library, ``main`` for
            a script.
        registry: registry that gets the operators; the process's own by default.

    A library is a context manager: at the end of the block everything that it declared and registered is removed.

    >>> from opdsl import Tensor
    >>> with Library("example") as lib:
    ...     @lib.op
    ...     def twice(self: Tensor) -> Tensor:
    ...         return self + self
    ...     str(twice.schema)
    'example::twice(Tensor self) -> Tensor'
    """

    def __init__(self, namespace: str | None = None, *, registry: Registry | None = None) -> None:
        own = _namespace_of(sys._getframe(1).f_globals) if namespace is None else namespace
        if not isinstance(own, str) or not is_plain_name(own):
            raise DeclarationError(
                f"Library({own!r}): a namespace is a Python identifier in ASCII, and no keyword. Write "
                'Library("mylib").'
            )
        super().__init__(own, declared_into() if registry is None else registry)
        self._fallbacks: dict[DispatchKey, object] = {}

    def __reduce__(self) -> tuple[object, ...]:
        """Refuse to be pickled or copied.

        Raises:
            NotPickledError: always; a copy would remove the same declarations twice.
        """
        raise NotPickledError(
            f"{self!r} is neither pickled nor copied. Import the module that makes it, and pickle the functions of its "
            "operators, which are found by name."
        )

    # -------------------------------------------------------------------------------------------- declaring operators

    @overload
    def op(self, function: Callable[P, R], /) -> OperatorFunction[P, R]: ...
    @overload
    def op(
        self,
        name: str | None = None,
        /,
        *,
        inplace: bool | Inplace = False,
        out: bool | Out = False,
        foreach: bool = False,
        functional: bool = False,
        kernel: bool | str | Iterable[str] = False,
        overloads: Mapping[str, Overload] | None = None,
        accepts_numbers: bool = False,
        is_bound: bool = True,
        may_alias: bool = False,
        structured: bool = True,
        **options: object,
    ) -> Callable[[Callable[P, R]], OperatorFunction[P, R]]: ...
    def op(self, name: Any = None, /, **options: Any) -> Any:
        """Declare an operator by the signature of a function.

        Args:
            name: the full name, ``"aten::add.Tensor"`` or ``"add.Tensor"``; the function's own name by default.
            functional: for an in-place operator, derive the functional one, which copies the written arguments.
            inplace: derive an in-place variant; ``Inplace(...)`` changes its name or entry.
            out: derive an ``out=`` variant; ``Out(...)`` changes its name, entry or checks.
            foreach: derive the list form, ``_foreach_name``: one call for all tensors of lists. If there is an in-place
                variant, its list form is derived as well.
            kernel: register the body as a kernel, as ``@f.kernel`` does with a separate function: True for all
                backends, or dispatch keys. By default a body is a composite kernel.
            overloads: further overloads that the body computes, by name: ``Overload(...)`` names the arguments that
                they lack. They follow this one in order, unless its own name among them gives its position.
            accepts_numbers: whether a Python number may be passed for a tensor, as PyTorch allows for add and similar
                ones.
            is_bound: whether Python calls of the packet reach this overload.
            may_alias: whether results may share memory with arguments although no alias set says so, as for some of
                PyTorch's schemas.
            structured: whether variants derived by elementwise formulas and ``.meta`` are exported as a structured
                group.
            options: the keys of an entry in native_functions.yaml, see ``EntryOptions``.

        Returns:
            The function to call, with the derived operators as attributes (``Operator``). A body is its kernel; ``...``
            only declares, and implementations are attached afterwards.

        Raises:
            DeclarationError: the signature, a name or an option is wrong; the message begins with file and line.
            DuplicateOperatorError: the name is taken.
        """
        return _declaring(self, name, options, caller_names(1))

    def define(
        self,
        schema: str | FunctionSchema,
        body: Callable[..., Any] | None = None,
        *,
        key: str = "CompositeImplicitAutograd",
        at: FunctionType | None = None,
        **options: object,
    ) -> OperatorFunction[..., Any]:
        """Declare an operator by its schema, as ``op`` does by the signature of a function.

        Args:
            schema: ``"scale(Tensor self, float by=2.0) -> Tensor"``; without a namespace, in this library's.
            body: its kernel, called with the arguments, keyword-only ones by name; None only declares.
            key: the dispatch key of ``body``; a composite kernel by default.
            at: the function whose location messages name; None for the calling line.
            options: options of ``op``.

        Returns:
            The function to call; implementations are attached to it, for example by ``f.kernel("CPU")(function)``.

        Raises:
            SchemaError: the text is no schema.
            DeclarationError: an option is wrong.
            DuplicateOperatorError: the name is taken.

        >>> import opdsl
        >>> with opdsl.Library("example") as lib:
        ...     scale = lib.define("scale(Tensor self, float by=2.0) -> Tensor", lambda self, by: self * by)
        ...     scale(opdsl.tensor([1.0, 2.0]), 3.0).tolist()
        [3.0, 6.0]
        """
        from opdsl.declare.handle import define

        frame = sys._getframe(1)
        code, line = (frame.f_code, frame.f_lineno) if at is None else (at.__code__, at.__code__.co_firstlineno)
        module = str(frame.f_globals.get("__name__")) if at is None else at.__module__
        with without_own_frames():
            parsed = parse_schema(as_written(schema)) if isinstance(schema, str) else schema
            function = define(self, parsed, body, key, module, (code.co_filename, line), options)
        return cast("OperatorFunction[..., Any]", function)

    # ------------------------------------------------------------------------------------------- registering kernels

    def impl(self, name: str, *keys: str) -> Callable[[F], F]:
        """Register the decorated function as a kernel of an operator that any library defines, now or later.

        Args:
            name: the operator's full name, ``"aten::add.Tensor"``; without a namespace, this library's.
            keys: the dispatch keys.

        Returns:
            The decorator, which returns the function unchanged. The function has the parameters of the schema.

        Raises:
            KernelSignatureError: the parameters are not the schema's; if the operator does not exist yet, its later
                definition raises this error.
            DispatchKeyError: there is no such key, or none is given.
        """
        qualified = name if "::" in name else f"{self.namespace}::{name}"
        parsed = [DispatchKey(key) for key in keys]
        if not parsed:
            raise DispatchKeyError(f'impl("{name}") names no dispatch key. Write impl("{name}", "CPU").')

        def attach(function: F) -> F:
            from opdsl.declare.implementations import plain_kernel

            with without_own_frames(), self.all_or_nothing():
                for key in parsed:
                    implementation = Implementation(qualified, key, partial(plain_kernel, function, key))
                    self.registry.implement(implementation)
                    self.undo(partial(self.registry.withdraw, implementation))
            return function

        return attach

    def fallback(self, *keys: str) -> Callable[[F], F]:
        """Register the decorated function as the fallback kernel of a key, for every operator without a kernel of its
        own.

        Args:
            keys: runtime dispatch keys.

        Returns:
            The decorator, which returns the function unchanged. The function takes ``(operator, args, kwargs)``: the
            overload that is called (``opdsl.ops.aten.add.Tensor``), and its arguments except those at their default; if
            its first parameter is annotated ``DispatchKeySet``, it gets the call's key set before them. It returns the
            operator's results. Use ``opdsl.fallthrough_kernel`` instead of a function to pass calls on to the next key.

        Raises:
            DispatchKeyError: there is no such key, it is an alias key, or none is given.
            DuplicateOperatorError: this library has a fallback for the key; one of another library would be overridden.
            KernelSignatureError: the function does not take these parameters.

        >>> import opdsl
        >>> x = opdsl.ones(2)
        >>> with Library("example") as lib, opdsl.include_keys("TESTING_ONLY_GenericMode"):
        ...     @lib.fallback("TESTING_ONLY_GenericMode")
        ...     def log(keys: opdsl.DispatchKeySet, operator, args, kwargs):
        ...         print(operator.schema.name)
        ...         below = keys & opdsl.DispatchKeySet.below("TESTING_ONLY_GenericMode")
        ...         return operator.redispatch(below, *args, **kwargs)
        ...     y = (x + 1).exp()
        add.Tensor
        exp
        """
        parsed = [DispatchKey(key) for key in keys]
        if not parsed:
            raise DispatchKeyError('fallback() names no dispatch key. Write fallback("PrivateUse1").')

        def attach(function: F) -> F:
            from opdsl.declare.implementations import boxed_kernel

            with without_own_frames(), self.all_or_nothing():
                kernel = boxed_kernel(function)
                for key in parsed:
                    present = self._fallbacks.get(key)
                    if present is not None:
                        raise DuplicateOperatorError(
                            f'fallback("{key}"): this library has registered {present} there already. Remove one of '
                            "them, or register the new one in another library, where it takes precedence."
                        )
                    self._fallbacks[key] = kernel
                    self.undo(partial(self._fallbacks.pop, key))
                    self.registry.register_fallback(key, kernel)
                    self.undo(partial(self.registry.deregister_fallback, key, kernel))
            return function

        return attach

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Library({self.namespace!r})"


def _namespace_of(names: Mapping[str, object]) -> str:
    """Return the top-level package of a module, given its globals; ``main`` for a script."""
    top = str(names.get("__name__", "__main__")).partition(".")[0]
    return "main" if top == "__main__" else top


@overload
def op(function: Callable[P, R], /) -> OperatorFunction[P, R]: ...
@overload
def op(
    name: str | None = None,
    /,
    *,
    inplace: bool | Inplace = False,
    out: bool | Out = False,
    foreach: bool = False,
    functional: bool = False,
    kernel: bool | str | Iterable[str] = False,
    overloads: Mapping[str, Overload] | None = None,
    accepts_numbers: bool = False,
    is_bound: bool = True,
    may_alias: bool = False,
    structured: bool = True,
    **options: object,
) -> Callable[[Callable[P, R]], OperatorFunction[P, R]]: ...
def op(name: Any = None, /, **options: Any) -> Any:
    """Declare an operator in the namespace of the calling module, which is its top-level package's name; see
    ``Library.op``.

    Args:
        name: the full name, ``"mylib::scale.Tensor"``; the function's own name by default.
        inplace, out, foreach, functional, kernel, overloads, accepts_numbers, is_bound, may_alias, structured: see
            ``Library.op``.
        options: see ``Library.op``.

    Returns:
        The function to call, with the derived operators as attributes (``Operator``).

    Raises:
        DeclarationError: the signature, a name or an option is wrong; the message begins with file and line.
        DuplicateOperatorError: the name is taken.

    >>> import opdsl
    >>> @opdsl.op("example_op::halved")
    ... def halved(self: opdsl.Tensor) -> opdsl.Tensor:
    ...     return self / 2
    >>> halved(opdsl.tensor([1.0, 3.0])), str(halved.schema)
    (tensor([0.5000, 1.5000]), 'example_op::halved(Tensor self) -> Tensor')
    """
    return _declaring(Library(_namespace_of(sys._getframe(1).f_globals)), name, options, caller_names(1))


def _declaring(library: Library, name: Any, options: Mapping[str, Any], names: Mapping[str, object]) -> Any:
    """Implement ``op`` for both forms: ``@op`` declares the function, ``@op(...)`` returns a decorator."""
    from opdsl.declare.handle import declare  # imports all kernel modules, so only the first declaration does

    def declaring(function: Any) -> Any:
        with without_own_frames():
            return declare(library, function, name, options, names)

    if name is None or isinstance(name, str):
        return declaring
    with without_own_frames():
        return declare(library, name, None, {}, names)
