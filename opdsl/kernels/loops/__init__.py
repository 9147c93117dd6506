"""Loop IR: the intermediate representation of kernels, from which backends print code.

``model`` has its nodes, ``text`` shows them, ``checking`` verifies programs, ``interpreter`` runs them on NumPy as the
reference for every printer. ``elementwise``, ``folding``, ``rows`` and ``indexed`` build loops from the calls that
compilers get (``kernels.calls``), ``schedules`` are functions from loops to loops.
"""
