"""Creation operators: tensors from sizes, data and random numbers; copies and conversions."""
