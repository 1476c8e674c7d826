"""Solved training episodes as turns of the conversation.

An example is replayed in its own world and shows what a replay can know: observations, actions,
and, where the recipe asks for a state, the true place, heading and holdings. Thoughts and plans
are not invented: no text of ours stands in an example as if a solver had thought it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from wayword.agents.strategies.conversation import Turn
from wayword.agents.strategies.reading import ARGUMENT
from wayword.agents.strategies.recipe import Recipe
from wayword.agents.strategies.stated import FACING, HOLDING, PLACE
from wayword.core.action import Action
from wayword.core.agent import Demonstration
from wayword.core.world import Observation
from wayword.verbalize import anything

Tell = Callable[[Observation, str], str]
"""An observation, and what came of the action before it, as a user message."""


def turns(
    demonstration: Demonstration, recipe: Recipe, tell: Tell, opening: str, constrained: bool
) -> list[Turn]:
    """One example. ``opening`` is put before its first observation."""
    world = demonstration.world()
    world.reset(demonstration.episode)
    actor = world.actors[0]
    found: list[Turn] = []
    feedback = ""
    for action in demonstration.actions:
        seen = world.observe(actor)
        told = tell(seen, feedback)
        told = f"{opening}\n\n{told}" if not found else told
        spoken = world.menu(actor).open_verbs if constrained else None
        found.append((told, answer(action, seen, recipe, spoken)))
        feedback = anything.feedback(world.step(actor, action), anything.voice(seen))
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
    own, _ = anything.voice(seen).own(seen)
    parts = {PLACE: own.place} if own.place else {}
    if own.heading is not None:
        parts[FACING] = anything.compass(round(own.heading, 2))
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
