"""Street graphs: panoramas and the links between them.

Reads Touchdown's and Map2seq's ``nodes.txt`` (``panorama,yaw,lat,lng[,seen|unseen|gone]``) and
``links.txt`` (``panorama,heading,panorama``), plain or gzipped.

Sources: Chen et al. 2019, "Touchdown"; Mehta et al. 2020, "Retouchdown"; Schumann and Riezler 2021
and 2022 (Map2seq, the seen and unseen areas).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayword.core.arrays import read_cached_arrays, write_cached_arrays
from wayword.core.errors import DataError
from wayword.core.files import read_bytes
from wayword.core.geometry import Floats, Point
from wayword.worlds.indoor.graph import all_pairs

AREAS = ("", "seen", "unseen", "gone")
"""Area of a panorama: for training, held out, or no longer available from the service."""

METRES_PER_DEGREE = 111_320.0
"""Of latitude, and of longitude on the equator: the equator's 40,075 km over 360 degrees."""
CACHE_VERSION = 3  # increase it when the cached arrays change
_ARRAYS = ("offsets", "targets", "headings", "yaw", "positions", "areas")
_WIDEST = 255  # bytes of a field: all of a column take as many as the longest


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
    Links may be one-way. ``cache_file`` keeps the distances between hubs for other processes.
    """

    def __init__(
        self,
        offsets: NDArray[np.int32],
        targets: NDArray[np.int32],
        cache_file: Path | None = None,
    ) -> None:
        arrays = read_cached_arrays(cache_file) if cache_file else None
        if arrays is None:
            rows = _Rows(offsets, targets)
            arrays = {
                "row": np.array(rows.row),
                "ends": np.array(rows.ends, np.intp),
                "gaps": np.array(rows.gaps, np.float32),
                "table": rows.hub_hops(),
            }
            if cache_file:
                write_cached_arrays(cache_file, **arrays)
        self._row = arrays["row"]
        self._ends = arrays["ends"]  # (2, N): hubs at the two ends of the row
        self._gaps = arrays["gaps"]  # (2, N): links from each end to the panorama
        self._table = arrays["table"]  # (H, H): to (rows) and from (columns) each hub

    def __call__(self, starts: ArrayLike, ends: ArrayLike) -> Floats:
        """Return shortest distances in links from ``starts`` to ``ends`` (broadcast), inf without a
        path."""
        start = np.asarray(starts)
        end = np.asarray(ends)
        start = start.reshape((1,) * (end.ndim - start.ndim) + start.shape)
        end = end.reshape((1,) * (start.ndim - end.ndim) + end.shape)
        # (2, 2, *shape): from each end of the start's row to each end of the other row.
        hub_hops = self._table[self._ends[:, end], self._ends[:, start][:, None]]
        hops = hub_hops + self._gaps[:, start][:, None] + self._gaps[:, end]
        return self._along(hops.min(axis=(0, 1)), start, end)

    def table(self, starts: ArrayLike, ends: ArrayLike) -> Floats:
        """Return an (L, R) array of links from each of ``starts`` (L,) to each of ``ends`` (R,):
        faster than pairwise calls if many of ``starts`` are in the same rows, as in a walk."""
        start = np.asarray(starts)
        end = np.asarray(ends)
        hubs: dict[int, int] = {}  # a walk passes only a few hubs
        rows = [
            hubs.setdefault(hub, len(hubs))
            for hub in self._ends[:, start].ravel().tolist()
        ]
        hub_hops = self._table[self._ends[:, None, end], np.array(list(hubs))[:, None]]
        hub_hops += self._gaps[:, None, end]
        hops = np.minimum(*hub_hops)
        by_end = hops[rows].reshape(2, len(start), len(end))
        by_end += self._gaps[:, start, None]
        return self._along(np.minimum(*by_end), start[:, None], end)

    def _along(self, best: NDArray[np.float32], start: Any, end: Any) -> Floats:
        """Return ``best`` or, for two panoramas of one row, the links along it if fewer."""
        is_same_row = self._row[start] == self._row[end]
        along = np.abs(self._gaps[0, start] - self._gaps[0, end])
        best = np.where(is_same_row, np.minimum(best, along), best)
        return best.astype(np.float64)


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
        links = sources * count + targets
        reverse_links = targets * np.int64(count) + sources
        is_two_way = np.isin(links, reverse_links) & (sources != targets)
        neighbors = np.bincount(
            np.unique(links[is_two_way]) // max(count, 1),
            minlength=count,
        )
        arrivals = np.bincount(targets, minlength=count)
        is_inner = (neighbors == 2) & (np.diff(offsets) == 2) & (arrivals == 2)
        self._is_inner: list[bool] = is_inner.tolist()
        if count:
            self._exits = [part.tolist() for part in np.split(targets, offsets[1:-1])]
        else:
            self._exits = []
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
        # A ring without any junction: make one panorama a hub.
        for place in range(count):
            if self._is_inner[place] and not self.row[place]:
                self._is_inner[place] = False
                self._add_hub(place)
                self._follow_rows(place)

    def hub_hops(self) -> NDArray[np.float32]:
        """Return distances (H, H) to (rows) and from (columns) each hub."""
        rows: list[tuple[int, int, int]] = []  # from, to, number of links
        for hub, ends in enumerate(self.links):
            rows += [(hub, end, count) for end, count in ends.items()]
        table = np.array(rows, np.int32).reshape(-1, 3)
        hops = all_pairs(len(self.links), table[:, :2], table[:, 2].astype(np.float64))
        return np.ascontiguousarray(hops.T, np.float32)

    def _add_hub(self, place: int) -> None:
        """Make a place a hub, with a number and links of its own."""
        number = len(self.links)
        self._hubs[place] = number
        self.links.append({})
        self.row[place] = -1 - number
        self.ends[0][place] = number
        self.ends[1][place] = number

    def _follow_rows(self, hub: int) -> None:
        """Follow each row and single link that starts at a hub to the next hub."""
        for step in self._exits[hub]:
            if self.row[step] > 0:  # already followed from its other end
                continue
            chain = [hub, step]
            while self._is_inner[chain[-1]]:
                first_exit, second_exit = self._exits[chain[-1]]
                chain.append(second_exit if first_exit == chain[-2] else first_exit)
            length = len(chain) - 1
            number = hub * len(self.row) + step + 1  # unique, and above 0
            first = self._hubs[hub]
            last = self._hubs[chain[-1]]
            for gap, place in enumerate(chain[1:-1], 1):
                self.row[place] = number
                self.ends[0][place] = first
                self.ends[1][place] = last
                self.gaps[0][place] = gap
                self.gaps[1][place] = length - gap
            self._link(first, last, length)
            if length > 1:  # a row leads both ways, a single link may be one-way
                self._link(last, first, length)

    def _link(self, start: int, end: int, length: int) -> None:
        """Link two hubs by a number of links, or keep a shorter connection."""
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
    indices into ``AREAS``. Without geography these are zeros. ``hops_file`` caches :class:`Hops`.
    """

    name: str
    names: bytes
    offsets: NDArray[np.int32]
    targets: NDArray[np.int32]
    headings: NDArray[np.int16]
    yaw: NDArray[np.float32]
    positions: Floats
    areas: NDArray[np.int8]
    hops_file: Path | None = None

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Ids of the panoramas, in file order."""
        return tuple(self.names.decode().split("\n")) if self.names else ()

    @cached_property
    def index(self) -> dict[str, int]:
        """Id of a panorama -> its number."""
        return dict(zip(self.ids, range(len(self.ids)), strict=True))

    @cached_property
    def plane(self) -> dict[str, Point]:
        """Panorama -> metres to the east and north; empty without geography.

        Longitudes have the scale of the center. Over the few kilometres of a street
        dataset the error is below the width of a line.
        """
        if not self.positions.any():
            return {}
        # Degrees of longitude are shorter away from the equator.
        center = float(self.positions[:, 0].mean())
        shrink = math.cos(math.radians(center))
        east = self.positions[:, 1] * METRES_PER_DEGREE * shrink
        north = self.positions[:, 0] * METRES_PER_DEGREE
        points = zip(east.tolist(), north.tolist(), strict=True)
        return dict(zip(self.ids, points, strict=True))

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
        """Directed distances in links, computed or read at first use."""
        return Hops(self.offsets, self.targets, self.hops_file)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def degree(self, panorama: int) -> int:
        """Return the number of a panorama's links."""
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
    name: str,
    ids: Sequence[str],
    links: Iterable[tuple[str, float, str]],
) -> StreetGraph:
    """Build a graph in memory from ``links`` (from, heading in degrees, to). Raises ``DataError``
    like :func:`load`."""
    # Written as the files are, so that the same checks apply.
    node_lines = [f"{panorama},0,0,0\n" for panorama in ids]
    link_lines = [f"{start},{heading},{end}\n" for start, heading, end in links]
    nodes = "".join(node_lines).encode()
    text = "".join(link_lines).encode()
    return _parse(name, (Path(name), nodes), (Path(name), text))


