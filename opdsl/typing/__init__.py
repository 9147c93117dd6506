"""Typing tools: the mypy plugin and the stub generator.

The plugin (``plugins = opdsl.typing.mypy_plugin`` in mypy's configuration) runs inside mypy and refers to the classes
of the package by name. May import: errors, schema. The stub generator (``stubs``) uses the registered operators; it may
import everything below.
"""
