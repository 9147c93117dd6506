"""What Python programs see of tensors: operators, subscripts, questions, other names, vmap."""
