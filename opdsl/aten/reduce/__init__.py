"""Sums, extrema, statistics and scans: what is computed of many elements."""
