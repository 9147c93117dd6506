"""Helpers that several operator modules share: options of declarations, checks, index tensors."""
