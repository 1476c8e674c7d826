"""Path metrics on a graph, computed in batches.

A batch of paths is measured against its references once (:func:`align`); every metric is then a
pure function of that :class:`Alignment`. Distances are geodesic, in metres; inf if unreachable.
B is the number of episodes; L and R are the places of the longest path and longest reference.

Sources: Anderson et al. 2018, "On Evaluation of Embodied Navigation Agents" (SR, SPL); Anderson et
al. 2018, "Vision-and-Language Navigation" (TL, NE, OSR); Jain et al. 2019, "Stay on the Path"
(CLS); Ilharco et al. 2019, "General Evaluation for Instruction Conditioned Navigation using Dynamic
Time Warping" (nDTW, sDTW).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import Floats
from wayword.worlds.indoor import SUCCESS_METRES

Ints = NDArray[np.intp]
FEW = 16
"""Paths that plain lists align faster than arrays of as many numbers."""


@dataclass(frozen=True)
class Paths:
    """Paths one after the other: all their ``places``, and ``lengths`` (B,), none of them 0.

    Places are indices into the distance matrix of a scene.
    """

    places: Ints
    lengths: Ints

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for an empty path, which no metric is defined for."""
        if not self.lengths.all():
            raise ValueError("a path needs at least one place")

    @property
    def starts(self) -> Ints:
        """Index of the first place of each walk."""
        return np.cumsum(self.lengths) - self.lengths

    def padded(self, order: Ints) -> Ints:
        """Return the places as (L, B), a column a path in this order, padded with its last place.

        Padding changes no length or distance.
        """
        # Beyond its end, a path stays at its last place.
        rows = np.minimum(
            np.arange(self.lengths.max(initial=0))[:, None],
            self.lengths[order] - 1,
        )
        rows += self.starts[order]
        return self.places.take(rows)

    def without_repeats(self) -> Paths:
        """Return the paths without consecutive repeats."""
        # The first place of each path is new, whatever ended the path before it.
        new = np.empty(len(self.places), dtype=bool)
        np.not_equal(self.places[1:], self.places[:-1], out=new[1:])
        new[self.starts] = True
        lengths = np.add.reduceat(new, self.starts, dtype=np.intp)
        return Paths(self.places[new], lengths)


def join(paths: Sequence[Sequence[int]]) -> Paths:
    """Join paths of indices. Raises ``ValueError`` for an empty path."""
    # One pass for all paths: a list of arrays would cost more than the walk itself.
    lengths = np.fromiter(map(len, paths), np.intp, len(paths))
    places = np.fromiter(chain.from_iterable(paths), np.intp, int(lengths.sum()))
    return Paths(places, lengths)


@dataclass(frozen=True)
class Alignment:
    """Distances (metres) from which the path metrics of a batch are computed.

    ``dtw`` (B,): minimum total distance of a monotone alignment of path and reference.
    ``nearest`` (B, R): from each place of the reference to the nearest place of the path; padded
    with that of the goal. ``final`` (B,): from the path's last place to the goal. ``traveled`` and
    ``gold`` (B,): lengths of path and reference. ``shortest`` (B,): from the reference's start to
    the goal. ``gold_lengths`` (B,): number of places in the reference.
    """

    dtw: Floats
    nearest: Floats
    final: Floats
    traveled: Floats
    gold: Floats
    shortest: Floats
    gold_lengths: Ints


def align(
    graphs: Sequence[Floats],
    which: Sequence[int] | Ints,
    paths: Paths,
    references: Paths,
) -> Alignment:
    """Measure paths against references, one of each for an episode.

    ``graphs`` are the distance matrices (N, N) of the scenes, in metres, and ``which``
    (B,) is the scene of each episode. The result is in the order of the arguments.
    """
    # Longest paths first: step i then works on a prefix of the batch, the paths with an i-th place.
    order = np.argsort(-paths.lengths, kind="stable")
    metres = _Metres(graphs, np.asarray(which)[order])
    sorted_starts = paths.starts[order]
    sorted_lengths = paths.lengths[order]
    last = paths.places[sorted_starts + sorted_lengths - 1]
    # Column by column in the sorted order, one reference each.
    gold = references.padded(order)
    dtw, nearest, traveled = _warp(
        metres,
        paths.places,
        sorted_starts,
        sorted_lengths,
        gold,
        references.lengths[order],
    )
    # Results return in the order of the arguments: ``back`` undoes the sorting.
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return Alignment(
        dtw=dtw[references.lengths - 1, back],
        nearest=nearest.T[back],
        final=metres(last, gold[-1])[back],
        traveled=traveled[back],
        gold=metres(gold[:-1], gold[1:]).sum(axis=0)[back],
        shortest=metres(gold[0], gold[-1])[back],
        gold_lengths=references.lengths,
    )


