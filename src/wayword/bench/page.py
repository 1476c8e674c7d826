"""Pages of the bench: a card with its curves, and a board of the cards in a folder.

Each page is one file without a server or a network: style and script are inside, allowed by their
SHA-256 in a Content-Security-Policy, and every text is escaped.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from wayword.bench import ladders
from wayword.bench.verify import UNPROVEN, check_card
from wayword.core.errors import DataError, RecordingError, UsageError
from wayword.core.files import reading
from wayword.core.visible import visible
from wayword.runs.record import RunFolder, is_run
from wayword.viewer import pages

PAGE = "card.html"
WIDTH, HEIGHT, LEFT, FOOT = 320, 150, 34, 22
"""Of a curve, in pixels; the axes take ``LEFT`` and ``FOOT``."""


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("wayword.bench"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown,
    )  # fmt: skip


def _shown(value: Any) -> Any:
    return visible(value) if type(value) is str else value


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _render(template: str, **context: Any) -> str:
    """A page, and the policy that allows its own style and script alone."""
    parts = {
        name: _templates().get_template(name).render()
        for name in ("page.css", "board.js")
    }
    style, code = parts["page.css"], parts["board.js"]
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; "
        f"script-src '{_digest(code)}'; base-uri 'none'; form-action 'none'"
    )
    values = {"style": style, "code": code, "policy": policy, **context}
    return _templates().get_template(template).render(values)


@dataclass(frozen=True, slots=True)
class Curve:
    """Success over length, in pixels: ``line`` and ``band`` are the points of SVG shapes, ``dots``
    the levels, ``h50`` where the horizon stands, None where it is beyond the ladder."""

    line: str
    band: str
    dots: tuple[tuple[float, float, str], ...]
    marks: tuple[tuple[float, int], ...]
    h50: float | None


def curve(track: Mapping[str, Any]) -> Curve:
    """The curve of a track of a card; length is on a log axis."""
    levels = [level for level in track["levels"] if level["episodes"]]
    first, last = (math.log2(track["lengths"][n]) for n in (0, -1))

    def x(length: float) -> float:
        share = (math.log2(length) - first) / max(1.0, last - first)
        return round(LEFT + 8 + share * (WIDTH - LEFT - 20), 1)

    def y(rate: float) -> float:
        return round(8 + (1 - rate) * (HEIGHT - FOOT - 8), 1)

    rows = [(x(level["length"]), *map(y, level["success"])) for level in levels]
    edge = [(at, high) for at, _, _, high in rows] + [
        (at, low) for at, _, low, _ in rows[::-1]
    ]
    words = [
        f"length {level['length']}: {level['solved']} of {level['episodes']} solved"
        for level in levels
    ]
    h50 = track["h50"][0]
    return Curve(
        " ".join(f"{at},{rate}" for at, rate, *_ in rows),
        " ".join(f"{at},{rate}" for at, rate in edge),
        tuple((row[0], row[1], text) for row, text in zip(rows, words, strict=True)),
        tuple((x(length), length) for length in track["lengths"]),
        None if isinstance(h50, str) else x(h50),
    )


def write_card_page(folder: Path, card: Mapping[str, Any]) -> Path:
    """Write ``card.html`` next to a card, and the page of the first episode lost at each level
    where its run is there."""
    links: dict[tuple[str, int], str] = {}
    for name, track in card["tracks"].items():
        for level in track["levels"]:
            run = folder / name / f"{level['length']:03d}"
            if level.get("lost") and is_run(run):
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
    card: Mapping[str, Any],
    links: Mapping[tuple[str, int], str],
    unverified: str = "",
    unchecked: Sequence[str] = (),
    board: str = "",
) -> str:
    return _render(
        "card.html",
        card=card,
        title=ladders.title(card),
        curves={name: curve(track) for name, track in card["tracks"].items()},
        links=links,
        unverified=unverified,
        unchecked=unchecked,
        board=board,
        size={"width": WIDTH, "height": HEIGHT, "left": LEFT, "foot": FOOT},
        estimate=lambda triple: " ".join(ladders.estimate(triple)),
        percents=lambda triple: " ".join(ladders.percents(triple)),
        real=card.get("real", ()),
        sample_count=ladders.sample_count,
    )


def write_board(
    folder: Path,
    out: Path,
    data: Path | None = None,
    salts: Sequence[str] = (),
    trusted: Sequence[Path] = (),
) -> Path:
    """Write a board of all cards below a folder: ``index.html``, and a page a card. ``salts`` are
    those of private twins, ``trusted`` files that cards name. Raises ``UsageError`` where there is
    no card."""
    paths = sorted(folder.rglob(ladders.CARD))
    if not paths:
        raise UsageError(f"{folder}: holds no {ladders.CARD}; play with wayword bench")
    out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    unreadable: list[str] = []
    for number, path in enumerate(paths):
        try:
            with reading(str(path), "remove it"):
                card = ladders.read_stored(path)
                found = check_card(path.parent, card, data, salts, trusted)
                text = _card_page(card, {}, found.reason, found.unchecked, "index.html")
        except (UsageError, DataError, RecordingError) as error:
            unreadable.append(str(error))
            continue
        file = f"card-{number:03d}.html"
        rows.append(
            {"card": card, "file": file, "unverified": found.reason,
             "unchecked": found.unchecked, "cells": _cells(card)}
        )  # fmt: skip
        (out / file).write_text(text, encoding="utf-8")
    if not rows:
        raise UsageError(unreadable[0])
    rows.sort(key=lambda row: (bool(row["unverified"]), -row["card"]["success"][0]))
    path = out / "index.html"
    versions = sorted({row["card"]["bench"] for row in rows})
    named = {name for row in rows for name in row["card"]["tracks"]}
    names = [track.name for track in ladders.open_bench().tracks if track.name in named]
    text = _render(
        "board.html", rows=rows, tracks=names, versions=versions, unreadable=unreadable,
        unproven=UNPROVEN,
    )  # fmt: skip
    path.write_text(text, encoding="utf-8")
    return path


def _cells(card: Mapping[str, Any]) -> dict[str, tuple[str, float]]:
    """Each track's horizon as text and as a number to sort by."""
    return {
        name: (_text(row["h50"]), _order(row["h50"][0]))
        for name, row in card["tracks"].items()
    }


def _text(triple: Sequence[float | str]) -> str:
    return ladders.estimate(triple)[0]


def _order(value: float | str) -> float:
    """A horizon as a number; those beyond the ladder sort after it, those below it first."""
    if isinstance(value, str):
        sign, _, end = value.partition(" ")
        return float(end) * 2 if sign == ">" else 0.0
    return value
