"""Street graphs: panoramas, and the links that lead from one to the next.

Reads Touchdown's and Map2seq's ``nodes.txt`` (``panorama,yaw,lat,lng[,seen|unseen|gone]``) and
``links.txt`` (``panorama,heading,panorama``), plain or gzipped, and keeps the parsed graph as one
binary file under the checksum of both, so that the text is read once.

Sources: Chen et al. 2019, "Touchdown"; Mehta et al. 2020, "Retouchdown"; Schumann and Riezler 2021
and 2022 (Map2seq, the seen and unseen areas).
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError
from wayword.core.files import keep
from wayword.worlds.street.hops import Hops
from wayword.worlds.street.text import AREAS, LinkTable, Nodes, read_links, read_nodes

CACHE_VERSION = 1
_HEADER = struct.Struct("<8sIIII")
_MAGIC = b"wwstreet"


@dataclass(frozen=True, eq=False)
class StreetGraph:
    """A directed street graph. Read-only once made, and shared by every episode on it.

        >>> graph = build("corner", ["a", "b", "c"], [("a", 0, "b"), ("b", 90, "c")])
        >>> graph.exits(graph.index["b"])
        [(90, 2)]

    N panoramas, E links. ``names`` holds the panoramas' ids, one a line. The links out of
    panorama i are ``offsets[i]:offsets[i + 1]`` of ``targets`` and ``headings``, in the file's
    order; headings are whole degrees clockwise from north in [0, 360). ``yaw`` (N,) is the heading
    of a panorama image's centre, degrees; ``positions`` (N, 2) latitude and longitude, degrees;
    ``areas`` (N,) indices into ``AREAS``. A graph without geography holds zeros there.
    ``hop_file`` is where the hop distances are kept once they were worked out.
    """

    name: str
    names: bytes
    offsets: NDArray[np.int32]
    targets: NDArray[np.int32]
    headings: NDArray[np.int16]
    yaw: NDArray[np.float32]
    positions: NDArray[np.float64]
    areas: NDArray[np.int8]
    hop_file: Path | None = None

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The panoramas' ids, in the file's order."""
        return tuple(self.names.decode().split("\n")) if self.names else ()

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each panorama."""
        return dict(zip(self.ids, range(len(self.ids)), strict=True))

    @cached_property
    def hops(self) -> Hops:
        """Distances in links between any two panoramas, worked out as they are asked for."""
        return Hops(self.offsets, self.targets, self.hop_file)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def degree(self, panorama: int) -> int:
        """The number of ways out."""
        return int(self.offsets[panorama + 1] - self.offsets[panorama])

    def exits(self, panorama: int) -> list[tuple[int, int]]:
        """Heading (degrees) and target of each way out, in the file's order."""
        here = slice(int(self.offsets[panorama]), int(self.offsets[panorama + 1]))
        return list(zip(self.headings[here].tolist(), self.targets[here].tolist(), strict=True))

    def area(self, panorama: int) -> str:
        """``seen``, ``unseen``, ``gone``, or empty where the file does not say."""
        return AREAS[int(self.areas[panorama])]


def build(name: str, ids: Sequence[str], links: Iterable[tuple[str, float, str]]) -> StreetGraph:
    """A graph made in memory, for generated towns. Raises ``DataError`` as :func:`load` does.

    ``links`` are (from, heading in degrees, to).
    """
    nodes = read_nodes(Path(name), "".join(f"{panorama},0,0,0\n" for panorama in ids).encode())
    text = "".join(f"{start},{heading},{end}\n" for start, heading, end in links).encode()
    return _assemble(name, nodes, read_links(Path(name), text, nodes))


def load(nodes: Path, links: Path, cache: Path | None = None, name: str = "") -> StreetGraph:
    """Read a graph from its two files, each ``.txt`` or ``.txt.gz``.

    ``cache`` is a folder for the parsed graph; a cached file that is stale or damaged is made
    anew. Raises ``DataError`` naming file and line for a panorama listed twice, a link from or to
    an unknown one, two links with one heading (they could not be told apart), and a heading that
    is no finite number. Headings are rounded to whole degrees, as the released navigators do.
    """
    raw = [_read(nodes), _read(links)]
    name = name or links.parent.name
    checksums = [zlib.crc32(part) for part in raw]
    key = "-".join(f"{crc:08x}{len(part):x}" for crc, part in zip(checksums, raw, strict=True))
    stored = cache / f"street-{CACHE_VERSION}-{key}.bin" if cache else None
    found = _from_cache(name, stored) if stored else None
    if found is not None:
        return found
    panoramas = read_nodes(nodes, _unzip(nodes, raw[0]))
    parsed = read_links(links, _unzip(links, raw[1]), panoramas)
    graph = _assemble(name, panoramas, parsed, stored)
    if stored:
        _to_cache(graph, stored)
    return graph


def _assemble(name: str, nodes: Nodes, links: LinkTable, stored: Path | None = None) -> StreetGraph:
    counts = np.bincount(links.sources, minlength=len(nodes.index))
    offsets = np.zeros(len(nodes.index) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    names = b"\n".join(nodes.index)
    return StreetGraph(
        name,
        names,
        offsets,
        links.targets,
        links.headings,
        nodes.yaw,
        nodes.positions,
        nodes.areas,
        _hop_file(stored),
    )


def _hop_file(stored: Path | None) -> Path | None:
    return stored.with_suffix(".hops.npy") if stored else None


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


# A cached graph is one file: a header with the counts and a checksum, then the arrays as they are
# in memory, widest first so that each begins where its type may, then the names.


def _arrays(graph: StreetGraph) -> list[NDArray[np.generic]]:
    """The arrays in the order of the cached file."""
    return [
        graph.positions, graph.offsets, graph.targets, graph.yaw, graph.headings, graph.areas
    ]  # fmt: skip


def _to_cache(graph: StreetGraph, stored: Path) -> None:
    parts = [np.ascontiguousarray(array).data.cast("B") for array in _arrays(graph)]
    parts.append(memoryview(graph.names))
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    header = _HEADER.pack(_MAGIC, len(graph), len(graph.targets), len(graph.names), checksum)
    keep(stored, lambda file: file.writelines((header, *parts)))


def _from_cache(name: str, stored: Path) -> StreetGraph | None:
    try:
        data = stored.read_bytes()
        magic, nodes, links, letters, checksum = _HEADER.unpack_from(data)
    except (OSError, struct.error):
        return None
    body = memoryview(data)[_HEADER.size :]
    if magic != _MAGIC or zlib.crc32(body) != checksum:
        return None
    rest = _Cut(body)
    corners = rest.take(np.dtype(np.float64), 2 * nodes).reshape(-1, 2)
    offsets = rest.take(np.dtype(np.int32), nodes + 1)
    targets = rest.take(np.dtype(np.int32), links)
    yaw = rest.take(np.dtype(np.float32), nodes)
    headings = rest.take(np.dtype(np.int16), links)
    areas = rest.take(np.dtype(np.int8), nodes)
    names = bytes(body[rest.at : rest.at + letters])
    return StreetGraph(
        name, names, offsets, targets, headings, yaw, corners, areas, _hop_file(stored)
    )


class _Cut:
    """Arrays cut off a buffer, one behind the other, without copying."""

    def __init__(self, body: memoryview) -> None:
        self._body, self.at = body, 0

    def take(self, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        found = np.frombuffer(self._body, dtype, count, self.at)
        self.at += found.nbytes
        return found
