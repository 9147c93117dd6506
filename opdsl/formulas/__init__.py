"""Formulas: operators whose body is what is computed, compiled into kernels and never run as Python."""
