"""Operators of special functions: Bessel, gamma, zeta, error and entropy functions, orthogonal polynomials."""
