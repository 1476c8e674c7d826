"""Street graphs: panoramas and the links between them.

Reads Touchdown's and Map2seq's ``nodes.txt`` (``panorama,yaw,lat,lng[,seen|unseen|gone]``) and
``links.txt`` (``panorama,heading,panorama``), plain or gzipped.

Sources: Chen et al. 2019, "Touchdown"; Mehta et al. 2020, "Retouchdown"; Schumann and Riezler 2021
and 2022 (Map2seq, the seen and unseen areas).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayword.core.errors import DataError
from wayword.core.files import read_bytes, read_cached_arrays, write_cached_arrays
from wayword.worlds.indoor.graph import all_pairs

AREAS = ("", "seen", "unseen", "gone")
"""Area of a panorama: for training, held out, or no longer available from the service."""

CACHE_VERSION = 2  # increase it when the cached arrays change
_ARRAYS = ("offsets", "targets", "headings", "yaw", "positions", "areas")
Floats = NDArray[np.float64]


class Hops:
    """Directed distances in links.

    Nearly every panorama of a street graph is inside a row between two junctions: 28,056 of
    Touchdown's 29,641 have two exits, each linked in both directions. All others are hubs. The
    distance between two panoramas is the minimum, over the ends of their rows, of panorama to row
    end + hub to hub + row end to panorama.

        >>> hops = Hops(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]))
        >>> hops([0, 2, 1], 2).tolist()
        [2.0, 0.0, 1.0]

    ``offsets`` (N + 1,) and ``targets`` (E,) list the outgoing links of each panorama in turn.
    Links may be one-way.
    """

    def __init__(self, offsets: NDArray[np.int32], targets: NDArray[np.int32]) -> None:
        rows = _Rows(offsets, targets)
        self._row = np.array(rows.row)
        self._ends = np.array(
            rows.ends, np.intp
        )  # (2, N): hubs at the two ends of the row
        self._gaps = np.array(
            rows.gaps, np.float32
        )  # (2, N): links from each end to the panorama
        self._links = rows.links

    @cached_property
    def _table(self) -> NDArray[np.float32]:
        """(H, H) distances to (rows) and from (columns) each hub."""
        links = [
            (hub, to, n)
            for hub, ends in enumerate(self._links)
            for to, n in ends.items()
        ]
        table = np.array(links, np.int32).reshape(-1, 3)
        hops = all_pairs(len(self._links), table[:, :2], table[:, 2].astype(np.float64))
        return np.ascontiguousarray(hops.T, np.float32)

    def __call__(self, starts: ArrayLike, ends: ArrayLike) -> Floats:
        """Return shortest distances in links from ``starts`` to ``ends`` (broadcast), inf without a
        path."""
        start, end = np.asarray(starts), np.asarray(ends)
        start = start.reshape((1,) * (end.ndim - start.ndim) + start.shape)
        end = end.reshape((1,) * (start.ndim - end.ndim) + end.shape)
        # (2, 2, *shape): from each end of the start's row to each end of the other row
        hub_hops = self._table[self._ends[:, end], self._ends[:, start][:, None]]
        best = (hub_hops + self._gaps[:, start][:, None] + self._gaps[:, end]).min(
            axis=(0, 1)
        )
        return self._along(best, start, end)

    def table(self, starts: ArrayLike, ends: ArrayLike) -> Floats:
        """Return an (L, R) array of links from each of ``starts`` (L,) to each of ``ends`` (R,):
        faster than pairwise calls if many of ``starts`` are in the same rows, as in a walk."""
        start, end = np.asarray(starts), np.asarray(ends)
        end_hubs = self._ends[:, end]
        hubs: dict[int, int] = {}  # a walk passes only a few hubs
        rows = [
            hubs.setdefault(hub, len(hubs))
            for hub in self._ends[:, start].ravel().tolist()
        ]
        hub_hops = self._table[end_hubs[:, None], np.array(list(hubs))[:, None]]
        hops = (hub_hops + self._gaps[:, None, end]).min(axis=0)
        by_end = hops[rows].reshape(2, len(start), len(end))
        by_end += self._gaps[:, start, None]
        return self._along(by_end.min(axis=0), start[:, None], end)

    def _along(self, best: NDArray[np.float32], start: Any, end: Any) -> Floats:
        """Return ``best`` or, for two panoramas of one row, the links along it if fewer."""
        is_same_row = self._row[start] == self._row[end]
        if is_same_row.any():
            along = np.abs(self._gaps[0, start] - self._gaps[0, end])
            best = np.where(is_same_row, np.minimum(best, along), best)
        return np.asarray(best, np.float64)


class _Rows:
    """The row of each panorama, and the links between hubs.

    ``row``: index of its row, unique and negative for hubs. ``ends``: the hubs at its two ends (a
    hub has itself twice), ``gaps``: the number of links to them. ``links``: for each hub, those at
    the other end of a row or a single link, with the number of links to each.
    """

    def __init__(self, offsets: NDArray[np.int32], targets: NDArray[np.int32]) -> None:
        count = len(offsets) - 1
        # A panorama is inside a row if it has two neighbors, each linked in both directions.
        sources = np.repeat(np.arange(count, dtype=np.int64), np.diff(offsets))
        links, reverse_links = (
            sources * count + targets,
            targets * np.int64(count) + sources,
        )
        is_two_way = np.isin(links, reverse_links) & (sources != targets)
        neighbors = np.bincount(
            np.unique(links[is_two_way]) // max(count, 1), minlength=count
        )
        arrivals = np.bincount(targets, minlength=count)
        is_inner = (neighbors == 2) & (np.diff(offsets) == 2) & (arrivals == 2)
        self._is_inner: list[bool] = is_inner.tolist()
        self._exits = (
            [part.tolist() for part in np.split(targets, offsets[1:-1])]
            if count
            else []
        )
        self.row = [0] * count
        self.ends = [0] * count, [0] * count
        self.gaps = [0] * count, [0] * count
        self.links: list[dict[int, int]] = []
        self._hubs: dict[int, int] = {}
        hubs = [place for place in range(count) if not self._is_inner[place]]
        for place in hubs:
            self._add_hub(place)
        for place in hubs:
            self._follow_rows(place)
        for place in range(
            count
        ):  # a ring without any junction: make one panorama a hub
            if self._is_inner[place] and not self.row[place]:
                self._is_inner[place] = False
                self._add_hub(place)
                self._follow_rows(place)

    def _add_hub(self, place: int) -> None:
        number = self._hubs[place] = len(self.links)
        self.links.append({})
        self.row[place] = -1 - number
        self.ends[0][place] = self.ends[1][place] = number

    def _follow_rows(self, hub: int) -> None:
        """Follow each row and single link that starts at a hub to the next hub."""
        for step in self._exits[hub]:
            if self.row[step] > 0:  # already followed from its other end
                continue
            chain = [hub, step]
            while self._is_inner[chain[-1]]:
                first_exit, second_exit = self._exits[chain[-1]]
                chain.append(second_exit if first_exit == chain[-2] else first_exit)
            length, number = len(chain) - 1, hub * len(self.row) + step + 1
            first, last = self._hubs[hub], self._hubs[chain[-1]]
            for gap, place in enumerate(chain[1:-1], 1):
                self.row[place] = number
                self.ends[0][place], self.ends[1][place] = first, last
                self.gaps[0][place], self.gaps[1][place] = gap, length - gap
            pairs = [(first, last), (last, first)] if length > 1 else [(first, last)]
            for (
                start,
                end,
            ) in pairs:  # rows lead both ways, a single link may be one-way
                self.links[start][end] = min(length, self.links[start].get(end, length))


@dataclass(frozen=True, eq=False)
class StreetGraph:
    """A directed street graph, shared by every episode on it.

        >>> graph = build("corner", ["a", "b", "c"], [("a", 0, "b"), ("b", 90, "c")])
        >>> graph.exits(graph.index["b"])
        [(90, 2)]

    ``names`` contains the ids of the N panoramas, one per line. The outgoing links of panorama i
    are ``offsets[i]:offsets[i + 1]`` of ``targets`` and ``headings``, in file order; headings are
    whole degrees clockwise from north in [0, 360). ``yaw`` (N,) is the heading at the center of a
    panorama image, ``positions`` (N, 2) latitude and longitude, all in degrees; ``areas`` (N,) are
    indices into ``AREAS``. Without geography these are zeros.
    """

    name: str
    names: bytes
    offsets: NDArray[np.int32]
    targets: NDArray[np.int32]
    headings: NDArray[np.int16]
    yaw: NDArray[np.float32]
    positions: NDArray[np.float64]
    areas: NDArray[np.int8]

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(self.names.decode().split("\n")) if self.names else ()

    @cached_property
    def index(self) -> dict[str, int]:
        return dict(zip(self.ids, range(len(self.ids)), strict=True))

    @cached_property
    def lists(self) -> tuple[list[int], list[int], list[int]]:
        """``offsets``, ``targets`` and ``headings`` as lists, for faster access to single items."""
        return self.offsets.tolist(), self.targets.tolist(), self.headings.tolist()

    @cached_property
    def junctions(self) -> frozenset[int]:
        """Panoramas with three or more exits."""
        return frozenset(np.flatnonzero(np.diff(self.offsets) > 2).tolist())

    @cached_property
    def hops(self) -> Hops:
        return Hops(self.offsets, self.targets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def degree(self, panorama: int) -> int:
        offsets = self.lists[0]
        return offsets[panorama + 1] - offsets[panorama]

    def exits(self, panorama: int) -> list[tuple[int, int]]:
        """Return heading (degrees) and target of a panorama's outgoing links, in file order."""
        offsets, targets, headings = self.lists
        links = slice(offsets[panorama], offsets[panorama + 1])
        return list(zip(headings[links], targets[links], strict=True))

    def area(self, panorama: int) -> str:
        """Return ``seen``, ``unseen`` or ``gone``, or empty if the file gives no area."""
        return AREAS[int(self.areas[panorama])]


