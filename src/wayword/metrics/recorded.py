"""Fields of recorded observations and poses of any world: a run folder may hold anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from wayword.core.episode import JsonObject
from wayword.core.visible import spaced
from wayword.verbalize.generic import COMPASS

SPOKEN = ("chat", "ask")
"""Actions whose argument is a message."""
WAITING = frozenset({"turn_left", "turn_right", "wait"})
"""Actions that an actor repeats while it waits for another one: not a loop."""


def as_mapping(value: Any) -> JsonObject:
    """Return an observation's fields; one read from a run folder is already a mapping."""
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return {"observation": value}


def listed(observed: Any, name: str) -> list[JsonObject]:
    """Return the items of a list in an observation; empty if it has no such list."""
    items = as_mapping(observed).get(name)
    if isinstance(items, list | tuple):
        return [as_mapping(each) for each in items]
    return []


def finite(value: Any) -> float | None:
    """Return a finite number, or None, also for a bool, which is an ``int`` to Python."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e9 else None


def place_of(pose: Any) -> str:
    """Return the name of the place in a pose or an observation, or empty."""
    held = as_mapping(pose)
    return str(held.get("viewpoint") or held.get("panorama") or "")


def room_of(pose: Any) -> str:
    """Return the room in a pose in words, or empty."""
    return spaced(as_mapping(pose).get("room") or "")


def point_of(pose: Any) -> tuple[float, float] | None:
    """Return the coordinates in a pose, or None."""
    held = as_mapping(pose)
    x = finite(held.get("x"))
    y = finite(held.get("y"))
    return None if x is None or y is None else (x, y)


def objects_in(held: JsonObject) -> list[str]:
    """Return the names of listed objects, each once; empty in worlds without objects."""
    names = []
    for each in listed(held, "objects") or listed(held, "shown"):
        name = each.get("name") or each.get("kind") or each.get("type")
        words = [str(part) for part in (each.get("color"), name) if part]
        if words:
            names.append(" ".join(words))
    return list(dict.fromkeys(names))


def wind(heading: float) -> str:
    """``north-east`` for 45 degrees."""
    return COMPASS[round(heading / 45) % 8] if abs(heading) < 1e6 else ""
