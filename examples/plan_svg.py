"""Draw the floor plan of a generated house: rooms, doors, furniture, viewpoints and a path.

python examples/plan_svg.py            writes plan.svg
python examples/plan_svg.py tour.svg   writes tour.svg
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

from wayword.datasets.houses import Houses
from wayword.datasets.procedural.houses.house import GeneratedHouse, Walls

SCALE = 40.0
"""Pixels per metre."""
EDGE = 20.0
"""Pixels of margin."""
NEAR_WALL = 0.6
"""Metres from a side wall within which a name is set against it."""

FILLS = {"hallway": "#f4f1ea", "bathroom": "#e3eef3", "shower room": "#e3eef3"}
STYLE = (
    "text{font-family:sans-serif;fill:#333;text-anchor:middle}"
    ".room{font-size:13px;font-weight:600}.thing{font-size:8px;fill:#777}"
    ".west{text-anchor:start}.east{text-anchor:end}"
    ".wall{stroke:#333;stroke-width:3;stroke-linecap:square}"
    ".way{stroke:#bcc6d0;stroke-width:1}.place{fill:#8899aa}"
    ".path{fill:none;stroke:#d1495b;stroke-width:3;stroke-linejoin:round}"
)


def plan_svg(house: GeneratedHouse, path: Sequence[str] = (), title: str = "") -> str:
    """A stand-alone SVG of a house, north up, 40 pixels a metre.

    ``path`` holds viewpoint ids and is drawn from its dot (start) to its ring (end); ``title`` is
    shown as the picture's name. Every text is escaped. Raises ``KeyError`` for an unknown id.
    """
    wide, high = house.plan.size
    width = wide * SCALE + 2 * EDGE
    height = high * SCALE + 2 * EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img"><title>{escape(title or house.scene)}</title><style>{STYLE}</style>',
        *_rooms(house),
        *_edges(house),
        *_walls(house.walls, high),
        *_furniture(house),
        *_places(house),
        *_path(house, path),
        *_names(house),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _at(x: float, y: float, high: float) -> tuple[str, str]:
    """Pixels of a point in metres; y grows downwards on a page."""
    return f"{EDGE + x * SCALE:.1f}", f"{EDGE + (high - y) * SCALE:.1f}"


def _rooms(house: GeneratedHouse) -> list[str]:
    high = house.plan.size[1]
    drawn = []
    for room in house.plan.rooms:
        x, y = _at(room.x0, room.y1, high)
        width = (room.x1 - room.x0) * SCALE
        height = (room.y1 - room.y0) * SCALE
        size = f'width="{width:.1f}" height="{height:.1f}"'
        drawn.append(
            f'<rect x="{x}" y="{y}" {size} fill="{FILLS.get(room.name, "#fbf9f5")}"/>'
        )
    return drawn


def _walls(walls: Walls, high: float) -> list[str]:
    ends = [(line, low, line, top) for line, low, top in walls.vertical.tolist()]
    ends += [(low, line, top, line) for line, low, top in walls.horizontal.tolist()]
    return [
        _line("wall", *_at(x1, y1, high), *_at(x2, y2, high)) for x1, y1, x2, y2 in ends
    ]


def _edges(house: GeneratedHouse) -> list[str]:
    high = house.plan.size[1]
    places = house.places
    # The graph has each edge in both directions.
    pairs = [(places[i], places[j]) for i, j in house.graph.edges.tolist() if i < j]
    return [_line("way", *_at(a.x, a.y, high), *_at(b.x, b.y, high)) for a, b in pairs]


def _line(kind: str, x1: str, y1: str, x2: str, y2: str) -> str:
    return f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def _furniture(house: GeneratedHouse) -> list[str]:
    """Names start or end at a near side wall, so that they stay inside their room."""
    drawn = []
    for piece in house.furniture:
        room = house.plan.rooms[piece.room]
        kind = "thing"
        x = piece.x
        if piece.x - room.x0 < NEAR_WALL:
            kind = "thing west"
            x = room.x0 + 0.1
        elif room.x1 - piece.x < NEAR_WALL:
            kind = "thing east"
            x = room.x1 - 0.1
        drawn.append(_text(kind, x, piece.y, piece.name, house))
    return drawn


def _names(house: GeneratedHouse) -> list[str]:
    rooms = house.plan.rooms
    return [_text("room", *room.center, room.name, house) for room in rooms]


def _text(kind: str, x: float, y: float, words: str, house: GeneratedHouse) -> str:
    left, top = _at(x, y, house.plan.size[1])
    return f'<text class="{kind}" x="{left}" y="{top}">{escape(words)}</text>'


def _places(house: GeneratedHouse) -> list[str]:
    drawn = []
    for place in house.places:
        x, y = _at(place.x, place.y, house.plan.size[1])
        name = f"<title>{escape(place.id)}</title>"
        drawn.append(f'<circle class="place" cx="{x}" cy="{y}" r="4">{name}</circle>')
    return drawn


def _path(house: GeneratedHouse, path: Sequence[str]) -> list[str]:
    if not path:
        return []
    spots = [house.place(viewpoint) for viewpoint in path]
    points = [_at(spot.x, spot.y, house.plan.size[1]) for spot in spots]
    line = " ".join(",".join(point) for point in points)
    x0, y0 = points[0]
    x1, y1 = points[-1]
    return [
        f'<polyline class="path" points="{line}"/>',
        f'<circle cx="{x0}" cy="{y0}" r="6" fill="#d1495b"/>',
        f'<circle class="path" cx="{x1}" cy="{y1}" r="8"/>',
    ]


if __name__ == "__main__":
    houses = Houses("train", None, Houses.Settings(houses=1, episodes=3, seed=7))
    task = houses.tasks[0]
    file = Path("plan.svg")
    if sys.argv[1:]:
        file = Path(sys.argv[1])
    file.write_text(
        plan_svg(houses.house(task.episode.scene), task.reference.path), "utf-8"
    )
    print(f"{file}: {task.episode.instruction}")
