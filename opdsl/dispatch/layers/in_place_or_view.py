"""Layer for the ADInplaceOrView key: marks how views were created, and guards inference tensors against writes.

Autograd refuses in-place writes to views whose gradients it could not distinguish, which depends on the mode in which
they were created (``as_view`` in torch/csrc/autograd/VariableTypeUtils.h). The geometry stores this mode.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from opdsl.dispatch.binding.results import written_values
from opdsl.dispatch.keys import AUTOGRAD_KEYS, KeySet
from opdsl.dispatch.model.kernel import Around, Kernel
from opdsl.dispatch.state import State, current
from opdsl.errors import RequiresGradError
from opdsl.runtime import Creation, Tensor, TensorMeta, version_of
from opdsl.runtime.snapshot import tensors_in

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator, Reached

__all__ = ["TrackedViews", "in_place_or_view"]

_VIEW_KEYS = KeySet("ADInplaceOrView")


def in_place_or_view(operator: Operator, kernel: Kernel, reached: Reached) -> Kernel:
    """Wrap a kernel in the handling of in-place writes or of views, if it runs below autograd's own kernels' key.

    Autograd removes ADInplaceOrView from the key set of calls that its own kernels make.
    """
    keys = reached.keys
    is_left_to_others = reached.is_composite and kernel.kind != "view"
    if is_left_to_others or not keys.meets(_VIEW_KEYS) or keys.meets(AUTOGRAD_KEYS):
        return kernel
    if operator.schema.is_mutable:
        return GuardedWrites(operator, kernel)
    return TrackedViews(operator, kernel) if operator.schema.is_view else kernel


class GuardedWrites(Around):
    """Wrapper of a kernel that writes: outside of inference mode it refuses to write inference tensors."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> object:
        """Check the written tensors, and run the kernel.

        Raises:
            RequiresGradError: an inference tensor would be written.
        """
        if not current.get().inference_mode:
            for tensor in tensors_in(written_values(self.operator.schema, arguments)):
                if tensor.geometry.is_inference and tensor.geometry.creation is not Creation.DATA:
                    raise RequiresGradError(
                        "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone "
                        "to get a normal tensor before doing inplace update: x.clone()."
                    )
        return self.kernel(*arguments)


class TrackedViews(Around):
    """Wrapper of a view operator's kernel, which stores the creation mode in the geometries of the results."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> object:
        """Run the kernel and mark its results."""
        results = self.kernel(*arguments)
        mark = self._mark(arguments)
        if mark is not None:
            for result in results if isinstance(results, (list, tuple)) else (results,):
                mark(result)
        return results

    def _mark(self, arguments: tuple[object, ...]) -> Callable[[Tensor], object] | None:
        """Return a function that marks a view made by this call; None if no mark is needed."""
        viewed = next(argument for argument in arguments if isinstance(argument, Tensor))
        form = viewed.geometry
        creation = self._creation(form, current.get())
        if creation is Creation.DEFAULT:
            # If the history of a view cannot be rebuilt, that of a view of it cannot be either, from this version on.
            is_refused = form.creation is not Creation.DEFAULT and not form.creation.is_apart
            return partial(_note_version, viewed) if is_refused else None
        follows = form.requires_grad and creation in (Creation.NO_GRAD, Creation.INFERENCE)
        marked: dict[TensorMeta, TensorMeta] = {form: form}  # a kernel that returns the tensor itself has made no view

        def marked_form(tensor_meta: TensorMeta) -> TensorMeta:
            requires_grad = follows and (tensor_meta.dtype.is_floating_point or tensor_meta.dtype.is_complex)
            return (
                tensor_meta.replace(creation=creation, requires_grad=requires_grad)
                if tensor_meta.is_view
                else tensor_meta
            )

        def mark(view: Tensor) -> None:
            view_meta = view.geometry
            geometry = marked.get(view_meta)
            if geometry is None:
                geometry = marked[view_meta] = marked_form(view_meta)
            if geometry is not view_meta:
                view.geometry = geometry
                if not creation.is_apart:
                    view._writes = version_of(view)

        return mark

    def _creation(self, form: TensorMeta, state: State) -> Creation:
        """Return the creation mode of views that this call makes of a tensor, by grad mode and inference mode."""
        derivative = self.operator.derivative
        viewed = self.operator.schema.arguments[0].python_name
        if derivative is not None and viewed in derivative.non_differentiable:
            return Creation.DETACHED
        if state.inference_mode:
            return Creation.INFERENCE
        if not state.grad_mode:
            return Creation.NO_GRAD
        if self.operator.returns_list:
            return Creation.SEVERAL
        return Creation.DEFAULT  # a view of a view keeps the creation in the geometry of the viewed tensor


def _note_version(viewed: Tensor, view: Tensor) -> None:
    if view is not viewed:
        view._writes = version_of(view)
