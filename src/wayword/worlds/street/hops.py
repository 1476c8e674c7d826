"""Distances in links between panoramas, for any number of pairs at once.

Nearly every panorama of a street graph stands in a row between two junctions (28,056 of
Touchdown's 29,641 have two exits, each a street in both directions). So only the others, the
hubs, are searched: a distance is a panorama's distance to an end of its row, that end's distance
to another hub, and that hub's distance to the other panorama. A pair costs a few array look-ups.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

BLOCK = 128
"""Hubs searched together: large enough for numpy, small enough for a processor's cache."""

Floats = NDArray[np.float64]


class Hops:
    """Directed distances in links.

        >>> hops = Hops(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]))
        >>> hops([0, 2, 1], 2).tolist()
        [2.0, 0.0, 1.0]

    ``offsets`` (N + 1,) and ``targets`` (E,) list the links out of each panorama in turn. Links
    may be one-way. Distances to a hub are computed when a pair first needs them.
    """

    def __init__(self, offsets: NDArray[np.int32], targets: NDArray[np.int32]) -> None:
        rows = _Rows(offsets, targets)
        self._row = np.array(rows.row)
        self._ends = np.array(rows.ends, np.intp)  # (2, N): the hubs at both ends of the row
        self._gaps = np.array(rows.gaps, np.float32)  # (2, N): links from there to the panorama
        count = len(rows.links)
        width = max(map(len, rows.links), default=0)
        # Links between hubs, padded with links of no length to the hub itself.
        self._next = np.tile(np.arange(count), (width, 1))
        self._weight = np.zeros((width, count, 1), np.float32)
        for hub, links in enumerate(rows.links):
            for k, (to, length) in enumerate(links.items()):
                self._next[k, hub], self._weight[k, hub] = to, length
        self._table = np.empty((count, count), np.float32)  # to (rows) and from (columns) hubs
        self._searched = np.zeros(count, bool)

    def __call__(self, starts: ArrayLike, ends: ArrayLike) -> Floats:
        """Links on a shortest path from each of ``starts`` to each of ``ends`` (broadcast).

        inf where there is none.
        """
        start, end = np.asarray(starts), np.asarray(ends)
        start = start.reshape((1,) * (end.ndim - start.ndim) + start.shape)
        end = end.reshape((1,) * (start.ndim - end.ndim) + end.shape)
        into, out = self._ends[:, end], self._ends[:, start]
        self._search(into)
        between = self._table[into, out[:, None]]  # (2, 2, *shape): each end of one to each of both
        best = (between + self._gaps[:, start][:, None] + self._gaps[:, end]).min(axis=(0, 1))
        return self._along(best, start, end)

    def table(self, starts: ArrayLike, ends: ArrayLike) -> Floats:
        """Links from each of ``starts`` (L,) to each of ``ends`` (R,): an (L, R) array.

        Faster than pair by pair where many of ``starts`` are in the same rows, as in a walk.
        """
        start, end = np.asarray(starts), np.asarray(ends)
        into = self._ends[:, end]
        self._search(into)
        hubs: dict[int, int] = {}  # a walk passes few of them
        which = [hubs.setdefault(hub, len(hubs)) for hub in self._ends[:, start].ravel().tolist()]
        between = self._table[into[:, None], np.array(list(hubs))[:, None]]
        away = (between + self._gaps[:, None, end]).min(axis=0)
        by_end = away[which].reshape(2, len(start), len(end))
        by_end += self._gaps[:, start, None]
        return self._along(by_end.min(axis=0), start[:, None], end)

    def _along(self, best: NDArray[np.float32], start: Any, end: Any) -> Floats:
        """``best`` or, within one row, the links along it where these are fewer."""
        same = self._row[start] == self._row[end]
        if same.any():
            along = np.abs(self._gaps[0, start] - self._gaps[0, end])
            best = np.where(same, np.minimum(best, along), best)
        found: Floats = best.astype(np.float64)
        return found

    def _search(self, hubs: NDArray[np.intp]) -> None:
        """Fill the rows of these hubs in the table, and of others up to whole blocks."""
        searched = self._searched[hubs]
        if searched.all():
            return
        missing = np.unique(hubs[~searched])
        others = np.setdiff1d(np.flatnonzero(~self._searched), missing)
        missing = np.concatenate([missing, others[: -len(missing) % BLOCK]])
        for block in np.split(missing, range(BLOCK, len(missing), BLOCK)):
            away = np.full((len(self._searched), len(block)), np.inf, np.float32)
            away[block, np.arange(len(block))] = 0
            before = None
            while before is None or not np.array_equal(before, away):
                before = away.copy()
                for to, length in zip(self._next, self._weight, strict=True):
                    np.minimum(away, away[to] + length, out=away)
            self._table[block] = away.T
            self._searched[block] = True


