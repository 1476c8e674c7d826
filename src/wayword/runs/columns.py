"""What tables, lists and resumed runs need of every episode, in columns.

``columns.bin`` stands beside the index and holds its first lines again, block by block, as arrays:
a table over 100,000 episodes then parses no JSON but for the last few thousand lines. It is a
cache: without it, or from its first damaged block on, the index is read instead.

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
import struct
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.metrics.summary import Scores

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


class Columns:
    """Finished episodes in the order they ended, 30 to 40 bytes and a float a metric each.

    >>> columns = Columns()
    >>> columns.add(Entry("17_0", {"sr": 1, "ne": 0.4}, "stopped", 0, 900))
    >>> columns.ids, columns.end, columns.row(0)
    (['17_0'], 900, {'sr': 1, 'ne': 0.4})
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.ended: list[str] = []
        self.begins, self.sizes = array("q"), array("q")
        self._metrics: dict[str, array[float]] = {}
        self._fractions: set[str] = set()
        self._nans: set[tuple[int, str]] = set()
        self._endings: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def end(self) -> int:
        """The byte after the last episode's line."""
        return self.begins[-1] + self.sizes[-1] if self.ids else 0

    @property
    def keys(self) -> list[str]:
        """Every metric that some episode has."""
        return list(self._metrics)

    def add(self, entry: Entry) -> None:
        """Put an episode behind the others."""
        number = len(self.ids)
        self.ids.append(entry.episode_id)
        self.ended.append(self._endings.setdefault(entry.ended, entry.ended))
        self.begins.append(entry.at)
        self.sizes.append(entry.size)
        for key, value in entry.scores.items():
            column = self._metrics.get(key)
            if column is None:
                column = self._metrics[key] = array("d", [math.nan]) * number
            exact = type(value) is int and abs(value) < _EXACT
            column.append(value if exact else _float(value))
            if not exact:
                self._fractions.add(key)
                if value != value:
                    self._nans.add((number, key))
        for column in self._metrics.values():
            if len(column) == number:
                column.append(math.nan)

    def column(self, key: str) -> NDArray[np.float64]:
        """A metric, (N,); NaN where an episode does not have it."""
        return np.array(self._metrics.get(key, array("d", [math.nan]) * len(self.ids)))

    def row(self, number: int) -> dict[str, float]:
        """One episode's metrics, whole numbers as such."""
        found: dict[str, float] = {}
        for key, column in self._metrics.items():
            value = column[number]
            if value == value or (number, key) in self._nans:
                found[key] = value if key in self._fractions else int(value)
        return found

    def entries(self) -> Iterator[Entry]:
        """The episodes one by one."""
        return map(self.entry, range(len(self.ids)))

    def entry(self, number: int) -> Entry:
        """One episode."""
        scores, ended = self.row(number), self.ended[number]
        return Entry(self.ids[number], scores, ended, self.begins[number], self.sizes[number])

    def scores(self) -> Scores:
        """All metrics in the order of the ids, so that no figure depends on who ended first."""
        order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
        values = np.empty((len(self.ids), len(self._metrics)))
        for number, column in enumerate(self._metrics.values()):
            values[:, number] = np.frombuffer(column)[order]
        nans = np.zeros(values.shape, bool) if self._nans else None
        if nans is not None:
            places, keys = {row: n for n, row in enumerate(order)}, self.keys
            for row, key in self._nans:
                nans[places[row], keys.index(key)] = True
        whole = frozenset(self._metrics) - self._fractions
        return Scores([self.ids[n] for n in order], tuple(self._metrics), values, whole, nans)

    # The file.

    def block(self, mark: bytes, index_end: int) -> bytes:
        """All episodes as a block; ``index_end`` is the index's length up to the last of them."""
        endings = list(self._endings)
        head = json.dumps(
            {
                "ids": self.ids,
                "at": self.begins[0],
                "endings": endings,
                "keys": {key: key not in self._fractions for key in self._metrics},
                "nans": sorted(self._nans),
                "index": index_end,
            },
            separators=(",", ":"),
        ).encode()
        codes = bytes(map({name: n for n, name in enumerate(endings)}.__getitem__, self.ended))
        body = b"".join(
            [self.sizes.tobytes(), codes, *(c.tobytes() for c in self._metrics.values())]
        )
        told = _SIZES.pack(len(head), len(body)) + head + body
        return told + hashlib.sha256(mark + told).digest()[:_DIGEST]

    def _extend(self, head: Mapping[str, Any], body: bytes) -> None:
        """Put a block's episodes behind the others."""
        before, count = len(self.ids), len(head["ids"])
        sizes = np.frombuffer(body, "<i8", count)
        codes = np.frombuffer(body, np.uint8, count, 8 * count)
        names = [self._endings.setdefault(name, name) for name in head["endings"]]
        self.ids += head["ids"]
        self.ended += [names[code] for code in codes.tolist()]
        self.sizes.frombytes(sizes.tobytes())
        self.begins.frombytes((head["at"] + np.cumsum(sizes) - sizes).astype("<i8").tobytes())
        for number, (key, whole) in enumerate(head["keys"].items()):
            column = self._metrics.setdefault(key, array("d", [math.nan]) * before)
            start = 9 * count + 8 * count * number
            column.frombytes(body[start : start + 8 * count])
            if not whole:
                self._fractions.add(key)
        for column in self._metrics.values():
            column.extend(array("d", [math.nan]) * (len(self.ids) - len(column)))
        self._nans |= {(before + row, key) for row, key in head["nans"]}


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # whole numbers of a damaged file have any length
        return math.inf if value > 0 else -math.inf


def read(path: Path, mark: bytes) -> tuple[Columns, int, int]:
    """The blocks of a file up to its first damaged one; the bytes of the index that they stand for,
    and of the file. Nothing where there is no file."""
    found, index_end, end = Columns(), 0, 0
    try:
        with path.open("rb") as file:
            while (block := _next(file, mark)) is not None:
                head, body, size = block
                if head["at"] != found.end:
                    break
                found._extend(head, body)
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
