"""Viewpoint graphs: places one can stand at indoors, and the ways between them.

Loads MatterSim connectivity (position = pose[3], pose[7], pose[11] in metres; an edge where both
ends are included and the way is unobstructed, as long as the straight line between them), and
computes all-pairs geodesic distances once, cached on disk under the file's own checksum.

Source: Matterport3DSimulator, ``connectivity/README.md``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError
from wayword.core.files import keep_arrays, kept_arrays, read_json
from wayword.core.geometry import absolute, bearings, elevations

CACHE_VERSION = 1
SMALL = 100
"""Viewpoints up to which Floyd-Warshall's plain loop is taken instead of a search from every place:
it needs no scipy, whose import takes longer than all other work on a generated house."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A way to a neighbour: absolute heading and elevation (degrees), straight length (metres)."""

    viewpoint: str
    heading: float
    elevation: float
    distance: float


@dataclass(frozen=True, eq=False)
class ViewpointGraph:
    """One scan. Read-only once made, and shared by every episode in it.

    ``positions`` (N, 3) metres, z up. ``edges`` (E, 2) indices, both directions listed, sorted.
    ``distances`` (N, N) metres along the graph, ``inf`` where there is no way.
    """

    scan: str
    ids: tuple[str, ...]
    positions: NDArray[np.float64]
    edges: NDArray[np.int32]
    distances: NDArray[np.float64]
    index: dict[str, int] = field(init=False, repr=False)
    _ways: dict[str, tuple[Neighbor, ...]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {name: i for i, name in enumerate(self.ids)})

    @cached_property
    def neighbours(self) -> dict[str, tuple[str, ...]]:
        """The viewpoints one step away, in the file's order."""
        found: dict[str, list[str]] = {name: [] for name in self.ids}
        for start, end in self.edges.tolist():
            found[self.ids[start]].append(self.ids[end])
        return {name: tuple(ends) for name, ends in found.items()}

    def distance(self, start: str, end: str) -> float:
        """Geodesic distance in metres."""
        return float(self.distances[self.index[start], self.index[end]])

    def bearing(self, start: str, end: str) -> tuple[float, float, float]:
        """Heading and elevation (degrees) and straight distance (metres) from one to the other."""
        x, y, z = (self.positions[self.index[end]] - self.positions[self.index[start]]).tolist()
        flat = (x * x + y * y) ** 0.5
        heading = absolute(float(bearings(x, y)))
        elevation = float(elevations(z, flat))
        return heading, elevation, (flat * flat + z * z) ** 0.5

    def neighbors(self, viewpoint: str) -> tuple[Neighbor, ...]:
        """The ways out, clockwise from north; worked out once a viewpoint."""
        if viewpoint not in self._ways:
            found = [
                Neighbor(end, *self.bearing(viewpoint, end)) for end in self.neighbours[viewpoint]
            ]
            found.sort(key=lambda way: (way.heading, way.viewpoint))
            self._ways[viewpoint] = tuple(found)
        return self._ways[viewpoint]

    def shortest_path(self, start: str, end: str) -> list[str]:
        """A shortest path, both ends included. Raises ``ValueError`` where there is none."""
        if not np.isfinite(self.distance(start, end)):
            raise ValueError(f"no way from {start} to {end} in {self.scan}")
        path = [start]
        while path[-1] != end:
            lengths = {n.viewpoint: n.distance for n in self.neighbors(path[-1])}
            path.append(
                min(
                    self.neighbours[path[-1]],  # in the file's order, which decides between equals
                    key=lambda n: lengths[n] + self.distance(n, end),
                )
            )
        return path


def build(
    scan: str, ids: tuple[str, ...], positions: NDArray[np.float64], edges: NDArray[np.int32]
) -> ViewpointGraph:
    """A graph with its distances. ``edges`` (E, 2) must list both directions."""
    lengths = np.linalg.norm(positions[edges[:, 0]] - positions[edges[:, 1]], axis=1)
    return ViewpointGraph(scan, ids, positions, edges, all_pairs(len(ids), edges, lengths))


def all_pairs(
    count: int, edges: NDArray[np.int32], lengths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distances (count, count) from each place to each along directed ``edges`` (E, 2)."""
    return (by_tables if count < SMALL else by_searches)(count, edges, lengths)


def by_tables(
    count: int, edges: NDArray[np.int32], lengths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distances (count, count) by Floyd and Warshall's algorithm: each place in turn as a way
    station between all others."""
    found = np.full((count, count), np.inf)
    found[edges[:, 0], edges[:, 1]] = lengths
    np.fill_diagonal(found, 0.0)
    for station in range(count):
        np.minimum(found, found[:, station, None] + found[station], out=found)
    return found


def by_searches(
    count: int, edges: NDArray[np.int32], lengths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distances (count, count) by a search from every place."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    weights = csr_matrix((lengths, (edges[:, 0], edges[:, 1])), shape=(count, count))
    return np.asarray(dijkstra(weights, directed=True), dtype=np.float64)


def load(path: Path, cache: Path | None = None) -> ViewpointGraph:
    """Read ``{scan}_connectivity.json`` or ``.json.gz``.

    ``cache`` is a folder for the parsed graph and its distances; a cached file that is stale or
    damaged is made anew. Raises ``DataError``.
    """
    scan = path.name.split("_connectivity")[0]
    if cache is None:
        return _parse(scan, path)
    try:
        digest = hashlib.sha1(path.read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise DataError(path, "", f"cannot be read ({error.strerror})") from error
    stored = cache / f"{scan}-{CACHE_VERSION}-{digest}.npz"
    if kept := kept_arrays(stored):
        return ViewpointGraph(scan, tuple(kept.pop("ids").tolist()), **kept)
    graph = _parse(scan, path)
    arrays = {name: getattr(graph, name) for name in ("positions", "edges", "distances")}
    keep_arrays(stored, ids=np.array(graph.ids), **arrays)
    return graph


def _parse(scan: str, path: Path) -> ViewpointGraph:
    records: list[dict[str, Any]] = read_json(path)
    kept = [i for i, record in enumerate(records) if _field(path, i, record, "included")]
    poses = [_field(path, i, records[i], "pose") for i in kept]
    try:
        positions = np.array([(p[3], p[7], p[11]) for p in poses], dtype=np.float64).reshape(-1, 3)
        rows = b"".join(bytes(_field(path, i, records[i], "unobstructed")) for i in kept)
        free = np.frombuffer(rows, np.bool_).reshape(len(kept), len(records))
        open_ways = free[:, kept]
    except (IndexError, TypeError, ValueError) as error:
        raise DataError(path, "pose or unobstructed", f"has the wrong shape ({error})") from error
    ids = tuple(_field(path, i, records[i], "image_id") for i in kept)
    edges = np.argwhere(open_ways | open_ways.T).astype(np.int32)
    return build(scan, ids, positions, edges)


def _field(path: Path, number: int, record: Any, name: str) -> Any:
    try:
        return record[name]
    except (KeyError, TypeError, IndexError):
        raise DataError(path, f"record {number}, field {name!r}", "is missing") from None
