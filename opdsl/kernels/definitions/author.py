"""Structured operators with handwritten kernels: a shape function, and one out-kernel for each backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple, cast

from opdsl.dispatch.layers.checked import require_annotated
from opdsl.dispatch.plans.traceable import is_traceable
from opdsl.dispatch.state import current
from opdsl.errors import (
    DTypeError,
    KernelError,
    KernelSignatureError,
    MissingKernelError,
    OpdslError,
    ShapeError,
    UnsupportedDTypeError,
)
from opdsl.kernels.calls import ArraySpec, AuthorCall
from opdsl.kernels.compiler import Compiled, compiler_for, has_compiler
from opdsl.kernels.definitions.meta import MetaContext
from opdsl.kernels.definitions.precomputed import Precomputed
from opdsl.kernels.definitions.structured import (
    Arguments,
    CompiledCall,
    Definition,
    PreparedCall,
)
from opdsl.kernels.iteration.dtypes import OutputCast, c_name, check_output_dtype, dtypes_named
from opdsl.kernels.outputs import OutputSpec, array_of, maker_for, tensor_over
from opdsl.runtime.device import Device, cpu
from opdsl.runtime.dtype import ALL_DTYPES, DType
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import Noted, lowering
from opdsl.runtime.scopes import Setting
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.symbol import NotLoweredError, Symbol, pinned
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema


class OutKernel(NamedTuple):
    """Author's kernel that fills the outputs of an operator on one backend.

    function: takes the arguments, the precomputed values, the outputs.
    compiled: whether the backend compiles it for arrays and numbers; otherwise Python runs it on the tensors.
    dtypes: the dtypes of the first tensor that it supports; None for all.
    places: positions of the values that it takes before the outputs among those offered; None for all.
    """

    function: Callable[..., object]
    compiled: bool
    dtypes: frozenset[DType] | None = None
    places: tuple[int, ...] | None = None

    def taken(self, values: Arguments) -> Arguments:
        """Return the values that the function takes, out of all those offered."""
        return values if self.places is None else tuple([values[place] for place in self.places])

    def require_dtype(self, values: Arguments, outputs: Sequence[TensorMeta]) -> None:
        """Raise if the kernel does not support the dtype of the first tensor.

        Raises:
            UnsupportedDTypeError: it does not.
        """
        first = next((tensor.dtype for tensor in tensors_in(values)), outputs[0].dtype if outputs else None)
        if self.dtypes is not None and first is not None and first not in self.dtypes:
            have = ", ".join(dtype.name for dtype in ALL_DTYPES if dtype in self.dtypes)
            raise UnsupportedDTypeError(f"not implemented for '{first.scalar_type}' (it is for {have}). Convert first.")

    def handed(self, value: Any) -> Any:
        """Convert an argument or output to the value that the function gets."""
        return _handed(value) if self.compiled else value


class Handed(NamedTuple):
    """Values that a shape function passes on to the out-kernel of its call.

    computed: the precomputed values by their names.
    operands: the arguments, as the function's base has prepared them.
    common: the dtype that they were cast to; None if they were not. Outputs are then cast from it.
    """

    computed: Mapping[str, object]
    operands: Arguments
    common: DType | None = None


class StructuredDefinition(Definition):
    """Definition of an operator by a shape function and out-kernels.

    Args:
        schema: of the operator.
        name: its name, for messages.
        meta: the shape function, called as ``meta(ctx, *arguments)``; it returns the precomputed values by name, if
            there are any.
        precomputed: the names of these values, which out-kernels get after the arguments or in place of some.
        base: the class of the context that the shape function gets.
        alias_safe: whether a kernel may get an input as its output; if not, it fills a temporary then.
    """

    __slots__ = ("alias_safe", "base", "kernels", "meta", "precomputed")

    is_compiled = False

    def __init__(
        self,
        schema: FunctionSchema,
        meta: Callable[..., object],
        name: str | None = None,
        *,
        precomputed: Iterable[str] | Precomputed = (),
        base: type[MetaContext] = MetaContext,
        alias_safe: bool = False,
    ) -> None:
        super().__init__(schema, schema.name.qualified if name is None else name)
        self.meta = meta
        self.precomputed = precomputed if isinstance(precomputed, Precomputed) else Precomputed({}, tuple(precomputed))
        self.base = base
        self.alias_safe = alias_safe
        self.kernels: dict[str, OutKernel] = {}

    def kernel_parameters(self, outputs: Iterable[str]) -> tuple[str, ...]:
        """Return the names of an out-kernel's parameters: arguments, precomputed values, outputs."""
        return (*self.precomputed.parameters(parameter.name for parameter in self.parameters), *outputs)

    def add_kernel(
        self,
        key: str,
        function: FunctionType,
        *,
        compiled: bool = True,
        dtypes: Iterable[str] = (),
        taken: Iterable[str] | None = None,
    ) -> None:
        """Register the out-kernel of a backend.

        Args:
            key: of the backend.
            function: the kernel.
            compiled: whether the backend compiles it.
            dtypes: the kinds of dtypes, and the dtypes, that it supports; none for all.
            taken: its parameters, some of ``kernel_parameters``; None for all.

        Raises:
            KernelSignatureError: it assigns to an output's name, which would leave the output unfilled, or there is
                no such kind or dtype.
        """
        code = function.__code__
        outputs = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount][-self.results :]
        rebound = _rebound(code, outputs)
        if rebound:
            raise KernelSignatureError(
                f"{code.co_filename}:{code.co_firstlineno}: {self.name}: the out-kernel {function.__name__} assigns to "
                f"the name {rebound!r}, which does not fill the output. Write {rebound}[...] = ... instead."
            )
        try:
            meant = dtypes_named(dtypes) or None
        except ValueError as error:
            raise KernelSignatureError(f"{self.name}: dtypes={tuple(dtypes)!r}: {error}.") from error
        offered = self.kernel_parameters(())
        places = tuple(offered.index(text) for text in (taken or offered) if text in offered)
        is_all = places == tuple(range(len(offered)))
        self.kernels[key] = OutKernel(function, compiled, meant, None if is_all else places)

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return "structured"

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        function = self.kernels[key].function if key in self.kernels else self.meta
        return (cast(FunctionType, function),)

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        first = next(tensors_in(arguments), None)
        device = first.device if first is not None else _named_device(arguments)
        context = self.base(self.name, self.results, tensors, device)
        returned = self.meta(context, *(arguments if is_traceable(self.meta) else pinned(arguments)))
        require_annotated(self.name, self.meta, returned)
        specs = context.specs(_name_of(self.meta))
        return PreparedCall(specs, Handed(self._computed(returned), context.operands(arguments), context.common))

    def _computed(self, returned: object) -> Mapping[str, object]:
        if not self.precomputed.names and returned is None:
            return {}
        wanted = ", ".join(self.precomputed.names) or "nothing"
        if not isinstance(returned, Mapping) or set(returned) != set(self.precomputed.names):
            got = f"{{{', '.join(map(str, returned))}}}" if isinstance(returned, Mapping) else type(returned).__name__
            raise KernelError(
                f"{self.name}: the shape function {_name_of(self.meta)} returned {got}, but it has to return {wanted}. "
                "Return a dict of the precomputed values, or declare them: precomputed=(...)."
            )
        return returned

    def check_given(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, inplace: bool) -> None:
        """See ``Definition.check_given``; the error texts are torchgen's."""
        if inplace:
            for what, mine, wanted in (
                ("dtype", c_name(output.dtype), c_name(spec.dtype)),
                ("size", list(output.shape), list(spec.shape)),
            ):
                if mine != wanted:
                    raise (DTypeError if what == "dtype" else ShapeError)(
                        f"Bad in-place call: input tensor {what} {mine} and output tensor {what} {wanted} should match"
                    )
        common = prepared.state.common if isinstance(prepared.state, Handed) else None
        if common is not None:
            check_output_dtype(spec.dtype, output.dtype, OutputCast.SAFE, common)
        elif output.dtype is not spec.dtype:
            raise DTypeError(
                f"Expected out tensor to have dtype {c_name(spec.dtype)}, but got {c_name(output.dtype)} instead"
            )

    def needs_proxy(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, aliased: bool) -> bool:
        """See ``Definition.needs_proxy``: true for strides that differ from the specification, and for an input that
        would be overwritten.
        """
        if (aliased and not self.alias_safe) or output.dtype is not spec.dtype:
            return True
        return spec.exact and output.shape == spec.shape and not _same_strides(output.geometry, spec.strides)

    # ----------------------------------------------------------------------------------------------------- a call

    def compile_call(
        self, prepared: PreparedCall, arguments: Arguments, outputs: Sequence[TensorMeta], key: str, *, allocate: bool
    ) -> CompiledCall:
        """See ``Definition.compile_call``."""
        kernel = self._kernel(key)
        values = self._handed(arguments, prepared)
        kernel.require_dtype(values, outputs)
        values = kernel.taken(values)
        compute = _compute(kernel, values, outputs)
        if allocate:
            compute = _allocating(compute, outputs, compiled=kernel.compiled)
        return CompiledCall(compute, tuple(map(kernel.handed, values)), kernel.handed)

    def _handed(self, arguments: Arguments, prepared: PreparedCall) -> Arguments:
        """Return the values that an out-kernel gets before the outputs."""
        state: Handed = prepared.state
        pairs = zip((parameter.name for parameter in self.parameters), state.operands, strict=True)
        return self.precomputed.values(dict(pairs), state.computed)

    def _kernel(self, key: str) -> OutKernel:
        kernel = self.kernels.get(key)
        if kernel is None:
            have = ", ".join(self.kernels) or "none"
            raise MissingKernelError(
                f"there is no {key} out-kernel (have {have}). "
                f'Register one with @{self.schema.name.base}.out_kernel("{key}").'
            )
        return kernel


