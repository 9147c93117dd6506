"""Operators of indexing, gathering, scattering, masking, sorting and searching."""
