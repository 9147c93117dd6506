"""Operators that compute each element of the result from the corresponding elements of the operands."""
