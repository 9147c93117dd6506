"""Modules that are no tests."""

# Worker processes import it by its own name.
collect_ignore = ["faulty.py"]