def load(
    nodes: Path,
    links: Path,
    cache: Path | None = None,
    name: str = "",
) -> StreetGraph:
    """Read a graph from its two files, each ``.txt`` or ``.txt.gz``.

    ``cache`` is a folder for the parsed graph; a stale or damaged file in it is rebuilt. Raises
    ``DataError`` with file and line, also for two links of a panorama with the same heading: turns
    would be ambiguous. Headings are rounded to whole degrees, as in the released navigators.
    """
    name = name or links.parent.name
    cache_file = hops_file = None
    if cache:
        with suppress(OSError):  # reading the files again below raises a clear error
            contents = [path.read_bytes() for path in (nodes, links)]
            key = "-".join(f"{zlib.crc32(part):08x}{len(part):x}" for part in contents)
            cache_file = cache / f"street-{CACHE_VERSION}-{key}.arrays"
            hops_file = cache_file.with_suffix(".hops")
    if cache_file and (arrays := read_cached_arrays(cache_file)):
        return StreetGraph(
            name,
            arrays.pop("names").tobytes(),
            **arrays,
            hops_file=hops_file,
        )
    graph = _parse(
        name,
        (nodes, read_bytes(nodes)),
        (links, read_bytes(links)),
        hops_file,
    )
    if cache_file:
        arrays = {field: getattr(graph, field) for field in _ARRAYS}
        write_cached_arrays(
            cache_file,
            names=np.frombuffer(graph.names, np.uint8),
            **arrays,
        )
    return graph


