"""Functions of one array API client library that ``test_clients.py`` runs on tensors and on NumPy's arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy

import opdsl

rng = numpy.random.default_rng(0)
MATRIX = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4))
TARGET = MATRIX @ numpy.array([1.0, -2.0, 0.5, 3.0]) + 0.1 * rng.normal(size=40)
CLASSES = (TARGET > 0).astype(numpy.int64)


def agree(function: Callable[..., Any], *arrays: numpy.ndarray, tolerance: float = 1e-10) -> int:
    """Check that a function returns the same for tensors and for arrays, and tensors for tensors."""
    ours = function(*(opdsl.from_numpy(array.copy()) for array in arrays))
    theirs = function(*(array.copy() for array in arrays))
    ours, theirs = (output if isinstance(output, (tuple, list)) else (output,) for output in (ours, theirs))
    for one, other in zip(ours, theirs, strict=True):
        assert isinstance(one, (opdsl.Tensor, float, int)), type(one)
        numpy.testing.assert_allclose(numpy.asarray(one), other, rtol=tolerance, atol=tolerance)
    return 1


def scipy() -> int:
    from scipy import cluster, signal, special, stats

    return (
        agree(special.logsumexp, MATRIX)
        + agree(lambda x: special.softmax(x, axis=1), MATRIX)
        + agree(stats.zscore, MATRIX)
        + agree(lambda x: stats.skew(x, axis=0), MATRIX)
        + agree(lambda x: stats.kurtosis(x, axis=0), MATRIX)
        + agree(lambda x, y: stats.pearsonr(x, y).statistic, MATRIX[:, 0], TARGET)
        + agree(cluster.vq.whiten, MATRIX)
        + agree(signal.detrend, TARGET)
    )


def sklearn() -> int:
    import sklearn
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.metrics import accuracy_score, mean_squared_error
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    with sklearn.config_context(array_api_dispatch=True):
        return (
            agree(lambda x: StandardScaler().fit_transform(x), MATRIX)
            + agree(lambda x: MinMaxScaler().fit_transform(x), MATRIX)
            + agree(lambda x: PCA(2, svd_solver="full").fit_transform(x), MATRIX)
            + agree(lambda x, y: Ridge(solver="svd").fit(x, y).predict(x), MATRIX, TARGET)
            + agree(lambda x, y: LinearDiscriminantAnalysis().fit(x, y).decision_function(x), MATRIX, CLASSES)
            + agree(lambda x, y: mean_squared_error(x, y), TARGET, MATRIX[:, 0])
            + agree(lambda x, y: accuracy_score(x, y), CLASSES, 1 - CLASSES)
        )


def array_api_extra() -> int:
    import array_api_extra as xpx

    return (
        agree(lambda x: xpx.cov(x.T), MATRIX)
        + agree(xpx.sinc, MATRIX)
        + agree(xpx.kron, MATRIX[:3], MATRIX[3:5])
        + agree(lambda x: xpx.atleast_nd(x, ndim=3), MATRIX)
        + agree(lambda x: xpx.pad(x, 2), MATRIX)
        + agree(lambda x: xpx.nunique(x), CLASSES)
        + agree(lambda x: xpx.at(x, (slice(None), 0)).add(1.0), MATRIX)
        + agree(lambda x: xpx.create_diagonal(x), TARGET)
    )


def einops() -> int:
    from einops import array_api as einops

    image = MATRIX.reshape(2, 4, 5, 4)
    return (
        agree(lambda x: einops.rearrange(x, "b (h k) w c -> b h w (c k)", k=2), image)
        + agree(lambda x: einops.reduce(x, "b h w c -> b c", "mean"), image)
        + agree(lambda x: einops.reduce(x, "b (h k) w c -> b h w c", "max", k=2), image)
        + agree(lambda x: einops.repeat(x, "h w -> h 3 w"), MATRIX)
        + agree(lambda x, y: einops.pack([x, y], "* c")[0], MATRIX, MATRIX[:3])
        + agree(lambda x: einops.unpack(x, [(3,), (37,)], "* c"), MATRIX)
    )


if __name__ == "__main__":
    print(globals()[sys.argv[1]]())
