"""Indexed functions: scalar functions of the indices of an element, which read tensors at index expressions.

A read becomes an additional parameter, together with the nodes that compute its indices. In all other respects such a
function is a scalar function: it is typed, printed and differentiated as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from opdsl.scalar.calls import parameter_names, plain_function
from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.source import FunctionSource, function_source
from opdsl.scalar.statements import run_function
from opdsl.scalar.symbols import Graph, Indexable, Sizes, Symbol, describe, is_value
from opdsl.scalar.types import INTEGER, ScalarType
from opdsl.scalar.untyped import Place

__all__ = [
    "EXTREMA",
    "FOLDS",
    "MARGINS",
    "SKIP",
    "Access",
    "IndexedFunction",
    "read_indexed",
    "size_name",
]

MARGINS: Final = ("replicate", "reflect", "circular")
"""Names of the padding modes that repeat elements inside, as in ``torch.nn.functional.pad``."""

SKIP: Final = "skip"
"""Name of the padding mode that leaves elements out of bounds out of a fold."""

EXTREMA: Final = ("max", "min")
"""Folds that return the value of one iteration."""

FOLDS: Final = ("sum", *EXTREMA)
"""Folds that combine the values of all iterations."""

Margin: TypeAlias = str | bool | int | float | complex | None

ANY: Final = -1
"""Count of numbers in a list whose length is not known yet."""

STATED: Final = -2
"""Count of numbers in a value that is a number, or a list whose length is not known yet."""

# Name of the position at which an extremum was found, counted in row-major order of the folded ranges.
PLACE: Final = "place"


class Access(NamedTuple):
    """Element of a tensor that an indexed function reads or writes.

    name: of a read, the name of the function's parameter; of a write, the index of its value.
    array: the name of the tensor.
    positions: for each of the tensor's own dimensions the node that computes the index.
    leads: whether the tensor has the leading dimensions of the result, before its own.
    margin: padding of the tensor for indices out of bounds; None if all have to be in bounds.
    """

    name: str
    array: str
    positions: tuple[int, ...]
    leads: bool
    margin: Margin


class IndexedFunction(NamedTuple):
    """Indexed function: computes elements of a result from elements of tensors.

    function: the scalar function from indices, numbers and elements that are read to values.
    at: the indices of the result's dimensions. leads: whether the result has leading dimensions before these.
    over: the indices that are folded.
    reads: the reads, in the order in which they occur.
    writes: where values are added to; empty if they are stored at the result's own indices.
    fold: one of ``FOLDS``; empty if nothing is folded.
    with_place: whether the position of a largest or smallest value is a result, after it: the number of its iteration,
        or the function's second result.
    finish: a function from folded values, indices and numbers to results; None if the folded values are the results.
    """

    function: ScalarFunction
    at: tuple[str, ...]
    leads: bool
    over: tuple[str, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...] = ()
    fold: str = ""
    with_place: bool = False
    finish: ScalarFunction | None = None

    @property
    def indices(self) -> tuple[str, ...]:
        """Return all indices: those of the result and those that are folded."""
        return self.at + self.over

    @property
    def numbers(self) -> tuple[str, ...]:
        """Return the parameters that are neither indices nor reads."""
        known = {*self.indices, *(read.name for read in self.reads)}
        of_finish = () if self.finish is None else self.finish.parameters[len(self.function.results) :]
        names = [parameter for parameter in (*self.function.parameters, *of_finish) if parameter not in known]
        return tuple(dict.fromkeys(names))

    @property
    def arrays(self) -> tuple[str, ...]:
        """Return the names of the tensors that are read, each once."""
        return tuple(dict.fromkeys(read.array for read in self.reads))

    @property
    def folded(self) -> int:
        """Return the number of values, without the position of an extremum."""
        return 1 if self.fold in EXTREMA else len(self.function.results)

    def by_turns(self) -> IndexedFunction:
        """Return the function without results for the position of an extremum; kernels then use the iteration's number
        as the position.
        """
        function = self.function
        fields = (function.name, function.parameters, function.defaults, function.nodes, function.places)
        return self._replace(function=ScalarFunction(*fields, function.results[: self.folded], function.source))

    def typed(self, types: Mapping[str, str], numbers: Sequence[str], values: Sequence[str]) -> TypedGraph:
        """Return one typed graph that computes the indices of all reads and writes, and the values.

        Args:
            types: types of the numbers and of the elements that are read.
            numbers: their order as parameters.
            values: types of the values.

        Returns:
            A graph whose parameters are the indices, the numbers, and the elements that are read, and whose results are
            the positions of all reads, those of all writes, and the values.

        Raises:
            ScalarFunctionError: a position is not an integer, or an operation does not exist for the types.
        """
        function = self.function
        accesses = (*self.reads, *self.writes)
        positions = [position for access in accesses for position in access.positions]
        names = (*self.indices, *numbers, *(read.name for read in self.reads))
        self.require_whole_positions(types)
        whole = _with(function, names, (*positions, *function.results))
        texts = {**types, **dict.fromkeys(self.indices, "int64")}
        return whole.specialise(texts, results=(*["int64"] * len(positions), *values))

    def require_whole_positions(self, types: Mapping[str, str]) -> None:
        """Raise an error if a position at which a tensor is read or written is not an integer.

        Args:
            types: types of the numbers and of the elements that are read.

        Raises:
            ScalarFunctionError: the position is underlined.
        """
        function = self.function
        positions = [position for access in (*self.reads, *self.writes) for position in access.positions]
        texts = {**types, **dict.fromkeys(self.indices, "int64")}
        kinds = _with(function, tuple(texts), positions).specialise(texts).result_types if positions else ()
        for node, kind in zip(positions, kinds, strict=True):
            if kind.category != INTEGER:
                place = function.places[node]
                problem = f"an index has to be an integer, but this is {kind.value}"
                raise place.source.error(place.node, problem, "Convert it: int(...).")

    def values_only(self, parameters: Iterable[str]) -> ScalarFunction:
        """Return the function that computes the values, without positions."""
        return _with(self.function, tuple(parameters), self.function.results)

    def value_types(self, types: Mapping[str, str]) -> tuple[ScalarType, ...]:
        """Return the types of the values before any conversion."""
        texts = {**types, **dict.fromkeys(self.indices, "int64")}
        return self.values_only(texts).specialise(texts).result_types


def _with(function: ScalarFunction, parameters: Sequence[str], results: Sequence[int]) -> ScalarFunction:
    """Return a function of the same nodes with other parameters and results; nodes that these do not need are
    left out.
    """
    needed: set[int] = set()
    waiting = list(results)
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting.extend(function.nodes[node].arguments)
    kept = sorted(needed)
    moved = {node: place for place, node in enumerate(kept)}
    nodes = [
        function.nodes[at]._replace(arguments=tuple(moved[operand] for operand in function.nodes[at].arguments))
        for at in kept
    ]
    return ScalarFunction(
        function.name,
        tuple(parameters),
        {},
        tuple(nodes),
        tuple(function.places[at] for at in kept),
        tuple(moved[at] for at in results),
        function.source,
    )


def size_name(array: str, dimension: int) -> str:
    """Return the name of the parameter that holds the size of a tensor's dimension."""
    return f"{array}.shape[{dimension}]"