def build(
    name: str, ids: Sequence[str], links: Iterable[tuple[str, float, str]]
) -> StreetGraph:
    """Build a graph in memory from ``links`` (from, heading in degrees, to). Raises ``DataError``
    like :func:`load`."""
    nodes = "".join(f"{panorama},0,0,0\n" for panorama in ids).encode()
    text = "".join(
        f"{start},{heading},{end}\n" for start, heading, end in links
    ).encode()
    return _parse(name, (Path(name), nodes), (Path(name), text))


def load(
    nodes: Path, links: Path, cache: Path | None = None, name: str = ""
) -> StreetGraph:
    """Read a graph from its two files, each ``.txt`` or ``.txt.gz``.

    ``cache`` is a folder for the parsed graph; a stale or damaged file in it is rebuilt. Raises
    ``DataError`` with file and line, also for two links of a panorama with the same heading: turns
    would be ambiguous. Headings are rounded to whole degrees, as in the released navigators.
    """
    name = name or links.parent.name
    cache_file = None
    with suppress(OSError):  # reading the files again below raises a clear error
        contents = [path.read_bytes() for path in (nodes, links)]
        key = "-".join(f"{zlib.crc32(part):08x}{len(part):x}" for part in contents)
        cache_file = cache / f"street-{CACHE_VERSION}-{key}.npz" if cache else None
    if cache_file and (arrays := read_cached_arrays(cache_file)):
        return StreetGraph(name, arrays.pop("names").tobytes(), **arrays)
    graph = _parse(name, (nodes, read_bytes(nodes)), (links, read_bytes(links)))
    if cache_file:
        arrays = {field: getattr(graph, field) for field in _ARRAYS}
        write_cached_arrays(
            cache_file, names=np.frombuffer(graph.names, np.uint8), **arrays
        )
    return graph


