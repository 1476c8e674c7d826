"""How many links lie between two panoramas, for any number of pairs at once.

Nearly every panorama of a street graph stands in a row between two junctions (28,056 of
Touchdown's 29,641 have two ways out). So only the others, the hubs, are searched: distances
between hubs come from a small weighted graph, and a panorama in a row is its two ends' distances
plus its place in the row. A pair then costs a few array look-ups. Hubs are searched with Dijkstra's
algorithm, a few when a few are asked for, else all of them once (``scipy.sparse.csgraph``).
"""

from __future__ import annotations

from functools import cached_property
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayword.core.files import keep, read_array

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FEW = 64
TABLE_LIMIT = 6_000  # a table of 144 MB

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Hops:
    """Directed distances in links.

        >>> hops = Hops(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]))
        >>> hops([0, 2, 1], 2).tolist()
        [2.0, 0.0, 1.0]

    ``offsets`` (N + 1,) and ``targets`` (E,) list the links out of each panorama in turn. Links
    may be one-way. ``stored`` is a file for the table of all hubs' distances, which is made once
    more than ``FEW`` of them were asked for, where there are no more than ``TABLE_LIMIT``.
    """

    def __init__(
        self, offsets: NDArray[np.int32], targets: NDArray[np.int32], stored: Path | None = None
    ) -> None:
        self._offsets, self._targets, self._stored = offsets, targets, stored
        self._columns: dict[int, Floats] = {}
        self._whole: NDArray[np.float32] | None = None

    def __call__(self, starts: ArrayLike, ends: ArrayLike) -> Floats:
        """Links on a shortest way from each of ``starts`` to each of ``ends`` (broadcast).

        inf where there is no way.
        """
        rows, start, end = self._rows, np.asarray(starts), np.asarray(ends)
        start, end = np.broadcast_arrays(start, end)
        best = np.full(start.shape, np.inf)
        exits = ((rows.first[start], rows.to_first[start]), (rows.last[start], rows.to_last[start]))
        for back, arriving in ((rows.first, rows.to_first), (rows.last, rows.to_last)):
            into, rest = back[end], arriving[end]
            for out, leaving in exits:
                np.minimum(best, leaving + self._between(out, into) + rest, out=best)
        number = rows.number[start]
        same = (number == rows.number[end]) & (number >= 0)
        if same.any():
            along = np.abs(rows.to_first[start] - rows.to_first[end]).astype(np.float64)
            np.minimum(best, along, out=best, where=same)
        return best

    def _between(self, starts: Ints, ends: Ints) -> Floats:
        """Distances between hubs: from the table of all, or from a few columns of it."""
        if self._whole is None:
            wanted = np.unique(ends).tolist()
            missing = [hub for hub in wanted if hub not in self._columns]
            if len(missing) + len(self._columns) > FEW and len(self._rows.hubs) <= TABLE_LIMIT:
                self._whole = self._table()
            elif missing:
                self._columns.update(zip(missing, self._search(missing), strict=True))
        if self._whole is not None:
            return self._whole[ends, starts].astype(np.float64)
        found = np.empty(starts.shape)
        for hub in wanted:
            np.copyto(found, self._columns[hub][starts], where=ends == hub)
        return found

    def _table(self) -> NDArray[np.float32]:
        """Distances (H, H) to each hub (rows) from every hub."""
        table = self._search(list(range(len(self._rows.hubs)))).astype(np.float32)
        if self._stored is not None:
            keep(self._stored, lambda file: np.save(file, table, allow_pickle=False))
            rows = self._stored.with_suffix(".rows.npy")
            keep(rows, lambda file: np.save(file, self._rows.places, allow_pickle=False))
        return table

    def _restore(self) -> _Rows | None:
        """What an earlier process worked out, table and all; None where it is not there whole."""
        if self._stored is None:
            return None
        try:
            table = read_array(self._stored, mapped=True)
            places = read_array(self._stored.with_suffix(".rows.npy"))
        except (OSError, ValueError):
            return None
        if places.shape != (5, len(self._offsets) - 1) or places.dtype != np.int64:
            return None
        rows = _Rows(places)
        if table.shape != (len(rows.hubs), len(rows.hubs)) or table.dtype != np.float32:
            return None
        self._whole = np.asarray(table)
        return rows

    def _search(self, hubs: list[int]) -> Floats:
        """Distances (len(hubs), H) from every hub to each of these."""
        if len(hubs) <= FEW:
            return np.array([self._search_back(hub) for hub in hubs])
        from scipy.sparse.csgraph import dijkstra

        return np.asarray(dijkstra(self._reversed_hub_graph, indices=hubs), np.float64)

    def _search_back(self, hub: int) -> Floats:
        """Distances (H,) from every hub to one. A few searches take less time than scipy's import.

        Distances are whole numbers, so both ways of searching find the same.
        """
        best = np.full(len(self._rows.hubs), np.inf)
        reached: list[tuple[float, int]] = [(0.0, hub)]
        while reached:
            away, here = heappop(reached)
            if away < best[here]:
                best[here] = away
                for there, links in self._arrivals[here]:
                    if away + links < best[there]:
                        heappush(reached, (away + links, there))
        return best

    @cached_property
    def _arrivals(self) -> list[list[tuple[int, float]]]:
        """For each hub the hubs that lead to it, and by how many links."""
        found: list[list[tuple[int, float]]] = [[] for _ in self._rows.hubs]
        rows = self._rows
        for (start, end), links in zip(rows.links.tolist(), rows.weights.tolist(), strict=True):
            found[end].append((start, links))
        return found

    @cached_property
    def _rows(self) -> _Rows:
        return self._restore() or _lay_out(self._offsets, self._targets)

    @cached_property
    def _reversed_hub_graph(self) -> csr_matrix[np.float64]:
        from scipy.sparse import csr_matrix

        rows = self._rows
        count = len(rows.hubs)
        return csr_matrix((rows.weights, (rows.links[:, 1], rows.links[:, 0])), (count, count))


