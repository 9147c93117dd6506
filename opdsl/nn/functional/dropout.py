"""Dropout functions."""

from __future__ import annotations

import warnings

from opdsl.errors import OptionError, ShapeError
from opdsl.nn.functional._common import in_place_or_not
from opdsl.nn.functional._families import by_dims
from opdsl.runtime import Tensor


def _drop(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if not 0.0 <= p <= 1.0:
        raise OptionError(f"dropout probability has to be between 0 and 1, but got {p}")
    return in_place_or_not(name, inplace, input, p, training)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return the input with each element set to 0 with probability ``p``, and the others divided by ``1 - p``.

    Args:
        input: any numbers.
        p: the probability.
        training: whether to apply dropout; otherwise the input is returned.
        inplace: whether the input is written.

    Raises:
        OptionError: ``p`` is not between 0 and 1; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> sorted(set(F.dropout(opdsl.ones(100)).tolist())), F.dropout(opdsl.ones(2), training=False)
    ([0.0, 2.0], tensor([1., 1.]))
    """
    return _drop("dropout", input, p, training, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Return the input after dropout that keeps mean and variance, for ``selu``.

    Args:
        input: any numbers.
        p, training, inplace: see ``dropout``; by default nothing is dropped.

    Raises:
        OptionError: ``p`` is not between 0 and 1; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.alpha_dropout(opdsl.ones(2))
    tensor([1., 1.])
    """
    return _drop("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Return the input after ``alpha_dropout`` of whole channels.

    Args:
        input: of shape (N, C, ...).
        p, training, inplace: see ``alpha_dropout``.

    Raises:
        OptionError: ``p`` is not between 0 and 1; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.feature_alpha_dropout(opdsl.ones(1, 2, 1)).tolist()
    [[[1.0], [1.0]]]
    """
    return _drop("feature_alpha_dropout", input, p, training, inplace)


def _dropout(dims: int, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return the input after dropout of whole channels of {images}.

    Args:
        input: of shape {images}.
        p, training, inplace: see ``dropout``.

    Raises:
        OptionError: ``p`` is not between 0 and 1; it is a ValueError.
        ShapeError: the input has another number of dimensions.

    >>> import opdsl, opdsl.nn.functional as F
    >>> dropped = F.dropout1d(opdsl.ones(1, 50, 4))
    >>> bool((dropped.amax(-1) == dropped.amin(-1)).all())
    True
    >>> F.dropout3d(opdsl.ones(2, 1, 1, 1), p=1.0).flatten()
    tensor([0., 0.])
    """
    if input.ndim == dims + 1:
        drop = _drop("feature_dropout", input.unsqueeze(0), p, training, inplace)
        return input if inplace else drop.squeeze(0)
    if input.ndim != dims + 2:
        raise ShapeError(
            f"dropout{dims}d: Expected {dims + 1}D or {dims + 2}D input, but received a {input.ndim}D input."
        )
    return _drop("feature_dropout", input, p, training, inplace)


dropout1d, dropout3d = by_dims("dropout{dims}d", _dropout, 1, 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return the input after dropout of whole channels of (N, C, H, W); three dimensions are (N, C, L), with a warning,
    as in PyTorch.

    Args:
        input: of shape (N, C, H, W), or (N, C, L).
        p, training, inplace: see ``dropout``.

    Raises:
        OptionError: ``p`` is not between 0 and 1; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.dropout2d(opdsl.ones(1, 2, 1, 1), p=1.0).tolist()
    [[[[0.0]], [[0.0]]]]
    """
    if input.ndim not in (3, 4):
        warnings.warn(f"dropout2d: Received a {input.ndim}-D input, which is deprecated. Use dropout.", stacklevel=2)
    if input.ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
            "desired - input is interpreted as shape (N, C, L). Please use dropout1d instead.",
            stacklevel=2,
        )
    return _drop("feature_dropout", input, p, training, inplace)
