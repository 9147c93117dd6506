"""Recurrent networks: LSTM, GRU and Elman cells, their gates, and layers of cells over sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opdsl.aten._shared.entries import documented
from opdsl.aten.linalg.vector_products import linear
from opdsl.aten.nn.activations import relu, sigmoid
from opdsl.aten.nn.dropout import dropout as dropped
from opdsl.aten.nn.packed_sequences import sizes_of
from opdsl.aten.pointwise.trigonometry import tanh
from opdsl.aten.shape.joining import cat
from opdsl.aten.shape.stacking import stack
from opdsl.declare import op
from opdsl.kernels import check
from opdsl.runtime import Tensor

State = tuple[Tensor, ...]
"""State of a cell: its output, and for an LSTM its memory."""

Step = Callable[[Tensor, Tensor, State], State]
"""Step function of a cell: computes the next state from the gates of the input, the gates of the hidden state, and the
state.
"""

# --------------------------------------------------------------------------------------------------------------- steps


def parts_of(gates: Tensor, count: int) -> tuple[Tensor, ...]:
    """Split the last dimension of a tensor into ``count`` gates of equal size.

    Raises:
        ShapeError: the last dimension is not divisible by ``count``.
    """
    have = gates.ndim > 0 and gates.shape[-1] % count == 0
    check(have, f"expected rows of {count} gates of the same size", got=gates.shape)
    return tuple(gates.chunk(count, -1))


def lstm_step(of_input: Tensor, of_hidden: Tensor, state: State) -> State:
    """Return an LSTM's next state: ``c' = sigmoid(f) * c + sigmoid(i) * tanh(g)``, ``h' = sigmoid(o) * tanh(c')``."""
    into, forget, new, out = parts_of(of_input + of_hidden, 4)
    memory = sigmoid(forget) * state[1] + sigmoid(into) * tanh(new)
    return sigmoid(out) * tanh(memory), memory


def gru_step(of_input: Tensor, of_hidden: Tensor, state: State) -> State:
    """Return a GRU's next state: ``h' = n + z * (h - n)`` with ``n = tanh(n_x + r * n_h)``."""
    x, h = parts_of(of_input, 3), parts_of(of_hidden, 3)
    reset, update = sigmoid(x[0] + h[0]), sigmoid(x[1] + h[1])
    new = tanh(x[2] + reset * h[2])
    return (new + update * (state[0] - new),)


def tanh_step(of_input: Tensor, of_hidden: Tensor, state: State) -> State:
    """Return an Elman network's next state: ``h' = tanh(x + h)``."""
    return (tanh(of_input + of_hidden),)


def relu_step(of_input: Tensor, of_hidden: Tensor, state: State) -> State:
    """Return the next state of an Elman network with ``relu``: ``h' = relu(x + h)``."""
    return (relu(of_input + of_hidden),)


# -------------------------------------------------------------------------------------------------------------- layers


def along(
    sizes: Sequence[int] | None,
    step: Step,
    input: Tensor,
    state: State,
    weights: Sequence[Tensor],
    has_biases: bool,
    backward: bool,
) -> tuple[Tensor, State]:
    """Run a cell over the steps of sequences; return its output at each step, and its last state.

    Args:
        sizes: for packed sequences, the number of sequences at each step; None for padded ones.
        step: the function from gates and a state to the next state.
        input: (time, batch, features); if packed, the rows of all steps one after another.
        state: the first state.
        weights: the weights of input and hidden state, their biases, and the projection of hidden states, if any.
        has_biases: whether there are biases.
        backward: whether the sequences are read from their ends.
    """
    of_biases = tuple(weights[2:4]) if has_biases else (None, None)
    projections = weights[4 if has_biases else 2 :]
    whole, first = linear(input, weights[0], of_biases[0]), state  # the input gates of all steps at once
    gates = whole.unbind(0) if sizes is None else whole.split_with_sizes(list(sizes))
    if sizes is not None:
        state = tuple(part.narrow(0, 0, sizes[-1 if backward else 0]) for part in state)
    tensors: list[Tensor] = []
    ended: list[State] = []
    times = range(len(gates))
    for time in reversed(times) if backward else times:
        have = state[0].shape[0]
        size = have if sizes is None else sizes[time]
        if size > have:  # read backward, some sequences start at this step
            state = tuple(cat([one, new.narrow(0, have, size - have)]) for one, new in zip(state, first, strict=True))
        elif size < have:
            ended.append(tuple(part.narrow(0, size, have - size) for part in state))
            state = tuple(part.narrow(0, 0, size) for part in state)
        state = step(gates[time], linear(state[0], weights[1], of_biases[1]), state)
        if projections:
            state = (linear(state[0], projections[0]), *state[1:])
        tensors.append(state[0])
    last = tuple(cat(parts) for parts in zip(state, *reversed(ended), strict=False)) if ended else state
    return (stack if sizes is None else cat)(tensors[::-1] if backward else tensors), last