def _parse(
    name: str,
    nodes: tuple[Path, bytes],
    links: tuple[Path, bytes],
    hops_file: Path | None = None,
) -> StreetGraph:
    """Parse a graph from its two files, each given by path and content.

    A line of ``nodes`` is ``panorama,yaw,lat,lng`` with an optional ``area``, one of ``links`` is
    ``from,heading,to``; angles are in degrees. Parsed column by column, as a city has many lines.
    Raises ``DataError`` naming file, line and field for a value that is none, a panorama that is
    listed twice or unknown, and two links of a panorama with one heading.
    """

    # Panoramas.
    path = nodes[0]
    columns = _columns(*nodes, 4, 5)
    names, yaw_texts, lat_texts, lng_texts = columns[:4]
    panoramas = names.tolist()
    if not panoramas:
        raise DataError(path, "", "contains no panoramas", "fetch it again")
    index = dict(zip(panoramas, range(len(panoramas)), strict=True))
    if len(index) < len(panoramas):
        _, number = _first_repeat(panoramas)
        _fail(path, number, "panorama", f"is a duplicate: {_text(panoramas[number])}")
    if b"" in index:
        _fail(path, index[b""], "panorama", "is empty")
    yaw = _numbers(path, "yaw", yaw_texts)
    lat = _numbers(path, "lat", lat_texts)
    lng = _numbers(path, "lng", lng_texts)

    # Areas: a panorama without one has index 0, the empty name.
    areas = np.zeros(len(index), np.int8)
    for column in columns[4:]:  # the column is optional
        matches = column[:, None] == np.array(AREAS, "S")
        areas = matches.argmax(axis=1).astype(np.int8)
        for number in np.flatnonzero(~matches.any(axis=1)).tolist():
            problem = f"must be seen, unseen or gone, got {_text(column[number])}"
            _fail(path, number, "area", problem)

    # Links.
    path = links[0]
    starts, degrees, ends = _columns(*links, 3)
    sources = _places(path, "from", starts, index, nodes[0])
    targets = _places(path, "to", ends, index, nodes[0])
    headings = np.rint(_numbers(path, "heading", degrees)) % 360
    # One number for each pair of panorama and heading: a heading must stand for one link.
    turns = sources * 360 + headings
    if not np.diff(np.sort(turns)).all():
        other, number = _first_repeat(turns.tolist())
        problem = (
            f"already has a link at {headings[number]:.0f} degrees, on line {other + 1}"
        )
        _fail(path, number, "heading", f"{_text(starts[number])} {problem}")

    # Links by panorama: those of i are at offsets[i] to offsets[i + 1]. The sort is stable, so that
    # the links of a panorama stay in file order.
    order = np.argsort(sources, kind="stable")
    offsets = np.zeros(len(index) + 1, np.int32)
    np.cumsum(np.bincount(sources, minlength=len(index)), out=offsets[1:])
    return StreetGraph(
        name,
        b"\n".join(panoramas),
        offsets,
        targets[order],
        headings[order].astype(np.int16),
        yaw.astype(np.float32),
        np.stack([lat, lng], axis=1),
        areas,
        hops_file,
    )


