"""Factories: operators that make tensors.

The rules are torchgen's: ``needs_backend_select`` of ``gen.py``, and ``signature_from_schema`` of ``api/python.py``.
"""

from __future__ import annotations

from opdsl.schema import FunctionSchema

__all__ = ["needs_backend_select", "takes_requires_grad"]


def needs_backend_select(schema: FunctionSchema) -> bool:
    """Whether calls go to the backend of the ``device`` argument: TensorOptions say where the result lives.

    ``new_zeros``, ``zeros_like`` and their kin go to the backend of the tensor that they are like.
    """
    name = schema.name.base
    return bool(schema.tensor_options) and not (name.endswith("_like") or name.startswith("new_"))


def takes_requires_grad(schema: FunctionSchema, category_override: object) -> bool:
    """Whether the Python function takes ``requires_grad`` beside the schema's TensorOptions.

    Args:
        schema: the operator's.
        category_override: what its entry says: ``factory`` makes a factory of one that takes tensors, ``new`` and
            ``like`` do what these parts of a name do, ``dummy`` makes it an operator like any other.
    """
    if not schema.tensor_options or category_override == "dummy":
        return False
    takes_tensors = any(
        str(argument.type).startswith("Tensor") for argument in schema.arguments if argument not in schema.out
    )
    is_like = not needs_backend_select(schema) or category_override in ("new", "like")
    return category_override == "factory" or is_like or not takes_tensors
