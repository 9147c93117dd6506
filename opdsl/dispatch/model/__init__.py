"""Operators, packets of them, and where they are found."""
