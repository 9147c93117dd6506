"""Operators, packets of overloads, and the registry and namespaces where they are looked up."""