def _parse(
    name: str, nodes: tuple[Path, bytes], links: tuple[Path, bytes]
) -> StreetGraph:
    """Parse a graph from its two files. Raises ``DataError`` naming the line at fault."""
    path, index = nodes[0], dict[str, int]()
    geography: list[list[float]] = []
    areas: list[int] = []
    for where, (panorama, *values) in _parse_rows(*nodes):
        if not panorama or panorama in index:
            problem = f"is a duplicate: {panorama!r}" if panorama else "is empty"
            raise DataError(path, f"{where}, field 'panorama'", problem)
        index[panorama] = len(index)
        fields = zip(("yaw", "lat", "lng"), values, strict=False)
        geography.append(
            [_parse_number(path, where, field, value) for field, value in fields]
        )
        if len(values) == 4 and values[3] not in AREAS:
            problem = f"must be seen, unseen or gone, got {values[3]!r}"
            raise DataError(path, f"{where}, field 'area'", problem)
        areas.append(AREAS.index(values[3]) if len(values) == 4 else 0)
    if not index:
        raise DataError(path, "", "contains no panoramas", "fetch it again")
    path, edges = links[0], list[tuple[int, int, int]]()
    link_lines: dict[tuple[str, int], str] = {}
    for where, (start, degrees, end) in _parse_rows(*links, 3):
        for field, panorama in (("from", start), ("to", end)):
            if panorama not in index:
                problem = f"{panorama!r} is not a panorama of {nodes[0].name}"
                raise DataError(path, f"{where}, field {field!r}", problem)
        heading = round(_parse_number(path, where, "heading", degrees)) % 360
        if (start, heading) in link_lines:
            other = link_lines[start, heading]
            problem = f"{start!r} already has a link at {heading} degrees, on {other}"
            raise DataError(path, f"{where}, field 'heading'", problem)
        link_lines[start, heading] = where
        edges.append((index[start], index[end], heading))
    sources, targets, headings = np.array(edges, np.int32).reshape(-1, 3).T
    order = np.argsort(sources, kind="stable")
    offsets = np.zeros(len(index) + 1, np.int32)
    np.cumsum(np.bincount(sources, minlength=len(index)), out=offsets[1:])
    table = np.array(geography)
    return StreetGraph(
        name,
        "\n".join(index).encode(),
        *(offsets, targets[order], headings[order].astype(np.int16)),
        *(
            table[:, 0].astype(np.float32),
            table[:, 1:].copy(),
            np.array(areas, np.int8),
        ),
    )


def _parse_rows(
    path: Path, text: bytes, columns: int = 0
) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each line ("line 3") and its fields: ``columns``, or as many as in the
    first line, 4 or 5."""
    content = text.decode(errors="replace").replace("\r\n", "\n").rstrip("\n")
    for number, line in enumerate(content.split("\n") if content.strip() else (), 1):
        fields = line.split(",")
        columns = columns or (5 if len(fields) == 5 else 4)
        if len(fields) != columns:
            problem = f"must have {columns} fields, got {len(fields)}: {line[:60]!r}"
            raise DataError(path, f"line {number}", problem)
        yield f"line {number}", fields


def _parse_number(path: Path, where: str, name: str, text: str) -> float:
    with suppress(ValueError):
        if math.isfinite(number := float(text)):
            return number
    raise DataError(path, f"{where}, field {name!r}", f"is not a number: {text!r}")