def _compute(kernel: OutKernel, values: Arguments, outputs: Sequence[TensorMeta]) -> Compiled:
    """Return the kernel for the types of a call, with its exceptions converted to opdsl's."""
    if not kernel.compiled or not has_compiler(outputs[0].device.type):
        guarded = _guarded(kernel.function)
        is_run = lowering.get() is None or is_traceable(kernel.function)
        return guarded if is_run else Noted(_in_this_state(guarded), [])
    call = AuthorCall(tuple(map(_spec, values)), tuple(map(_array_spec, outputs)))
    return compiler_for(outputs[0].device.type).author(kernel.function, call)


def _guarded(function: Callable[..., object]) -> Compiled:
    """Wrap a Python kernel so that its exceptions, and any returned value, raise KernelError."""

    def guarded(*values: Any) -> None:
        try:
            result = function(*values)
        except (OpdslError, NotLoweredError):
            raise
        except Exception as error:
            raise KernelError(f"{_described(function)} raised {type(error).__name__}: {error}") from error
        if result is not None:
            raise KernelError(
                f"{_described(function)} returned {type(result).__name__}, but it has to fill its outputs. "
                "Write into them, and return nothing."
            )

    return guarded


def _in_this_state(function: Compiled) -> Compiled:
    """Wrap a function that calls operators, so that a plan runs it in the dispatch state of this moment (below
    autograd).
    """
    setting = Setting(current, current.get().change(lowering=False))

    def within(*values: Any) -> None:
        with setting:
            function(*values)

    return within


