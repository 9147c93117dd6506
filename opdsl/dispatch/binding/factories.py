"""Rules for factories, the operators that create tensors from options such as dtype and device.

The rules are torchgen's: ``needs_backend_select`` of ``gen.py``, and ``signature_from_schema`` of ``api/python.py``.
"""

from __future__ import annotations

from opdsl.schema import FunctionSchema

__all__ = ["needs_backend_select", "takes_requires_grad"]


def needs_backend_select(schema: FunctionSchema) -> bool:
    """Return whether calls are dispatched by the ``device`` argument, as those of factories with TensorOptions are.

    Calls of ``new_zeros``, ``zeros_like`` and similar operators are dispatched by their tensor argument.
    """
    base = schema.name.base
    return bool(schema.tensor_options) and not (base.endswith("_like") or base.startswith("new_"))


def takes_requires_grad(schema: FunctionSchema, category_override: object) -> bool:
    """Return whether the Python function takes ``requires_grad`` in addition to the schema's TensorOptions.

    Args:
        schema: the operator's schema.
        category_override: the property of that name of its entry: ``factory`` makes a factory of an operator that takes
            tensors, ``new`` and ``like`` act like these parts of a name, ``dummy`` makes it an ordinary operator.
    """
    if not schema.tensor_options or category_override == "dummy":
        return False
    takes_tensors = any(
        str(argument.type).startswith("Tensor") for argument in schema.arguments if argument not in schema.out
    )
    is_like = not needs_backend_select(schema) or category_override in ("new", "like")
    return category_override == "factory" or is_like or not takes_tensors
