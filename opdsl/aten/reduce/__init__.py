"""Reductions and scans: sums, extrema, norms, statistics, histograms."""
