"""Pages of the bench: a card with its curves, and a board of the cards in a folder.

They are pages of the viewer, each one file without a server or a network.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wayword.bench import card_text, comparison, ladders, scorecard
from wayword.bench.outcomes import dollars_text, place
from wayword.bench.sight import verdict
from wayword.bench.verify import UNPROVEN, check_card
from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, RecordingError, UsageError
from wayword.core.files import reading
from wayword.runs.record import RunFolder, is_run
from wayword.viewer import pages
from wayword.viewer.markup import page

PAGE = "card.html"
# Of a curve, in pixels; the axes take LEFT and FOOT.
WIDTH = 320
HEIGHT = 150
LEFT = 34
FOOT = 22


@dataclass(frozen=True)
class Curve:
    """Success over length, in pixels.

    ``line`` and ``band`` are the points of SVG shapes, ``dots`` the levels, each with
    its words, ``marks`` the lengths on the axis, and ``h50`` where the horizon stands,
    None where it is beyond the ladder or there is none.
    """

    line: str
    band: str
    dots: tuple[tuple[float, float, str], ...]
    marks: tuple[tuple[float, int], ...]
    h50: float | None


def curve(track: JsonObject) -> Curve:
    """Return the curve of a track of a card; length is on a log axis."""
    # Levels that were not played have no success.
    levels = [level for level in track["levels"] if level["episodes"]]
    first, last = (math.log2(track["lengths"][n]) for n in (0, -1))

    def x(length: float) -> float:
        """Return the column of a length."""
        share = (math.log2(length) - first) / max(1.0, last - first)
        return round(LEFT + 8 + share * (WIDTH - LEFT - 20), 1)

    def y(rate: float) -> float:
        """Return the row of a success rate."""
        return round(8 + (1 - rate) * (HEIGHT - FOOT - 8), 1)

    rows = [(x(level["length"]), *map(y, level["success"])) for level in levels]
    # The band's edge runs along the upper ends, and back along the lower ones.
    edge = [(at, high) for at, _, _, high in rows]
    edge += [(at, low) for at, _, low, _ in rows[::-1]]
    words = [
        f"length {level['length']}: {level['solved']} of {level['episodes']} solved"
        for level in levels
    ]
    h50 = track["h50"][0]
    value, _ = card_text.horizon_texts(track["h50"])
    has_horizon = value not in (card_text.BELOW, card_text.NO_HORIZON)
    return Curve(
        " ".join(f"{at},{rate}" for at, rate, *_ in rows),
        " ".join(f"{at},{rate}" for at, rate in edge),
        tuple((row[0], row[1], text) for row, text in zip(rows, words, strict=True)),
        tuple((x(length), length) for length in track["lengths"]),
        x(h50) if has_horizon and not isinstance(h50, str) else None,
    )


def _horizon(h50: Sequence[float | str]) -> str:
    """Return a horizon with its interval as a text: ``12.7 [8, 16]``, ``< 8``, ``no horizon``."""
    value, ends = card_text.horizon_texts(h50)
    low, _, high = ends.strip("[]").partition(", ")
    if value == card_text.NO_HORIZON:
        return value
    # Beyond the ladder, both ends say the same: one is enough.
    if low == high:
        return low
    # Below the ladder the value is its shortest length, as an end of the interval is.
    if value == card_text.BELOW:
        value = str(h50[0])
    return f"{value} {ends}"


def write_card_page(folder: Path, card: JsonObject) -> Path:
    """Write ``card.html`` next to a card, and return its path.

    Also the page of the first episode lost at each level, where its run is there.
    """
    links: dict[tuple[str, int], str] = {}
    for name, track in card["tracks"].items():
        for level in track["levels"]:
            run = folder / name / f"{level['length']:03d}"
            if level.get("lost") and is_run(run):
                # A failed episode has no page.
                ids = {episode for episode, _ in RunFolder.read(run).scores()}
                if level["lost"] in ids:
                    pages.write(run, episodes=[level["lost"]])
                    file = quote(pages.file_name(level["lost"]))
                    links[name, level["length"]] = (
                        f"{name}/{run.name}/pages/episodes/{file}"
                    )
    path = folder / PAGE
    path.write_text(_card_page(card, links), encoding="utf-8")
    return path


def _card_page(
    card: JsonObject,
    links: Mapping[tuple[str, int], str],
    unverified: str = "",
    unchecked: Sequence[str] = (),
    board: str = "",
) -> str:
    """Return the page of a card. ``links`` are pages of lost episodes by track and level's length.

    ``unverified`` is why the card is not confirmed, ``unchecked`` the published splits that could
    not be checked because their files are missing. ``board`` is the file of the board, if the
    page is part of one.
    """
    return page(
        "card_page.html",
        "cards",
        card=card,
        title=card_text.title(card),
        note=card_text.player_note(card),
        why_unplayed=card_text.why_unplayed,
        effort=card_text.effort_text(card),
        curves={name: curve(track) for name, track in card["tracks"].items()},
        links=links,
        unverified=unverified,
        unchecked=unchecked,
        board=board,
        size={
            "width": WIDTH,
            "height": HEIGHT,
            "left": LEFT,
            "foot": FOOT,
        },
        horizon=_horizon,
        percents=lambda triple: " ".join(card_text.percents(triple)),
        verdict=verdict,
        real=card.get("real", ()),
        steps=card_text.CARD_STEPS,
        sample_count=card_text.sample_count,
    )


def write_board(
    folder: Path,
    out: Path,
    data: Path | None = None,
    salts: Sequence[str] = (),
    trusted: Sequence[Path] = (),
) -> Path:
    """Write a board of all cards below a folder: ``index.html``, and a page a card.

    ``salts`` are those of private twins, ``trusted`` files that cards name. A card that
    cannot be read is named on the board. Raises ``UsageError`` where there is no card.
    """
    # Sorted, so that the same cards give the same page on every machine.
    paths = sorted(folder.rglob(ladders.CARD))
    if not paths:
        raise UsageError(f"{folder}: holds no {ladders.CARD}; play with wayword bench")
    # Only when there is something to write.
    out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    unreadable: list[str] = []
    for number, path in enumerate(paths):
        try:
            # A card of another person may be damaged in any way.
            with reading(str(path), "remove it"):
                card = scorecard.read_stored(path)
                found = check_card(
                    path.parent,
                    card,
                    data,
                    salts,
                    trusted,
                )
                text = _card_page(
                    card,
                    {},
                    found.reason,
                    found.unchecked,
                    "index.html",
                )
        except (UsageError, DataError, RecordingError) as error:
            # One bad card does not hide the others; the board names it.
            unreadable.append(str(error))
            continue
        file = f"card-{number:03d}.html"
        rows.append(
            {
                "card": card,
                "file": file,
                "unverified": found.reason,
                "unchecked": found.unchecked,
                "cells": _cells(card),
                "folder": path.parent,
                "rank": 0,
            }
        )
        (out / file).write_text(text, encoding="utf-8")
    if not rows:
        raise UsageError(unreadable[0])
    _rank(rows)
    # Verified cards first, by their rank.
    rows.sort(key=lambda row: (bool(row["unverified"]), row["rank"] or len(rows)))
    path = out / "index.html"
    versions = sorted({row["card"]["bench"] for row in rows})
    named = set(chain.from_iterable(row["card"]["tracks"] for row in rows))
    names = [track.name for track in ladders.open_bench().tracks if track.name in named]
    text = page(
        "cards_page.html",
        "cards",
        groups=_groups(rows),
        tracks=names,
        versions=versions,
        unreadable=unreadable,
        unproven=UNPROVEN,
        steps=card_text.BOARD_STEPS,
        percents=card_text.percents,
        dollars=dollars_text,
    )
    path.write_text(text, encoding="utf-8")
    return path


def _groups(rows: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the rows of complete cards, and those of quick cards, each with a heading."""
    kinds = {"Cards": False, "Quick cards: three levels of eight episodes": True}
    groups = []
    for name, quick in kinds.items():
        members = [row for row in rows if row["card"]["quick"] == quick]
        if members:
            groups.append((name, members))
    return groups