def align_one(
    distances: Floats,
    path: Sequence[int],
    reference: Sequence[int],
) -> Alignment:
    """Measure one path: :func:`align` to the last bit, in a third of the time.

    Most arrays of a batch of one would hold a single number, so plain lists are faster.
    """
    # Plain lists: small tables are faster without arrays.
    rows: list[list[float]] = distances[np.ix_(path, reference)].tolist()
    legs: list[float] = distances[path[:-1], path[1:]].tolist()
    *_, traveled = accumulate(legs, initial=0.0)
    # One look-up for both: from the last place, and from the start, to the goal.
    ends = distances[[path[-1], reference[0]], reference[-1]]
    return Alignment(
        dtw=np.array([warp(rows)]),
        nearest=np.array([[*map(min, zip(*rows, strict=True))]]),
        final=ends[:1],
        traveled=np.array([traveled]),
        gold=distances[reference[:-1], reference[1:]][:, None].sum(axis=0),
        shortest=ends[1:],
        gold_lengths=np.array([len(reference)]),
    )


def warp(costs: Sequence[Sequence[float]]) -> float:
    """Return the minimum total cost of a monotone alignment of rows and columns.

    ``costs`` has at least one row and one column.
    """
    # The first row: a path that stays at its start.
    first = list(accumulate(costs[0]))
    return _warp_on(first, costs[1:])[-1]


def _warp_on(table: list[float], costs: Sequence[Sequence[float]]) -> list[float]:
    """Return the last row of a table, from its row before these ``costs``.

    The order of its sums is that of :func:`_warp`, so that both give the same last bit.
    """
    for row_costs in costs:
        # The first column: a reference that stays at its start.
        cell = table[0] + row_costs[0]
        row = [cell]
        for diagonal, above, cost in zip(table, table[1:], row_costs[1:], strict=False):
            cell = min(diagonal, above, cell) + cost
            row.append(cell)
        table = row
    return table


class _Metres:
    """Distances between places of the first n episodes, each in its own scene.

    All scenes are in one array, so that one numpy call serves all.
    """

    def __init__(self, graphs: Sequence[Floats], which: Ints) -> None:
        tables = [np.ravel(graph) for graph in graphs]
        # One scene needs no copy.
        self._flat = tables[0] if len(tables) == 1 else np.concatenate(tables)
        sizes = np.array([len(graph) for graph in graphs], dtype=np.intp)
        self._size = sizes[which]
        # Where the table of each episode's scene begins.
        self._offset = (np.cumsum(sizes**2) - sizes**2)[which]

    def __call__(self, starts: Ints, ends: Ints) -> Floats:
        """Return distances from ``starts`` to ``ends``, both (n,) or (…, n)."""
        count = starts.shape[-1]
        row = starts * self._size[:count]
        row += self._offset[:count]
        return self._flat.take(row + ends)

    def of_one(self, episode: int, starts: Ints, ends: Ints) -> Floats:
        """Return distances in the scene of one episode; ``starts`` and ``ends`` broadcast."""
        row: Ints = starts * self._size[episode] + self._offset[episode]
        return self._flat.take(row + ends)


