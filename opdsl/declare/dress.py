"""From a declaration to the functions that users hold: attributes, documentation, Tensor methods."""

from __future__ import annotations

from functools import partial
from types import FunctionType

from opdsl.declare.declaration import Declaration
from opdsl.declare.facets import Facets, dress_function
from opdsl.dispatch import Packet, registry
from opdsl.dispatch.bindings import is_bound
from opdsl.dispatch.packet import has_method
from opdsl.runtime import install_method


def dress(declaration: Declaration) -> FunctionType:
    """Make the functions of a declaration's operators, install their methods, and return the one that was declared.

    That is the packet's function when the declaration is the packet's first and calls reach it, otherwise the
    operator's own.
    """
    main: FunctionType | None = None
    for variant, operator in declaration.operators.items():
        packet = declaration.library.registry.packets[operator.packet_name]
        # The operator's own function is made when it is looked at: many never are.
        operator.dress = partial(_describe, facets=Facets(declaration, operator))
        leads = operator.is_bound and next(iter(packet.overloads.values())) is operator
        if leads:
            operator.dress(packet.function)
        is_main = operator is declaration.main
        function = packet.function if leads and is_main else packet.operator_function(operator)
        if is_main:
            main = function
        declaration.functions[variant] = function
        if "method" in str(operator.properties.get("variants", "")) and _is_method(declaration, packet):
            _install(declaration, packet)
    assert main is not None, "a declaration has at least one operator"
    return main


def _describe(function: FunctionType, facets: Facets) -> None:
    """Give a function its attributes and the declared one's documentation; ``inspect`` follows ``__wrapped__``."""
    dress_function(function, facets)
    declared = facets.declaration.function
    function.__doc__ = declared.__doc__ or f"``{facets.operator.schema}``"
    function.__module__ = declared.__module__
    if facets.operator is facets.declaration.main:
        if "<locals>" not in declared.__qualname__:  # which says where it was declared, and not what it is called
            function.__qualname__ = declared.__qualname__
        function.__dict__["__wrapped__"] = declared


def _is_method(declaration: Declaration, packet: Packet) -> bool:
    """Whether Tensor gets the method: only the process's own operators, and of PyTorch's those that Python binds."""
    if declaration.library.registry is not registry:
        return False
    return not packet.name.startswith("aten::") or is_bound(packet.base, as_method=True)


def _install(declaration: Declaration, packet: Packet) -> None:
    """Install the packet's method on Tensor, once.

    Raises:
        DuplicateOperatorError: Tensor has something of that name already.
    """
    if packet.method is not None:
        return
    facade = packet.facade(
        has_method,
        is_method=True,
        not_implemented=packet.base.startswith("__"),  # as the special methods of Python's operators must
    )
    facade.function.__doc__ = declaration.function.__doc__
    install_method(packet.base, facade.function)
    packet.method = facade
