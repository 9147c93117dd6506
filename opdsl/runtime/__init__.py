"""Tensors without operators: dtypes, devices, geometries, views, memory sharing and printing.

Knows no operator; the operator library installs methods through ``opdsl.runtime.tensor.install_method``.
May import: opdsl.errors and the vocabulary of opdsl.schema.
"""
