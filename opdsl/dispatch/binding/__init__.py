"""From what a caller wrote to the arguments of one schema, and back."""
