"""Typing tools: the mypy plugin and the stub generator.

The plugin (``plugins = opdsl.typing.mypy_plugin`` in mypy's configuration) runs inside mypy and knows the classes of
the package by name. May import: errors, schema.
"""
