"""Execution of ``opdsl.scan`` and ``opdsl.fold``: operands are aligned, then the steps run in one kernel or one by
one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

from opdsl.dispatch.state import current
from opdsl.errors import DimensionError, DimError, PositionError
from opdsl.formulas.control import callee, is_element
from opdsl.formulas.dim_axes import aligned, over, union
from opdsl.formulas.dim_rules import joined_masks, on_device, placed, positional
from opdsl.formulas.dim_tensor import Dim, DimTensor, arange, functions, names
from opdsl.formulas.forms import NotElementwiseError
from opdsl.formulas.loops import as_tensor
from opdsl.formulas.scan_steps import Number, Operand, element_step, lifted
from opdsl.programs.branches import MaskedBranch, masked_branch
from opdsl.runtime import Device, DType, Tensor, bool_, int64
from opdsl.runtime.device import cpu
from opdsl.runtime.promotion import promote_types
from opdsl.runtime.scopes import Setting
from opdsl.runtime.symbol import is_symbol

__all__ = ["Carrying", "dtype_of"]


class Carrying:
    """Scan, or ordered fold, along dims or a dimension, with its operands aligned to common axes.

    Args:
        name: of the function (``scan`` or ``fold``), for messages.
        step, init, values: see ``scan``.
        targets: what the steps iterate over: dims, of which the last varies fastest, or one positional dimension.
        is_reverse: whether the steps begin at the end.

    dims: dims of the results: first ``others``, over which the steps do not iterate, then ``along``.
    ndim: the number of positional dimensions.
    axis: the axis of aligned operands along which the steps go.
    operands: tensors with axes for dims, then positional dimensions.
    absent: for each result, the dims among ``others`` along which it is constant; its axes have size 1 there.
    """

    def __init__(
        self,
        name: str,
        step: Callable[..., Any],
        init: Any,
        values: Sequence[Any],
        targets: tuple[int | Dim, ...],
        *,
        is_reverse: bool,
    ) -> None:
        self.name = f"opdsl.{name}"
        self.is_reverse = is_reverse
        self.is_tuple = isinstance(init, tuple)
        self.structure: Any = init
        starts = list(init if self.is_tuple else (init,))
        if not starts:
            raise DimError(f"{self.name}: init is an empty tuple. Pass a number or a tensor for each carried value.")
        self.step = callee(step)
        self.values = list(values)
        self._require_values()
        self.targets = self._targets(targets)
        self.lifted, captured, self.works_along_dims = lifted(self.step, self._turning())
        beside = (*starts, *values, *captured)
        self.init = [self._start(start, beside) for start in starts]
        branch = masked_branch.get()
        self.branch, self.taken = branch, [init, list(values), captured]
        if branch is not None:
            dims = [target for target in self.targets if isinstance(target, Dim)]
            branch.cross(self.taken, dims, is_positional=len(dims) < len(self.targets))
        self.values, self.captured = (
            [as_tensor(value, beside) if is_symbol(value) else value for value in group] for group in (values, captured)
        )
        self.absent: list[set[Dim]] = [set() for _ in self.init]
        self._lay_out()

    def _turning(self) -> frozenset[Dim]:
        """Return the dims along which the scan iterates."""
        return frozenset(target for target in self.targets if isinstance(target, Dim))

    def _start(self, value: Any, beside: Sequence[Any]) -> Any:
        if not (is_symbol(value) or is_element(value) or isinstance(value, Number)):
            raise DimError(
                f"{self.name}: init has to be a number, a tensor, or a tuple of these (got {type(value).__name__}: "
                f"{value!r})"
            )
        return as_tensor(value, beside) if is_symbol(value) or isinstance(value, complex) else value

    def _require_values(self) -> None:
        for value in self.values:
            if not (is_symbol(value) or is_element(value) or isinstance(value, Number)):
                raise DimError(
                    f"{self.name}: values have to be tensors or numbers (got {type(value).__name__}: {value!r}). The "
                    "step function may close over other objects."
                )

    def _targets(self, targets: tuple[int | Dim, ...]) -> tuple[int | Dim, ...]:
        tensors = [value for value in self.values if is_element(value)]
        if not targets or len(set(targets)) < len(targets):
            raise DimError(f"{self.name}: expected one dimension, or several different dims (got {targets!r})")
        for target in targets:
            if isinstance(target, Dim):
                continue
            if isinstance(target, bool) or not isinstance(target, int) or len(targets) > 1:
                raise DimError(
                    f"{self.name}: expected a dim, or an int for a positional dimension (got {target!r}). Use dims for "
                    "several dimensions: x[..., i, j]."
                )
            if not tensors:
                raise DimError(f"{self.name}: no value has the dimension {target}. Pass a tensor.")
        return targets

    # ---------------------------------------------------------------------------------------------------- layout

    def _lay_out(self) -> None:
        along = [target for target in self.targets if isinstance(target, Dim)]
        elements = [value for value in (*self.values, *self.captured) if is_element(value)]
        with_dims = [value for value in (*elements, *self.init) if isinstance(value, DimTensor)]
        varying = set(union([value for value in elements if isinstance(value, DimTensor)]))
        self.extra = [dim for dim in along if dim not in varying]  # no operand has these dims: only their sizes matter
        chosen = set(along)
        others = [dim for dim in union(with_dims) if dim not in chosen]
        self.along, self.others, self.dims = along, others, [*others, *along]
        self._require_init(along)
        starts = [positional(start) for start in self.init if is_element(start)]
        self.ndim = max([positional(value) for value in elements], default=0)
        self.ndim = max([self.ndim, *(count + (not along) for count in starts)])
        if along:
            self.axis = len(others)
        elif not self.dims and not self.ndim:
            raise DimError(f"{self.name}: no value has a dimension to iterate over. Pass x.unsqueeze(0).")
        else:
            self.axis = placed(self.targets[0], len(self.dims), self.ndim) % (len(self.dims) + self.ndim)
        self.mask = joined_masks([value for value in elements if isinstance(value, DimTensor)])
        self.beside = [*elements, *[start for start in self.init if is_element(start)]]

    def _require_init(self, along: Sequence[Dim]) -> None:
        for value in self.init:
            if isinstance(value, DimTensor) and not set(along).isdisjoint(value.dims):
                raise DimError(
                    f"{self.name}: init varies along {names(tuple(along))}, over which the steps iterate. It is the "
                    "carried value before the first step."
                )

    def laid(self, value: Any, ndim: int | None = None) -> Tensor:
        """Return an operand aligned to the axes of all dims, with the dims over which the steps iterate merged into one
        axis.

        Args:
            value: the operand.
            ndim: number of positional dimensions after these axes; by default the largest number that any operand has.
        """
        ndim = self.ndim if ndim is None else ndim
        value = on_device(value, self.beside) if isinstance(value, DimTensor) else value
        laid_out = aligned(value, self.dims, ndim) if isinstance(value, DimTensor) else value
        own = set(value.dims) if isinstance(value, DimTensor) else set()
        if own.isdisjoint(self.along):
            return laid_out if len(self.along) < 2 or laid_out.ndim <= ndim else self._merged(laid_out)
        at = self.axis
        sizes = [dim.settle(f"{self.name}()") for dim in self.along]
        shape = laid_out.shape
        if any(one != size for one, size in zip(shape[at : at + len(sizes)], sizes, strict=True)):
            laid_out = laid_out.expand(*shape[:at], *sizes, *shape[at + len(sizes) :])
        return self._merged(laid_out)

    def _merged(self, tensor: Tensor) -> Tensor:
        """Reshape a tensor so that the dims along which the steps go become one axis."""
        count, shape = len(self.along), tensor.shape
        if count < 2:
            return tensor
        size = math.prod(shape[self.axis : self.axis + count])
        return tensor.reshape(*shape[: self.axis], size, *shape[self.axis + count :])

    def laid_start(self, value: Any) -> Tensor:
        """Return an initial tensor aligned as operands are, with size 1 along the axis of the steps."""
        if isinstance(value, DimTensor):
            return self.laid(value)
        if self.along or not positional(value):
            return cast(Tensor, value)
        missing = self.ndim - 1 - positional(value)
        plain: Tensor = value
        for _ in range(missing):
            plain = plain.unsqueeze(0)
        return plain.unsqueeze(self.axis - len(self.dims))

    # ------------------------------------------------------------------------------------------------------ results

    def scan(self) -> Any:
        """Return the carried values after each step."""
        carried = enumerate(self._carried())
        return self._given([self._over(state, self.dims, self.absent[at], self.mask) for at, state in carried])

    def fold(self) -> Any:
        """Return the carried values after the last step."""
        carried = enumerate(self._carried())
        return self._given([self._over(self._last(state, at), self.others, self.absent[at]) for at, state in carried])

    def _over(
        self, tensor: Tensor, dims: Sequence[Dim], absent: Collection[Dim], mask: DimTensor | None = None
    ) -> Tensor:
        """Convert a result to a ``DimTensor`` over those of the dims along which it varies."""
        axes = [at for at, dim in enumerate(dims) if dim in absent]
        return over(tensor.squeeze(axes) if axes else tensor, [dim for dim in dims if dim not in absent], mask)

    def _given(self, results: list[Tensor]) -> Any:
        """Return the results, after recording in the current formula branch that they derive from its masked values."""
        if self.branch is not None:
            self.branch.hand_on(self.taken, results)
        return self._wrapped(results)

    def _last(self, states: Tensor, at: int) -> Tensor:
        if states.shape[self.axis] != 0:
            return states.select(self.axis, -1).clone()  # a view would keep the states of all steps alive
        start = self.init[at]
        shape = (*states.shape[: self.axis], *states.shape[self.axis + 1 :])
        if not is_element(start):
            return states.new_full(shape, start)
        plain = self.laid_start(start)
        plain = plain.squeeze(self.axis) if plain.ndim == states.ndim else plain
        return plain.to(states.dtype).expand(shape)

    def _wrapped(self, results: list[Tensor]) -> Any:
        if not self.is_tuple:
            return results[0]
        kind = type(self.structure)
        return kind(*results) if hasattr(kind, "_fields") else kind(results)

    def _carried(self) -> list[Tensor]:
        nothing: MaskedBranch | None = None
        with Setting(masked_branch, nothing):
            return self._computed()

    def _computed(self) -> list[Tensor]:
        if not self.works_along_dims:
            try:
                return self._by_recurrence()
            except NotElementwiseError:
                pass
        return self._turn_by_turn()

    def call(self, carried: Sequence[Any], elements: Sequence[Any]) -> tuple[Any, ...]:
        """Call the step function for one iteration, and check the structure of the values that it returns.

        Args:
            carried: values carried to the step.
            elements: elements of the captured tensors, then of the values that are no numbers.
        """
        remaining = iter(elements)
        closed = [next(remaining) for _ in self.captured]
        values = [next(remaining) if is_element(value) else value for value in self.values]
        state = self._wrapped(list(carried)) if self.is_tuple else carried[0]
        returned = self.lifted(*closed, state, *values)
        parts = returned if isinstance(returned, tuple) else (returned,)
        is_same = isinstance(returned, tuple) is self.is_tuple and len(parts) == len(self.init)
        if not is_same or not all(is_element(part) or is_symbol(part) or isinstance(part, Number) for part in parts):
            wanted = f"a tuple of {len(self.init)}" if self.is_tuple else "a tensor"
            raise DimError(
                f"{self.name}: a step gets {wanted} and returns {_shown(returned)}. Return the new carried values: as "
                "many tensors as init has."
            )
        return parts

    # --------------------------------------------------------------------------------------------------- recurrences

    def _by_recurrence(self) -> list[Tensor]:
        """Compute all steps in one kernel; the step function must be elementwise.

        Raises:
            NotElementwiseError: the step does more than compute elements.
        """
        elements = [value for value in (*self.captured, *self.values) if is_element(value)]
        operands = [self.laid(value) for value in elements]
        kinds = [Operand(operand.dtype, not operand.ndim) for operand in operands]
        starts = [self._operand(start) for start in self.init]
        count = len(self.init)
        read = element_step(lambda *inputs: self.call(inputs[:count], inputs[count:]), starts, kinds)
        operands += [self.laid(dim) for dim in self.extra[:1]]
        numbers = [None if is_element(start) else start for start in self.init]
        size = self._size(operands)
        further: list[Tensor] = []
        device = self._device()
        if None in numbers:
            further.append(self._begins(size, device).reshape(size, *(1,) * (self._rank - self.axis - 1)))
            further += [self.laid_start(start) for start in self.init if is_element(start)]
        if self.mask is not None:
            further.append(self.laid(self.mask))
        if self.extra:
            read = read._replace(operands=len(operands))
        run = read.recurrence(numbers, is_masked=self.mask is not None, is_reverse=self.is_reverse)
        tensors = [
            operand if operand.device is device or operand.ndim else operand.to(device)
            for operand in (*operands, *further)
        ]
        outputs = run(*tensors, self.axis)
        return list(outputs) if isinstance(outputs, tuple) else [outputs]

    def _device(self) -> Device:
        """Return the device that the scan runs on: that of its tensors, except numbers on the CPU."""
        devices = [value.device for value in self.beside if not getattr(value, "is_of_dims", False)]
        return next((device for device in devices if device is not cpu), cpu)

    def _begins(self, size: int, device: Device) -> Tensor:
        """Return a boolean tensor that marks the first step, which starts from the initial values."""
        return arange(size, device) == (size - 1 if self.is_reverse else 0)

    @property
    def _rank(self) -> int:
        return len(self.dims) - max(len(self.along) - 1, 0) + self.ndim

    def _size(self, operands: Sequence[Tensor]) -> int:
        """Return the number of steps."""
        if self.along:
            return math.prod(dim.size for dim in self.along)
        sizes = [operand.shape[self.axis - self._rank] for operand in operands if self._has_axis(operand)]
        return next((size for size in sizes if size != 1), 1)

    def _has_axis(self, tensor: Tensor) -> bool:
        return tensor.ndim >= self._rank - self.axis

    def _operand(self, value: Any) -> Operand:
        if not is_element(value):
            return Operand(dtype_of(value), True)
        start = self.laid_start(value)
        return Operand(start.dtype, not start.ndim)

    # ---------------------------------------------------------------------------------------------- step by step

    def _turn_by_turn(self) -> list[Tensor]:
        """Compute the steps one by one, for a step function that reduces or reads at other indices.

        Initial numbers have no dimensions; if the first step fails with them, they are expanded to the dimensions of
        the operands.
        """
        elements = [value for value in (*self.captured, *self.values) if is_element(value)]
        operands = [self.laid(value, positional(value) if self.along else None) for value in elements]
        first = self._first_turn(operands, elements)
        turns = [first]
        for turn in self._order(operands)[1:]:
            turns.append(self._turn(turns[-1], operands, elements, turn))
        if self.is_reverse:
            turns.reverse()
        columns = list(zip(*turns, strict=True))
        self._take_dimensions(columns)
        results = [self._stacked(column) for column in columns]
        return results if self._size(operands) else [result.narrow(self.axis, 0, 0) for result in results]

    def _first_turn(self, operands: Sequence[Tensor], elements: Sequence[Any]) -> tuple[Any, ...]:
        turn = self._order(operands)[0]
        try:
            return self._turn((), operands, elements, turn)
        except PositionError:
            if self._size(operands):
                raise
            return self._at_begin((), turn)  # size 0, so no element can be read: use the dtypes of the initial values
        except (DimError, DimensionError) as error:
            if all(map(is_element, self.init)):
                raise
            self._spread_numbers(operands, elements)
            try:
                return self._turn((), operands, elements, turn)
            except (DimError, DimensionError):
                raise DimError(
                    f"{self.name}: in the first step {error} Initial numbers vary along no dims; use a tensor that "
                    "does as init: opdsl.zeros(n)[i]."
                ) from error

    def _take_dimensions(self, columns: Sequence[Sequence[Any]]) -> None:
        """Set the dims and dimensions of the results to those that the steps returned, which may differ from the
        operands'.

        Args:
            columns: for each result, the values that the steps returned.
        """
        varying = [set(union([value for value in column if isinstance(value, DimTensor)])) for column in columns]
        known = set(self.others)  # a set, since it compares dims by identity: i == j computes a tensor
        further = [dim for dim in dict.fromkeys(dim for own in varying for dim in own) if dim not in known]
        self.axis += len(further)
        self.others = [*self.others, *further]
        self.dims = [*self.others, *self.along]
        self.absent = [set(self.others) - own for own in varying]
        if self.along:
            self.ndim = max(positional(value) for column in columns for value in column)

    def _order(self, operands: Sequence[Tensor]) -> range:
        """Return the step indices in order; a scan of length 0 gets one step, which determines dtypes and sizes of the
        results.
        """
        order = range(max(self._size(operands), 1))
        return order[::-1] if self.is_reverse else order

    def _turn(
        self, carried: tuple[Any, ...], operands: Sequence[Tensor], elements: Sequence[Any], turn: int
    ) -> tuple[Any, ...]:
        """Run the step at an index and return the values that it carries on."""
        carried = self._at_begin(carried, turn)
        parts = [self._part(operand, value, turn) for operand, value in zip(operands, elements, strict=True)]
        values = tuple([value if is_element(value) else as_tensor(value, ()) for value in self.call(carried, parts)])
        if self.mask is not None:
            is_turn = self._part(self.laid(self.mask), self.mask, turn)
            values = tuple([functions().where(is_turn, new, old) for new, old in zip(values, carried, strict=True)])
        return tuple([self._of_one_turn(value) for value in values])

    def _of_one_turn(self, value: Any) -> Any:
        """Check that a returned value does not vary along the dims of the steps, and return it.

        A step that reads tensors in other ways than through its closure reads all indices of these dims.

        Raises:
            DimError: the value varies along dims of the steps, and there is at least one step.
        """
        turning = [dim for dim in self._turning() if isinstance(value, DimTensor) and dim in value.depends]
        if not turning:
            return value
        if all(dim.size for dim in self.along):
            raise DimError(
                f"{self.name}: the result of a step varies along {names(tuple(turning))}, over which the steps "
                "iterate. Pass the tensors that it reads as values, or close over the dim in the step itself."
            )
        return value.sum(tuple(turning), dtype=value.dtype)

    def _spread_numbers(self, operands: Sequence[Tensor], elements: Sequence[Any]) -> None:
        """Expand initial numbers to the dimensions that the operands have in one step."""
        pairs = zip(operands, elements, strict=True)
        parts = [self._part(operand, value, 0) for operand, value in pairs if not isinstance(value, Dim)]
        plain = [part.tensor if isinstance(part, DimTensor) else part for part in parts]
        shape = functions().broadcast_shapes(*[tensor.shape for tensor in plain])
        shape = (*(1,) * (len(self.others) - len(shape)), *shape)
        for at, value in enumerate(self.init):
            if not is_element(value):
                start = functions().scalar_tensor(value, dtype=dtype_of(value))
                self.init[at] = over(start.expand(shape), self.others)

    def _part(self, laid_out: Tensor, value: Any, turn: int) -> Any:
        """Return the slice of an aligned operand that one step reads; zeros if the operand has size 0 along the
        steps.
        """
        has_dims = isinstance(value, DimTensor)
        if not (has_dims or self._has_axis(laid_out)) or (self.along and not has_dims):
            return laid_out
        place = self.axis if has_dims else self.axis - self._rank
        count = laid_out.shape[place]
        if count == 0 and isinstance(value, Dim):
            return value
        part = laid_out.select(place, turn if count != 1 else 0) if count else laid_out.sum(place, dtype=laid_out.dtype)
        return over(part, self.others if has_dims else ())

    def _at_begin(self, carried: tuple[Any, ...], turn: int) -> tuple[Any, ...]:
        """Return the values that a step starts from: the initial values for the first step, else the carried ones."""
        return carried or tuple(
            [
                start if is_element(start) else functions().scalar_tensor(start, dtype=dtype_of(start))
                for start in self.init
            ]
        )

    def _stacked(self, parts: Sequence[Any]) -> Tensor:
        """Stack the values carried on by all steps into one tensor, with the axes of aligned operands."""
        others = self.others
        ndim = self.ndim if self.along else self.ndim - 1
        plain = [aligned(value, others, ndim) if isinstance(value, DimTensor) else value for value in parts]
        dtype = plain[0].dtype
        for tensor in plain[1:]:
            dtype = promote_types(dtype, tensor.dtype)
        shape = functions().broadcast_shapes(*[tensor.shape for tensor in plain])
        missing = len(others) + ndim - len(shape)
        shape = (*(1,) * missing, *shape)
        return cast(Tensor, functions().stack([tensor.to(dtype).expand(shape) for tensor in plain], self.axis))


def dtype_of(number: Number) -> DType:
    """Return the dtype in which a scan carries a Python number, before promotion with tensors."""
    default = current.get().default_dtype
    return bool_ if isinstance(number, bool) else int64 if isinstance(number, int) else default


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return "a tensor" if is_element(value) else f"{type(value).__name__}: {value!r}"
