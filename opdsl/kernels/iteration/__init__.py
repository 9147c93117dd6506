"""Loop nests from operands: computation dtypes, broadcast shapes, strides, coalesced dimensions (as PyTorch's
TensorIterator).
"""
