"""Adapter for dask: declared operators on chunked arrays, evaluated lazily and split by rules derived from definitions.

>>> import dask.array as da, opdsl
>>> from opdsl.interop.dask import lazy
>>> x = da.ones((6, 4), chunks=(2, 3))
>>> y = lazy(opdsl.exp)(x)  # blocks stay as they are: pointwise
>>> lazy(opdsl.var)(y, 0).compute().shape  # a tree of the declared combine
(4,)

Blocks are NumPy arrays, whose memory kernels read and write without a copy, so results go on in dask's own graph.
Shapes and dtypes come from meta functions: nothing is computed to find them. The extra ``dask`` installs dask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.errors import MissingDependencyError

__all__ = ["lazy"]


def lazy(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an operator as a function of dask arrays, which builds a dask graph and computes nothing.

    Args:
        operator: a declared function, of opdsl or of a user: ``opdsl.softmax``, ``smooth_relu``. Worker processes
            import the module that declares it.

    Returns:
        A function with the operator's arguments, whose tensor arguments are dask arrays, NumPy arrays or tensors. It
        returns a dask array, or a tuple of them for several results, without computing anything.

        A dimension that cannot be split is merged into one chunk, with a warning. The function raises ``ShardingError``
        where it needs sizes that are unknown.

    Raises:
        MissingDependencyError: dask is not installed.
        DeclarationError: ``operator`` is not a declared operator.

    >>> import opdsl
    >>> import dask.array as da
    >>> from opdsl.interop.dask import lazy
    >>> lazy(opdsl.softmax)(da.zeros((4, 2), chunks=(2, 2)), 1).compute()[0].tolist()
    [0.5, 0.5]
    """
    try:
        import dask.array  # noqa: F401
    except ImportError:
        raise MissingDependencyError("dask is not installed. Install it with: pip install 'opdsl[dask]'") from None
    from opdsl.interop.dask.calls import on_arrays

    return on_arrays(operator)