def _described(function: Callable[..., object]) -> str:
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    where = "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"
    return f"the out-kernel {_name_of(function)}{where}"


def _allocating(compute: Compiled, geometries: Sequence[TensorMeta], *, compiled: bool) -> Compiled:
    """Wrap a kernel that fills outputs so that it allocates and returns them."""

    makers = [maker_for(geometry) for geometry in geometries]
    make, form = makers[0], geometries[0]

    def allocating_tensor(*values: Any) -> Any:
        array = make()
        compute(*values, tensor_over(array, form))
        return array

    def allocating_array(*values: Any) -> Any:
        array = make()
        compute(*values, array)
        return array

    def allocating_several(*values: Any) -> Any:
        arrays = [maker() for maker in makers]
        outputs = arrays if compiled else map(tensor_over, arrays, geometries)
        compute(*values, *outputs)
        return arrays

    if len(geometries) > 1:
        return allocating_several
    return allocating_array if compiled else allocating_tensor


def _same_strides(form: TensorMeta, strides: tuple[int, ...]) -> bool:
    """Return whether a tensor has given strides; those of dimensions of size 1, and of empty tensors, do not matter."""
    return form.numel == 0 or all(
        mine == wanted for size, mine, wanted in zip(form.shape, form.strides, strides, strict=True) if size != 1
    )


def _handed(value: Any) -> Any:
    """Convert an argument for an out-kernel to arrays, numbers, strings, None, and tuples of these."""
    if isinstance(value, Tensor):
        return array_of(value)
    if isinstance(value, (tuple, list)):
        return tuple(map(_handed, value))
    return value.name if isinstance(value, DType) else value


def _spec(value: Any) -> Any:
    """Return the type of a converted argument, as ``AuthorCall`` describes it."""
    if isinstance(value, Tensor):
        return _array_spec(value.geometry)
    if isinstance(value, (tuple, list)):
        return tuple(map(_spec, value))
    return None if value is None else type(_handed(value.example if type(value) is Symbol else value))


def _array_spec(form: TensorMeta) -> ArraySpec:
    return ArraySpec(form.dtype, form.ndim, "C" if form.is_contiguous() else "A")


def _named_device(arguments: Arguments) -> Device:
    return next((argument for argument in arguments if isinstance(argument, Device)), cpu)


def _name_of(function: object) -> str:
    return str(getattr(function, "__name__", function))


def _rebound(code: CodeType, outputs: Sequence[str]) -> str | None:
    """Return the first of the names that the code assigns to or deletes; None for none."""
    import dis

    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(("STORE_FAST", "DELETE_FAST")):
            stored = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            for name in stored:
                if name in outputs:
                    return str(name)
    return None
