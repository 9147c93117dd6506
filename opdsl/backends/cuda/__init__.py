"""The CUDA backend: scalar graphs become CUDA C++.

What is here prints the source of kernels, which needs no GPU and no NVIDIA software. Nothing compiles or launches it
yet, so ``device="cuda"`` is refused.
May import: lower layers, and cuda-python at the edge.
"""
