"""How calls may be cut into pieces: derived from definitions, as data.

``rules`` says for each kind of definition which dimensions may be cut together, ``windows`` of what slides windows,
``partial`` what is left to combine, ``composites`` follows a cut through what a body calls, ``operators`` finds the
rule of an operator. Engines (dask, PyTorch's DTensor), laws and ``opdsl show`` read the same rules.
May import: errors, schema, scalar, runtime, dispatch, kernels.
"""
