"""The loop IR: what a kernel does, between the definitions of operators and the printers of backends.

``model`` has its nodes, ``text`` shows them, ``checking`` holds them against their rules, ``interpreter`` runs them on
NumPy: the oracle of every printer. ``elementwise``, ``folding``, ``rows`` and ``indexed`` make loops of what compilers
are asked (``kernels.calls``), ``schedules`` are functions from loops to loops.
"""