# ------------------------------------------------------------------------------------------------------------- reading


class _Array(Indexable):
    """Stand-in for a tensor while an indexed function is traced, which records reads."""

    def __init__(self, name: str, margin: Margin, reader: _Reader) -> None:
        self.name, self.margin, self.reader = name, margin, reader
        self.shape = _Shape(self)

    def __repr__(self) -> str:
        return f"the tensor {self.name}"

    def read(self, graph: Graph, index: Any, place: Place) -> Symbol:
        """Record a read of an element, and return the symbol for the element."""
        reader = self.reader
        if graph is not reader.graph:
            problem = f"{self.name} is read in a loop whose number of iterations is known only while it runs"
            raise place.source.error(place.node, problem, "List the index in over=, and use fold=.")
        positions = index if isinstance(index, tuple) else (index,)
        leads = bool(positions) and positions[0] is Ellipsis
        for position in positions[leads:]:
            if not is_value(position) or isinstance(position, (float, complex)):
                raise place.source.error(place.node, f"{_spoken(position)} is no position", "Give an integer for each.")
        if leads and not reader.leads:
            raise place.source.error(
                place.node, "`...` denotes dimensions that the result does not have", 'Begin at= with "...".'
            )
        # A literal would take the type of the values otherwise.
        whole = [
            position if isinstance(position, Symbol) else graph.add("to_integer", (position,), place)
            for position in positions[leads:]
        ]
        return reader.noted(self, tuple(graph.position(symbol, place) for symbol in whole), leads, place)


