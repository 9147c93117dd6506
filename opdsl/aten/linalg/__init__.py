"""Products, decompositions and equations of matrices."""
