"""Instruction grounding in generated homes: one short instruction, in a house of many objects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from random import Random

from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.visible import with_article
from wayword.datasets.procedural.homes import chores
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement
from wayword.datasets.procedural.tables import Table
from wayword.worlds.household import goals

# BabyAI's instruction types (Chevalier-Boisvert et al. 2019, section 3.2), transferred to homes,
# where objects are distinguished by type instead of color.

KINDS = ("go_to", "pick_up", "open", "put_on", "put_next_to")
GO_TO, PICK_UP, OPEN, PUT_ON, PUT_NEXT_TO = KINDS
SENTENCES: Mapping[str, tuple[str, ...]] = Table("sentences", "grounding")
"""Instruction type -> its wordings."""
BUILT_IN_TYPES = frozenset(
    ("faucet", "stove_knob", "stove_burner", "sink_basin", "drawer")
)
"""Parts of furniture; never a goal on their own."""
# Minimum distance from the start to every object of the named type, metres.
FAR_M = 3.5


def draw_goal(
    rng: Random,
    draft: Arrangement,
    kind: str,
) -> tuple[goals.GoalCondition, str, str] | None:
    """Draw a goal of that kind: condition, target type and second type ("" if unused).

    None if the arrangement has no suitable objects.
    """
    if kind == GO_TO:
        target = rng.choice(
            sorted({o.type for o in draft.objects.values()} - BUILT_IN_TYPES)
        )
        return goals.Near(draft.ids(target)), target, ""
    if kind == PICK_UP:
        target = rng.choice([t for t in OBJECTS if draft.of(t)])
        return goals.Held(draft.ids(target)), target, ""
    if kind == OPEN:
        openable = {
            o.type for o in draft.objects.values() if "openable" in o.affordances
        }
        closed_types = sorted(
            t for t in openable if not any(o.open for o in draft.of(t))
        )
        if not closed_types:
            return None
        target = rng.choice(closed_types)
        return goals.Has(draft.ids(target), (("open", True),)), target, ""
    if kind == PUT_ON:
        chore = chores.draw_chore(rng, draft, chores.PICK_AND_PLACE)
        if chore is None or chore.sliced:
            return None
        objects = draft.ids(chore.target)
        places = draft.ids(chore.receptacle)
        return goals.Inside(objects, places), chore.target, chore.receptacle
    pairs = [*permutations((t for t in OBJECTS if draft.of(t)), 2)]
    rng.shuffle(pairs)
    # A target fits wherever another is, and none is there yet
    for (
        target,
        other,
    ) in pairs:
        taken = {o.parent for o in draft.of(target)}
        suitable = OBJECTS[target].places
        holders = [draft.objects[o.parent] for o in draft.of(other)]
        types = {place.type for place in holders}
        is_free = all(o.id not in taken and draft.free_slots(o) >= 1 for o in holders)
        if is_free and types <= {*suitable} - chores.NEVER_GOALS:
            return goals.NextTo(draft.ids(target), draft.ids(other)), target, other
    return None


def _noun_phrase(draft: Arrangement, kind: str) -> str:
    """Return ``the fridge`` if the home has exactly one, else ``a mug``."""
    name = chores.spoken_name(kind)
    return f"the {name}" if len(draft.of(kind)) == 1 else with_article(name)


@dataclass(frozen=True)
class GroundingHomesSettings(homes.KindSettings):
    """``kind`` limits the instructions to one type: go_to, pick_up, open, put_on, put_next_to."""

    all_kinds = KINDS


class GroundingHomes(homes.SourcedTasks):
    """BabyAI's instruction types in generated homes: "put a mug next to the laptop".

        >>> homes = GroundingHomes(settings=GroundingHomes.Settings(homes=1, episodes=5))
        >>> [task.reference.kind for task in homes.tasks]
        ['go_to', 'pick_up', 'open', 'put_on', 'put_next_to']

    Success depends on the final state: "go to" requires the object in sight and within reach;
    "next to" requires both objects in or on the same piece of furniture. Episodes cycle through
    the kinds, and no instruction is satisfied at the start.
    """

    name = "grounding_homes"
    Settings = GroundingHomesSettings
    max_steps = 500

    def source(self, split: str) -> homes.EpisodeSource:
        """Return the generator of homes whose instructions name one goal."""
        return homes.Generated(
            split,
            self.settings,
            _draw,
            self.settings.kinds,
            "{scene}/grounding",
        )


def _draw(rng: Random, draft: Arrangement, code: str) -> Task | None:
    """Draw a task of the kind named in ``code``, starting far from the objects it mentions."""
    kind = code.partition("/")[0]
    scene = draft.home.name
    drawn_goal = draw_goal(rng, draft, kind)
    if drawn_goal is None:
        return None
    goal, target, other = drawn_goal
    text = rng.choice(SENTENCES[kind]).format(
        thing=_noun_phrase(draft, target),
        other=_noun_phrase(draft, other) if other else "",
        on=chores.preposition(other),
    )
    targets = [(item.x, item.y) for item in draft.of(target)]
    starts = [
        p for p in draft.home.starts if all(math.dist(p, at) > FAR_M for at in targets)
    ]
    if not starts:
        return None
    name = homes.episode_id(scene, code)
    start = homes.draw_start(rng, draft.home, code, starts)
    return Task(
        Episode(name, text, scene, start),
        goals.HouseholdReference(name, kind, (goal,)),
    )


dataset = GroundingHomes
