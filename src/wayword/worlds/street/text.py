"""The text of street graphs: whole columns at once, and line by line once something is wrong.

A published graph has 90,000 lines. They are split in one go and converted column by column; only
when a column does not convert are the lines read one at a time, to name the one that is at fault.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError

AREAS = ("", "seen", "unseen", "gone")
"""Where a panorama lies: in the training area, in the held-out one, or taken off the service."""

_AREA_CODES = {name.encode(): code for code, name in enumerate(AREAS)}


@dataclass(frozen=True, slots=True)
class Nodes:
    """Parsed panoramas: number by id, and the columns ``StreetGraph`` describes."""

    path: Path
    index: dict[bytes, int]
    yaw: NDArray[np.float32]
    positions: NDArray[np.float64]
    areas: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class LinkTable:
    """Parsed links (E,), sorted by source, otherwise in the file's order."""

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    headings: NDArray[np.int16]


def read_nodes(path: Path, text: bytes) -> Nodes:
    """Parse ``panorama,yaw,lat,lng[,area]`` lines. Raises ``DataError`` naming the line."""
    text = _trimmed(path, text)
    columns = text.partition(b"\n")[0].count(b",") + 1
    names, yaw, positions, areas = _even_nodes(text) or _any_nodes(path, text, columns)
    index = dict(zip(names, range(len(names)), strict=True))
    whole = np.isfinite(yaw).all() and np.isfinite(positions).all()
    if len(index) != len(names) or b"" in index or not whole:
        _bad_node(path, text, columns)
    return Nodes(path, index, yaw, positions, areas)


_Places = tuple[list[bytes], NDArray[np.float32], NDArray[np.float64], NDArray[np.int8]]


def _any_nodes(path: Path, text: bytes, columns: int) -> _Places:
    """Names, yaw, positions and areas of lines of any form."""
    flat = text.replace(b"\n", b",").split(b",")
    if columns not in (4, 5) or len(flat) % columns:
        _bad_node(path, text, columns)
    names = flat[0::columns]
    count = len(names)
    try:
        yaw = np.fromiter(map(float, flat[1::columns]), np.float32, count)
        positions = np.empty((count, 2))
        positions[:, 0] = np.fromiter(map(float, flat[2::columns]), np.float64, count)
        positions[:, 1] = np.fromiter(map(float, flat[3::columns]), np.float64, count)
        areas = np.zeros(count, np.int8)
        if columns == 5:
            areas = np.fromiter(map(_AREA_CODES.__getitem__, flat[4::5]), np.int8, count)
    except (ValueError, KeyError):
        _bad_node(path, text, columns)
    return names, yaw, positions, areas


def _even_nodes(text: bytes) -> _Places | None:
    """The same for five fields, ids and coordinates of one width each; None for other texts.

    All published files are of this kind. Digits are read where they stand, without a copy of
    every field: a third faster.
    """
    letters = np.frombuffer(text + b"\n\0\0\0\0", np.uint8)
    commas = np.flatnonzero(letters == ord(","))
    ends = np.flatnonzero(letters == ord("\n"))
    if len(commas) != 4 * len(ends):
        return None
    starts = np.concatenate([[0], ends[:-1] + 1])
    first, second, third, fourth = commas.reshape(-1, 4).T
    width = int(first[0])
    if (first - starts != width).any() or (fourth >= ends).any() or not width:
        return None
    yaw = _small_numbers(letters, second, second - first - 1)
    lat, lng = _decimals(letters, second, third), _decimals(letters, third, fourth)
    areas = _areas(letters, fourth, ends)
    if yaw is None or lat is None or lng is None or areas is None:
        return None
    names = np.ndarray((len(text) - width + 1,), f"S{width}", text, strides=(1,))[starts].tolist()
    return names, yaw.astype(np.float32), np.stack([lat, lng], axis=1), areas


