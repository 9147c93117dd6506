"""Conversion between the arguments of a Python call and the arguments of one schema."""
