"""The decorators: a Python signature becomes a schema, an entry, operators and their variants.

May import: errors, schema, native, scalar, runtime, dispatch, kernels, autograd.
"""