class _Shape(Sizes):
    """Stand-in for the shape of a tensor while an indexed function is traced."""

    def __init__(self, array: _Array) -> None:
        self.array = array

    def __repr__(self) -> str:
        return f"the shape of {self.array.name}"

    def read(self, graph: Graph, index: Any, place: Place) -> Symbol:
        """Return the symbol for the size of a dimension."""
        if isinstance(index, bool) or not isinstance(index, int):
            raise place.source.error(place.node, f"{_spoken(index)} is no dimension", "Give a number.")
        return graph.parameter(size_name(self.array.name, index), place)


class _Numbers(Sizes):
    """Stand-in for a list of numbers of unknown length while an indexed function is traced."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"the list {self.name}"

    def read(self, graph: Graph, index: Any, place: Place) -> Symbol:
        """Return the symbol for a number of the list."""
        if isinstance(index, bool) or not isinstance(index, int):
            raise place.source.error(place.node, f"{_spoken(index)} is no index of a list", "Give a number.")
        return graph.parameter(f"{self.name}[{index}]", place)


class _Stated(Symbol, _Numbers):
    """Stand-in for an argument that a shape function will supply: a number or a list of numbers."""

    def __init__(self, name: str, number: Symbol) -> None:
        Symbol.__init__(self, number.graph, number.position)
        _Numbers.__init__(self, name)


def _spoken(value: Any) -> str:
    return {slice: "a slice", type(Ellipsis): "`...`"}.get(type(value)) or describe(value)


class _Reader:
    """Record of the reads of an indexed function while it is traced."""

    def __init__(self, leads: bool) -> None:
        self.graph = Graph()
        self.leads = leads
        self.reads: dict[tuple[str, tuple[int, ...], bool], Access] = {}

    def noted(self, array: _Array, positions: tuple[int, ...], leads: bool, place: Place) -> Symbol:
        """Record a read, or find an equal earlier one; return the symbol for its element."""
        for read in self.reads.values():
            if read.array == array.name and (len(read.positions), read.leads) != (len(positions), leads):
                problem = f"{array.name} was read with other dimensions before"
                raise place.source.error(place.node, problem, "Give a position for each dimension.")
        key = (array.name, positions, leads)
        if key not in self.reads:
            count = sum(read.array == array.name for read in self.reads.values())
            self.reads[key] = Access(f"{array.name}@{count}", array.name, positions, leads, array.margin)
        return self.graph.parameter(self.reads[key].name, place)


def read_indexed(
    function: Callable[..., Any],
    at: Sequence[str],
    over: Sequence[str],
    *,
    tensors: Mapping[str, Margin],
    numbers: Mapping[str, int | None],
    constants: Mapping[str, object],
    fold: str = "",
    finish: Callable[..., Any] | None = None,
) -> IndexedFunction:
    """Trace an indexed function.

    Args:
        function: in the scalar subset of Python; reads tensors by ``x[i, j + 1]``.
        at: the indices of the result, with ``...`` first if it has leading dimensions before them.
        over: the indices that are folded.
        tensors: the parameters that are tensors, with the padding of each.
        numbers: the parameters that are numbers: None for one number, a count for a tuple of that length; ``ANY``,
            ``STATED``.
        constants: the parameters that are known while tracing.
        fold: how the values of all iterations are folded.
        finish: a function from folded values, and from indices and numbers by name, to results.

    Raises:
        ScalarFunctionError: the function contains an expression that no indexed function supports; the message
            underlines it.
    """
    leads = bool(at) and at[0] == "..."
    own = tuple(at[leads:])
    reader = _Reader(leads)
    values: dict[str, Any] = dict(constants)
    source = function_source(plain_function(function) or function)
    for array, margin in tensors.items():
        values[array] = _Array(array, margin, reader)
    known = _with_numbers(values, source, reader.graph, (*own, *over), numbers)
    names = parameter_names(source)
    results = _results(reader.graph, source, {name: known[name] for name in names if name in known})
    read = tuple(reader.reads.values())
    taken = _parameters(reader.graph, (*own, *over), read)
    scalar_function = ScalarFunction(
        source.name, taken, {}, tuple(reader.graph.nodes), tuple(reader.graph.places), results, source
    )
    folded = 1 if fold in EXTREMA else len(results)
    finished = None if finish is None else _read_finish(finish, folded, (*own, *over), numbers, constants)
    return IndexedFunction(scalar_function, own, leads, tuple(over), read, (), fold, False, finished)


def _with_numbers(
    values: Mapping[str, Any],
    source: FunctionSource,
    graph: Graph,
    indices: Sequence[str],
    numbers: Mapping[str, int | None],
) -> dict[str, Any]:
    """Return the values of a function's parameters, with symbols for indices and numbers, and tuples of symbols for
    lists.
    """
    place, bound = Place(source, source.tree), dict(values)
    wanted = parameter_names(source)
    for name in (index for index in indices if index in wanted):
        bound[name] = graph.parameter(name, place)
    for name, count in numbers.items():
        if name in wanted:
            bound[name] = _number(graph, name, count, place)
    for name in wanted:
        if name not in bound:
            known = ", ".join([*values, *indices, *numbers])
            raise source.error(source.tree, f"it has a parameter {name!r}, which is unknown here", f"Known: {known}.")
    return bound


def _number(graph: Graph, name: str, count: int | None, place: Place) -> Any:
    """Return the symbol for a number, or the stand-in for several of them."""
    if count == ANY:
        return _Numbers(name)
    if count == STATED:
        return _Stated(name, graph.parameter(name, place))
    if count is None:
        return graph.parameter(name, place)
    return tuple(graph.parameter(f"{name}[{part}]", place) for part in range(count))


def _results(graph: Graph, source: FunctionSource, values: Mapping[str, Any]) -> tuple[int, ...]:
    returned = run_function(graph, source, values, 0)
    results = returned if isinstance(returned, tuple) else (returned,)
    for result in results:
        if not is_value(result):
            raise source.error(
                source.tree, f"it returns {describe(result)}, not a number", "Return a number, or several."
            )
    return tuple(graph.position(result, Place(source, source.tree)) for result in results)


def _parameters(graph: Graph, first: Sequence[str], reads: Sequence[Access]) -> tuple[str, ...]:
    """Return the names of a graph's parameters in order: first the given ones, then numbers, last reads."""
    present = [str(node.value) for node in graph.nodes if node.op == "parameter"]
    read = [read.name for read in reads]
    between = [name for name in present if name not in first and name not in read]
    return (*first, *between, *read)


def _read_finish(
    finish: Callable[..., Any],
    results: int,
    indices: Sequence[str],
    numbers: Mapping[str, int | None],
    constants: Mapping[str, object],
) -> ScalarFunction:
    """Trace the function that computes results from folded values, which are its first parameters."""
    source = function_source(plain_function(finish) or finish)
    graph, place = Graph(), Place(source, source.tree)
    names = parameter_names(source)
    values: dict[str, Any] = {name: graph.parameter(name, place) for name in names[:results]}
    known = _with_numbers({**constants, **values}, source, graph, indices, numbers)
    returned = _results(graph, source, {name: known[name] for name in names})
    return ScalarFunction(
        source.name,
        _parameters(graph, names[:results], ()),
        {},
        tuple(graph.nodes),
        tuple(graph.places),
        returned,
        source,
    )
