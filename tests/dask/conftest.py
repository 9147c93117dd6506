"""Exclusion of modules that are no tests from collection."""

# Worker processes import the module as ``faulty``.
collect_ignore = ["faulty.py"]
