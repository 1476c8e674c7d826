"""Household tasks: ALFRED's seven task types, in generated homes and in ALFRED's rooms."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.chores import KINDS, ask_for, draw_chore
from wayword.datasets.procedural.homes.objects import Arrangement
from wayword.datasets.sources import alfred
from wayword.worlds.household.goals import HouseholdReference


@dataclass(frozen=True)
class HouseholdSettings(homes.KindSettings):
    """``kind`` limits the tasks to one of ALFRED's types, for example ``look_at_obj_in_light``.

    ``instructions=steps`` appends the published step-by-step instructions to the goal; generated
    tasks have none. Published splits accept only ``kind``, ``instructions`` and ``actions``.
    """

    all_kinds = KINDS
    unused_verbs = ()
    paper = (*homes.HANDLING, "stop")

    instructions: alfred.Instructions = "goal"


class Household(homes.SourcedTasks):
    """Household tasks of ALFRED's seven types.

        >>> household = Household(settings=Household.Settings(homes=1, episodes=7))
        >>> [task.reference.kind for task in household.tasks][:2]
        ['pick_and_place_simple', 'look_at_obj_in_light']

    Splits ``generated_test`` and ``generated_train``: a furnished home with objects in their usual
    places, a free start position with one of twelve headings, and a request in words. Episodes
    cycle through the types.

    Splits ``train``, ``valid_seen``, ``valid_unseen``: ALFRED's trajectories (Shridhar et al.
    2020), one episode per annotation, in iTHOR's rooms as described by its metadata; see
    ``sources/alfred.py``. ``omissions`` counts the excluded ones by reason.

    Success depends only on the final state.
    """

    name = "household"
    Settings = HouseholdSettings
    splits = (*homes.GENERATED, *alfred.SPLITS)
    published_train = "train"
    redrawn = (
        "rooms are inferred from ALFRED's trajectories and a later iTHOR's metadata: in "
        f"{len(alfred.MOVED_ROOMS)} of 120 furniture is 1 to 4.4 m from its place in ALFRED"
    )
    max_steps = 500

    def source(self, split: str) -> homes.EpisodeSource:
        settings = self.settings
        if split in alfred.SPLITS:
            body, kind = settings.make_body(), settings.kind
            return alfred.Alfred(split, self.folder, body, kind, settings.instructions)
        if settings.instructions != "goal":
            raise UsageError("household: generated tasks have no steps; set instructions=goal")
        return homes.Generated(split, settings, _draw, settings.kinds)


def _draw(rng: Random, draft: Arrangement, arrangement: str) -> Task | None:
    """Draw a task of the type named in ``arrangement``."""
    chore, scene = draw_chore(rng, draft, arrangement.partition("/")[0]), draft.home.name
    if chore is None:
        return None
    name = homes.episode_id(scene, arrangement)
    start = homes.draw_start(rng, draft.home, arrangement)
    episode = Episode(name, ask_for(rng, chore), scene, start)
    return Task(episode, HouseholdReference(name, chore.kind, chore.goals))


dataset = Household
