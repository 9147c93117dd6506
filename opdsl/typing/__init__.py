"""Typing tools: the mypy plugin and the stub generator.

The plugin (``plugins = opdsl.typing.mypy_plugin`` in mypy's configuration) runs inside mypy and knows the classes of
the package by name. May import: errors, schema. The stub generator (``stubs``) looks at what is declared; it may import
everything below.
"""
