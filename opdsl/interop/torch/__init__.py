"""PyTorch: operators that are declared here, as operators of a running torch, and torch's operators here.

>>> import opdsl
>>> from opdsl.interop.torch import deregister, register
>>> lib = opdsl.Library("doctest_torch")
>>> @lib.op(inplace=True, out=True)
... @opdsl.formula
... def halved(self: opdsl.Tensor) -> opdsl.Tensor:
...     '''``self / 2``'''
...     return self / 2
>>> register(lib)
('doctest_torch::halved', 'doctest_torch::halved_', 'doctest_torch::halved.out')
>>> import torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> torch.ops.doctest_torch.halved(x).sum().backward()
>>> x.grad
tensor([0.5000, 0.5000])
>>> deregister(lib)
>>> lib.close()

torch is imported when one of these functions is first called. It has to be 2.11 or newer; 2.13.0 is what is tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opdsl.declare.library import Library
    from opdsl.declare.operator import Operator
    from opdsl.programs import Program

__all__ = ["backend", "compiled_graphs", "deregister", "from_fx", "register", "register_collate", "to_fx", "wrap"]


def register(what: Library | Any, *, fuses: bool = True, autocast: str = "derived") -> tuple[str, ...]:
    """Define operators in torch, under the same names: ``torch.ops.mylib.smooth_relu(x)``.

    Each operator keeps its schema and tags. Its CPU kernels run on torch's memory; its meta function serves fake
    tensors (``torch.compile``, ``torch.export``), its derivative autograd in both modes; ``torch.vmap`` works as well.
    In-place, ``out=`` and view operators are composites of these. What is registered already stays if it is as it was,
    and is replaced otherwise; so is an operator that is declared again.

    Args:
        what: a library, for all operators of its namespace; or a declared function, for all its overloads and variants.
        fuses: whether ``torch.compile`` with inductor may take pointwise operators and reductions apart, into calls of
            aten, so that they fuse with what stands beside them; otherwise it calls the kernels here.
        autocast: what floating-point tensors are cast to within ``torch.autocast``, float64 apart:
            ``"lower_precision"``, autocast's dtype; ``"float32"``; ``"given"``, nothing: the operator promotes by its
            own rules; ``"derived"``, the lower precision for operators whose code multiplies matrices (``@``,
            ``matmul``, ``linear``, ``conv2d`` and their kin), nothing for others. Autocast is off beneath it.

    Returns:
        The names of the operators that torch has now.

    Raises:
        MissingDependencyError: there is no torch, or one that is too old.
        DuplicateOperatorError: torch has an operator of that name that is not from here; nothing is registered then.
        DeclarationError: the operators are torch's own, those of ``aten``; or a body enters what torch has nothing of,
            such as ``opdsl.exclude_keys``.

    >>> import opdsl, torch
    >>> from opdsl.interop.torch import deregister, register
    >>> with opdsl.Library("example_register") as lib:
    ...     @lib.op
    ...     @opdsl.formula
    ...     def cubed(self: opdsl.Tensor) -> opdsl.Tensor:
    ...         return self * self * self
    ...     register(lib)
    ...     torch.ops.example_register.cubed(torch.tensor([2.0]))
    ...     deregister(lib)
    ('example_register::cubed',)
    tensor([8.])
    """
    names: tuple[str, ...] = _registration().register(what, fuses=fuses, autocast=autocast)
    return names


def deregister(what: Library | Any) -> None:
    """Take back what ``register`` did: the operators, their kernels and derivatives.

    Nodes of earlier calls still give their gradients. An operator that is held raises ``UnknownOperatorError`` until it
    is registered again; a compiled program that calls one raises.

    No call of them may run in another thread meanwhile: PyTorch frees an operator beneath it.

    Args:
        what: as of ``register``.

    Raises:
        UnknownOperatorError: nothing of it is registered.

    >>> import opdsl, torch
    >>> from opdsl.interop.torch import deregister, register
    >>> with opdsl.Library("example_deregister") as lib:
    ...     @lib.op
    ...     def halved(self: opdsl.Tensor) -> opdsl.Tensor:
    ...         return self / 2
    ...     _ = register(lib)
    ...     deregister(lib)
    ...     hasattr(torch.ops.example_deregister, "halved")
    False
    """
    _registration().deregister(what)


def wrap(target: Any) -> Operator[..., Any]:
    """A torch operator, to be called with opdsl tensors.

    Args:
        target: its name, ``"aten::add"`` for all overloads or ``"aten::add.Tensor"`` for one; or the torch operator
            itself, ``torch.ops.aten.add``.

    Returns:
        The function of an opdsl operator (or packet) of the same schema, which ``opdsl.ops.torch_aten.add`` finds, too.
        Its ``variants`` are the in-place and ``out=`` operators that torch has of it. Memory is shared both ways, views
        show the memory of what they are taken of, gradients come from torch's autograd. Random numbers are torch's. A
        second time gives the same function.

    Raises:
        MissingDependencyError: torch is not installed, or too old.
        UnknownOperatorError: torch has no such operator.
        DeclarationError: opdsl cannot express its schema (dictionaries, named dimensions, types of TorchScript).

    >>> import opdsl
    >>> similarity = wrap("aten::cosine_similarity")
    >>> similarity(opdsl.tensor([[3.0, 4.0]]), opdsl.tensor([[4.0, 3.0]]))
    tensor([0.9600])
    >>> print(similarity.schema)
    torch_aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor
    """
    _require_torch()
    from opdsl.interop.torch import wrapping

    return wrapping.wrap(target)


def from_fx(exported: Any) -> Program:
    """A model that PyTorch has exported, as a program that runs here.

    Args:
        exported: what ``torch.export.export`` gives, or a ``torch.fx.GraphModule``: a graph of calls of ATen operators,
            whose nodes say what they give (``node.meta["val"]``), as ``torch.export`` and ``make_fx`` have them do.

    Returns:
        The program. Its inputs are the model's; sizes that were exported as dynamic are names. Weights and buffers are
        its constants and share the memory of torch's. ``opdsl.compile`` takes it as a function.

    Raises:
        MissingDependencyError: torch is not installed, or too old.
        ProgramError: it calls operators that are not here; the message names all of them.

    >>> import opdsl, torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    >>> program = from_fx(torch.export.export(model, (torch.ones(4, 3),)))
    >>> program(opdsl.ones(4, 3)).shape
    (4, 2)
    """
    _require_torch()
    from opdsl.interop.torch import exported as reading

    return reading.from_fx(exported)


def to_fx(program: Program) -> Any:
    """A program as a ``torch.fx.GraphModule``: what ``Program.to_fx`` gives.

    Args:
        program: which.

    Returns:
        The module.

    Raises:
        MissingDependencyError: torch is not installed, or too old.
        ProgramError: torch lacks an operator.

    >>> import opdsl, torch
    >>> to_fx(opdsl.trace(lambda x: x * 2, opdsl.ones(2)))(torch.ones(3))
    tensor([2., 2., 2.])
    """
    _require_torch()
    from opdsl.interop.torch import writing

    return writing.to_fx(program)


def backend(graph: Any, examples: Any) -> Any:
    """What ``torch.compile(model, backend="opdsl")`` runs: the graphs of a model as programs, on torch's memory.

    Dynamo follows the model and guards it, AOTAutograd makes a graph of its forward and one of its backward pass. What
    is here of them is fused and lowered; what is not, and random numbers, torch runs as it does without a compiler.
    ``compiled_graphs`` tells which.

    Args:
        graph: of dynamo's.
        examples: its arguments, fake ones.

    Returns:
        What runs the graph.

    Raises:
        MissingDependencyError: torch is too old.

    >>> import opdsl, torch
    >>> @torch.compile(backend="opdsl")
    ... def gelu(x):
    ...     return 0.5 * x * (1 + torch.erf(x * 0.5**0.5))
    >>> gelu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    _require_torch()
    from opdsl.interop.torch import compiling

    return compiling.make_backend()(graph, examples)


