"""What tables, lists and resumed runs need of every episode, in columns.

``columns.bin`` stands beside the index and holds its first lines again, block by block, as arrays:
a table over 100,000 episodes then parses no JSON but for the last few thousand lines, and holds one
metric at a time. It is a cache: without it, or from its first damaged block on, the index is read
instead.

A block is::

    sizes of head and body      two little-endian 32-bit numbers
    head                        JSON: ids, how they ended, the metrics' keys, the end in the index
    body                        int64 bytes of each line, uint8 of ``ended``, float64 of each metric
    digest                      16 bytes of the SHA-256 over the run's identity and all of the above
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import RecordingError
from wayword.metrics.summary import Scores
from wayword.runs.names import Coded, Names, Reordered

BLOCK = 4096
"""Episodes of a block. Runs with fewer have no such file."""
FILE = "columns.bin"
_SIZES = struct.Struct("<II")
_DIGEST = 16
_EXACT = 2**53
"""Whole numbers below it are exact as floats; others are kept as fractions are."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A finished episode without its trajectory. Its line is ``size`` bytes from byte ``at`` on."""

    episode_id: str
    scores: dict[str, float]
    ended: str
    at: int
    size: int


@dataclass(frozen=True, slots=True)
class _Block:
    """Where the metrics of ``count`` episodes stand in the file: key -> its column's first byte."""

    first: int
    count: int
    places: Mapping[str, int]


class Columns:
    """Finished episodes in the order they ended, about 40 bytes each.

    Metrics of whole blocks stay in the file until they are asked for, those of later episodes are
    in memory.

    >>> columns = Columns()
    >>> columns.add(Entry("17_0", {"sr": 1, "ne": 0.4}, "stopped", 0, 900))
    >>> columns.ids[0], columns.end, columns.row(0)
    ('17_0', 900, {'sr': 1, 'ne': 0.4})
    """

    def __init__(self, file: int = -1) -> None:
        self.ids = Names()
        self.begins, self.sizes = array("q"), array("q")
        self._codes = array("H")
        self._endings: list[str] = []
        self._keys: dict[str, None] = {}
        self._file, self._blocks, self._stored = file, list[_Block](), 0
        self._metrics: dict[str, array[float]] = {}
        self._fractions: set[str] = set()
        self._nans: set[tuple[int, str]] = set()
        self._open: tuple[int, Mapping[str, NDArray[np.float64]]] = -1, {}
        """The block that a row was last asked of, and its metrics."""
        if file >= 0:
            weakref.finalize(self, os.close, file)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def end(self) -> int:
        """The byte after the last episode's line."""
        return self.begins[-1] + self.sizes[-1] if self.begins else 0

    @property
    def keys(self) -> list[str]:
        """Every metric that some episode has."""
        return list(self._keys)

    @property
    def ended(self) -> Sequence[str]:
        """How each of them ended."""
        return Coded(self._codes, self._endings)

    def add(self, entry: Entry) -> None:
        """Put an episode behind the others."""
        number = len(self.ids)
        self.ids.append(entry.episode_id)
        self._codes.append(self._code(entry.ended))
        self.begins.append(entry.at)
        self.sizes.append(entry.size)
        for key, value in entry.scores.items():
            column = self._metrics.get(key)
            if column is None:
                self._keys[key] = None
                column = self._metrics[key] = array("d", [math.nan]) * (number - self._stored)
            exact = type(value) is int and abs(value) < _EXACT
            column.append(value if exact else _float(value))
            if not exact:
                self._fractions.add(key)
                if value != value:
                    self._nans.add((number, key))
        for column in self._metrics.values():
            if len(column) == number - self._stored:
                column.append(math.nan)

    def _code(self, ended: str) -> int:
        if ended not in self._endings:
            self._endings.append(ended)
        return self._endings.index(ended)

    def column(self, key: str) -> NDArray[np.float64]:
        """A metric, (N,); NaN where an episode does not have it."""
        found = np.full(len(self.ids), math.nan)
        for block in self._blocks:
            if key in block.places:
                found[block.first : block.first + block.count] = self._read(block, key)
        if key in self._metrics:
            found[self._stored :] = self._metrics[key]
        return found

    def _read(self, block: _Block, key: str) -> NDArray[np.float64]:
        """One metric of a block, which was checked when the file was opened."""
        raw = os.pread(self._file, 8 * block.count, block.places[key])
        if len(raw) < 8 * block.count:
            raise RecordingError(f"{FILE}: was cut while it was read; run the same command again")
        return np.frombuffer(raw, "<f8")

    def row(self, number: int) -> dict[str, float]:
        """One episode's metrics, whole numbers as such."""
        there: Mapping[str, Any] = self._metrics
        at = number - self._stored
        if at < 0:
            block = self._blocks[bisect_right(self._blocks, number, key=lambda b: b.first) - 1]
            first, there = self._open
            if first != block.first:
                there = {key: self._read(block, key) for key in block.places}
                self._open = block.first, there
            at = number - block.first
        found: dict[str, float] = {}
        for key in self._keys:
            value = float(there[key][at]) if key in there else math.nan
            if value == value or (number, key) in self._nans:
                found[key] = value if key in self._fractions else int(value)
        return found

    def entries(self) -> Iterator[Entry]:
        """The episodes one by one."""
        return map(self.entry, range(len(self.ids)))

    def entry(self, number: int) -> Entry:
        """One episode."""
        scores, ended = self.row(number), self._endings[self._codes[number]]
        return Entry(self.ids[number], scores, ended, self.begins[number], self.sizes[number])

    def scores(self) -> Scores:
        """All metrics in the order of the ids, so that no figure depends on who ended first."""
        order = self.ids.order()
        nans = np.zeros((len(order), len(self._keys)), bool) if self._nans else None
        if nans is not None:
            places, keys = np.argsort(order), self.keys
            for row, key in self._nans:
                nans[places[row], keys.index(key)] = True
        ids = Reordered(self.ids, order)
        columns = _Sorted(self, order)
        return Scores(
            ids, tuple(self._keys), columns, frozenset(self._keys) - self._fractions, nans
        )

    # The file.

    def block(self, mark: bytes, index_end: int) -> bytes:
        """All episodes as a block; ``index_end`` is the index's length up to the last of them."""
        head = json.dumps(
            {
                "ids": list(self.ids),
                "at": self.begins[0],
                "endings": self._endings,
                "keys": {key: key not in self._fractions for key in self._metrics},
                "nans": sorted(self._nans),
                "index": index_end,
            },
            separators=(",", ":"),
        ).encode()
        metrics = (column.tobytes() for column in self._metrics.values())
        body = b"".join([self.sizes.tobytes(), bytes(self._codes.tolist()), *metrics])
        told = _SIZES.pack(len(head), len(body)) + head + body
        return told + hashlib.sha256(mark + told).digest()[:_DIGEST]

    def extend(self, head: Mapping[str, Any], body: bytes, at: int) -> None:
        """Put a block's episodes behind the others, all of them of blocks; its body begins at byte
        ``at`` of the file."""
        before, count = len(self.ids), len(head["ids"])
        sizes = np.frombuffer(body, "<i8", count)
        codes = np.array([self._code(name) for name in head["endings"]], np.uint16)
        self.ids.extend(head["ids"])
        self._codes.frombytes(codes[np.frombuffer(body, np.uint8, count, 8 * count)].tobytes())
        self.sizes.frombytes(sizes.tobytes())
        self.begins.frombytes((head["at"] + np.cumsum(sizes) - sizes).astype("<i8").tobytes())
        places = {key: at + count * (9 + 8 * number) for number, key in enumerate(head["keys"])}
        self._blocks.append(_Block(before, count, places))
        self._keys |= dict.fromkeys(places)
        self._fractions |= {key for key, whole in head["keys"].items() if not whole}
        self._nans |= {(before + row, key) for row, key in head["nans"]}
        self._stored = len(self.ids)