def _small_numbers(
    letters: NDArray[np.uint8], stops: NDArray[np.int64], digits: NDArray[np.int64]
) -> NDArray[np.int16] | None:
    """Whole numbers of one to three digits that end before ``stops``; None where one is not."""
    if digits.min() < 1 or digits.max() > 3:
        return None
    places = [letters[stops - 1 - i].astype(np.int16) - ord("0") for i in range(3)]
    places = [np.where(digits > i, place, 0) for i, place in enumerate(places)]
    if any(((place < 0) | (place > 9)).any() for place in places):
        return None
    return (places[0] + 10 * places[1] + 100 * places[2]).astype(np.int16)


def _decimals(
    letters: NDArray[np.uint8], before: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Decimal numbers of one form, such as ``-73.991273``; None where the forms differ.

    Fifteen digits are exact as a whole number, and one division rounds as reading the text does.
    """
    width = int(stops[0] - before[0] - 1)
    if (stops - before - 1 != width).any() or not 3 <= width <= 15:
        return None
    block = letters[before[:, None] + np.arange(1, width + 1)]
    negative, point = block[0, 0] == ord("-"), int(np.argmax(block[0] == ord(".")))
    if (block[:, point] != ord(".")).any() or (negative and (block[:, 0] != ord("-")).any()):
        return None
    kept = [column for column in range(width) if column != point and not (negative and not column)]
    digits = block[:, kept].astype(np.int64) - ord("0")
    if ((digits < 0) | (digits > 9)).any():
        return None
    whole = digits @ (10 ** np.arange(len(kept) - 1, -1, -1))
    values: NDArray[np.float64] = whole / 10.0 ** (width - 1 - point)
    return -values if negative else values


def _areas(
    letters: NDArray[np.uint8], before: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.int8] | None:
    """Area codes; None where a word is not one of them."""
    width = stops - before - 1
    words = np.ndarray((len(letters) - 3,), "S4", letters.tobytes(), strides=(1,))[before + 1]
    long = (width == 6) & (words == b"unse")
    long &= (letters[stops - 2] == ord("e")) & (letters[stops - 1] == ord("n"))
    short = width == 4
    codes = np.select([short & (words == b"seen"), long, short & (words == b"gone")], [1, 2, 3], 0)
    return codes.astype(np.int8) if codes.all() else None


def read_links(path: Path, text: bytes, nodes: Nodes) -> LinkTable:
    """Parse ``panorama,heading,panorama`` lines. Raises ``DataError`` naming the line."""
    if not text or text.isspace():
        none = np.zeros(0, np.int32)
        return LinkTable(none, none, np.zeros(0, np.int16))
    text = _trimmed(path, text)
    try:
        sources, targets, headings = _even_links(text, nodes) or _any_links(text, nodes)
    except (KeyError, ValueError, OverflowError):
        _bad_link(path, text, nodes)
    if (sources[1:] < sources[:-1]).any():
        order = np.argsort(sources, kind="stable")
        sources, targets, headings = sources[order], targets[order], headings[order]
    told_apart = np.sort(sources.astype(np.int64) * 360 + headings)
    if (told_apart[1:] == told_apart[:-1]).any():
        _bad_link(path, text, nodes)
    return LinkTable(sources, targets, headings)


_Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int16]]


def _any_links(text: bytes, nodes: Nodes) -> _Columns:
    """Sources, targets and headings of links with ids of any length and headings of any form."""
    flat = text.replace(b"\n", b",").split(b",")
    if len(flat) % 3:
        raise ValueError("some line has not three fields")
    number, count = nodes.index.__getitem__, len(flat) // 3
    sources = np.fromiter(map(number, flat[0::3]), np.int32, count)
    targets = np.fromiter(map(number, flat[2::3]), np.int32, count)
    degrees = (whole_degrees(float(field)) for field in flat[1::3])
    return sources, targets, np.fromiter(degrees, np.int16, count)


def _even_links(text: bytes, nodes: Nodes) -> _Columns | None:
    """The same for ids of one length and headings of one to three digits, three times as fast.

    All published files are of this kind. None for a text that is not.
    """
    width = len(next(iter(nodes.index)))
    letters = np.frombuffer(text + b"\n", np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1])
    degrees = _small_numbers(letters, ends - width - 1, ends - starts - 2 * width - 2)
    commas = letters[starts + width], letters[ends - width - 1]
    if degrees is None or any((c != ord(",")).any() for c in commas):
        return None
    headings = degrees % 360
    windows = np.ndarray((len(text) - width + 1,), f"S{width}", text, strides=(1,))
    targets = np.fromiter(
        map(nodes.index.__getitem__, windows[ends - width].tolist()), np.int32, len(ends)
    )
    return _runs(windows[starts], nodes), targets, headings.astype(np.int16)


def _runs(column: NDArray[np.bytes_], nodes: Nodes) -> NDArray[np.int32]:
    """The numbers of a column in which each name stands several times in a row."""
    changes = np.concatenate([[0], np.flatnonzero(column[1:] != column[:-1]) + 1])
    lengths = np.diff(changes, append=len(column))
    joined = b"".join(nodes.index)
    if joined == column[changes].tobytes():  # every panorama has links, and they are in its order
        return np.repeat(np.arange(len(nodes.index), dtype=np.int32), lengths)
    names = map(nodes.index.__getitem__, column[changes].tolist())
    return np.repeat(np.fromiter(names, np.int32, len(changes)), lengths)


def whole_degrees(heading: float) -> int:
    """A heading rounded to whole degrees in [0, 360). Raises ``ValueError`` for NaN and inf."""
    if not math.isfinite(heading):
        raise ValueError(f"{heading!r} is no heading")
    return round(heading) % 360


def _trimmed(path: Path, text: bytes) -> bytes:
    """Without the last line end, and with plain ones. Raises ``DataError`` for an empty file."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if not text or text.isspace():
        raise DataError(path, "", "holds no panorama", "fetch it again")
    return text[:-1] if text[-1:] == b"\n" and text[-2:-1] != b"\n" else text.rstrip(b"\n")


# What follows runs only when something is wrong: find the first line at fault, and say why.


def _lines(path: Path, text: bytes, columns: int) -> Iterator[tuple[str, list[str]]]:
    for number, line in enumerate(text.decode(errors="replace").split("\n"), 1):
        fields = line.split(",")
        if len(fields) != columns:
            raise DataError(
                path, f"line {number}", f"has {len(fields)} fields, not {columns}: {line[:60]!r}"
            )
        yield f"line {number}", fields


def _bad_node(path: Path, text: bytes, columns: int) -> NoReturn:
    known: set[str] = set()
    for where, fields in _lines(path, text, 5 if columns == 5 else 4):
        panorama = fields[0]
        if not panorama or panorama in known:
            problem = f"is listed twice: {panorama!r}" if panorama else "is empty"
            raise DataError(path, f"{where}, field 'panorama'", problem)
        known.add(panorama)
        for name, value in zip(("yaw", "lat", "lng"), fields[1:4], strict=True):
            if not _finite(value):
                raise DataError(path, f"{where}, field {name!r}", f"is not a number: {value!r}")
        if len(fields) == 5 and fields[4] not in AREAS:
            problem = f"is none of seen, unseen, gone: {fields[4]!r}"
            raise DataError(path, f"{where}, field 'area'", problem)
    raise DataError(path, "", "is not a list of panoramas", "fetch it again")


def _bad_link(path: Path, text: bytes, nodes: Nodes) -> NoReturn:
    taken: dict[tuple[str, int], str] = {}
    for where, (start, heading, end) in _lines(path, text, 3):
        for name, panorama in (("from", start), ("to", end)):
            if panorama.encode() not in nodes.index:
                problem = f"{panorama!r} is not among the panoramas of {nodes.path.name}"
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