class _Rows:
    """The row of each panorama, and the links between hubs.

    ``row``: the number of the row, a negative one of its own for each hub. ``ends``: the hubs at
    both ends of the row, numbered in the order in which they were met (for a hub, itself twice).
    ``gaps``: the links to these ends. ``links``: for each hub the hubs that a row or a single link
    leads to, and the number of links to each.
    """

    def __init__(self, offsets: NDArray[np.int32], targets: NDArray[np.int32]) -> None:
        count = len(offsets) - 1
        self._inner = _in_a_row(offsets, targets).tolist()
        self._exits = [part.tolist() for part in np.split(targets, offsets[1:-1])] if count else []
        self.row = [0] * count
        self.ends = [0] * count, [0] * count
        self.gaps = [0] * count, [0] * count
        self.links: list[dict[int, int]] = []
        self._hubs: dict[int, int] = {}
        hubs = [place for place in range(count) if not self._inner[place]]
        for place in hubs:
            self._hub(place)
        for place in hubs:
            self._follow(place)
        for place in range(count):  # a ring without any junction: opened at one panorama
            if self._inner[place] and not self.row[place]:
                self._inner[place] = False
                self._hub(place)
                self._follow(place)

    def _hub(self, place: int) -> None:
        number = self._hubs[place] = len(self.links)
        self.links.append({})
        self.row[place] = -1 - number
        self.ends[0][place] = self.ends[1][place] = number

    def _follow(self, hub: int) -> None:
        """Walk along each row and single link that starts at a hub, up to the next hub."""
        for step in self._exits[hub]:
            if self.row[step] > 0:  # walked from its other end
                continue
            chain = [hub, step]
            while self._inner[chain[-1]]:
                one, other = self._exits[chain[-1]]
                chain.append(other if one == chain[-2] else one)
            length, number = len(chain) - 1, hub * len(self.row) + step + 1
            first, last = self._hubs[hub], self._hubs[chain[-1]]
            for gap, place in enumerate(chain[1:-1], 1):
                self.row[place] = number
                self.ends[0][place], self.ends[1][place] = first, last
                self.gaps[0][place], self.gaps[1][place] = gap, length - gap
            self._link(first, last, length)
            if length > 1:
                self._link(last, first, length)

    def _link(self, first: int, last: int, length: int) -> None:
        known = self.links[first].get(last, length)
        self.links[first][last] = min(known, length)


def _in_a_row(offsets: NDArray[np.int32], targets: NDArray[np.int32]) -> NDArray[np.bool_]:
    """True for panoramas with just two neighbors, each linked in both directions."""
    count = len(offsets) - 1
    sources = np.repeat(np.arange(count, dtype=np.int64), np.diff(offsets))
    links, backs = sources * count + targets, targets * np.int64(count) + sources
    both = np.isin(links, backs) & (sources != targets)
    neighbors = np.bincount(np.unique(links[both]) // max(count, 1), minlength=count)
    arrivals = np.bincount(targets, minlength=count)
    return np.asarray((neighbors == 2) & (np.diff(offsets) == 2) & (arrivals == 2))
