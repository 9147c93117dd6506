"""CUDA graphs: the work that a function queues is captured once, and launched with a single call from then on.

A captured function runs on its own stream, and memory that it allocates belongs to the capture (``CapturePool``)
and is not used for anything else, so that it is unchanged whenever the graph is launched. The graph keeps alive the
memory that it uses but has not allocated (weights, inputs).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opdsl.backends.cuda.allocator import Block, cache_of, order
from opdsl.backends.cuda.draws import Draws, captured
from opdsl.backends.cuda.driver import driver, installed
from opdsl.backends.cuda.finalization import drain, finalize
from opdsl.backends.cuda.pools import CapturePool, Pool
from opdsl.backends.cuda.streams import ENDED, Stream, stream_of
from opdsl.errors import ArgumentError, DriverError, RequiresGradError
from opdsl.kernels.outputs import new_tensor
from opdsl.kernels.primitives.copying import copy_
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.storage import bump_version
from opdsl.runtime.tensor import Tensor

__all__ = ["Graph", "graph"]


class Capture:
    """CUDA graph of one run of a function.

    inputs: the graph's own copies of the tensor arguments; other arguments as they are.
    result: the function's result; each launch of the graph writes into its tensors.
    """

    __slots__ = (
        "_blocks",
        "_draws",
        "_handle",
        "_index",
        "_last",
        "_lock",
        "_outputs",
        "_pools",
        "_stream",
        "inputs",
        "result",
    )

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        index = self._index = next(
            input.array.index for input in arguments if isinstance(input, Tensor) and input.is_cuda
        )
        self._handle = 0
        self._stream = self._last = stream = Stream(index)
        # Memory that the first run leaves in use is not in the capture's pool, since the graph may read it in each run.
        self._pools = CapturePool(stream), CapturePool(stream)
        self.inputs = [_like(input) if isinstance(input, Tensor) else input for input in arguments]
        api = driver()
        self._draws = Draws(rehearses=False)
        self._lock = threading.Lock()
        rehearsal = stream.draws = Draws(rehearses=True)
        stream.pool = self._pools[0]
        with stream:
            for mine, theirs in zip(self.inputs, arguments, strict=True):
                if isinstance(mine, Tensor):
                    copy_(mine, theirs)
            function(*self.inputs)  # compiles its kernels, and allocates its memory for the first time
            rehearsal.go_back()
            api.activate(index)
            api.synchronize()
            drain()
            try:
                held = self._captured(function)
            finally:
                stream.pool, stream.draws = Pool(index), None
                drain()
        self._outputs = list(_tensors(self.result))
        mine = [output.array.block for output in (*self._outputs, *_tensors(self.inputs))]
        self._blocks = list({id(value): value for value in (*held.values(), *mine)}.values())

    def _captured(self, function: Callable[..., Any]) -> dict[int, Block]:
        """Capture a run of the function, and return the blocks that it uses but has not allocated."""
        api, stream = driver(), self._stream
        warm, pool = self._pools
        pool.take_over(warm)
        cache_of(self._index).track(pool)
        api.begin_capture(stream.handle)
        stream.pool = stream.capture = pool
        stream.draws = captured[stream.handle] = self._draws
        failure: DriverError | None = None
        try:
            self.result = function(*self.inputs)
        except DriverError as error:
            failure = error
        finally:
            self._handle = api.end_capture(stream.handle)
            stream.capture = None
            del captured[stream.handle]
        if failure is not None or not self._handle:
            raise DriverError(
                f"{_name(function)} cannot be captured as a graph: something in it waited for the device (item(), "
                "cpu(), print), or used another stream. A captured function may only queue work."
            ) from failure
        return pool.held

    def start(self, arguments: Sequence[Any]) -> Any:
        """Copy the arguments to the graph's inputs, launch the graph on the current stream, and return the result's
        tensors.
        """
        with self._lock:
            return self._started(arguments)

    def _started(self, arguments: Sequence[Any]) -> Any:
        for mine, theirs in zip(self.inputs, arguments, strict=True):
            if isinstance(mine, Tensor) and mine is not theirs:
                copy_(mine, theirs)
        stream = stream_of(self._index)
        stream.wait_stream(self._last)  # runs share memory, so that one has to follow another
        for block in self._blocks:
            if block.stream is not stream:
                order(block, stream, writes=True)  # any of them may be written
        api = driver()
        api.activate(self._index)
        self._draws.renew(api, self._handle)
        api.launch_graph(self._handle, stream.handle)
        self._last = stream
        for output in self._outputs:
            bump_version(output)
        return self.result

    def __del__(self, ended: list[bool] = ENDED) -> None:
        api = None if ended else installed()
        if getattr(self, "_handle", 0) and api is not None:
            finalize((self._stream, self._last), self._destroyed)

    def _destroyed(self) -> bool:
        """Destroy the graph once its last run is over, and return True."""
        self._stream.wait_stream(self._last)
        driver().destroy_graph(self._handle)
        return True


class Graph:
    """Function that runs as CUDA graphs: the first call with arguments of given types and shapes is captured, later
    ones launch the captured graph.

    Args:
        function: queues work on the current device, and does not read the values of tensors. Its other side effects
            happen when it is captured, and not again.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._captures: dict[tuple[object, ...], Capture] = {}
        self._lock = threading.Lock()
        self.__name__ = _name(function)
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's result, computed by launching a graph.

        Args:
            arguments: CUDA tensors, whose elements are copied into the graph's own; anything else has to be hashable,
                and its value is captured as a constant.

        Returns:
            The result that the function returned when it was captured. Its tensors are the graph's: the next call with
            arguments of the same geometry overwrites them, so ``clone`` those that have to stay.

        Raises:
            ArgumentError: there is no CUDA tensor among the arguments.
            RequiresGradError: one of them requires gradients.
            DriverError: the function does something that cannot be captured.
        """
        key = tuple(
            argument.geometry if isinstance(argument, Tensor) else (type(argument), argument) for argument in arguments
        )
        capture = self._captures.get(key)
        if capture is None:
            capture = self._capture(key, arguments)
        return capture.start(arguments)

    def _capture(self, key: tuple[object, ...], arguments: Sequence[Any]) -> Capture:
        forms = [part for part in key if isinstance(part, TensorMeta)]
        if not any(form.device.type == "cuda" for form in forms):
            raise ArgumentError(f"{self.__name__}: a graph needs a CUDA tensor among its arguments (got {arguments!r})")
        if any(form.requires_grad for form in forms):
            raise RequiresGradError(f"{self.__name__}: a graph records no gradients. Use tensor.detach() first.")
        with self._lock:
            capture = self._captures.get(key)
            if capture is None:
                capture = self._captures[key] = Capture(self.function, arguments)
            return capture


def graph(function: Callable[..., Any]) -> Graph:
    """Return a function that runs as a CUDA graph: one driver call per run, instead of one for each kernel.

    Works as a decorator. See ``Graph`` for the restrictions on the function, and ``Graph.__call__`` for its results.

    Args:
        function: takes and returns tensors.
    """
    return Graph(function)


def _like(tensor: Tensor) -> Tensor:
    """Return the graph's own tensor for an argument on CUDA; a CPU tensor is returned itself, as a constant of the
    capture.
    """
    return new_tensor(tensor.geometry.replace(is_view=False)) if tensor.is_cuda else tensor


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield all CUDA tensors in nested lists, tuples and dicts."""
    if isinstance(value, Tensor):
        if value.is_cuda:
            yield value
    elif isinstance(value, dict):
        for element in value.values():
            yield from _tensors(element)
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from _tensors(element)


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
