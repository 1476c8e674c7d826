"""Levels of BabyAI in words: what an actor sees, and what came of its last action.

Templates only; the order of the sentences is the same at every step.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer
from wayword.worlds.babyai.level import BabyAIObservation

FACING = {0.0: "north", 90.0: "east", 180.0: "south", 270.0: "west"}

SENTENCES: dict[str, str] = {
    "ok.move_ahead": "You moved one step ahead.",
    "ok.turn_left": "You turned left.",
    "ok.turn_right": "You turned right.",
    "ok.pick_up": "You picked up {object}.",
    "ok.drop": "You put {object} down before you.",
    "ok.toggle": "You {opens} {object}.",
    "ok.goto": "You went up to {object}.",
    "ok.go_grab": "You went up to {object} and picked it up.",
    "ok.go_open": "You went up to {object} and opened it.",
    "ok.go_put": "You put {object} beside {place}.",
    "ok.go_explore": "You walked on to where you had not looked. New: {seen}.",
    "ok.stop": "You stopped.",
    "blocked": "The way is blocked by {by}.",
    "nothing_there": "There is nothing right ahead of you.",
    "not_pickupable": "{object} cannot be picked up.",
    "not_openable": "{object} cannot be opened.",
    "hands_full": "Your hands are full: you hold {holding}.",
    "hands_empty": "Your hands are empty.",
    "taken": "The square ahead is taken by {by}.",
    "locked": "{object} is locked, and you do not hold a {key}.",
    "already_open": "{object} is open already.",
    "already_held": "You hold {object} already.",
    "no_such_object": "You know of no {object}.",
    "no_path": "You know of no free way to {place}.",
    "nothing_unseen": "There is nothing left to explore on foot; a shut door may hide more.",
}
"""Status, or ``status.verb`` where a verb has its own, -> sentence."""


def describe(seen: BabyAIObservation) -> str:
    """An observation in words: facing and holding, walls, things; a line each."""
    return f"{own(seen)}\n{around(seen)}"


def own(seen: BabyAIObservation) -> str:
    """Which way the actor faces, and what it holds."""
    held = seen.holding[0].name if seen.holding else "nothing"
    return f"You face {FACING[seen.heading]}.\nYou hold {held}."


def around(seen: BabyAIObservation) -> str:
    """Walls and things in view."""
    told = []
    for each in seen.things:
        state = f"{each.state}, " if each.state else ""
        told.append(f"{each.name} ({state}{place(each.ahead, each.right)})")
    things = f"You see: {'; '.join(told)}." if told else "You see no things."
    return f"{_walls(seen.walls)}\n{things}"


def feedback(told: Feedback) -> str:
    """What came of an action, in a sentence. A status without one reads as itself."""
    details = told.details
    template = SENTENCES.get(f"{told.status}.{details.get('action', '')}")
    said = template or SENTENCES.get(told.status) or f"Result: {told.status}."
    if "{" in said:
        words: dict[str, Any] = dict(details)
        if "opens" in details:
            words["opens"] = "opened" if details["opens"] else "closed"
        if "seen" in details:
            words["seen"] = ", ".join(details["seen"]) or "nothing"
        said = said.format_map(words)
    if "succeeded" in details:
        said += " " + ("The task is done." if details["succeeded"] else "The task is over.")
    return said


@lru_cache(maxsize=256)
def place(ahead: int, right: int) -> str:
    """Where a square is; ``right ahead`` for the next one.

    >>> place(2, -1)
    '2 steps ahead and 1 to the left'
    """
    side = f"to the {'right' if right > 0 else 'left'}"
    if not right:
        return "right ahead" if ahead == 1 else f"{ahead} steps ahead"
    if not ahead:
        return f"{_steps(abs(right))} {side}"
    return f"{_steps(ahead)} ahead and {abs(right)} {side}"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


@lru_cache(maxsize=1024)
def _walls(walls: tuple[int | None, int | None, int | None]) -> str:
    ways = ("straight ahead", "to the left", "to the right")
    told = [f"{_steps(n)} {way}" for n, way in zip(walls, ways, strict=True) if n is not None]
    none = [way for n, way in zip(walls, ways, strict=True) if n is None]
    parts = [f"Walls: {', '.join(told)}."] if told else []
    parts += [f"No wall in view {' or '.join(none)}."] if none else []
    return " ".join(parts)


def _own(seen: BabyAIObservation) -> tuple[SelfState, str]:
    return SelfState("", seen.heading, tuple(held.name for held in seen.holding)), own(seen)


verbalizer = Verbalizer("babyai", _own, lambda seen, _: around(seen), feedback)
