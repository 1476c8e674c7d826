"""The programme of a house: which rooms it has, how large they are, which belong side by side."""

from __future__ import annotations

import random
from dataclasses import dataclass

HALLWAY = "hallway"


@dataclass(frozen=True, slots=True)
class RoomType:
    """Ranges of width (along the hallway) and depth in metres; ``wide``: with wide openings."""

    width: tuple[float, float]
    depth: tuple[float, float]
    wide: bool = False


ROOM_TYPES: dict[str, RoomType] = {
    "garage": RoomType((4.0, 5.2), (4.6, 5.4)),
    "laundry room": RoomType((2.4, 3.0), (2.6, 3.6)),
    "pantry": RoomType((2.2, 2.6), (2.2, 2.8)),
    "kitchen": RoomType((3.8, 4.8), (3.6, 4.6)),
    "dining room": RoomType((3.6, 4.6), (3.6, 4.6), wide=True),
    "living room": RoomType((4.8, 6.2), (4.4, 5.4), wide=True),
    "library": RoomType((3.4, 4.2), (3.6, 4.4)),
    "music room": RoomType((3.4, 4.4), (3.6, 4.4)),
    "office": RoomType((3.0, 3.8), (3.2, 4.2)),
    "guest bedroom": RoomType((3.4, 4.2), (3.6, 4.4)),
    "bathroom": RoomType((2.5, 3.2), (2.8, 3.8)),
    "main bedroom": RoomType((4.0, 5.0), (3.8, 4.8)),
    "small bedroom": RoomType((3.0, 3.6), (3.2, 4.0)),
    "playroom": RoomType((3.4, 4.4), (3.6, 4.4)),
    "gym": RoomType((3.4, 4.2), (3.6, 4.4)),
    "shower room": RoomType((2.2, 2.8), (2.2, 2.8)),
}
"""Around the hallway in this order: the day rooms first, then the night rooms."""

BASE = ("kitchen", "living room", "main bedroom", "bathroom")
EXTRA_WEIGHTS = {
    "dining room": 9, "guest bedroom": 8, "office": 7, "shower room": 6, "laundry room": 6,
    "garage": 5, "small bedroom": 4, "library": 3, "playroom": 3, "music room": 3, "pantry": 3,
    "gym": 2,
}  # fmt: skip
BEHIND = {"shower room": "main bedroom", "pantry": "kitchen"}
"""Rooms that lie behind another and are reached through it alone."""

JOINED = {
    ("dining room", "kitchen"): 0.9,
    ("dining room", "living room"): 0.8,
    ("kitchen", "living room"): 0.7,
    ("library", "living room"): 0.6,
    ("living room", "music room"): 0.6,
    ("library", "office"): 0.5,
    ("kitchen", "laundry room"): 0.7,
    ("garage", "laundry room"): 0.8,
    ("bathroom", "main bedroom"): 0.4,
    ("playroom", "small bedroom"): 0.5,
}
"""Pairs (in alphabetical order) that get a door of their own where they touch, and how often."""

SKIPS_HALL = frozenset({"dining room", "library", "music room", "playroom"})
"""Rooms that may do without a door to the hallway when a neighbour leads into them."""

SMALLEST, LARGEST = 1 + len(BASE), 1 + len(BASE) + len(EXTRA_WEIGHTS)


def choose_rooms(rng: random.Random, count: int) -> list[str]:
    """``count`` - 1 different rooms besides the hallway, in the order of ``ROOM_TYPES``."""
    chosen, left = set(BASE), dict(EXTRA_WEIGHTS)
    while len(chosen) < count - 1:
        (name,) = rng.choices(list(left), weights=list(left.values()))
        del left[name]
        chosen.add(name)
    return [name for name in ROOM_TYPES if name in chosen]


def split_rows(
    rng: random.Random, names: list[str], widths: dict[str, float]
) -> tuple[list[str], list[str]]:
    """Two rows for the two sides of the hallway, near equal in width.

    The rooms go round the hallway as round a ring, so that neighbours in the programme stay
    neighbours in the house; the bathroom is kept on its bedroom's side.
    """
    options = []
    for turn in range(len(names)):
        ring = names[turn:] + names[:turn]
        for cut in range(1, len(ring)):
            one, other = ring[:cut], ring[cut:][::-1]
            uneven = abs(sum(widths[n] for n in one) - sum(widths[n] for n in other))
            apart = len({"bathroom", "main bedroom"} & set(one)) == 1
            options.append((uneven + 4.0 * apart, turn, cut))
    options.sort()
    _, turn, cut = rng.choice(options[:4])
    ring = names[turn:] + names[:turn]
    return ring[:cut], ring[cut:][::-1]
