"""Mathematical functions of scalar graphs: formulas that lower each one to arithmetic, selects and bit operations.

The formulas are the same for every index of a loop and for every backend, so results depend neither on alignment nor on
chunking, and CPU and GPU agree. They contain no branches, so that loops around them vectorize.

May import: the modules of ``opdsl.scalar`` that make graphs.
"""
