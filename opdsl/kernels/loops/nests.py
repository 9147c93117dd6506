"""Nests of loops of a kernel: where its folds, scans and writes run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from opdsl.errors import KernelError
from opdsl.kernels.kernel import SKIP, Fold, Part, Read, Scan, Write, loops_behind, ranges_of, sources_behind
from opdsl.kernels.loops import model
from opdsl.kernels.loops.blocks import Block, Owner, Scope
from opdsl.kernels.loops.keeping import kept_nodes
from opdsl.kernels.loops.making import around, is_pairwise, pairwise
from opdsl.kernels.loops.model import Array, Local, Statement, Store, When
from opdsl.runtime.dtype import to_dtype

if TYPE_CHECKING:
    from opdsl.scalar.graph import TypedGraph

__all__ = ["Nest"]


class Nest:
    """Builder of a kernel's statements, for scopes within one another.

    Args:
        owner: of the loops.
    """

    def __init__(self, owner: Owner) -> None:
        self.owner, self.kernel, self.results = owner, owner.kernel, owner.graph.results

    def level(self, scope: Scope, writes: Sequence[Write]) -> list[Statement]:
        """Build the folds, scans and writes that run in a scope.

        Raises:
            KernelError: a fold or scan would have to run in a loop over its own range.
        """
        body: list[Statement] = []
        left = self._loops(scope, [at for write in writes for at in write.needs], writes, body)
        extra = {write: self._further(scope, write) for write in left}
        for ranges in sorted({*extra.values()}, key=lambda names: (not names, names)):
            own = [write for write in left if extra[write] == ranges]
            if ranges:
                values = [at for write in own for at in write.needs]
                outer = self._outer(scope, values, ranges) or ranges
                body += around(self.owner.dimensions(outer), self.level(scope.inside(outer), own))
            else:
                for together in self._by_guard(own):
                    body += self._stored(scope, together)
        return body

    def _loops(
        self, scope: Scope, results: Sequence[int], writes: Sequence[Write], body: list[Statement]
    ) -> list[Write]:
        """Append the folds and scans that results need and that run in a scope, with the writes that run in scans;
        return the other writes.
        """
        left = list(writes)
        groups = self._groups(scope, results)
        keep = self._kept(scope, groups, left) if self.owner.keep and writes else []
        for place, group in enumerate(groups):
            if isinstance(self.kernel.loops[group[0]], Scan):
                left = self._scan(scope, group[0], groups[place + 1 :], left, results, body)
            else:
                self._fold(scope, group, keep[place] if keep else (), body)
        return left

    def _by_guard(self, writes: Sequence[Write]) -> list[list[Write]]:
        """Return writes grouped by the reads that skip iterations in which they are out of bounds."""
        groups: dict[tuple[int, ...], list[Write]] = {}
        for write in writes:
            groups.setdefault(self._skipping(write.needs), []).append(write)
        return list(groups.values())

    def _further(self, scope: Scope, write: Write) -> tuple[str, ...]:
        """Return the ranges of a write whose loops are not around a scope, outermost first."""
        return self._ordered(ranges_of(self.kernel, write) - scope.active)

    def _ordered(self, ranges: Collection[str]) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.kernel.ranges if axis.name in ranges)

    def _groups(self, scope: Scope, results: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the folds and scans that results need and that run in a scope, in order; those that can run in one
        loop are in one group.
        """
        stages: dict[int, int] = {}
        self._stage(scope, results, stages)
        groups: dict[object, list[int]] = {}
        for loop in sorted(stages, key=lambda loop: (stages[loop], loop)):
            own = self.kernel.loops[loop]
            joins = isinstance(own, Fold) and is_pairwise(own.combine) and own.of_some is None
            skips = self._skipping(own.needs)
            key = (stages[loop], own.over, own.in_order, skips) if joins and isinstance(own, Fold) else loop
            groups.setdefault(key, []).append(loop)
        return [tuple(group) for group in groups.values()]

    def _stage(self, scope: Scope, results: Iterable[int], stages: dict[int, int]) -> int:
        """Enter the folds and scans that results need and that run in a scope, each with the number of those before it
        that it waits for; return that number for the results.
        """
        most = 0
        for loop in loops_behind(self.kernel, results):
            own = self.kernel.loops[loop]
            if Part(loop, 0) in scope.parts:
                continue
            if loop in stages:
                most = max(most, stages[loop] + 1)
                continue
            stage = self._stage(scope, own.needs, stages)
            if ranges_of(self.kernel, own) <= scope.active:
                if scope.active & {*_over(own)}:
                    raise KernelError(
                        f"the kernel {self.kernel.name} is no single nest of loops: what loop {loop} computes over "
                        f"{', '.join(_over(own))} is needed in another loop over it. Compute it in a kernel of its own."
                    )
                stages[loop] = stage
                stage += 1
            most = max(most, stage)
        return most

    def _outer(self, scope: Scope, results: Iterable[int], over: Sequence[str]) -> tuple[str, ...]:
        """Return those of some ranges whose loops have to be around the others, since folds and scans over the others
        run in them; () if there are none.
        """
        outer: set[str] = set()
        for loop in self._all_loops(results):
            own = self.kernel.loops[loop]
            if Part(loop, 0) not in scope.parts and {*_over(own)} & {*over}:
                outer |= (ranges_of(self.kernel, own) - scope.active) & {*over}
        return tuple(name for name in over if name in outer) if outer < {*over} else ()

    def _all_loops(self, results: Iterable[int]) -> set[int]:
        """Return the folds and scans that results depend on, those behind others included."""
        reached: set[int] = set()
        for loop in loops_behind(self.kernel, results):
            reached |= {loop} | self._all_loops(self.kernel.loops[loop].needs)
        return reached

    def _kept(self, scope: Scope, groups: Sequence[tuple[int, ...]], writes: Sequence[Write]) -> list[tuple[int, ...]]:
        """Return the nodes that the loop of each group keeps for later ones, if all loops are over one range."""
        last = [write for write in writes if self._further(scope, write)]
        overs = {_over(self.kernel.loops[group[0]]) for group in groups} | {self._further(scope, one) for one in last}
        (over, *rest) = overs or {()}
        if rest or len(over) != 1 or len(self.owner.ranges[over[0]]) != 1:
            return []
        bodies = [[self.results[at] for loop in group for at in self.kernel.loops[loop].values] for group in groups]
        bodies.append([self.results[write.value] for write in last])
        done = {loop: place for place, group in enumerate(groups) for loop in group}
        return kept_nodes(self.kernel, over[0], bodies, done)

    # ---------------------------------------------------------------------------------------------------------- loops

    def _fold(
        self,
        scope: Scope,
        group: tuple[int, ...],
        keep: tuple[int, ...],
        body: list[Statement],
        over: tuple[str, ...] | None = None,
    ) -> tuple[str, ...]:
        """Append the fold of a group, and local memory for the values that it keeps; return its accumulators.

        Args:
            scope: of the fold.
            group: folds that run in one loop.
            keep: nodes of the graph.
            body: statements so far.
            over: the ranges, if they are not all of those of the folds.
        """
        folds = [loop for loop in map(self.kernel.loops.__getitem__, group) if isinstance(loop, Fold)]
        first, values = folds[0], [at for fold in folds for at in fold.values]
        over = first.over if over is None else over
        needs = [at for fold in folds for at in fold.needs]
        outer = self._outer(scope, needs, over)
        block = Block(self.owner, scope.inside(outer or over))
        self._loops(block.scope, needs, (), block.body)
        sums = tuple(block.scope_name(f"acc{k}") for k in range(len(values)))
        if outer:
            rest = tuple(name for name in over if name not in outer)
            names, counts = self._fold(block.scope, group, (), block.body, rest), None
        else:
            block.require([self.results[at] for at in needs])
            names = self._folded(scope, block, [*(self.results[at] for at in values)], keep, over, body)
            counts = block.counts()
        body.append(
            model.Fold(
                sums,
                tuple(number for fold in folds for number in fold.init),
                first.combine if len(folds) == 1 else _joined(tuple(fold.combine for fold in folds)),
                self.owner.dimensions(outer or over),
                tuple(block.body),
                names,
                counts,
                in_order=first.in_order,
                of_some=None if outer else first.of_some,
            )
        )
        parts = [Part(loop, k) for loop, fold in zip(group, folds, strict=True) for k in range(len(fold.values))]
        scope.parts.update(zip(parts, sums, strict=True))
        return sums

    def _folded(
        self,
        scope: Scope,
        block: Block,
        nodes: Sequence[int],
        keep: Sequence[int],
        over: Sequence[str],
        body: list[Statement],
    ) -> tuple[str, ...]:
        """Append what a fold computes in each iteration to its block; return the names of the values."""
        names = block.compute([*nodes, *keep], "v")
        for k, (node, value) in enumerate(zip(keep, names[len(nodes) :], strict=True)):
            (index, size), kind = self.owner.dimensions(over)[0], self.owner.graph.nodes[node].type
            array = block.scope_name(f"kept{k}")
            body.append(Local(Array(array, to_dtype(kind.value), (size,), (1,))))
            block.body.append(Store(array, (index,), value))
            scope.kept[node] = (array, index)
        return names[: len(nodes)]

    def _scan(
        self,
        scope: Scope,
        loop: int,
        later: Sequence[tuple[int, ...]],
        writes: list[Write],
        results: Sequence[int],
        body: list[Statement],
    ) -> list[Write]:
        """Append a scan with the writes that need it and none of the later loops; return the other writes.

        Args:
            scope: of the scan.
            loop: its position among the kernel's.
            later: the groups of loops that run after it.
            writes: those that have not run.
            results: what the scope has to compute.
            body: statements so far.
        """
        scan = self.kernel.loops[loop]
        assert isinstance(scan, Scan), "scans are not joined"
        block = Block(self.owner, scope.inside((scan.over,)))
        self._loops(block.scope, scan.values, (), block.body)
        values = block.compute([self.results[at] for at in scan.values], "v")
        count = len(scan.init)
        names = tuple(block.scope_name(f"part{k}") for k in range(len(scan.step.result_types)))
        waiting = {number for group in later for number in group}
        own = [write for write in writes if self._runs_in(scope, write, loop, waiting)]
        rest = [write for write in writes if write not in own]
        inner = scope.inside((scan.over,))
        inner.parts.update({Part(loop, k): name for k, name in enumerate(names)})
        after = self.level(inner, own)
        needed = [at for write in rest for at in write.needs] if writes else [*results]
        needed += [at for number in waiting for at in self.kernel.loops[number].needs]
        self._carry(scope, loop, names, needed, body, after)
        scope.parts.update({Part(loop, k): name for k, name in enumerate(names)})
        (range_,) = self.owner.ranges[scan.over]
        fields = (names[:count], scan.init, scan.step, range_, tuple(block.body), values, names[count:], tuple(after))
        body.append(model.Scan(*fields, scan.is_associative, scan.is_reverse))
        return rest

    def _runs_in(self, scope: Scope, write: Write, loop: int, waiting: Collection[int]) -> bool:
        """Return whether a write runs in a scan: it needs the scan, and none of the loops that wait."""
        values = write.needs
        loops, further = self._all_loops(values), self._further(scope, write)
        if loop not in loops or loops & {*waiting}:
            return False
        return not {*self._outer(scope, values, further)} - {*_over(self.kernel.loops[loop])}

    def _carry(
        self,
        scope: Scope,
        loop: int,
        names: Sequence[str],
        needed: Sequence[int],
        body: list[Statement],
        after: list[Statement],
    ) -> None:
        """Append the stores of a scan's results that are needed after it to its statements, and their local memory to
        those around it.
        """
        scan, reached = self.kernel.loops[loop], {*sources_behind(self.kernel, needed)}
        for number in self._all_loops(needed):
            reached |= {*sources_behind(self.kernel, self.kernel.loops[number].needs)}
        ((index, size),) = self.owner.dimensions(_over(scan))
        for at in sorted(reached):
            part = self.kernel.sources[at]
            if isinstance(part, Part) and part.loop == loop:
                kind, array = self.owner.graph.nodes[at].type, f"{names[part.index]}_all"
                body.append(Local(Array(array, to_dtype(kind.value), (size,), (1,))))
                after.append(Store(array, (index,), names[part.index]))
                scope.kept[at] = (array, index)

    # --------------------------------------------------------------------------------------------------------- writes

    def _stored(self, scope: Scope, writes: Sequence[Write]) -> list[Statement]:
        """Build the writes that run in a scope, and what they need."""
        block = Block(self.owner, scope)
        block.require([self.results[at] for write in writes for at in write.needs])
        plain = [write for write in writes if self.owner.old_of(write) is None]
        names = block.compute([self.results[write.value] for write in plain], "y", is_named=True)
        stored = dict(zip(plain, names, strict=True))
        counts = block.counts()
        before, block.body = block.body, []
        for write in writes:
            block.write(write, stored.get(write))
        return [*before, *block.body] if counts is None else [*before, When(counts, tuple(block.body))]

    def _skipping(self, results: Iterable[int]) -> tuple[int, ...]:
        """Return the reads behind results that skip iterations in which they are out of bounds."""
        sources = self.kernel.sources
        return tuple(
            at
            for at in sources_behind(self.kernel, results)
            if isinstance(read := sources[at], Read) and read.padding == SKIP
        )


def _over(loop: Fold | Scan) -> tuple[str, ...]:
    return loop.over if isinstance(loop, Fold) else (loop.over,)


def _joined(combines: tuple[TypedGraph, ...]) -> TypedGraph:
    """Return the graph that combines the accumulators of several folds, each pair by its own operation."""
    nodes = [graph.nodes[at] for graph in combines for at in graph.results]
    return pairwise(tuple(node.op for node in nodes), tuple(node.type for node in nodes))
