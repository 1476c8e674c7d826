"""Levels of BabyAI in words, by templates: observations, and results of actions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from wayword.core.visible import count
from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer, ViewPart, sentences
from wayword.worlds.babyai.level import BabyAIObservation

FACING = {0.0: "north", 90.0: "east", 180.0: "south", 270.0: "west"}
"""Heading in degrees -> its name."""


def describe(view: BabyAIObservation) -> str:
    """Return an observation in words, one line each: facing, holding, walls, objects."""
    return f"{standing(view)}\n{around(view)}"


def standing(view: BabyAIObservation) -> str:
    """Return sentences with the actor's direction and the objects it holds."""
    held = "nothing"
    if view.holding:
        held = view.holding[0].name
    return f"You face {FACING[view.heading]}.\nYou hold {held}."


def around(view: BabyAIObservation) -> str:
    """Return sentences with the walls and objects in view."""
    objects = []
    for seen in view.objects:
        notes = place(seen.ahead, seen.right)
        if seen.state:
            notes = f"{seen.state}, {notes}"
        objects.append(f"{seen.name} ({notes})")
    text = "You see no objects."
    if objects:
        text = f"You see: {'; '.join(objects)}."
    return f"{_walls(view.walls)}\n{text}"


def _view_parts(view: BabyAIObservation, _: object) -> list[ViewPart]:
    """Return the objects in view, each in a part of the view by its side."""
    view_parts = []
    for seen in view.objects:
        direction = "ahead"
        if seen.right:
            direction = "right"
        if seen.right < 0:
            direction = "left"
        measure = place(seen.ahead, seen.right)
        view_parts.append(
            ViewPart(direction, f"{seen.name} ({measure}).", seen.name, measure)
        )
    return view_parts


def feedback(result: Feedback) -> str:
    """Return the result of an action as a sentence; an unknown status is quoted."""
    details = result.details
    templates = sentences("babyai")
    verb = str(details.get("action", ""))
    if verb == "go_explore" and "seen" not in details:
        verb = "go_explore_pictures"
    template = templates.get(f"{result.status}.{verb}")
    text = template or templates.get(result.status) or f"Result: {result.status}."
    # Most results have no slots.
    if "{" in text:
        slots: dict[str, Any] = dict(details)
        if "opens" in details:
            slots["opens"] = "opened" if details["opens"] else "closed"
        if "seen" in details:
            slots["seen"] = ", ".join(details["seen"]) or "nothing"
        text = text.format_map(slots)
    # Of the step that ends the episode.
    if "succeeded" in details:
        text += " The task is done." if details["succeeded"] else " The task is over."
    return text


@cache  # a square of the view of 7 x 7
def place(ahead: int, right: int) -> str:
    """Return the relative position of a cell in words; ``right ahead`` for the next one.

    >>> place(2, -1)
    '2 steps ahead and 1 to the left'
    """
    side = "to the right"
    if right < 0:
        side = "to the left"
    if not right and ahead == 1:
        return "right ahead"
    if not right:
        return f"{ahead} steps ahead"
    if not ahead:
        return f"{count(abs(right), 'step')} {side}"
    return f"{count(ahead, 'step')} ahead and {abs(right)} {side}"


@cache  # 112 texts: at most 6 steps ahead and 3 to each side, or none
def _walls(walls: tuple[int | None, int | None, int | None]) -> str:
    """Return sentences on the walls ahead, to the left and to the right: ``walls`` has the steps to
    each, None if it is not in view."""
    sides = ("straight ahead", "to the left", "to the right")
    texts = []
    unseen_sides = []
    for steps, side in zip(walls, sides, strict=True):
        if steps is None:
            unseen_sides.append(side)
        else:
            texts.append(f"{count(steps, 'step')} {side}")
    parts = []
    if texts:
        parts.append(f"Walls: {', '.join(texts)}.")
    if unseen_sides:
        parts.append(f"No wall in view {' or '.join(unseen_sides)}.")
    return " ".join(parts)


def _state(view: BabyAIObservation) -> tuple[SelfState, str]:
    """Return the actor's heading and held objects, with a sentence on them."""
    names = tuple(held.name for held in view.holding)
    return SelfState("", view.heading, names), standing(view)


def _without_sight(result: Feedback) -> Feedback:
    """Return a result without the objects that came into view."""
    details = {key: value for key, value in result.details.items() if key != "seen"}
    return replace(result, details=details)


verbalizer = Verbalizer(
    "babyai",
    _state,
    lambda view, _: around(view),
    feedback,
    without_sight=_without_sight,
    view_parts=_view_parts,
)
