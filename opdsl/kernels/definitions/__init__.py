"""Definitions: the result properties and the computation of an operator, from which the kernels of all its variants are
made.
"""
