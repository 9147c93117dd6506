"""What kernels written in Python are made of: copies, fills, products, gathering, sorting, random numbers."""
