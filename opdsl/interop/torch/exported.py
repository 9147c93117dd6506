"""Conversion of exported PyTorch programs and torch.fx graphs to programs of opdsl, which share the weights."""

from __future__ import annotations

from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

from opdsl.errors import ArgumentError, ProgramError
from opdsl.interop.torch.reading import GraphReader
from opdsl.programs.checking import checked
from opdsl.programs.program import Program

__all__ = ["from_fx"]


def from_fx(exported: Any) -> Program:
    """See ``opdsl.interop.torch.from_fx``."""
    if isinstance(exported, torch.export.ExportedProgram):
        return checked(_ExportedReader(exported).program("exported"))
    if isinstance(exported, torch.fx.GraphModule):
        return checked(GraphReader(exported.graph.nodes, exported).program(str(exported.meta.get("name", "graph"))))
    raise ArgumentError(
        "from_fx expects the result of torch.export.export, or a torch.fx.GraphModule of ATen's operators (got "
        f"{type(exported).__name__}). Export the model first."
    )


class _ExportedReader(GraphReader):
    """Reader that converts one exported program."""

    def __init__(self, exported: torch.export.ExportedProgram) -> None:
        super().__init__(exported.graph.nodes, exported.graph_module)
        self.exported = exported
        self._specs = iter(exported.graph_signature.input_specs)

    def placeholder(self, node: torch.fx.Node) -> None:
        """See ``GraphReader``: weights and buffers become constants, not arguments of the program."""
        spec = next(self._specs)
        if spec.kind is InputKind.USER_INPUT:
            super().placeholder(node)
            return
        held = self.exported.constants if spec.kind is InputKind.CONSTANT_TENSOR else self.exported.state_dict
        constant = held.get(str(spec.target), self.exported.constants.get(str(spec.target)))
        if not isinstance(constant, torch.Tensor):
            raise ProgramError(f"the input {node.name} ({spec.kind.name}) is no tensor. Export the model without it.")
        self.constant(node, constant)

    def outputs(self, node: torch.fx.Node) -> Any:
        """See ``GraphReader``: only the user's outputs are returned, one alone or several as a tuple."""
        specs = self.exported.graph_signature.output_specs
        kept = [
            self.operand(output)
            for output, spec in zip(node.args[0], specs, strict=True)  # type: ignore[arg-type]
            if spec.kind is OutputKind.USER_OUTPUT
        ]
        return kept[0] if len(kept) == 1 else tuple(kept)
