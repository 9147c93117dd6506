"""The mathematics of scalar graphs: formulas that lower each function to arithmetic, selects and bit operations.

The formulas are the same for every position of a loop and for every backend, so results depend neither on alignment nor
on chunking, and CPU and GPU agree. They hold no branches, so that loops around them vectorise.

May import: the modules of ``opdsl.scalar`` that make graphs.
"""
