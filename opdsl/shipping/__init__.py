"""Packages of compiled operators, which run without opdsl: forms of calls, their plans, machine code, wheels.

``forms`` reads the forms that a project names, ``recording`` those that a script calls. ``samples`` has the arguments
of their calls. ``tracing`` lowers a call to a plan, ``plans`` the calls of an operator, ``variants`` those of its
in-place and ``out=`` variants. ``linking`` makes shared libraries of their kernels, ``package`` writes the package,
``wheel`` its wheel. ``runtime`` is copied into each package.
"""