def _rank(rows: Sequence[dict[str, Any]]) -> None:
    """Set the rank of each row within a track, and in total if its card has all tracks.

    Only verified cards that are no private twins are ranked, among those of the same
    version, quick ones among themselves.
    """
    groups: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for row in rows:
        card = row["card"]
        # A card that is not verified must not push down one that is. A private twin has other
        # episodes.
        if not row["unverified"] and not card["private"]:
            groups.setdefault((card["bench"], card["quick"]), []).append(row)
    for (version, _), members in groups.items():
        # Per card: track/place -> mean success, for the total rank.
        totals = [dict[str, float]() for _ in members]
        for track in ladders.open_bench(version).tracks:
            # A card may lack a track, and is not ranked there.
            playing = [n for n, row in enumerate(members) if track.name in row["cells"]]
            players = []
            for number in playing:
                played = list(scorecard.outcomes(members[number]["folder"], track))
                players.append(scorecard.successes(played))
                totals[number] |= comparison.place_totals(track, played)
            for number, rank in zip(
                playing,
                comparison.ranks(players, place),
                strict=True,
            ):
                members[number]["cells"][track.name]["rank"] = rank
        # ``success`` is empty unless the card has all tracks.
        complete = [n for n, row in enumerate(members) if row["card"]["success"]]
        # Each place is its own cluster.
        ranks = comparison.ranks([totals[number] for number in complete], str)
        for number, rank in zip(complete, ranks, strict=True):
            members[number]["rank"] = rank


def _cells(card: JsonObject) -> dict[str, dict[str, Any]]:
    """Return each track's horizon and success as texts, and the horizon as a number to sort by.

    The rank is set later, 0 for a card that is not ranked.
    """
    cells = {}
    for name, row in card["tracks"].items():
        cells[name] = {
            "h50": _horizon(row["h50"]),
            "success": " ".join(card_text.percents(row["success"])),
            "order": _order(row["h50"][0]),
            "rank": 0,
        }
    return cells


def _order(value: float | str) -> float:
    """Return a horizon as a number to sort by.

    Those beyond the ladder sort after it, those below it first.
    """
    if isinstance(value, str):
        # Twice the longest length is the next level that a ladder would have.
        sign, _, end = value.partition(" ")
        return float(end) * 2 if sign == ">" else 0.0
    return value
