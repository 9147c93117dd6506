"""Tensors made from nothing, from data and from random numbers; copies and conversions."""
