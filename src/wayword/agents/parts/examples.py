"""Solved training episodes as turns of the conversation.

An example is replayed in its own world and shows what a replay can know: observations, actions,
and, where the recipe asks for a state, the true place, heading and holdings. Thoughts and plans
are not invented: no text of ours stands in an example as if a solver had thought it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from wayword.agents.parts.conversation import Turn
from wayword.agents.parts.reading import ARGUMENT, Recipe
from wayword.core.action import Action
from wayword.core.agent import Demonstration
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.core.geometry import absolute
from wayword.core.replay import replay
from wayword.core.world import Observation
from wayword.verbalize import generic

# What an agent says about itself, as values that can be compared with the truth.
#
# >>> stated({"place": "the kitchen", "facing": "north-east", "holding": "a mug_1"})
# {'place': 'the kitchen', 'heading': 45.0, 'holding': ['mug_1']}

PLACE, FACING, HOLDING = "place", "facing", "holding"
"""The parts of a section that are compared with the truth; a recipe may have all or some."""

_POINTS = {"north": 0.0, "east": 90.0, "south": 180.0, "west": 270.0}
_BETWEEN = {"northeast": 45.0, "southeast": 135.0, "southwest": 225.0, "northwest": 315.0}
_LETTERS = {"n": 0.0, "ne": 45.0, "e": 90.0, "se": 135.0, "s": 180.0, "sw": 225.0, "w": 270.0}
_HEADINGS = {**_POINTS, **_BETWEEN, **_LETTERS, "nw": 315.0}
_DEGREES = re.compile(r"(?<![\w.])(-?\d{1,4}(?:\.\d{1,6})?)\s*(?:°|deg|$)", re.IGNORECASE)
_WORDS = re.compile(r"\b(north|south)?[\s\-]?(east|west)?\b", re.IGNORECASE)
_NOTHING = {"", "nothing", "none", "no", "empty", "empty handed", "no object", "no objects"}
_NOTES = re.compile(r"\([^()]*\)")
_ARTICLE = re.compile(r"^(?:a|an|the|i hold|holding)\s+", re.IGNORECASE)


def stated(parts: Mapping[str, str]) -> dict[str, Json]:
    """``place`` (words), ``heading`` (degrees in [0, 360)), ``holding`` (names); None for not said.

    A heading is degrees, or one of the eight main directions; ``holding`` nothing is an empty list.
    """
    place = parts.get(PLACE, "").strip()
    held = parts.get(HOLDING)
    return {
        "place": place or None,
        "heading": heading(parts.get(FACING, "")),
        "holding": None if held is None or not held.strip() else names(held),
    }


def heading(words: str) -> float | None:
    """``30°``, ``30``, ``facing north-east`` or ``NE`` in degrees, None where none is said."""
    degrees = _DEGREES.search(words.strip())
    if degrees:
        return absolute(float(degrees.group(1)))
    short = words.strip(" .").lower()
    if short in _HEADINGS:
        return _HEADINGS[short]
    for match in _WORDS.finditer(words):
        point = "".join(group.lower() for group in match.groups() if group)
        if point:
            return _HEADINGS[point]
    return None


def names(words: str) -> list[str]:
    """``a mug_1 (dirty) and the knife_1`` -> ``["mug_1", "knife_1"]``."""
    pieces = re.split(r"[,;]|\band\b", _NOTES.sub(" ", words))
    found = [_ARTICLE.sub("", piece.strip(" .'\"`\t")).strip().lower() for piece in pieces]
    return [name for name in found if name.replace("-", " ") not in _NOTHING]


Tell = Callable[[Observation, str], str]
"""An observation, and what came of the action before it, as a user message."""


def turns(
    demonstration: Demonstration, recipe: Recipe, tell: Tell, opening: str, constrained: bool
) -> list[Turn]:
    """One example. ``opening`` is put before its first observation."""
    found: list[Turn] = []
    feedback = ""
    actions = demonstration.actions
    played = replay(demonstration.world(), demonstration.episode, actions)
    for turn, action in zip(played, actions, strict=True):
        if turn.action is None:
            raise UsageError(
                f"the example {demonstration.episode.id} takes {action}, which actors here cannot; "
                "set dataset.actions=all or shots=0"
            )
        seen = turn.observation
        told = tell(seen, feedback)
        told = f"{opening}\n\n{told}" if not found else told
        spoken = turn.space.open_verbs if constrained else None
        found.append((told, answer(action, seen, recipe, spoken)))
        feedback = generic.feedback(turn.take(), generic.verbalizer(seen))
    return found


def fitting(shown: Sequence[Sequence[Turn]], characters: float) -> list[Sequence[Turn]]:
    """The examples that together have at most ``characters``: whole ones, the last ones kept."""
    kept: list[Sequence[Turn]] = []
    for example in reversed(shown):
        characters -= sum(len(told) + len(said) for told, said in example)
        if characters < 0:
            break
        kept.insert(0, example)
    return kept


def answer(action: Action, seen: Observation, recipe: Recipe, spoken: Sequence[str] | None) -> str:
    """The answer that takes this action, with the sections whose truth is known.

    ``spoken`` are the verbs that take free text, for a constrained answer; None for a free one.
    """
    known = true_parts(seen)
    sections = {
        section.key: {name: known[name] for name, _ in section.parts if name in known}
        for section in recipe.sections
        if section.parts
    }
    if spoken is not None:
        return json.dumps({**sections, **_fields(action, spoken)}, ensure_ascii=False)
    lines = []
    for section in recipe.sections:
        if section.parts:
            stated = [f"  {name}: {words}" for name, words in sections[section.key].items()]
            lines += [f"{section.label}:", *stated]
    return "\n".join([*lines, f"{recipe.action.label}: {action}"])


def true_parts(seen: Observation) -> dict[str, str]:
    """Place, facing and holding as they are."""
    own, _ = generic.verbalizer(seen).own(seen)
    parts = {PLACE: own.place} if own.place else {}
    if own.heading is not None:
        parts[FACING] = generic.compass(round(own.heading, 2))
    if own.holding is not None:
        parts[HOLDING] = ", ".join(own.holding) or "nothing"
    return parts


def unknown(recipe: Recipe) -> list[str]:
    """The sections, and parts of such, whose truth a replay cannot know: ``thought``, ``plan``,
    ``state.seen``."""
    told = (PLACE, FACING, HOLDING)
    return [
        f"{section.key}.{name}" if name else section.key
        for section in recipe.sections
        for name, _ in (section.parts or (("", ""),))
        if name not in told
    ]


def _fields(action: Action, spoken: Sequence[str]) -> dict[str, str]:
    said = action.name in spoken and bool(action.arguments)
    fields = {"action": action.name if said else str(action)}
    if spoken:
        fields[ARGUMENT] = action.arguments[0] if said else ""
    return fields
