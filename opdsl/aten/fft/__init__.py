"""Operators of Fourier transforms."""