def layers(
    step: Step,
    input: Tensor,
    states: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool = False,
    sizes: Sequence[int] | None = None,
) -> tuple[Tensor, ...]:
    """Run layers of cells over sequences; return the outputs of the last layer, and the last states of all layers,
    stacked.

    Args:
        step: the step function of the cells.
        input: (time, batch, features), or (batch, time, features).
        states: the first states, each (layers * directions, batch, size).
        params: the weights of all layers and directions.
        has_biases, num_layers, dropout, train, bidirectional, batch_first: as in ``torch.nn.LSTM``.
        sizes: for packed sequences, the number of sequences at each step.

    Raises:
        ShapeError: there is a wrong number of states or parameters.
    """
    needed = 2 if step is lstm_step else 1
    check(len(states) == needed, f"expected {needed} hidden states", got=len(states))
    directions = 2 if bidirectional else 1
    count = len(params) // max(num_layers * directions, 1)
    check(
        count * num_layers * directions == len(params) and count in ((4, 5) if has_biases else (2, 3)),
        f"expected parameters for {num_layers * directions} layers and directions, but got {len(params)}",
    )
    x = input.transpose(0, 1) if batch_first else input
    last: list[State] = []
    for layer in range(num_layers):
        tensors = []
        for direction in range(directions):
            at = layer * directions + direction
            first = tuple(state.select(0, at) for state in states)
            weights = params[at * count : (at + 1) * count]
            output, state = along(sizes, step, x, first, weights, has_biases, direction == 1)
            tensors.append(output)
            last.append(state)
        x = cat(tensors, -1) if directions == 2 else tensors[0]
        if dropout and layer + 1 < num_layers:
            x = dropped(x, dropout, train)
    ends = (stack(layer_states) for layer_states in zip(*last, strict=True))
    return (x.transpose(0, 1) if batch_first else x, *ends)


# ----------------------------------------------------------------------------------------------- packed sequences


def packed_layers(
    step: Step,
    data: Tensor,
    batch_sizes: Tensor,
    states: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, ...]:
    """Run ``layers`` over packed sequences.

    Raises:
        ShapeError: the states do not fit the number of sequences.
    """
    check(data.ndim == 2, "expected packed rows of features", got=data.shape)
    sizes = sizes_of(batch_sizes, data.shape[0])
    for state in states:
        check(
            state.ndim == 3 and state.shape[1] == sizes[0], f"expected states of {sizes[0]} sequences", got=state.shape
        )
    return layers(step, data, states, params, has_biases, num_layers, dropout, train, bidirectional, sizes=sizes)


# ------------------------------------------------------------------------------------------------------------- networks


def two_states(name: str, hx: Sequence[Tensor]) -> State:
    """Return the initial hidden state and memory of an LSTM.

    Raises:
        ShapeError: there are not two tensors.
    """
    check(len(hx) == 2, f"{name} expects two hidden states", got=len(hx))
    return tuple(hx)