class _Rows:
    """Where each panorama stands: ``places`` (5, N), and its rows by name.

    ``number`` is the row's, -1 for a hub; ``first`` and ``last`` the hubs (numbered 0 to H - 1)
    at its ends, ``to_first`` and ``to_last`` the links to them. ``hubs`` (H,) are the panoramas
    that are hubs; ``links`` (K, 2) and ``weights`` (K,) lead from hub to hub, and are not kept.
    """

    def __init__(self, places: Ints) -> None:
        self.places = places
        self.number, self.first, self.last, self.to_first, self.to_last = places
        self.hubs = np.flatnonzero(self.number < 0)
        self.links = np.zeros((0, 2), np.int64)
        self.weights = np.zeros(0)


def _lay_out(offsets: NDArray[np.int32], targets: NDArray[np.int32]) -> _Rows:
    count = len(offsets) - 1
    ways = [targets[offsets[i] : offsets[i + 1]].tolist() for i in range(count)]
    inner = _in_a_row(offsets, targets, ways)
    seen = [not is_inner for is_inner in inner]
    chains: list[list[int]] = []
    for hub in [i for i in range(count) if not inner[i]]:
        chains += _chains(hub, ways, inner, seen)
    for panorama in range(count):  # rings without any junction: open each at one panorama
        if not seen[panorama]:
            inner[panorama], seen[panorama] = False, True
            chains += _chains(panorama, ways, inner, seen)
    rows = _Rows(np.where(np.array(inner, bool), 0, [[-1], [0], [0], [0], [0]]).astype(np.int64))
    _place(rows, chains)
    return rows


def _in_a_row(
    offsets: NDArray[np.int32], targets: NDArray[np.int32], ways: list[list[int]]
) -> list[bool]:
    """Which panoramas have just two neighbours, each linked both ways."""
    arrivals = np.bincount(targets, minlength=len(ways)).tolist()
    return [
        len(around) == 2
        and arrivals[here] == 2
        and around[0] != around[1]
        and here not in around
        and all(here in ways[there] for there in around)
        for here, around in enumerate(ways)
    ]


def _chains(
    hub: int, ways: list[list[int]], inner: list[bool], seen: list[bool]
) -> list[list[int]]:
    """The rows and single links that start at a hub: each from hub to hub, both included.

    A row is found once, from whichever of its ends comes first; single links from every hub.
    """
    found = []
    for step in ways[hub]:
        if inner[step] and seen[step]:
            continue
        chain = [hub, step]
        while inner[chain[-1]]:
            here = chain[-1]
            seen[here] = True
            one, other = ways[here]
            chain.append(other if one == chain[-2] else one)
        found.append(chain)
    return found


def _place(rows: _Rows, chains: list[list[int]]) -> None:
    order = np.full(len(rows.number), -1, np.int64)
    order[rows.hubs] = np.arange(len(rows.hubs))
    rows.first[rows.hubs] = rows.last[rows.hubs] = order[rows.hubs]
    shortest: dict[tuple[int, int], int] = {}
    for number, chain in enumerate(chains):
        length = len(chain) - 1
        first, last = int(order[chain[0]]), int(order[chain[-1]])
        middle = chain[1:-1]
        rows.number[middle] = number
        rows.first[middle], rows.last[middle] = first, last
        rows.to_first[middle] = np.arange(1, length)
        rows.to_last[middle] = np.arange(length - 1, 0, -1)
        for way in [(first, last), (last, first)] if middle else [(first, last)]:
            shortest[way] = min(length, shortest.get(way, length))
    rows.links = np.array(list(shortest), np.int64).reshape(-1, 2)
    rows.weights = np.array(list(shortest.values()), np.float64)