def _columns(path: Path, text: bytes, *counts: int) -> list[NDArray[np.bytes_]]:
    """Return the fields of a table by column. Its first line decides which of ``counts``."""
    if not text.isascii():
        text = text.decode(errors="replace").encode()
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    content = text.rstrip(b"\n")
    if not content.strip():
        return [np.empty(0, "S1")] * counts[0]
    size = len(content) + 1
    content += b"\n" + bytes(_WIDEST)  # so that all windows of _fields are within it
    count = content.count(b",", 0, content.index(b"\n")) + 1
    letters = np.frombuffer(content, np.uint8, size)
    is_break = letters == ord("\n")
    ends = np.flatnonzero(is_break | (letters == ord(",")))
    # Regular: exactly every count-th field ends its line.
    lines = np.flatnonzero(is_break)
    is_regular = count in counts and np.array_equal(ends[count - 1 :: count], lines)
    starts = np.append(0, ends[:-1] + 1)
    is_text = b"\0" not in text and (ends - starts).max() <= _WIDEST
    if is_regular and is_text:
        return [
            _fields(content, starts[n::count], ends[n::count]) for n in range(count)
        ]
    # Some line is wrong: find it for the error.
    if count not in counts:
        count = counts[0]
    for number, line in enumerate(content[: size - 1].decode().split("\n"), 1):
        found = line.count(",") + 1
        if found != count:
            problem = f"must have {count} fields, got {found}: {line[:60]!r}"
            raise DataError(path, f"line {number}", problem)
    problem = f"contains zero bytes, or a field of over {_WIDEST} characters"
    raise DataError(path, "", problem, "fetch it again")


