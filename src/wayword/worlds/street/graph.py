"""Street graphs: panoramas, and the links that lead from one to the next.

Reads Touchdown's and Map2seq's ``nodes.txt`` (``panorama,yaw,lat,lng[,seen|unseen|gone]``) and
``links.txt`` (``panorama,heading,panorama``), plain or gzipped, and keeps the parsed graph as one
``.npz`` file under the checksum of both, so that the text is read once.

Sources: Chen et al. 2019, "Touchdown"; Mehta et al. 2020, "Retouchdown"; Schumann and Riezler 2021
and 2022 (Map2seq, the seen and unseen areas).
"""

from __future__ import annotations

import gzip
import io
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError
from wayword.core.files import keep
from wayword.worlds.street.hops import Hops

AREAS = ("", "seen", "unseen", "gone")
"""Area of a panorama: used in training, held out, or no longer available from the service."""

CACHE_VERSION = 2
_ARRAYS = ("offsets", "targets", "headings", "yaw", "positions", "areas")


@dataclass(frozen=True, eq=False)
class StreetGraph:
    """A directed street graph, read-only and shared by every episode on it.

        >>> graph = build("corner", ["a", "b", "c"], [("a", 0, "b"), ("b", 90, "c")])
        >>> graph.exits(graph.index["b"])
        [(90, 2)]

    N panoramas, E links. ``names`` holds the panoramas' ids, one a line. The links out of
    panorama i are ``offsets[i]:offsets[i + 1]`` of ``targets`` and ``headings``, in the file's
    order; headings are whole degrees clockwise from north in [0, 360). ``yaw`` (N,) is the heading
    of a panorama image's center, degrees; ``positions`` (N, 2) latitude and longitude, degrees;
    ``areas`` (N,) indices into ``AREAS``. A graph without geography holds zeros there.
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
        """The panoramas' ids, in the file's order."""
        return tuple(self.names.decode().split("\n")) if self.names else ()

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each panorama."""
        return dict(zip(self.ids, range(len(self.ids)), strict=True))

    @cached_property
    def lists(self) -> tuple[list[int], list[int], list[int]]:
        """``offsets``, ``targets`` and ``headings`` as lists: single items are read faster."""
        return self.offsets.tolist(), self.targets.tolist(), self.headings.tolist()

    @cached_property
    def junctions(self) -> frozenset[int]:
        """Panoramas with three exits or more."""
        return frozenset(np.flatnonzero(np.diff(self.offsets) > 2).tolist())

    @cached_property
    def hops(self) -> Hops:
        """Distances in links between any two panoramas, computed on demand."""
        return Hops(self.offsets, self.targets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def degree(self, panorama: int) -> int:
        """The number of links out of a panorama."""
        offsets = self.lists[0]
        return offsets[panorama + 1] - offsets[panorama]

    def exits(self, panorama: int) -> list[tuple[int, int]]:
        """Heading (degrees) and target of each link out of a panorama, in the file's order."""
        offsets, targets, headings = self.lists
        links = slice(offsets[panorama], offsets[panorama + 1])
        return list(zip(headings[links], targets[links], strict=True))

    def area(self, panorama: int) -> str:
        """``seen``, ``unseen``, ``gone``, or empty where the file gives no area."""
        return AREAS[int(self.areas[panorama])]


def build(name: str, ids: Sequence[str], links: Iterable[tuple[str, float, str]]) -> StreetGraph:
    """A graph made in memory, for generated towns. Raises ``DataError`` as :func:`load` does.

    ``links`` are (from, heading in degrees, to).
    """
    nodes = "".join(f"{panorama},0,0,0\n" for panorama in ids).encode()
    text = "".join(f"{start},{heading},{end}\n" for start, heading, end in links).encode()
    return _parse(name, (Path(name), nodes), (Path(name), text))


def load(nodes: Path, links: Path, cache: Path | None = None, name: str = "") -> StreetGraph:
    """Read a graph from its two files, each ``.txt`` or ``.txt.gz``.

    ``cache`` is a folder for the parsed graph; a cached file that is stale or damaged is written
    again. Raises ``DataError`` naming file and line for a panorama listed twice, a link from or to
    an unknown one, two links with one heading (they could not be told apart), and a heading that
    is no finite number. Headings are rounded to whole degrees, as the released navigators do.
    """
    name = name or links.parent.name
    raw = [_read(path) for path in (nodes, links)]
    key = "-".join(f"{zlib.crc32(part):08x}{len(part):x}" for part in raw)
    stored = cache / f"street-{CACHE_VERSION}-{key}.npz" if cache else None
    if stored and (cached := _cached(name, stored)):
        return cached
    texts = [(path, _unzip(path, part)) for path, part in zip((nodes, links), raw, strict=True)]
    graph = _parse(name, *texts)
    if stored:
        arrays: dict[str, Any] = {field: getattr(graph, field) for field in _ARRAYS}
        arrays["names"] = np.frombuffer(graph.names, np.uint8)
        keep(stored, lambda file: np.savez(file, **arrays))
    return graph


def _cached(name: str, stored: Path) -> StreetGraph | None:
    """The graph in a cache file, None where the file is missing or damaged."""
    try:
        with stored.open("rb") as file, np.load(file) as arrays:
            return StreetGraph(
                name, arrays["names"].tobytes(), **{field: arrays[field] for field in _ARRAYS}
            )
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        problem = error.strerror or str(error)
        raise DataError(path, "", f"cannot be read ({problem})", "fetch it again") from error


def _unzip(path: Path, raw: bytes) -> bytes:
    if path.suffix != ".gz":
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(path, "", f"is not whole ({error})", "fetch it again") from error


def whole_degrees(heading: float) -> int:
    """A heading rounded to whole degrees in [0, 360). Raises ``ValueError`` for NaN and inf."""
    if not math.isfinite(heading):
        raise ValueError(f"{heading!r} is no heading")
    return round(heading) % 360


_Text = tuple[Path, bytes]


def _parse(name: str, nodes: _Text, links: _Text) -> StreetGraph:
    """A graph from the texts of its two files."""
    places, index, areas = _panoramas(nodes[0], _trimmed(nodes[1]))
    sources, headings, targets = _links(links[0], _trimmed(links[1]), nodes[0], index)
    order = np.argsort(sources, kind="stable")
    offsets = np.zeros(len(index) + 1, np.int32)
    np.cumsum(np.bincount(sources, minlength=len(index)), out=offsets[1:])
    return StreetGraph(
        name,
        b"\n".join(index),
        offsets,
        targets[order],
        headings[order],
        places["yaw"].astype(np.float32),
        np.stack([places["lat"], places["lng"]], axis=1),
        areas,
    )


def _panoramas(
    path: Path, text: bytes
) -> tuple[NDArray[np.void], dict[bytes, int], NDArray[np.int8]]:
    """The table of ``nodes.txt``, the number of each panorama by name, and the areas.

    Raises ``DataError`` naming the line at fault.
    """
    if not text:
        raise DataError(path, "", "holds no panorama", "fetch it again")
    ends = np.flatnonzero(np.frombuffer(text + b"\n", np.uint8) == ord("\n"))
    columns = {"name": f"S{np.diff(ends, prepend=0).max()}", "yaw": "f8", "lat": "f8", "lng": "f8"}
    if text.partition(b"\n")[0].count(b",") == 4:
        columns["area"] = "S8"
    try:
        table = _table(text, columns)
    except ValueError:
        _bad_node(path, text, len(columns))
    index = dict(zip(table["name"].tolist(), range(len(table)), strict=True))
    areas = np.full(len(table), -1 if "area" in columns else 0, np.int8)
    for code, area in enumerate(AREAS if "area" in columns else ()):
        areas[table["area"] == area.encode()] = code
    finite = all(np.isfinite(table[name]).all() for name in ("yaw", "lat", "lng"))
    if not finite or len(index) < len(table) or b"" in index or areas.min() < 0:
        _bad_node(path, text, len(columns))
    return table, index, areas


def _links(
    path: Path, text: bytes, nodes: Path, index: dict[bytes, int]
) -> tuple[NDArray[np.int32], NDArray[np.int16], NDArray[np.int32]]:
    """Sources, headings and targets of ``links.txt``. Raises ``DataError`` naming the line."""
    if not text:
        return np.zeros(0, np.int32), np.zeros(0, np.int16), np.zeros(0, np.int32)
    width = max(map(len, index)) + 1  # a longer name, cut to this, still matches none
    try:
        table = _table(text, {"from": f"S{width}", "heading": "f8", "to": f"S{width}"})
        ends = [
            np.fromiter(map(index.__getitem__, table[end].tolist()), np.int32, len(table))
            for end in ("from", "to")
        ]
    except (ValueError, KeyError):
        _bad_link(path, text, nodes, index)
    if not np.isfinite(table["heading"]).all():
        _bad_link(path, text, nodes, index)
    headings = (np.rint(table["heading"]) % 360).astype(np.int16)
    exits = np.sort(ends[0].astype(np.int64) * 360 + headings)
    if (exits[1:] == exits[:-1]).any():
        _bad_link(path, text, nodes, index)
    return ends[0], headings, ends[1]


def _table(text: bytes, columns: dict[str, str]) -> NDArray[np.void]:
    """Comma-separated lines as a structured array. Raises ``ValueError`` for any other text."""
    table = np.loadtxt(
        io.BytesIO(text),
        list(columns.items()),
        delimiter=",",
        comments=None,
        encoding="latin1",  # bytes of names stay as they are
        ndmin=1,
    )
    if len(table) != text.count(b"\n") + 1:
        raise ValueError("some line is empty")
    return table


def _trimmed(text: bytes) -> bytes:
    """The text with plain line ends and none after the last line."""
    plain = text.replace(b"\r\n", b"\n") if b"\r" in text else text
    return plain.rstrip(b"\n") if not plain.isspace() else b""


# The rest runs only on errors: find the first line at fault, and report why.


def _lines(path: Path, text: bytes, columns: int) -> Iterator[tuple[str, list[str]]]:
    for number, line in enumerate(text.decode(errors="replace").split("\n"), 1):
        fields = line.split(",")
        if len(fields) != columns:
            raise DataError(
                path, f"line {number}", f"has {len(fields)} fields, not {columns}: {line[:60]!r}"
            )
        yield f"line {number}", fields


def _bad_node(path: Path, text: bytes, columns: int) -> NoReturn:
    listed: set[str] = set()
    for where, fields in _lines(path, text, columns):
        panorama = fields[0]
        if not panorama or panorama in listed:
            problem = f"is listed twice: {panorama!r}" if panorama else "is empty"
            raise DataError(path, f"{where}, field 'panorama'", problem)
        listed.add(panorama)
        for name, value in zip(("yaw", "lat", "lng"), fields[1:4], strict=True):
            if not _finite(value):
                raise DataError(path, f"{where}, field {name!r}", f"is not a number: {value!r}")
        if len(fields) == 5 and fields[4] not in AREAS:
            problem = f"is none of seen, unseen, gone: {fields[4]!r}"
            raise DataError(path, f"{where}, field 'area'", problem)
    raise DataError(path, "", "is not a list of panoramas", "fetch it again")


def _bad_link(path: Path, text: bytes, nodes: Path, index: dict[bytes, int]) -> NoReturn:
    taken: dict[tuple[str, int], str] = {}
    for where, (start, heading, end) in _lines(path, text, 3):
        for name, panorama in (("from", start), ("to", end)):
            if panorama.encode() not in index:
                problem = f"{panorama!r} is not among the panoramas of {nodes.name}"
                raise DataError(path, f"{where}, field {name!r}", problem)
        if not _finite(heading):
            raise DataError(path, f"{where}, field 'heading'", f"is not a number: {heading!r}")
        way = (start, whole_degrees(float(heading)))
        if way in taken:
            problem = f"{way[1]} degrees is already the way of {taken[way]} out of {start!r}"
            raise DataError(path, f"{where}, field 'heading'", problem)
        taken[way] = where
    raise DataError(path, "", "is not a list of links", "fetch it again")


def _finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
