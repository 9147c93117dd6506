"""Assertions of the types of dims."""

from typing import assert_type

import opdsl
from opdsl import Dim, Tensor

i, j = opdsl.dims(2)
x = opdsl.ones(2, 3)

assert_type(opdsl.dims(1), Dim)
assert_type(opdsl.dims(3), tuple[Dim, Dim, Dim])
assert_type(opdsl.dim(range(3)), Dim)
assert_type(i + 1, Tensor)
assert_type(i * j, Tensor)
assert_type(x[i, j], Tensor)
assert_type(x[i, j].sum(j), Tensor)
assert_type(x.outside(0.0)[i - 1, j], Tensor)
assert_type(x[i, j].order(i, j), Tensor)
