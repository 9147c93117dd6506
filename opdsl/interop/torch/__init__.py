"""Adapter for PyTorch: registers operators of opdsl in torch, and wraps operators of torch for opdsl tensors.

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

torch is imported when one of these functions is first called. It has to be 2.11 or newer; 2.13.0 is tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opdsl.declare.library import Library
    from opdsl.declare.operator import Operator
    from opdsl.programs import Program

__all__ = ["backend", "compiled_graphs", "deregister", "from_fx", "register", "register_collate", "to_fx", "wrap"]


def register(what: Library | Any, *, fuses: bool = True, autocast: str = "derived") -> tuple[str, ...]:
    """Define operators of opdsl in torch, under the same names: ``torch.ops.mylib.smooth_relu(x)``.

    Each operator keeps its schema and tags. Its CPU kernels run on torch's memory, its meta function computes the
    results for fake tensors (``torch.compile``, ``torch.export``), and its derivative is used by autograd in both
    modes; ``torch.vmap`` works as well. In-place, ``out=`` and view variants are composites of the functional
    operators. An operator that is registered already is kept if it is unchanged, and replaced if it was declared again.

    Args:
        what: a library, for all operators of its namespace; or a declared function, for all its overloads and variants.
        fuses: whether ``torch.compile`` with inductor may decompose pointwise operators and reductions into calls of
            aten, so that inductor fuses them with their neighbors; otherwise it calls the kernels of opdsl.
        autocast: the dtype that floating-point tensors (except float64) are cast to within ``torch.autocast``:
            ``"lower_precision"``: autocast's dtype; ``"float32"``: float32; ``"given"``: no cast, the operator promotes
            by its own rules; ``"derived"``: the lower precision for operators whose code multiplies matrices (``@``,
            ``matmul``, ``linear``, ``conv2d`` and similar ones), no cast for others. Autocast is off within the
            operator.

    Returns:
        The names of the operators that torch has now.

    Raises:
        MissingDependencyError: torch is not installed, or too old.
        DuplicateOperatorError: torch has an operator of that name from another source; nothing is registered then.
        DeclarationError: the operators are in torch's own namespace ``aten``; or a body uses something that torch has
            no counterpart of, such as ``opdsl.exclude_keys``.

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
    """Undo ``register``: remove the operators, their kernels and derivatives from torch.

    Autograd nodes of earlier calls still compute their gradients. A torch operator that a program still refers to
    raises ``UnknownOperatorError`` until it is registered again, and so does a compiled program that calls it.

    No other thread may be running these operators meanwhile, since PyTorch frees them.

    Args:
        what: a library or declared function, as in ``register``.

    Raises:
        UnknownOperatorError: none of the operators is registered.

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
    """Wrap a torch operator so that it can be called with opdsl tensors.

    Args:
        target: its name, ``"aten::add"`` for all overloads or ``"aten::add.Tensor"`` for one; or the torch operator
            itself, ``torch.ops.aten.add``.

    Returns:
        An opdsl operator (or packet) with the same schema, also available as ``opdsl.ops.torch_aten.add``. Its
        ``variants`` are torch's in-place and ``out=`` operators. Tensors share memory with torch, views of arguments
        stay views, gradients come from torch's autograd and random numbers from torch's generators. Repeated calls of
        ``wrap`` return the same function.

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
    """Convert a model exported by PyTorch to a program of opdsl.

    Args:
        exported: the result of ``torch.export.export``, or a ``torch.fx.GraphModule`` whose nodes call ATen operators
            and have fake results in ``node.meta["val"]``, as ``torch.export`` and ``make_fx`` set them.

    Returns:
        The program. It takes the model's inputs; sizes that were exported as dynamic are symbolic. Weights and buffers
        are its constants and share torch's memory. ``opdsl.compile`` accepts the program as a function.

    Raises:
        MissingDependencyError: torch is not installed, or too old.
        ProgramError: the model calls operators that opdsl does not have; the message lists all of them.

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
    """Convert a program to a ``torch.fx.GraphModule``, as ``Program.to_fx`` does.

    Args:
        program: the program to convert.

    Returns:
        The graph module.

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
    """Compile a graph for ``torch.compile(model, backend="opdsl")``: run it as programs of opdsl on torch's memory.

    Dynamo traces the model and guards it; AOTAutograd makes one graph of its forward and one of its backward pass.
    Operators that opdsl has are fused and lowered. Other operators, and those that draw random numbers, run in torch as
    without a compiler. ``compiled_graphs`` lists both.

    Args:
        graph: the graph module that dynamo traced.
        examples: its arguments, as fake tensors.

    Returns:
        A function that runs the graph.

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
    """Return the live graphs that ``torch.compile`` has compiled with the backend ``opdsl``.

    Returns:
        Graph descriptions with ``kind`` (``inference``, ``forward`` or ``backward``), the ``programs`` that run, and
        ``left``, a mapping from the operators that torch runs to the reason. ``str`` gives a summary.

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
    """Make ``torch.utils.data.DataLoader`` collate opdsl tensors into batches, by stacking them.

    Worker processes send batches in shared memory, as torch does, so this process copies nothing.

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