def compiled_graphs() -> tuple[Any, ...]:
    """The graphs that ``torch.compile`` has handed to the backend, and that are still there.

    Returns:
        Each with its ``kind`` (``inference``, ``forward`` or ``backward``), the ``programs`` that run, and, as
        ``left``, the operators that torch runs with the reason. In words, by ``str``.

    Raises:
        MissingDependencyError: torch is not installed, or too old.

    >>> import torch
    >>> dropped = torch.compile(lambda x: torch.nn.functional.dropout(x.exp() * 2), backend="opdsl")
    >>> _ = dropped(torch.ones(3))
    >>> print(*(each for each in compiled_graphs() if each.left))
    inference: 1 programs of 1 steps
    torch runs aten::native_dropout: it draws torch's random numbers
    """
    _require_torch()
    from opdsl.interop.torch import compiling

    return compiling.compiled_graphs()


def register_collate() -> None:
    """Let ``torch.utils.data.DataLoader`` make batches of data sets of our tensors: those of a batch are stacked.

    What worker processes send comes in shared memory, as torch's tensors do: this process copies nothing.

    Raises:
        MissingDependencyError: torch is not installed, or too old.

    >>> import opdsl
    >>> from torch.utils.data import DataLoader
    >>> register_collate()
    >>> data = [(opdsl.tensor([1.0]), 2), (opdsl.tensor([3.0]), 4)]
    >>> next(iter(DataLoader(data, batch_size=2)))
    [tensor([[1.],
            [3.]]), tensor([2, 4])]
    """
    _require_torch()
    from torch.utils.data._utils.collate import default_collate_fn_map

    from opdsl._attributes import aten
    from opdsl.interop.torch import sending
    from opdsl.runtime import Tensor

    default_collate_fn_map[Tensor] = lambda batch, **_: aten.stack(batch)
    sending.register()


def _registration() -> Any:
    _require_torch()
    from opdsl.interop.torch import registration

    return registration


def _require_torch() -> None:
    from opdsl.interop.torch.requirement import require_torch

    require_torch()
