"""Viewpoint graphs: positions to stand at indoors, and their neighbors.

Loads MatterSim connectivity: a viewpoint's position is pose[3], pose[7], pose[11] in metres; two
included viewpoints are joined by an edge if the line between them is unobstructed.

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

from wayword.core.arrays import read_cached_arrays, write_cached_arrays
from wayword.core.errors import DataError
from wayword.core.files import read_field, read_json
from wayword.core.geometry import Floats, Point, absolute, bearings, elevations

CACHE_VERSION = 2  # increase it when the cached arrays change
# Below this many viewpoints, a plain Floyd-Warshall loop replaces Dijkstra's algorithm: importing
# scipy takes longer than all other work on a generated house.
SMALL_GRAPH = 100
# From this many viewpoints on, distances are computed from the ends that are asked for: a table of
# all pairs is quadratic, and takes 10 s and 800 MB for 10,000. Matterport's scans have up to 350.
LARGE_GRAPH = 2_000


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A viewpoint one step away.

    Its absolute ``heading`` and its ``elevation`` in degrees, and its straight-line
    ``distance`` in metres, all seen from the viewpoint it is a neighbor of.
    """

    viewpoint: str
    heading: float
    elevation: float
    distance: float


@dataclass(frozen=True, eq=False)
class ViewpointGraph:
    """The graph of a scan, shared by all of its episodes: never change it.

    ``positions`` (N, 3) are metres, z up. ``edges`` (E, 2) are indices of viewpoints,
    in both directions, sorted. ``distances`` (N, N) are metres along the graph, ``inf``
    without a path; :class:`DistanceRows` for a large graph.
    """

    scan: str
    ids: tuple[str, ...]
    positions: Floats
    edges: NDArray[np.int32]
    distances: Floats
    _neighbors: dict[str, tuple[Neighbor, ...]] = field(
        init=False,
        repr=False,
        default_factory=dict,
    )

    @cached_property
    def index(self) -> dict[str, int]:
        """Viewpoint -> its row in the arrays."""
        return {name: i for i, name in enumerate(self.ids)}

    @cached_property
    def plane(self) -> dict[str, Point]:
        """Viewpoint -> metres to the east and north."""
        rows = self.positions[:, :2].tolist()
        return {name: (x, y) for name, (x, y) in zip(self.ids, rows, strict=True)}

    @cached_property
    def adjacent(self) -> dict[str, tuple[str, ...]]:
        """Viewpoint -> viewpoints one step away, in file order."""
        # In file order, which breaks ties between equally short paths.
        ends: dict[str, list[str]] = {name: [] for name in self.ids}
        for start, end in self.edges.tolist():
            ends[self.ids[start]].append(self.ids[end])
        return {name: tuple(each) for name, each in ends.items()}

    @cached_property
    def moves(self) -> frozenset[tuple[str, str]]:
        """Every two viewpoints that are one step apart, and every viewpoint with itself."""
        moves: set[tuple[str, str]] = set()
        for viewpoint, ends in self.adjacent.items():
            moves.add((viewpoint, viewpoint))
            for end in ends:
                moves.add((viewpoint, end))
        return frozenset(moves)

    def one_way(self) -> list[tuple[str, str]]:
        """Edges without one in the other direction."""
        edges = []
        for start, ends in self.adjacent.items():
            edges += [(start, end) for end in ends if start not in self.adjacent[end]]
        return edges

    def distance(self, start: str, end: str) -> float:
        """Return the geodesic distance in metres, ``inf`` without a path. Raises
        ``KeyError`` for an unknown viewpoint.
        """
        return float(self.distances[self.index[start], self.index[end]])

    def bearing(self, start: str, end: str) -> tuple[float, float, float]:
        """Return heading and elevation (degrees) and straight-line distance (metres) of
        ``end`` from ``start``.

        The viewpoints need not be neighbors.
        """
        here = self.positions[self.index[start]]
        there = self.positions[self.index[end]]
        x, y, z = (there - here).tolist()
        floor_distance = (x * x + y * y) ** 0.5
        heading = absolute(float(bearings(x, y)))
        elevation = float(elevations(z, floor_distance))
        return heading, elevation, (floor_distance * floor_distance + z * z) ** 0.5

    def neighbors(self, viewpoint: str) -> tuple[Neighbor, ...]:
        """Return the neighbors, clockwise from north. Computed once per viewpoint."""
        # Per viewpoint, not per scan: a walk visits few of up to 350 viewpoints.
        if viewpoint not in self._neighbors:
            ends = self.adjacent[viewpoint]
            neighbors = [Neighbor(end, *self.bearing(viewpoint, end)) for end in ends]
            # By name where two headings are equal, so that menus do not depend on the
            # file's order.
            neighbors.sort(key=lambda n: (n.heading, n.viewpoint))
            self._neighbors[viewpoint] = tuple(neighbors)
        return self._neighbors[viewpoint]

    def shortest_path(self, start: str, end: str) -> list[str]:
        """Return a shortest path, both ends included; of equal ones the first in file order.

        Raises ``ValueError`` if there is none.
        """
        # Without a path, the descent below would never end.
        if not np.isfinite(self.distance(start, end)):
            raise ValueError(f"no path from {start} to {end} in {self.scan}")
        path = [start]
        while path[-1] != end:
            # A neighbor is on a shortest path if the edge to it and the rest from it
            # are shortest together.
            lengths = {n.viewpoint: n.distance for n in self.neighbors(path[-1])}
            ends = self.adjacent[path[-1]]  # in file order, which breaks ties
            path.append(min(ends, key=lambda n: lengths[n] + self.distance(n, end)))
        return path