@op("aten::lstm_cell")
def lstm_cell(
    input: Tensor,
    hx: list[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the next hidden state and memory of a long short-term memory (Hochreiter and Schmidhuber 1997)."""
    state = two_states("lstm_cell", hx)
    hidden, memory = lstm_step(linear(input, w_ih, b_ih), linear(state[0], w_hh, b_hh), state)
    return hidden, memory


@op("aten::lstm.input", tags="nondeterministic_seeded")
def lstm(
    input: Tensor,
    hx: list[Tensor],
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run layers of long short-term memories over sequences; return outputs, last hidden states and last memories."""
    state = two_states("lstm", hx)
    how = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    sequence, hidden, memory = layers(lstm_step, input, state, params, *how)
    return sequence, hidden, memory


@op("aten::lstm.data", tags="nondeterministic_seeded")
def packed_lstm(
    data: Tensor,
    batch_sizes: Tensor,
    hx: list[Tensor],
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute ``lstm.input`` for packed sequences."""
    how = (has_biases, num_layers, dropout, train, bidirectional)
    sequence, hidden, memory = packed_layers(lstm_step, data, batch_sizes, hx, params, *how)
    return sequence, hidden, memory


def declare_network(name: str, step: Step, cell: str, cells: str) -> None:
    """Declare a recurrent cell with one state tensor, layers of it over sequences, and layers over packed sequences.

    Args:
        name: the name of the packet of layers, such as ``gru``.
        step: the step function of the cell.
        cell, cells: the words for one and for several cells in docstrings.
    """

    @op(f"aten::{name}_cell")
    @documented(f"Return the next state of {cell}.")
    def next_state(
        input: Tensor,
        hx: Tensor,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        return step(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), (hx,))[0]

    @op(f"aten::{name}.input", tags="nondeterministic_seeded")
    @documented(f"Apply layers of {cells} to sequences; return the outputs and the last states.")
    def network(
        input: Tensor,
        hx: Tensor,
        params: list[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor]:
        how = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
        sequence, hidden = layers(step, input, (hx,), params, *how)
        return sequence, hidden

    @op(f"aten::{name}.data", tags="nondeterministic_seeded")
    @documented(f"Apply layers of {cells} to packed sequences; return the outputs and the last states.")
    def packed_network(
        data: Tensor,
        batch_sizes: Tensor,
        hx: Tensor,
        params: list[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> tuple[Tensor, Tensor]:
        how = (has_biases, num_layers, dropout, train, bidirectional)
        sequence, hidden = packed_layers(step, data, batch_sizes, (hx,), params, *how)
        return sequence, hidden


ELMAN = "an Elman network"
RECTIFIED = f"{ELMAN} with the activation function ``relu``"

declare_network("gru", gru_step, "a gated recurrent unit (Cho et al. 2014)", "gated recurrent units")
declare_network("rnn_tanh", tanh_step, ELMAN, ELMAN)
declare_network("rnn_relu", relu_step, RECTIFIED, RECTIFIED)


# --------------------------------------------------------------------------------------------------- cells from gates


def added(first: Tensor, second: Tensor | None) -> Tensor:
    """Return the sum of two tensors, or the first one if the second is None."""
    return first if second is None else first + second


@op("aten::_thnn_fused_lstm_cell")
def _thnn_fused_lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute ``lstm_cell`` from its gates; return the hidden state, the memory, and the activated gates."""
    gates = added(input_gates, input_bias) + added(hidden_gates, hidden_bias)
    into, forget, new, out = parts_of(gates, 4)
    workspace = cat([sigmoid(into), sigmoid(forget), tanh(new), sigmoid(out)], 1)
    into, forget, new, out = parts_of(workspace, 4)
    memory = forget * cx + into * new
    return out * tanh(memory), memory, workspace


@op("aten::_thnn_fused_lstm_cell_backward_impl")
def _thnn_fused_lstm_cell_backward_impl(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of ``_thnn_fused_lstm_cell`` with respect to gates, memory and, if ``has_bias``, a bias."""
    into, forget, new, out = parts_of(workspace, 4)
    of_hidden = cy.new_zeros(cy.shape) if grad_hy is None else grad_hy
    seen = tanh(cy)
    of_memory = added(of_hidden * out * (1 - seen * seen), grad_cy)
    parts = [
        of_memory * new * into * (1 - into),
        of_memory * cx * forget * (1 - forget),
        of_memory * into * (1 - new * new),
        of_hidden * seen * out * (1 - out),
    ]
    gates = cat(parts, 1)
    of_bias: Any = gates.sum(0) if has_bias else None
    return gates, of_memory * forget, of_bias


@op("aten::_thnn_fused_lstm_cell_backward")
def _thnn_fused_lstm_cell_backward(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of ``_thnn_fused_lstm_cell`` with respect to both gates, the memory and both biases."""
    gates, memory, bias = _thnn_fused_lstm_cell_backward_impl(grad_hy, grad_cy, cx, cy, workspace, has_bias)
    return gates, gates.clone(), memory, bias, None if bias is None else bias.clone()


@op("aten::_thnn_differentiable_lstm_cell_backward")
def _thnn_differentiable_lstm_cell_backward(
    grad_hy: Tensor | None,
    grad_cy: Tensor | None,
    input_gates: Tensor,
    hidden_gates: Tensor,
    input_bias: Tensor | None,
    hidden_bias: Tensor | None,
    cx: Tensor,
    cy: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Compute ``_thnn_fused_lstm_cell_backward`` from the gates, so that the result is differentiable."""
    workspace = _thnn_fused_lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias)[2]
    return _thnn_fused_lstm_cell_backward(grad_hy, grad_cy, cx, cy, workspace, input_bias is not None)


@op("aten::_thnn_fused_gru_cell")
def _thnn_fused_gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute ``gru_cell`` from its gates; return the state, and the values that the gradient needs."""
    x, h = parts_of(added(input_gates, input_bias), 3), parts_of(added(hidden_gates, hidden_bias), 3)
    reset, update = sigmoid(x[0] + h[0]), sigmoid(x[1] + h[1])
    new = tanh(x[2] + reset * h[2])
    return new + update * (hx - new), cat([reset, update, new, hx, h[2]], 1)


@op("aten::_thnn_fused_gru_cell_backward")
def _thnn_fused_gru_cell_backward(
    grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of ``_thnn_fused_gru_cell`` with respect to both gates, the state and any biases."""
    reset, update, new, hx, hidden = parts_of(workspace, 5)
    of_update = grad_hy * (hx - new) * (1 - update) * update
    of_new = grad_hy * (1 - update) * (1 - new * new)
    of_reset = of_new * hidden * (1 - reset) * reset
    of_input = cat([of_reset, of_update, of_new], 1)
    of_hidden = cat([of_reset, of_update, of_new * reset], 1)
    biases = (of_input.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return of_input, of_hidden, grad_hy * update, *biases


@op("aten::_thnn_differentiable_gru_cell_backward")
def _thnn_differentiable_gru_cell_backward(
    grad_hy: Tensor,
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None,
    hidden_bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Compute ``_thnn_fused_gru_cell_backward`` from the gates, so that the result is differentiable."""
    workspace = _thnn_fused_gru_cell(input_gates, hidden_gates, hx, input_bias, hidden_bias)[1]
    return _thnn_fused_gru_cell_backward(grad_hy, workspace, input_bias is not None)
