"""Formulas: operators whose Python body is traced and compiled into kernels, and never run as Python."""