def build(
    scan: str,
    ids: tuple[str, ...],
    positions: Floats,
    edges: NDArray[np.int32],
) -> ViewpointGraph:
    """Build a graph with its distances.

    ``positions`` (N, 3) are metres. ``edges`` (E, 2) are rows of ``ids``, and must include both
    directions. Raises ``DataError`` for arrays of other shapes.
    """
    if problem := _arrays_problem(ids, positions, edges):
        raise DataError(scan, "graph", problem)
    edges = np.asarray(edges)
    # An edge is as long as its straight line: MatterSim glides from one viewpoint to
    # the next.
    starts = positions[edges[:, 0]]
    ends = positions[edges[:, 1]]
    lengths = np.linalg.norm(ends - starts, axis=1)
    distances: Any
    if len(ids) < LARGE_GRAPH:
        distances = all_pairs(len(ids), edges, lengths)
    else:
        distances = DistanceRows(len(ids), edges, lengths)
    return ViewpointGraph(
        scan,
        ids,
        positions,
        edges,
        distances,
    )


def _arrays_problem(ids: tuple[str, ...], positions: Any, edges: Any) -> str:
    """Return what is wrong with the arrays of a graph; empty if nothing is."""
    count = len(ids)
    shape = np.shape(positions)
    if shape != (count, 3):
        return f"positions must have a row of x, y, z for each of the {count} ids, got {shape}"
    if len(set(ids)) < count:
        twice = next(name for name in ids if ids.count(name) > 1)
        return f"two viewpoints have the id {twice!r}"
    edges = np.asarray(edges)
    if (
        edges.ndim != 2
        or edges.shape[1:] != (2,)
        or (len(edges) and edges.dtype.kind not in "iu")
    ):
        return (
            "edges must be a numpy array of pairs of row numbers, such as [[0, 1], [1, 0]], got "
            f"shape {edges.shape} of {edges.dtype}"
        )
    if len(edges) and not 0 <= edges.min() <= edges.max() < count:
        return f"edges must have numbers from 0 to {count - 1}, got {edges.max()}"
    return ""


class DistanceRows:
    """Distances of a large graph with edges in both directions.

    Indexed by ``[starts, ends]`` like an array (N, N). The row of an end is computed
    when it is first requested, and kept.
    """

    def __init__(
        self,
        count: int,
        edges: NDArray[np.int32],
        lengths: Floats,
    ) -> None:
        self._graph = count, edges, lengths
        self._rows: dict[int, Floats] = {}

    def __getitem__(self, key: tuple[Any, Any]) -> Floats:
        """Return metres from ``starts`` to ``ends``: indices or arrays of them, which broadcast."""
        starts, ends = key
        # Each end once, however often one call asks for it.
        places, row_of_end = np.unique(ends, return_inverse=True)
        missing = [end for end in places.tolist() if end not in self._rows]
        if missing:
            computed = all_pairs_dijkstra(*self._graph, missing)
            self._rows |= zip(
                missing,
                computed,
                strict=True,
            )
        rows = np.stack([self._rows[end] for end in places.tolist()])
        found: Floats = rows[row_of_end.reshape(np.shape(ends)), starts]
        return found

    def __len__(self) -> int:
        return self._graph[0]

    def __array__(self, *_: object, **__: object) -> Floats:
        """Return the full table (N, N), for callers that need all pairs."""
        return all_pairs_dijkstra(*self._graph)


