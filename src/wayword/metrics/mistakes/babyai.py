"""How instructions on a grid fail: the walk ended some squares from the object that was meant."""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush
from typing import Any

from wayword.core.visible import count
from wayword.metrics.mistakes.behavior import failures, walk_of
from wayword.metrics.mistakes.facts import EpisodeFacts, Explanation
from wayword.metrics.mistakes.wording import Fact
from wayword.metrics.recorded import as_mapping, listed, point_of
from wayword.worlds.babyai.level import door_state

Square = tuple[int, int]
_DETOUR = 2  # times the distance across walls, from which a way around them is told


def explain(evidence: EpisodeFacts) -> Explanation | None:
    """Describe the end of a walk by its distance from the instruction's object; None if it means
    objects of several kinds, or if the level is not known."""
    trajectory = evidence.trajectory
    level = getattr(evidence.world, "level", None)
    end = point_of(trajectory.steps[-1].pose)
    if level is None or end is None or len(trajectory.start) != 1:
        return None
    squares = level.target_squares()
    named = _objects(as_mapping(evidence.world.state()))
    meant = {named[square] for square in squares if square in named} or {"target"}
    if not squares or len(meant) > 1:
        return None  # a task of several parts
    (name,) = meant
    found = _way(level, (int(end[0]), int(end[1])), squares)
    if found is None:
        return None
    away, doors = found
    key = ""
    if doors and getattr(level.carried, "color", "") not in doors:
        key = "its key" if len(doors) == 1 else "their keys"
    where = f"{count(away, 'square')} from"
    # Behind a wall an object may be near on the map, and far on foot.
    straight = min(abs(x - int(end[0])) + abs(y - int(end[1])) for x, y in squares)
    foot = None
    if away >= _DETOUR * straight:
        where = f"{count(straight, 'square')} from"
        foot = away
    undone = ""
    if away == 1:  # near enough for what was to be done there
        where = "next to"
        undone = "not done"
    last = listed(trajectory.steps[-1].observation, "objects")
    seen = [f"{each.get('color')} {each.get('kind')}" for each in last]
    # Of several that look the same, any may be the one in view
    view = ""
    if name in seen and list(named.values()).count(name) == 1:
        view = "in view"
    (actor,) = trajectory.start
    places = {point_of(pose) for pose in trajectory.visited(actor)}
    walk: list[Fact] = []
    least = evidence.last / 4
    if len(places) == 1:  # a walk that led nowhere is itself the explanation
        walk += walk_of(trajectory, actor)
        least = 1
    failed = failures(trajectory, least)
    return Explanation(
        Fact(
            "short_of", end=evidence.end(), where=where, target=name, foot=foot, undone=undone,
            doors=doors, key=key, view=view, walk=walk, failures=failed,
        )
    )  # fmt: skip


def _way(
    level: Any, start: Square, ends: Collection[Square]
) -> tuple[int, list[str]] | None:
    """Return the length of the shortest way around walls, and the colours of locked doors on it;
    None if no way leads there. It has as few locked doors, then as few objects in the way as
    possible."""
    queue: list[tuple[int, int, int, Square, list[str]]] = [(0, 0, 0, start, [])]
    done: set[Square] = set()
    while queue:
        _, objects, length, square, doors = heappop(queue)
        if square in ends:
            return length, doors
        if square in done:
            continue
        done.add(square)
        x, y = square
        for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            item = level.at(*near)
            kind = getattr(item, "type", "")
            if kind == "wall":
                continue
            state = door_state(item) if kind == "door" else ""
            locked = [*doors, item.color] if state == "locked" else doors
            blocks = objects + (kind not in ("", "door"))
            heappush(queue, (len(locked), blocks, length + 1, near, locked))
    return None


def _objects(state: Any) -> dict[Square, str]:
    """Return the objects of a state by their squares, in words: ``red ball``."""
    named = {}
    for each in listed(state, "things"):
        if isinstance(each.get("x"), int):
            color = each.get("color") or each.get("colour")
            square = int(each["x"]), int(each.get("y", 0))
            named[square] = f"{color} {each.get('kind')}"
    return named