def _fields(
    content: bytes,
    starts: NDArray[np.intp],
    ends: NDArray[np.intp],
) -> NDArray[np.bytes_]:
    """Return the parts of a text from ``starts`` to ``ends``, copied at once. The text continues
    after the last start by the longest part."""
    lengths = ends - starts
    width = max(1, int(lengths.max()))
    windows = np.ndarray((len(content) - width,), f"S{width}", content, strides=(1,))
    fields = windows[starts]
    if lengths.min() < width:  # what follows a shorter field is cut off
        fields.view("S1").reshape(-1, width)[np.arange(width) >= lengths[:, None]] = b""
    return fields


def _places(
    path: Path,
    field: str,
    column: NDArray[np.bytes_],
    index: dict[bytes, int],
    nodes: Path,
) -> NDArray[np.int32]:
    """Return the number of each panorama in a column. Raises ``DataError`` for an unknown one."""
    # The links of a panorama follow each other, so few names differ from the previous one.
    is_first = np.ones(len(column), bool)
    is_first[1:] = column[1:] != column[:-1]
    names = column[is_first].tolist()
    try:
        places = np.fromiter(map(index.__getitem__, names), np.int32, len(names))
    except KeyError as error:
        (name,) = error.args
        problem = f"{_text(name)} is not a panorama of {nodes.name}"
        _fail(path, column.tolist().index(name), field, problem)
    numbers = np.cumsum(is_first) - 1
    return np.take(places, numbers)


def _numbers(path: Path, field: str, column: NDArray[np.bytes_]) -> Floats:
    """Return a column of finite numbers. Raises ``DataError`` naming the first other line."""
    numbers = _decimals(column)
    for number in np.flatnonzero(np.isnan(numbers)).tolist():
        text = column[number]
        with suppress(ValueError):
            numbers[number] = float(text)
        if not math.isfinite(numbers[number]):
            _fail(path, number, field, f"is not a number: {_text(text)}")
    return numbers


def _decimals(column: NDArray[np.bytes_]) -> Floats:
    """Return a column of decimals such as ``-73.99``, NaN for any other text.

    The numbers are those of ``float``, in a tenth of its time: 15 digits and powers of ten up to 15
    are exact, and a division of exact numbers is rounded correctly.
    """
    letters = np.ascontiguousarray(column.view(np.uint8).reshape(-1, column.itemsize).T)
    digits = letters - np.uint8(ord("0"))
    is_digit = digits < 10
    is_point = letters == ord(".")
    is_known = is_digit | is_point
    is_known |= letters == 0  # shorter fields end in zero bytes
    is_known[0] |= letters[0] == ord("-")

    total = np.zeros(len(column))
    scale = np.ones(len(column))
    is_decimal = np.zeros(len(column), bool)
    columns = zip(digits, is_digit, is_point, strict=True)
    for digit, is_next, ends in columns:
        np.copyto(total, total * 10 + digit, where=is_next)
        np.multiply(scale, 10, out=scale, where=is_next & is_decimal)
        is_decimal |= ends
    count = is_digit.sum(axis=0)
    is_exact = is_known.all(axis=0)
    is_exact &= is_point.sum(axis=0) < 2
    is_exact &= count > 0
    is_exact &= count <= 15
    # Half a letter above the minus sign: only a minus makes this negative.
    sign = letters[0] - (ord("-") + 0.5)
    return np.where(is_exact, np.copysign(total / scale, sign), math.nan)


def _text(field: bytes) -> str:
    """Return a field as it is quoted in an error."""
    return repr(field.decode())


def _first_repeat(column: Sequence[object]) -> tuple[int, int]:
    """Return the positions of the first item that occurs again, and of its repeat.

    Raises ``ValueError`` if no item does: call it only after finding that the count is
    wrong.
    """
    first: dict[object, int] = {}
    for number, item in enumerate(column):
        if first.setdefault(item, number) < number:
            return first[item], number
    raise ValueError("no item occurs twice")


def _fail(path: Path, number: int, field: str, problem: str) -> NoReturn:
    """Raise ``DataError`` for a field of a line, counted from 0."""
    raise DataError(path, f"line {number + 1}, field {field!r}", problem)