def all_pairs(
    count: int,
    edges: NDArray[np.int32],
    lengths: Floats,
) -> Floats:
    """Return distances (count, count) between all nodes along directed ``edges`` (E, 2).

    ``lengths`` (E,) are those of the edges; ``inf`` in the result means no path.
    """
    return (floyd_warshall if count < SMALL_GRAPH else all_pairs_dijkstra)(
        count,
        edges,
        lengths,
    )


def floyd_warshall(
    count: int,
    edges: NDArray[np.int32],
    lengths: Floats,
) -> Floats:
    """Return distances (count, count) by the Floyd-Warshall algorithm, for small graphs."""
    table = np.full((count, count), np.inf)
    table[edges[:, 0], edges[:, 1]] = lengths
    np.fill_diagonal(table, 0.0)
    for middle in range(count):  # paths that may also pass through this node
        np.minimum(
            table,
            table[:, middle, None] + table[middle],
            out=table,
        )
    return table


def all_pairs_dijkstra(
    count: int,
    edges: NDArray[np.int32],
    lengths: Floats,
    starts: list[int] | None = None,
) -> Floats:
    """Return distances by Dijkstra's algorithm, by default from every node.

    The result is (starts, count): a row for each of the ``starts``.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    weights = csr_matrix((lengths, (edges[:, 0], edges[:, 1])), shape=(count, count))
    return np.asarray(dijkstra(weights, indices=starts), dtype=np.float64)


def load(path: Path, cache: Path | None = None) -> ViewpointGraph:
    """Read ``{scan}_connectivity.json`` or ``.json.gz``.

    ``cache`` is a folder for the parsed graph and its distances; a stale or damaged
    file in it is rebuilt. Raises ``DataError``.
    """
    scan = path.name.split("_connectivity")[0]
    if cache is None:
        return _parse(scan, path)
    try:
        digest = hashlib.sha1(path.read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise DataError(
            path,
            "",
            f"cannot be read ({error.strerror})",
        ) from error
    cache_file = cache / f"{scan}-{CACHE_VERSION}-{digest}.arrays"
    if fields := read_cached_arrays(cache_file):
        return ViewpointGraph(
            scan,
            tuple(fields.pop("ids").tolist()),
            **fields,
        )
    graph = _parse(scan, path)
    arrays = {
        name: getattr(graph, name)
        for name in (
            "positions",
            "edges",
            "distances",
        )
    }
    # The cache holds full tables only; rows of a large graph are computed on demand.
    if len(graph.ids) < LARGE_GRAPH:
        write_cached_arrays(
            cache_file,
            ids=np.array(graph.ids),
            **arrays,
        )
    return graph


def _parse(scan: str, path: Path) -> ViewpointGraph:
    """Return the graph in a connectivity file. Raises ``DataError`` naming the record and field."""
    records: list[dict[str, Any]] = read_json(path, list)

    def field(i: int, name: str, kind: type) -> Any:
        """Return a field of a record. Raises ``DataError`` for another type."""
        return read_field(
            path,
            f"record {i}",
            records[i],
            name,
            kind,
        )

    included = [i for i in range(len(records)) if field(i, "included", bool)]
    poses = [field(i, "pose", list) for i in included]
    try:
        positions = np.array(
            # Elements 3, 7 and 11 are the translation of a row-major 4 x 4 pose matrix.
            [(p[3], p[7], p[11]) for p in poses],
            dtype=np.float64,
        ).reshape(-1, 3)
        rows = [bytes(field(i, "unobstructed", list)) for i in included]
        if {*map(len, rows)} - {len(records)}:
            raise ValueError(f"rows of {len(records)} viewpoints were expected")
        # Visibility has a column for every viewpoint of the file: those left out are
        # cut away.
        sees = np.frombuffer(b"".join(rows), np.bool_).reshape(-1, len(records))
        free = sees[:, included]
    except (IndexError, TypeError, ValueError) as error:
        raise DataError(
            path,
            "pose or unobstructed",
            f"has the wrong shape ({error})",
        ) from error
    ids = tuple(field(i, "image_id", str) for i in included)
    names = set[str]()
    for i, name, position in zip(included, ids, positions, strict=True):
        if name in names:
            problem = f"repeats viewpoint {name!r}"
            raise DataError(path, f"record {i}, field 'image_id'", problem)
        if not np.isfinite(position).all():
            raise DataError(path, f"record {i}, field 'pose'", "is not finite")
        names.add(name)
    # Visibility was annotated from one side: an edge exists if either viewpoint sees
    # the other. No edge leads from a viewpoint to itself.
    return build(
        scan,
        ids,
        positions,
        np.argwhere((free | free.T) & ~np.eye(len(ids), dtype=bool)).astype(np.int32),
    )
