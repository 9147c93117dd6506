"""Gradients: the engine, the derivative table, derivatives of scalar graphs, functional transforms.

Nothing of it is here yet: until it is, autograd keys fall through and no tensor requires grad. May import: errors,
schema, scalar, runtime, dispatch, kernels.
"""
