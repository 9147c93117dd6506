"""Typing tools: the mypy plugin and the stub generator.

The plugin (``plugins = opdsl.typing.mypy_plugin`` in mypy's configuration) may import: ``opdsl.errors`` and
``opdsl.schema``; it runs inside mypy and never loads the rest of what it checks.
"""
