"""Operators that change shapes: views, copies of views, concatenation, stacking, splitting and padding."""