class _Sorted(Sequence[NDArray[np.float64]]):
    """The metrics, each reordered when it is asked for."""

    def __init__(self, found: Columns, order: NDArray[np.intp]) -> None:
        self._found, self._order, self._keys = found, order, found.keys

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, number: Any) -> Any:
        return self._found.column(self._keys[number])[self._order]


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # whole numbers of a damaged file have any length
        return math.inf if value > 0 else -math.inf


def read(path: Path, mark: bytes) -> tuple[Columns, int, int]:
    """The blocks of a file up to its first damaged one; the bytes of the index that they stand for,
    and of the file. Nothing where there is no file."""
    index_end, end = 0, 0
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return Columns(), 0, 0
    found = Columns(file)
    try:
        with os.fdopen(os.dup(file), "rb") as blocks:
            while (block := _next(blocks, mark)) is not None:
                head, body, size = block
                if head["at"] != found.end:
                    break
                found.extend(head, body, end + size - _DIGEST - len(body))
                index_end, end = head["index"], end + size
    except OSError:
        return Columns(), 0, 0
    return found, index_end, end


def _next(file: Any, mark: bytes) -> tuple[dict[str, Any], bytes, int] | None:
    """The next block: its head, its body and its size; None where it is damaged or not there."""
    sizes = file.read(_SIZES.size)
    if len(sizes) < _SIZES.size:
        return None
    head, body = _SIZES.unpack(sizes)
    rest = file.read(head + body + _DIGEST)
    if len(rest) < head + body + _DIGEST:
        return None
    told, digest = rest[:-_DIGEST], rest[-_DIGEST:]
    if hashlib.sha256(mark + sizes + told).digest()[:_DIGEST] != digest:
        return None
    return json.loads(told[:head]), told[head:], len(sizes) + len(rest)


class ColumnsWriter:
    """Appends a block after every ``BLOCK`` episodes; what is not in one yet is in the index.

    The file is cut to ``end`` bytes, those of its whole blocks. One that cannot be written is done
    without.
    """

    def __init__(self, path: Path, mark: bytes, end: int) -> None:
        self._path, self._mark, self._new = path, mark, Columns()
        try:
            if path.is_file() and path.stat().st_size != end:
                with path.open("r+b") as file:
                    file.truncate(end)
        except OSError:
            self._mark = b""

    def add(self, entry: Entry, index_end: int) -> None:
        """Note an episode whose line in the index ends at byte ``index_end``."""
        if not self._mark:
            return
        self._new.add(entry)
        if len(self._new) < BLOCK:
            return
        try:
            told = self._new.block(self._mark, index_end)
            with self._path.open("ab") as file:
                file.write(told)
            self._new = Columns()
        except OSError:
            self._mark, self._new = b"", Columns()
