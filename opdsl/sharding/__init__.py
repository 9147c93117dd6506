"""Sharding rules: how a call may be split into pieces, derived from definitions as data.

``rules`` has for each kind of definition the dimensions that may be split together, ``windows`` those of sliding
windows, ``partial`` the reductions that remain after a split, ``composites`` follows a split through the operators that
a body calls, ``operators`` finds the rule of an operator. Engines (dask, PyTorch's DTensor), laws and ``opdsl show``
read the same rules.

May import: errors, schema, scalar, runtime, dispatch, kernels.
"""
