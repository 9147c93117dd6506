"""``Library`` and ``op``: where declarations begin."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

import attrs

from opdsl.declare.options import Inplace, Out, normalised
from opdsl.declare.signature import caller_names, is_declaration, location, schema_of
from opdsl.declare.variants import inplace_base, inplace_schema, out_overload, out_schema
from opdsl.dispatch import DispatchKey, Kernel, Operator, Registry, declared_into
from opdsl.dispatch.registry import Implementation
from opdsl.errors import DeclarationError, DispatchKeyError, DuplicateOperatorError, SchemaError
from opdsl.schema import FunctionSchema, OperatorName, SchemaKind, check, parse_operator_name, parse_schema
from opdsl.schema.invariants import check_relations

if TYPE_CHECKING:
    from opdsl.declare.declaration import Declaration
    from opdsl.declare.operator import Operator as OperatorFunction

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])

# What a derived variant takes over from the functional entry.
_INHERITED = ("device_check", "device_guard", "python_module", "structured_inherits", "category_override")


class Library:
    """A namespace to declare operators in.

    Args:
        namespace: of the operators; without one, the name of the top-level package that makes the library, ``main``
            for a script.
        registry: where the operators are found; the process's own by default.

    A library is a context manager: what it declared and registered inside is taken back at the end.

    >>> from opdsl import Tensor
    >>> with Library("example") as lib:
    ...     @lib.op
    ...     def twice(self: Tensor) -> Tensor:
    ...         return self + self
    ...     str(twice.schema)
    'example::twice(Tensor self) -> Tensor'
    """

    def __init__(self, namespace: str | None = None, *, registry: Registry | None = None) -> None:
        self.namespace = _namespace_of(sys._getframe(1).f_globals) if namespace is None else namespace
        if not isinstance(self.namespace, str) or not self.namespace.isidentifier():
            raise DeclarationError(
                f'Library({namespace!r}): a namespace is a Python identifier. Write Library("mylib").'
            )
        self.registry = declared_into() if registry is None else registry
        self._undo: list[Callable[[], object]] = []
        self._fallbacks: dict[DispatchKey, object] = {}

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
            functional: of an in-place operator, derive the functional one: it copies what is written.
            inplace: derive an in-place variant; ``Inplace(...)`` says how it departs from the rule.
            out: derive an ``out=`` variant; ``Out(...)`` says how it departs from the rule.
            accepts_numbers: whether a Python number may stand for a tensor, as PyTorch lets it for add and its kin.
            is_bound: whether Python calls of the packet reach this overload.
            may_alias: whether results may share memory with arguments though no alias set says so, as some of
                PyTorch's schemas have it.
            structured: whether what ``.pointwise`` and ``.meta`` derive is exported as a structured group.
            options: the keys of an entry in native_functions.yaml, see ``EntryOptions``.

        Returns:
            The function to call, with what was derived as attributes (``Operator``). A body is a composite kernel;
            ``...`` only declares, and implementations are attached beneath.

        Raises:
            DeclarationError: the signature, a name or an option is wrong; the message leads with file and line.
            DuplicateOperatorError: the name is taken.
        """
        if name is not None and not isinstance(name, str):
            return self.declare(name, None, {}, caller_names(1))
        names = caller_names(1)

        def decorate(function: FunctionType) -> Any:
            return self.declare(function, name, options, names)

        return decorate

    def declare(
        self, function: object, name: str | None, options: Mapping[str, Any], names: Mapping[str, object]
    ) -> FunctionType:
        """What ``op`` does, with the local names that annotations may use handed in."""
        from opdsl.declare.dress import dress  # with all of kernels: the first declaration loads them

        checked = _require_declaration(function)
        schema = schema_of(checked, self._name(checked, name), names)
        rest = dict(options)
        functional = rest.pop("functional", False)
        with self._all_or_nothing():
            declaration = self._declaration_of(checked, schema, rest)
            if not is_declaration(checked):
                declaration.attach_body()
            made = dress(declaration)
            if functional:
                from opdsl.declare.generated import define_functional

                declaration.functions["functional"] = define_functional(declaration)
            return made

    def define(
        self,
        schema: str | FunctionSchema,
        body: Callable[..., Any] | None = None,
        *,
        key: str = "CompositeImplicitAutograd",
        at: FunctionType | None = None,
        **options: object,
    ) -> OperatorFunction[..., Any]:
        """Declare an operator by its schema: what ``op`` does with the signature of a function.

        Args:
            schema: ``"scale(Tensor self, float by=2.0) -> Tensor"``; without a namespace, in this library's.
            body: its kernel, called with the arguments, keyword-only ones by name; None only declares.
            key: the dispatch key of ``body``; a composite kernel by default.
            at: the function whose place messages name; None for the line that calls.
            options: as of ``op``.

        Returns:
            The function to call; implementations are attached beneath, as ``f.kernel("CPU")(function)``.

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
        from opdsl.declare.defining import as_printed, function_of
        from opdsl.declare.dress import dress

        given = parse_schema(as_printed(schema)) if isinstance(schema, str) else schema
        namespace = given.name.namespace or self.namespace
        name = attrs.evolve(given.name, namespace=None if namespace == "aten" else namespace)
        parsed = attrs.evolve(given, name=name)
        frame = sys._getframe(1)
        code, line = (frame.f_code, frame.f_lineno) if at is None else (at.__code__, at.__code__.co_firstlineno)
        module = str(frame.f_globals.get("__name__")) if at is None else at.__module__
        function = partial(function_of, parsed, module=module, place=(code.co_filename, line))
        with self._all_or_nothing():
            declaration = self._declaration_of(function(None), parsed, options)
            made = dress(declaration)
            if body is not None:
                declaration.attach_kernel((key,), function(body))
            return cast("OperatorFunction[..., Any]", made)

    def declare_variant(
        self,
        declaration: Declaration,
        variant: str,
        function: object,
        name: str | None,
        options: Mapping[str, Any],
        names: Mapping[str, object],
    ) -> FunctionType:
        """Declare a variant by hand.

        Raises:
            DuplicateOperatorError: the variant is derived, or written, already.
            DeclarationError: the signature is no such variant of the declaration's operator.
        """
        from opdsl.declare.dress import dress

        checked = _require_declaration(function)
        present = declaration.functions.get(variant)
        if present is not None:
            raise DuplicateOperatorError(
                f"{location(checked)}: {declaration.name} has an {variant} variant already: it is declared or derived "
                f"at {location(declaration.function)}. Keep one: drop {variant}= there, or this declaration."
            )
        relative = name or self._variant_name(declaration, variant)
        full = relative if "::" in relative else f"{declaration.name.partition('::')[0]}::{relative}"
        schema = schema_of(checked, self._name(checked, full), names)
        if schema.kind.value != variant or str(schema.signature()) != str(declaration.main.schema.signature()):
            raise DeclarationError(
                f"{location(checked)}: {schema} is no {variant} variant of {declaration.main.schema}. Their arguments "
                'and returns must be the same, but for what is written: Tensor[Alias("a", write=True)].'
            )
        with self._all_or_nothing():
            own = self._declaration_of(checked, schema, options)
            if not is_declaration(checked):
                own.attach_body()
            declaration.functions[variant] = dress(own)
        return declaration.functions[variant]

    def declare_alias(
        self, declaration: Declaration, name: str, module: str, options: Mapping[str, Any]
    ) -> FunctionType:
        """Declare another name of a declared operator: composites that call it, variant by variant.

        Args:
            declaration: of the operator.
            name: the other name, ``"aten::arccos"``; the overload is the operator's.
            module: where it is declared.
            options: as ``op`` takes them; variants, and what calls reach, are the operator's own by default.

        Raises:
            DuplicateOperatorError: the name is taken.
        """
        from opdsl.declare.dress import dress
        from opdsl.declare.forwarding import renamed

        main, base = declaration.main, name.rpartition("::")[2]
        function = renamed(declaration.function, base, module)
        schema = attrs.evolve(
            main.schema, name=attrs.evolve(self._name(function, name), overload=main.schema.name.overload)
        )
        operators = {each: operator for each, operator in declaration.operators.items() if operator is not main}
        derived: dict[str, object] = {}
        if "inplace" in operators:
            variants = operators["inplace"].properties["variants"]
            derived["inplace"] = Inplace(_named(inplace_base(base), operators["inplace"]), variants=variants)
        if "out" in operators:
            derived["out"] = Out(_named(base, operators["out"]))
        inherited = {"variants": main.properties["variants"], "accepts_numbers": main.accepts_numbers}
        with self._all_or_nothing():
            own_declaration = self._declaration_of(
                function, schema, {**inherited, "is_bound": main.is_bound, **derived, **options}
            )
            own_declaration.attach_forward(declaration, {})
            return dress(own_declaration)

    @staticmethod
    def _variant_name(declaration: Declaration, variant: str) -> str:
        schema = declaration.main.schema
        if variant == "inplace":
            return str(attrs.evolve(schema.name, namespace=None, base=inplace_base(schema.name.base)))
        return str(attrs.evolve(schema.name, namespace=None, overload=out_overload(schema.name.overload)))

    def _name(self, function: FunctionType, given: str | None) -> OperatorName:
        try:
            name = parse_operator_name(given or function.__name__)
        except SchemaError as error:
            raise DeclarationError(f"{location(function)}: {error}") from error
        namespace = name.namespace or self.namespace
        return OperatorName(None if namespace == "aten" else namespace, name.base, name.overload)

    def _declaration_of(
        self, function: FunctionType, schema: FunctionSchema, options: Mapping[str, Any]
    ) -> Declaration:
        """Define a schema's operator and the variants that its options ask for: all of them, or none."""
        from opdsl.declare.declaration import Declaration

        where = f"{location(function)}: {function.__name__}"
        rest = dict(options)
        inplace, out = rest.pop("inplace", False), rest.pop("out", False)
        _require_variant_option(where, "inplace", inplace, Inplace)
        _require_variant_option(where, "out", out, Out)
        structured = rest.pop("structured", True)
        if structured and "structured" in options and schema.kind is SchemaKind.out:
            rest["structured"] = True  # of the entry itself: nothing else is derived here
        own = {name: rest.pop(name) for name in ("accepts_numbers", "is_bound", "may_alias") if name in rest}
        entry: dict[str, Any] = normalised(rest, where)
        schemas: dict[str, tuple[FunctionSchema, dict[str, Any]]] = {_variant_of(schema): (schema, entry)}
        # `core` marks the functional operators of PyTorch's core set alone; what an entry generates is its own matter.
        inherited: dict[str, Any] = {key: value for key, value in entry.items() if key in _INHERITED}
        if "tags" in entry:
            inherited["tags"] = tuple(each for each in entry["tags"] if each != "core")
        if inplace:
            how = inplace if isinstance(inplace, Inplace) else Inplace()
            more = {**inherited, "variants": entry["variants"], **how.options}
            schemas["inplace"] = (inplace_schema(schema, how), normalised(more, where))
        if out:
            how_out = out if isinstance(out, Out) else Out()
            schemas["out"] = (out_schema(schema, how_out), normalised({**inherited, **how_out.options}, where))
        _check_variants(where, {variant: each for variant, (each, _) in schemas.items()})
        untagged = frozenset(variant for variant, (_, properties) in schemas.items() if "tags" not in properties)
        operators = {
            variant: Operator(
                each,
                self.registry.fallbacks,
                tags=properties.pop("tags", ()),
                properties=properties,
                **own,
                location=location(function),
            )
            for variant, (each, properties) in schemas.items()
        }
        explicit = isinstance(out, Out) and out.explicit
        declaration = Declaration(
            self, function, operators, structured=structured, out_is_explicit=explicit, untagged=untagged
        )
        self._define_all(declaration)
        return declaration

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Take back what was registered since, if an error leaves the block: nothing is registered by halves."""
        before = len(self._undo)
        try:
            yield
        except BaseException:
            self._take_back(before)
            raise

    def _define_all(self, declaration: Declaration) -> None:
        """Register the operators of a declaration, replacing one that the same place declared before."""
        for operator in declaration.operators.values():
            self._make_room(operator, declaration.function)
        for operator in declaration.operators.values():
            operator.declaration = declaration
            self.registry.define(operator, declaration.function.__module__)
            self.undo(partial(self.registry.remove, operator))

    def _make_room(self, operator: Operator, function: FunctionType) -> None:
        from opdsl.declare.declaration import Declaration

        present = self.registry.operators.get(operator.name)
        before = None if present is None else present.declaration
        if isinstance(before, Declaration) and _is_same_place(before.function, function):
            for each in before.operators.values():
                self.registry.remove(each)

    # ------------------------------------------------------------------------------------------- registering kernels

    def register(self, operator: Operator, key: DispatchKey, kernel: Kernel) -> None:
        """Make a kernel the newest of an operator's dispatch key, until this library takes it back."""
        self.registry.register(operator, key, kernel)
        self.undo(partial(self.registry.deregister, operator, key, kernel))

    def impl(self, name: str, *keys: str) -> Callable[[F], F]:
        """Register the decorated function as a kernel of an operator that any library defines, now or later.

        Args:
            name: the operator's full name, ``"aten::add.Tensor"``; without a namespace, this library's.
            keys: the dispatch keys.

        Returns:
            The decorator, which returns the function as it is. Parameters are the schema's.

        Raises:
            KernelSignatureError: the parameters are not the schema's; if the operator is not there yet, its definition
                raises this.
            DispatchKeyError: there is no such key, or none is given.
        """
        qualified = name if "::" in name else f"{self.namespace}::{name}"
        parsed = [DispatchKey(each) for each in keys]
        if not parsed:
            raise DispatchKeyError(f'impl("{name}") names no dispatch key. Write impl("{name}", "CPU").')

        def attach(function: F) -> F:
            from opdsl.declare.implementations import plain_kernel

            with self._all_or_nothing():
                for key in parsed:
                    made = Implementation(qualified, key, partial(plain_kernel, function, key))
                    self.registry.implement(made)
                    self.undo(partial(self.registry.withdraw, made))
            return function

        return attach

    def fallback(self, *keys: str) -> Callable[[F], F]:
        """Register the decorated function as the kernel of every operator that has none of its own for a key.

        Args:
            keys: runtime dispatch keys.

        Returns:
            The decorator, which returns the function as it is. The function takes ``(operator, args, kwargs)``: the
            overload that is called (``opdsl.ops.aten.add.Tensor``), and its arguments without those at their default;
            if its first parameter is annotated ``DispatchKeySet``, the call's key set before them. It returns what the
            operator's schema says. ``opdsl.fallthrough_kernel`` in its place hands calls on to the next key.

        Raises:
            DispatchKeyError: there is no such key, it is an alias key, or none is given.
            DuplicateOperatorError: this library has one for the key; that of another library is put over it.
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
        parsed = [DispatchKey(each) for each in keys]
        if not parsed:
            raise DispatchKeyError('fallback() names no dispatch key. Write fallback("PrivateUse1").')

        def attach(function: F) -> F:
            from opdsl.declare.implementations import boxed_kernel

            kernel = boxed_kernel(function)
            with self._all_or_nothing():
                for key in parsed:
                    present = self._fallbacks.get(key)
                    if present is not None:
                        raise DuplicateOperatorError(
                            f'fallback("{key}"): this library has {present} there already. Remove one of them, or put '
                            "it over the other in a library of its own."
                        )
                    self._fallbacks[key] = kernel
                    self.undo(partial(self._fallbacks.pop, key))
                    self.registry.register_fallback(key, kernel)
                    self.undo(partial(self.registry.deregister_fallback, key, kernel))
            return function

        return attach

    def undo(self, action: Callable[[], object]) -> None:
        """Note what takes something back that was done for this library."""
        self._undo.append(action)

    def close(self) -> None:
        """Take back everything that this library declared and registered, the newest first."""
        self._take_back(0)

    def _take_back(self, before: int) -> None:
        while len(self._undo) > before:
            self._undo.pop()()

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Library({self.namespace!r})"


def _require_variant_option(where: str, name: str, value: object, options: type) -> None:
    if not isinstance(value, (bool, options)):
        raise DeclarationError(
            f"{where}: {name}={value!r} is neither True nor False nor {options.__name__}(...). "
            f"Write {name}=True, or {name}={options.__name__}(...) to say how it departs from the rule."
        )


def _check_variants(where: str, schemas: Mapping[str, FunctionSchema]) -> None:
    """Hold derived schemas against the invariants, and each other; the first is the declared one, whose parts are good.

    Raises:
        DeclarationError: a name that was given makes no schema, or is that of another variant.
    """
    for place, (variant, schema) in enumerate(schemas.items()):
        violations = check(schema) if place else check_relations(schema)
        if violations:
            raise DeclarationError(f"{where}: the {variant} variant {schema}: {violations[0].message}")
        if variant in ("inplace", "out") and schema.kind.value != variant:
            raise DeclarationError(
                f"{where}: {schema} is no {variant} variant by its name. In-place names end in an underscore."
            )
    names = [each.name.qualified for each in schemas.values()]
    repeated = next((each for each in names if names.count(each) > 1), None)
    if repeated is not None:
        raise DeclarationError(f"{where}: two variants have the name {repeated}. Give one of them another.")


def _require_declaration(function: object) -> FunctionType:
    if not isinstance(function, FunctionType):
        raise DeclarationError(f"@op decorates a function, not {type(function).__name__}. Write `@op` above a `def`.")
    return function


def _named(base: str, operator: Operator) -> str:
    """A name with the overload of an operator."""
    overload = operator.schema.name.overload
    return f"{base}.{overload}" if overload else base


def _variant_of(schema: FunctionSchema) -> str:
    kind = schema.kind
    return kind.value if kind in (SchemaKind.inplace, SchemaKind.out) else "functional"


def _namespace_of(names: Mapping[str, object]) -> str:
    """The top-level package of a module's globals; ``main`` for a script."""
    top = str(names.get("__name__", "__main__")).partition(".")[0]
    return "main" if top == "__main__" else top


def _is_same_place(before: FunctionType, now: FunctionType) -> bool:
    """Whether two functions are one declaration made twice: a cell run again, edited or not, or a module reloaded."""
    if (before.__module__, before.__qualname__) != (now.__module__, now.__qualname__):
        return False
    one, two = before.__code__, now.__code__
    return one.co_filename != two.co_filename or one.co_firstlineno == two.co_firstlineno


@overload
def op(function: Callable[P, R], /) -> OperatorFunction[P, R]: ...
@overload
def op(
    name: str | None = None,
    /,
    *,
    inplace: bool | Inplace = False,
    out: bool | Out = False,
    accepts_numbers: bool = False,
    is_bound: bool = True,
    may_alias: bool = False,
    structured: bool = True,
    **options: object,
) -> Callable[[Callable[P, R]], OperatorFunction[P, R]]: ...
def op(name: Any = None, /, **options: Any) -> Any:
    """Declare an operator in the namespace of the calling module; see ``Library.op``."""
    library = Library(_namespace_of(sys._getframe(1).f_globals))
    names = caller_names(1)
    if name is not None and not isinstance(name, str):
        return library.declare(name, None, {}, names)

    def decorate(function: FunctionType) -> Any:
        return library.declare(function, name, options, names)

    return decorate
