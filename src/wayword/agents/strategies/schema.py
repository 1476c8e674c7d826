"""A recipe as a JSON schema, so that a constrained model can only write an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wayword.agents.strategies.reading import ARGUMENT
from wayword.agents.strategies.recipe import Recipe, Section
from wayword.core.action import Menu
from wayword.core.episode import Json

MOST_LISTED = 200
"""A menu up to this long is an enumeration; above it the action is free text, and read as such."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Characters that a section, a part of one, and what is said to others may have."""

    section: int = 240
    part: int = 100
    argument: int = 200


def answer_schema(recipe: Recipe, menu: Menu, lengths: Lengths) -> Mapping[str, Json]:
    """The schema that :func:`.reading.read_json` reads: the recipe's sections, then ``action``.

    ``argument`` is there where some action takes free text; the other actions leave it empty.
    Stopping is an action like the rest: asked for it as a yes or no of its own, the embedded model
    says yes at the first step (8 of 8 first prompts, against 0 of 6 this way).
    """
    fields: dict[str, Json] = {s.key: _section(s, lengths) for s in recipe.sections}
    fields["action"] = _action(menu)
    if menu.open_verbs:
        fields[ARGUMENT] = {"type": "string", "maxLength": lengths.argument}
    return _object(fields)


def _section(section: Section, lengths: Lengths) -> Json:
    if not section.parts:
        return {"type": "string", "maxLength": lengths.section}
    return _object({n: {"type": "string", "maxLength": lengths.part} for n, _ in section.parts})


def _action(menu: Menu) -> Json:
    """An enumeration, or free text for long menus."""
    if len(menu) > MOST_LISTED:
        return {"type": "string", "maxLength": 120}
    return {
        "type": "string",
        "enum": list(dict.fromkeys([*map(str, menu.actions), *menu.open_verbs])),
    }


def _object(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }
