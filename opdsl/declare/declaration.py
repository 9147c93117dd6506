"""One declaration: a functional operator, the variants derived from it, and what is attached beneath it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from opdsl.autograd.derivative import DeclaredDerivative
from opdsl.declare.bases import context_class, precomputed_names, precomputed_types
from opdsl.declare.derived import DerivedKernel
from opdsl.declare.forwarding import forwarding
from opdsl.declare.implementations import (
    Attached,
    checked_kernel,
    checked_launch,
    checked_meta,
    checked_out_kernel,
    checked_view_kernel,
    dispatch_keys,
    require_function,
    wants_key_set,
    with_separate_options,
)
from opdsl.declare.signature import location
from opdsl.dispatch import DispatchKey, Operator
from opdsl.errors import DeclarationError, DuplicateOperatorError, KernelSignatureError
from opdsl.kernels import (
    Definition,
    PointwiseDefinition,
    ReductionDefinition,
    RowDefinition,
    ScanDefinition,
    StructuredDefinition,
)
from opdsl.kernels.common import COMMON, NON_FUNCTIONAL, CommonKernel, FilledByOut
from opdsl.kernels.cuda_source import cuda_source
from opdsl.kernels.plain import PlainKernel
from opdsl.kernels.view_kernel import ViewKernel
from opdsl.scalar import ScalarFunction
from opdsl.schema import BaseType

if TYPE_CHECKING:
    from opdsl.declare.library import Library

COMPOSITE_KEY = DispatchKey("CompositeImplicitAutograd")
# A variant that is derived of a body is one operator for modes, as those that torchgen generates: no operator that it
# calls says what it writes.
EXPLICIT_KEY = DispatchKey("CompositeExplicitAutograd")
META_KEY = DispatchKey("Meta")

# What pointwise operators and reductions are compiled for; Meta runs its shape function alone.
COMPILED_KEYS = tuple(DispatchKey(each) for each in ("CPU", "CUDA", "Meta"))


# What an operator is computed by: one of these. `.meta` stands beside each but a scan, whose shape is the input's.
_WAYS = frozenset(("pointwise", "reduction", "scan", "row", "out_kernel"))


class Declaration:
    """What one ``@op`` says and what is attached to it.

    library: where its operators are registered.
    function: the declared function.
    operators: by variant: ``functional``, ``inplace``, ``out``.
    structured: whether what is derived is exported as a structured group.
    out_is_explicit: whether a derived ``out=`` is exported as an entry even where torchgen could generate it.
    untagged: the variants for which no tags are given; they get the one that fits what is attached.
    definition: the shape function with its out-kernels, or the scalar functions; None for plain kernels.
    functions: what calls each variant, hand-written ones among them.
    """

    __slots__ = (
        "attached",
        "definition",
        "function",
        "functions",
        "library",
        "meta_reads_numbers",
        "operators",
        "out_is_explicit",
        "structured",
        "untagged",
    )

    def __init__(
        self,
        library: Library,
        function: FunctionType,
        operators: dict[str, Operator],
        *,
        structured: bool,
        out_is_explicit: bool,
        untagged: frozenset[str],
    ) -> None:
        self.library = library
        self.function = function
        self.operators = operators
        self.structured = structured
        self.out_is_explicit = out_is_explicit
        self.untagged = untagged
        self.definition: Definition | None = None
        self.meta_reads_numbers = True
        self.attached: dict[str, FunctionType] = {}
        self.functions: dict[str, FunctionType] = {}

    @property
    def main(self) -> Operator:
        """The operator that the function itself declares: the functional one where there is one."""
        return next(iter(self.operators.values()))

    @property
    def is_composite(self) -> bool:
        """Whether the declared function's body is its kernel."""
        return "body" in self.attached

    @property
    def is_structured(self) -> bool:
        """Whether it is a structured group: structured kernels need an ``out=`` entry to stand on."""
        out = self.operators.get("out")
        if out is None:
            return False
        return bool(out.properties.get("structured")) or (self.definition is not None and self.structured)

    def generates(self, operator: Operator) -> bool:
        """Whether an operator is what torchgen makes of the others by ``autogen``: the ``out=`` of a Python kernel."""
        if operator is not self.operators.get("out") or operator is self.main:
            return False
        return not (self.is_structured or self.is_composite or self.out_is_explicit)

    @property
    def name(self) -> str:
        """The name of the main operator."""
        return self.main.name

    # ------------------------------------------------------------------------------------------------- plain kernels

    def attach_body(self) -> None:
        """Register the declared function's body as a composite kernel."""
        self._claim("body", self.function)
        self._register_plain(with_separate_options(self.function, self.main.schema), COMPOSITE_KEY)

    def attach_forward(self, target: Declaration, constants: Mapping[str, object]) -> None:
        """Register for every variant a composite kernel that calls the same variant of another operator.

        Args:
            target: the other operator.
            constants: its arguments that this one does not have.

        Raises:
            KernelSignatureError: it lacks a variant, or an argument.
        """
        missing = [variant for variant in self.operators if variant not in target.operators]
        if missing:
            raise KernelSignatureError(
                f"{location(self.function)}: {self.name} cannot be forwarded to {target.name}, which has no "
                f"{missing[0]} variant. Leave {missing[0]}= out."
            )
        packets = target.library.registry.packets
        for variant, operator in self.operators.items():
            other = target.operators[variant]
            function = forwarding(self.function, operator, packets[other.packet_name], other, constants)
            if variant == next(iter(self.operators)):
                self._claim("body", function)
            names = operator.dynamic_names
            kernel = PlainKernel(function, operator.schema, operator.name, names, bumps_version=False)
            self.library.register(operator, COMPOSITE_KEY, kernel)

    def attach_kernel(self, keys: Iterable[str], function: object) -> None:
        """Register a Python kernel under dispatch keys; the derived variants compute with it.

        Raises:
            KernelSignatureError: its parameters are not the schema's.
            DispatchKeyError: there is no such key.
            DuplicateOperatorError: a kernel is attached under that key already.
        """
        kernel, parsed = checked_kernel(function, keys, self.main, f"{self.function.__name__}.kernel")
        for key in parsed:
            self._require_free(f"kernel {key}", kernel)
        for key in dict.fromkeys(parsed):
            self._claim(f"kernel {key}", kernel)
            self._register_plain(kernel, key)

    def _register_plain(self, function: FunctionType, key: DispatchKey) -> None:
        main = self.main
        kernel = PlainKernel(
            function,
            main.schema,
            main.name,
            main.dynamic_names,
            bumps_version=key is not COMPOSITE_KEY,
            wants_key_set=wants_key_set(function),
        )
        self.library.register(main, key, kernel)
        for operator in self.operators.values():
            if operator is not main and self.operators.get("functional") is main:
                derived = DerivedKernel(kernel, main.schema, operator.schema, operator.name)
                self.library.register(operator, EXPLICIT_KEY if key is COMPOSITE_KEY else key, derived)

    def attach_view_kernel(self, keys: Iterable[str], function: object) -> None:
        """Register a function from a tensor's geometry to a view under dispatch keys.

        Raises:
            KernelSignatureError: its parameters are not the schema's, or the operator returns no view.
        """
        kernel, parsed = checked_view_kernel(function, keys, self.main, f"{self.function.__name__}.view_kernel")
        for key in parsed:
            self._require_free(f"kernel {key}", kernel)
        for key in parsed:
            self._claim(f"kernel {key}", kernel)
            self.library.register(self.main, key, ViewKernel(kernel, is_new=not self.main.schema.is_view))

    # --------------------------------------------------------------------------------------------------- derivatives

    def attach_derivative(
        self, names: Iterable[str], function: object, results: tuple[bool, ...] | None = None
    ) -> None:
        """Take a formula for the gradients of arguments.

        Args:
            names: the arguments.
            function: see ``DeclaredDerivative.add``.
            results: for each result whether gradients come through it; None for the default.

        Raises:
            KernelSignatureError: names or parameters do not fit the schema.
        """
        formula = require_function(function, f"{self.function.__name__}.derivative")
        derivative = self._derivative()
        if results is not None and len(results) != len(self.main.schema.returns):
            raise KernelSignatureError(
                f"{location(formula)}: {self.name}: output_differentiability has {len(results)} values, but "
                f"{self.main.schema} returns {len(self.main.schema.returns)}. Give one for each."
            )
        wanted = tuple(names)
        derivative.add(wanted, formula)
        Attached(formula, self.name, f"{self.function.__name__}.derivative", self.main.schema).require_gradients(wanted)
        derivative.results = derivative.results if results is None else results

    def exclude_from_derivative(self, names: Iterable[str]) -> None:
        """Say that gradients do not go to these arguments.

        Raises:
            KernelSignatureError: a name is no tensor argument.
        """
        self._derivative().exclude(names)

    def _derivative(self) -> DeclaredDerivative:
        """The declared derivative of this operator and its variants, made with the first formula."""
        found = self.main.derivative
        if found is None:
            found = DeclaredDerivative(self.main.schema, self.name)
            for operator in self.operators.values():
                operator.derivative = found
        assert isinstance(found, DeclaredDerivative), "nothing else is set here"
        return found

    # -------------------------------------------------------------------------------------------- structured kernels

    def attach_meta(self, function: object, *, reads_numbers: bool = True) -> None:
        """Take a shape function; beside ``.pointwise`` and ``.reduction`` it only checks.

        Args:
            function: takes a context and the schema's arguments.
            reads_numbers: whether what it does depends on the values of Scalar and float arguments, and not on their
                types alone.

        Raises:
            KernelSignatureError: its parameters are not ``ctx`` and the schema's.
        """
        meta = checked_meta(function, self.main, f"{self.function.__name__}.meta")
        self._require_one_way("meta", meta, reads_numbers=reads_numbers)
        self._claim("meta", meta)
        self.meta_reads_numbers = reads_numbers
        if isinstance(self.definition, PointwiseDefinition | ReductionDefinition):
            self._check_with(self.definition, meta)
            return
        self.definition = StructuredDefinition(
            self.main.schema,
            meta,
            self.name,
            precomputed=precomputed_names(self._structured_option("precomputed")),
            base=context_class(self._structured_option("structured_inherits")),
        )
        self._register_structured(META_KEY)
        self._register_common()

    def _structured_option(self, name: str) -> object:
        """What the entry of the structured operator says: that of ``out=``, or the main one without it."""
        values = (each.properties.get(name) for each in (*self.operators.values(),))
        return next((each for each in values if each is not None), None)

    def _check_with(self, definition: PointwiseDefinition | ReductionDefinition, meta: FunctionType) -> None:
        definition.check = meta
        if isinstance(definition, PointwiseDefinition):
            definition.check_reads_numbers = self.meta_reads_numbers

    def attach_pointwise(
        self,
        function: object,
        *,
        promote: str,
        when: Mapping[str, object],
        dtypes: tuple[str, ...] = (),
        cast: str | None = None,
        **names: tuple[str, ...],
    ) -> None:
        """Take a scalar function for every backend and variant.

        Args:
            function: a scalar function of the operator's tensor and number parameters.
            promote: how operand dtypes become the dtype of the loop and of the result.
            when: values of other parameters for which this function is meant; several can be attached then.
            dtypes: the kinds of dtypes for which it is meant; several can be attached then.
            cast: which dtypes an ``out=`` may have: ``same``, ``safe`` or ``any``; None for PyTorch's rule.
            names: parameters by what is said of them: ``keep``, ``wrapped``, ``promoting``, ``rounded``, ``nonzero``
                (see ``PointwiseDefinition.add``).

        Raises:
            ScalarFunctionError: the function holds what a scalar graph cannot.
            KernelSignatureError: its parameters are not the operator's.
        """
        decorator = f"{self.function.__name__}.pointwise"
        scalar = require_function(function, decorator)
        schema = self.main.schema
        self._require_one_way("pointwise", scalar)
        what = " ".join(["pointwise", *([str(dict(when))] if when else []), *dtypes])
        self._require_free(what, scalar)
        Attached(scalar, self.name, decorator, schema).require_numbers()
        present = self.definition
        definition = present if isinstance(present, PointwiseDefinition) else PointwiseDefinition(schema, self.name)
        definition.add(scalar, promote=promote, when=when, dtypes=dtypes, cast=cast, **names)
        self._claim(what, scalar)
        self._tell_underived(definition.formulas[-1].function)
        if definition is present:
            return
        if "meta" in self.attached:
            self._check_with(definition, self.attached["meta"])
        self.definition = definition
        self._infer_entry()
        for key in COMPILED_KEYS:
            self._register_structured(key)
        self._register_common()

    def _tell_underived(self, function: ScalarFunction) -> None:
        """Warn of a scalar function that gives no derivative, unless a formula has been declared before."""
        error = None if self.main.derivative is not None else function.underived()
        if error is not None:
            warnings.warn(f"{self.name}: no gradient can be derived. {error}", UserWarning, stacklevel=5)

    def _infer_tag(self, tag: str) -> None:
        """Tag the operators for which the declaration names no tags."""
        for variant in self.untagged:
            self.operators[variant].tags = (tag,)
            self.functions[variant].__dict__["tags"] = (tag,)

    def _infer_entry(self) -> None:
        """What every pointwise entry says, unless the declaration says otherwise."""
        self._infer_tag("pointwise")
        for variant, operator in self.operators.items():
            operator.properties.setdefault("device_check", "NoCheck")
            if variant == "out" and self.structured:
                operator.properties.setdefault("structured_inherits", "TensorIteratorBase")

    def attach_reduction(self, combine: object, options: Mapping[str, Any]) -> None:
        """Take the scalar functions of a reduction, for every backend and variant.

        Args:
            combine: the accumulators of some elements, then those of others -> those of all.
            options: ``init``, ``lift``, ``finish``, ... as ``opdsl.kernels.ReductionDefinition.add`` has them.

        Raises:
            ScalarFunctionError: a function holds what a scalar graph cannot.
            KernelSignatureError: a function does not fit, or an option is unknown.
        """
        function = require_function(combine, f"{self.function.__name__}.reduction")
        self._require_one_way("reduction", function)
        when = options.get("when")
        what = f"reduction {dict(when)}" if when else "reduction"
        self._require_free(what, function)
        present = self.definition
        definition = (
            present if isinstance(present, ReductionDefinition) else ReductionDefinition(self.main.schema, self.name)
        )
        self._require_numbers("reduction", function, options)
        definition.add(function, **options)
        self._claim(what, function)
        if definition is present:
            return
        if "meta" in self.attached:
            self._check_with(definition, self.attached["meta"])
        self.definition = definition
        self._infer_tag("reduction")
        for key in COMPILED_KEYS:
            self._register_structured(key)
        self._register_common()

    def _require_numbers(self, what: str, combine: FunctionType, options: Mapping[str, object]) -> None:
        for each in (combine, options.get("lift"), options.get("finish")):
            if isinstance(each, FunctionType):
                Attached(each, self.name, f"{self.function.__name__}.{what}", self.main.schema).require_numbers()

    def attach_scan(self, keys: Iterable[str], combine: object, options: Mapping[str, Any]) -> None:
        """Take the scalar functions of a scan, for every backend and variant.

        Args:
            keys: the dispatch keys of the kernels; none for those of all backends that compile.
            combine: the accumulators of some elements, then those of later ones -> those of all.
            options: ``init``, ``lift``, ``finish``, ... as ``opdsl.kernels.ScanDefinition.define`` has them.

        Raises:
            ScalarFunctionError: a function holds what a scalar graph cannot.
            KernelSignatureError: a function does not fit, or an option is unknown.
        """
        function = require_function(combine, f"{self.function.__name__}.scan")
        self._require_one_way("scan", function)
        self._require_free("scan", function)
        self._require_numbers("scan", function, options)
        definition = ScanDefinition(self.main.schema, self.name)
        definition.define(function, **options)
        self._claim("scan", function)
        self.definition = definition
        chosen = dispatch_keys(keys, function, self.main)
        for key in chosen or COMPILED_KEYS:
            self._register_structured(key)
        if not chosen:
            self._register_common()

    def attach_row(self, function: object, *, promote: str = "default") -> None:
        """Take a row function, for every backend and variant.

        Args:
            function: a scalar function of the operator's tensor and number parameters, by name, which may fold rows.
            promote: what becomes of integers, see ``RowDefinition``.

        Raises:
            ScalarFunctionError: the function holds what a scalar graph cannot.
            KernelSignatureError: its parameters are not the operator's, or there is no ``.meta``.
        """
        decorator = f"{self.function.__name__}.row"
        row = require_function(function, decorator)
        self._require_one_way("row", row)
        self._require_free("row", row)
        if "meta" not in self.attached:
            raise KernelSignatureError(
                f"{location(row)}: {self.name}: @{decorator} has no shape function, which sets the outputs and says "
                f"which dimensions a row has. Write @{self.function.__name__}.meta above it."
            )
        Attached(row, self.name, decorator, self.main.schema).require_numbers()
        definition = RowDefinition(self.main.schema, self.name, self.attached["meta"], row, promote)
        self._claim("row", row)
        self.definition = definition
        for key in COMPILED_KEYS:
            self._register_structured(key)
        self._register_common()

    def attach_out_kernel(
        self, keys: Iterable[str], function: object, *, compiled: bool, alias_safe: bool = False
    ) -> None:
        """Take a kernel that fills outputs, for one backend.

        Args:
            keys: the dispatch keys.
            function: takes the arguments, the precomputed values, the outputs.
            compiled: whether the backend compiles it for arrays and numbers.
            alias_safe: whether it may get an argument as its output, as an in-place call has it.

        Raises:
            KernelSignatureError: its parameters are not the schema's and then the outputs, or there is no ``.meta``.
        """
        decorator = f"{self.function.__name__}.out_kernel"
        kernel = require_function(function, decorator)
        definition = self._structured(kernel, decorator)
        outs = self._out_names()
        parameters = definition.kernel_parameters(outs)
        more = {**precomputed_types(self._structured_option("precomputed")), **dict.fromkeys(outs, BaseType.Tensor)}
        parsed = checked_out_kernel(kernel, keys, self.main, decorator, parameters, more, compiled=compiled)
        self._add_out_kernel(parsed, kernel, compiled=compiled, alias_safe=alias_safe)

    def attach_cuda_kernel(
        self, keys: Iterable[str], function: object, source: str, entry: str | None, *, alias_safe: bool
    ) -> None:
        """Take a kernel in CUDA C++ that fills outputs.

        Args:
            keys: the dispatch keys, CUDA alone.
            function: says how it is launched.
            source: the text, or the name of a file beside the module.
            entry: the kernel's name; None for the function's.
            alias_safe: see ``attach_out_kernel``.

        Raises:
            KernelSignatureError: it is for another backend, its parameters are none of the operator's, or there is no
                ``.meta``.
        """
        decorator = f"{self.function.__name__}.out_kernel"
        launch = require_function(function, decorator)
        definition = self._structured(launch, decorator)
        schema, outs = self.main.schema, self._out_names()
        types = {each.python_name: each.type for each in schema.arguments if each.python_name not in outs}
        parsed = checked_launch(launch, keys, self.main, decorator)
        names = definition.kernel_parameters(outs)
        cuda_source(launch, source, entry, names, types, len(outs), operator=self.name)
        self._add_out_kernel(parsed, launch, compiled=True, alias_safe=alias_safe)

    def _structured(self, kernel: FunctionType, decorator: str) -> StructuredDefinition:
        """The definition that out-kernels belong to."""
        if not isinstance(self.definition, StructuredDefinition):
            raise KernelSignatureError(
                f"{location(kernel)}: {self.name}: @{decorator} fills outputs that no shape function has set. "
                f"Write @{self.function.__name__}.meta above it."
            )
        return self.definition

    def _add_out_kernel(
        self, parsed: Sequence[DispatchKey], kernel: FunctionType, *, compiled: bool, alias_safe: bool
    ) -> None:
        definition = self._structured(kernel, "out_kernel")
        self._require_one_way("out_kernel", kernel)
        for key in parsed:
            self._require_free(f"out_kernel {key}", kernel)
        for key in dict.fromkeys(parsed):
            self._claim(f"out_kernel {key}", kernel)
            definition.add_kernel(str(key), kernel, compiled=compiled)
            definition.alias_safe |= alias_safe
            self._register_structured(key)

    def _out_names(self) -> tuple[str, ...]:
        out = self.operators.get("out")
        if out is not None:
            return tuple(each.python_name for each in out.schema.out)
        count = len(self.main.schema.returns)
        return ("out",) if count == 1 else tuple(f"out{place}" for place in range(count))

    def _register_structured(self, key: DispatchKey) -> None:
        assert self.definition is not None, "a definition is made before it is registered"
        for variant, operator in self.operators.items():
            self.library.register(operator, key, self.definition.kernel(variant, operator, str(key)))

    def _register_common(self) -> None:
        """Register what serves backends that have a kernel of the ``out=`` operator alone."""
        out = self.operators.get("out")
        if out is None:
            return
        assert self.definition is not None, "a definition is made before it is registered"
        definition = FilledByOut(self.definition, out)
        for variant, operator in self.operators.items():
            key = COMMON if operator is out else NON_FUNCTIONAL
            self.library.register(operator, key, CommonKernel(definition, variant, operator))

    def _require_one_way(self, what: str, function: FunctionType, *, reads_numbers: bool | None = None) -> None:
        """Refuse what would take the place of something attached before, or would never be asked.

        Args:
            what: is attached: one of ``_WAYS``, or ``meta``.
            function: with its place.
            reads_numbers: what a shape function says; None for that of the one that is attached.

        Raises:
            DuplicateOperatorError: the operator is computed in another way already.
            KernelSignatureError: ``reads_numbers=False`` stands beside something else than ``.pointwise``.
        """
        refused = {"scan"} if what == "meta" else _WAYS - {what} | ({"meta"} if what == "scan" else set())
        kinds = {name.partition(" ")[0]: each for name, each in self.attached.items()}
        name = self.function.__name__
        for other in sorted(refused & kinds.keys()):
            reason = "a scan has the shape of its input" if "meta" in (what, other) else "it is computed in one way"
            raise DuplicateOperatorError(
                f"{location(function)}: {self.name}: @{name}.{what} does not stand beside @{name}.{other}, which is "
                f"attached at {location(kinds[other])}: {reason}. Remove one of them."
            )
        ways = (kinds.keys() | {what}) & _WAYS
        if not (self.meta_reads_numbers if reads_numbers is None else reads_numbers) and ways - {"pointwise"}:
            raise KernelSignatureError(
                f"{location(function)}: {self.name}: reads_numbers=False says which calls of a pointwise operator "
                f"share a plan; @{name}.{min(ways - {'pointwise'})} does without. Remove it."
            )

    def _require_free(self, what: str, function: FunctionType) -> None:
        """A second of the same is a mistake."""
        present = self.attached.get(what)
        if present is not None:
            raise DuplicateOperatorError(
                f"{location(function)}: {self.name}: a second {what} is attached; the first stands at "
                f"{location(present)}. Remove one of them."
            )

    def _claim(self, what: str, function: FunctionType) -> None:
        """Note that something is attached.

        Raises:
            DeclarationError: the entry says that its kernels are registered apart (INV-25).
        """
        if self.main.properties.get("manual_kernel_registration"):
            raise DeclarationError(
                f"{location(function)}: {self.name} is declared with manual_kernel_registration=True: no kernel "
                f'belongs to its entry. Register it apart: @library.impl("{self.name}", "CPU").'
            )
        self._require_free(what, function)
        self.attached[what] = function
