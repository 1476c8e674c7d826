"""What was seen, for people: a sheet of all views with their boxes, and a page of places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from wayword.perception import pictures
from wayword.perception.layouts import Layout
from wayword.perception.projection import Picture, view
from wayword.perception.survey import Look

TILE = 240
"""The width of a view on a contact sheet, pixels."""

Row = tuple[str, Sequence[str], Sequence[Mapping[str, Mapping[str, float | None]]], str]
"""Place, a sentence a direction, things by direction, summary."""


def sheet(panorama: Picture, looks: Sequence[Look], layout: Layout) -> bytes:
    """All views of a place as one JPEG: a column a direction, a row an elevation."""
    rows, columns = layout.size
    scale = TILE / columns
    size = (round(rows * scale), TILE)
    count = len(layout.elevations)
    made = np.zeros((count * size[0], len(layout.headings) * TILE, 3), np.uint8)
    boxes: list[tuple[str, float, float, float, float]] = []
    for number, look in enumerate(looks):
        top, left = number % count * size[0], number // count * TILE
        shown = view(panorama, look.heading, look.elevation, layout.width, size)
        made[top : top + size[0], left : left + TILE] = shown
        for box in look.boxes:
            label = f"{box.name} {box.score:.2f}"
            at = (box.left, box.top, box.right, box.bottom)
            x1, y1, x2, y2 = (value * scale for value in at)
            boxes.append((label, left + x1, top + y1, left + x2, top + y2))
    return pictures.outlined(made, boxes).data


def page(layout: str, places: Sequence[Row]) -> str:
    """A self-contained page beside the sheets. All text is data, and escaped."""
    parts = [
        "<!doctype html><meta charset=utf-8><title>What was seen</title>",
        "<style>body{font:15px/1.5 system-ui;margin:2em auto;max-width:72em;padding:0 1em}"
        "img{max-width:100%}ol{padding-left:1.5em}small{color:#666}</style>",
        f"<h1>What was seen</h1><p>{len(places)} places, layout {escape(layout)}</p>",
    ]
    for name, sentences, things, summary in places:
        parts.append(f"<h2>{escape(name)}</h2><p>{escape(summary)}</p>")
        parts.append(f'<img loading=lazy alt="" src="boxes/{escape(name, quote=True)}.jpg"><ol>')
        for sentence, seen in zip(sentences, things, strict=True):
            listed = ", ".join(seen) or "nothing found"
            parts.append(f"<li>{escape(sentence)} <small>{escape(listed)}</small>")
        parts.append("</ol>")
    return "\n".join(parts)
