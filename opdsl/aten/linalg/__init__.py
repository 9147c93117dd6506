"""Operators of linear algebra: products, decompositions, norms and systems of equations."""
