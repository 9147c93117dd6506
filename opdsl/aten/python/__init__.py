"""Python interface of tensors: special methods, subscripts, properties, alternative names of operators, and
``vmap``.
"""