def _warp(
    metres: _Metres,
    places: Ints,
    starts: Ints,
    lengths: Ints,
    gold: Ints,
    sizes: Ints,
) -> tuple[Floats, Floats, Floats]:
    """Align all paths, which begin at ``starts`` (B,) of ``places``, with their references (R, B),
    which have ``sizes`` (B,) places; longest paths first.

    Returns the last row of every episode's dynamic-time-warping table (R, B), the distances from
    each reference place to the nearest path place (R, B), and the lengths of the paths (B,).
    Each numpy operation fills one cell of all tables; the few longest paths end in plain lists.
    """
    steps = np.arange(lengths.max(initial=0))
    # How many paths have an i-th place.
    active = np.searchsorted(-lengths, -steps, side="left").tolist()
    current = places[starts]
    nearest = metres(current, gold)
    # The first row: the path at its start.
    table = np.cumsum(nearest, axis=0)
    traveled = np.zeros(len(lengths))
    # A walk of thousands of steps must not fill its cells one numpy operation each.
    in_batch = max(sum(count >= FEW for count in active), 1)
    for i in range(1, in_batch):
        count = active[i]
        previous = current[:count]
        current = places[starts[:count] + i]
        traveled[:count] += metres(previous, current)
        costs = metres(current, gold[:, :count])
        np.minimum(nearest[:, :count], costs, out=nearest[:, :count])
        row = table[:, :count]  # turned into the next row, in place
        # Predecessors (i - 1, j) and (i - 1, j - 1)
        best = np.minimum(row[1:], row[:-1])
        row[0] += costs[0]
        # Views of the rows: to assign to ``row[j]`` would copy each cell once more.
        for before, left, cell, cost in zip(
            best, row, row[1:], costs[1:], strict=False
        ):
            np.minimum(before, left, out=cell)
            cell += cost
        del best, costs  # lets malloc reuse their memory: twice as fast
    for path in range(np.count_nonzero(lengths > in_batch)):
        # Its places from the last one that is in the table on.
        rest = places[starts[path] + in_batch - 1 : starts[path] + lengths[path]]
        legs = metres.of_one(path, rest[:-1], rest[1:])
        *_, traveled[path] = accumulate(legs.tolist(), initial=traveled[path])
        # Without the padding of its reference, but for the last place's, which is the goal.
        own = slice(sizes[path])
        costs = metres.of_one(path, rest[1:, None], gold[own, path])
        nearest[own, path] = np.minimum(nearest[own, path], costs.min(axis=0))
        nearest[sizes[path] :, path] = nearest[sizes[path] - 1, path]
        table[own, path] = _warp_on(table[own, path].tolist(), costs.tolist())
    return table, nearest, traveled


def success(batch: Alignment) -> Floats:
    """Return SR (B,): 1 if the final place is less than 3 m from the goal, else 0."""
    return (batch.final < SUCCESS_METRES).astype(np.float64)


def oracle_success(batch: Alignment) -> Floats:
    """Return OSR (B,): 1 if any place of the path, start included, is less than 3 m from it."""
    return (batch.nearest[:, -1] < SUCCESS_METRES).astype(np.float64)


def spl(batch: Alignment) -> Floats:
    """Return SPL (B,): S · g / max(TL, g), with g = ``shortest``.

    For g = 0, the fraction is 1 for an agent that did not move, else 0.
    """
    longest = np.maximum(batch.traveled, batch.shortest)
    return success(batch) * _share(batch.shortest, longest)


def spl_gold(batch: Alignment) -> Floats:
    """Return SPL against the reference path (B,): S · G / max(TL, G), with G = ``gold``.

    As in the scorers of HAMT, DUET and NavGPT's release.
    """
    return success(batch) * _share(batch.gold, np.maximum(batch.traveled, batch.gold))


def ndtw(batch: Alignment) -> Floats:
    """Return nDTW (B,): exp(-DTW / (3 m · places of the reference)).

    0 where a place cannot be reached from the other path.
    """
    return np.asarray(np.exp(-batch.dtw / (SUCCESS_METRES * batch.gold_lengths)))


def cls(batch: Alignment) -> Floats:
    """Return CLS (B,): coverage of the reference times the length score.

    Coverage is the mean of exp(-d / 3 m) over the reference's places, with the distance d to the
    nearest place of the path. The length score is E / (E + abs(E - TL)), 1 if both are 0, with the
    expected length E = coverage · reference length (0 if its places are disconnected).
    """
    closeness = np.exp(batch.nearest / -SUCCESS_METRES)
    # References are padded to equal lengths; padding must not count.
    inside = np.arange(closeness.shape[1]) < batch.gold_lengths[:, None]
    coverage: Floats = (closeness * inside).sum(axis=1) / batch.gold_lengths
    expected = coverage * np.where(np.isfinite(batch.gold), batch.gold, 0.0)
    return coverage * _share(expected, expected + np.abs(expected - batch.traveled))


def _share(part: Floats, total: Floats) -> Floats:
    """Return ``part / total``; 1 for 0 / 0, and 0 for an infinite total."""
    usable = (total > 0) & np.isfinite(total)
    share = np.divide(part, total, out=np.zeros_like(total), where=usable)
    return np.where(total == 0, 1.0, share)
