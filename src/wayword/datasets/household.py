"""Household tasks: ALFRED's seven task types, in generated homes and in ALFRED's rooms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from wayword.core.dataset import FIRST_WORDING, Clusters, Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.chores import (
    KINDS,
    ask_for,
    draw_chore,
    spoken_name,
)
from wayword.datasets.procedural.homes.objects import Arrangement
from wayword.datasets.procedural.tables import Wording
from wayword.datasets.sources import alfred
from wayword.settings import FileName
from wayword.worlds.household.goals import HouseholdReference
from wayword.worlds.household.picture import HouseholdPainter, PublishedPainter

_PAINTER = HouseholdPainter()
"""One for all: it keeps the meshes of the latest homes."""
_PUBLISHED_PAINTER = PublishedPainter()


@dataclass(frozen=True)
class HouseholdSettings(homes.KindSettings):
    """``kind`` limits the tasks to one of ALFRED's types, for example ``look_at_obj_in_light``.

    ``instructions=steps`` adds the published steps to the goal, ``rooms`` the rooms of its objects
    in generated homes. Published splits accept only ``kind``, ``instructions``, ``actions`` and
    ``trajectories``: a file of your own trajectories, which replaces the split's, with a
    ``traj_data.json`` of ALFRED per line. ``wording``: version of the generated requests; 1 is that
    of bench 2026.
    """

    all_kinds = KINDS
    unused_verbs = ()
    paper = (*homes.HANDLING, "stop")

    instructions: alfred.Instructions = "goal"
    trajectories: FileName = ""
    wording: Wording = 2


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
    """

    name = "household"
    clusters = Clusters("trajectory", r"(trial_.+)_\d+")
    Settings = HouseholdSettings
    splits = (*homes.GENERATED, *alfred.SPLITS)
    published_train = "train"
    redrawn = (
        "rooms are inferred from ALFRED's trajectories and a later iTHOR's metadata: in "
        f"{len(alfred.MOVED_ROOMS)} of 120 furniture is 1 to 4.4 m from its place in ALFRED"
    )
    max_steps = 500

    @property
    def replaced_by(self) -> str:
        """Return the name of a user's file that replaces the published trajectories;
        empty if none."""
        return Path(self.settings.trajectories).name

    @property
    def caveats(self) -> tuple[str, ...]:
        """Notes on inferred rooms, and on a user's own file."""
        if not self.replaced_by:
            return super().caveats
        count = len(self.tasks)
        own = f"the {count:,} episodes of {self.replaced_by}, not those of {self.split}"
        return (*super().caveats, own)

    @property
    def goals_from(self) -> str:
        """Return where the goal conditions of published tasks come from: annotators wrote their
        instructions after watching an expert, and may name another object."""
        if self.split not in alfred.SPLITS:
            return ""
        return self.replaced_by or "ALFRED"

    def painter(self) -> HouseholdPainter:
        """Return the painter of generated homes, or of published rooms."""
        if self.split in homes.GENERATED:
            return _PAINTER
        return _PUBLISHED_PAINTER

    def source(self, split: str) -> homes.EpisodeSource:
        """Return the episodes of a split: ALFRED's trajectories, or generated homes.
        Raises ``UsageError`` for a style of instructions that the split lacks."""
        settings = self.settings
        style = self.settings.instructions
        is_published = split in alfred.SPLITS
        if style == ("rooms" if is_published else "steps"):
            raise UsageError(f"household:{split} has no {style}; set instructions=goal")
        if is_published:
            return alfred.Alfred(
                split,
                self.folder,
                settings.make_body(),
                settings.kind,
                style,
                settings.trajectories,
            )
        if settings.trajectories:
            raise UsageError(
                "dataset.trajectories replaces a published split; play household:valid_seen"
            )
        words = (style, settings.wording)
        return homes.Generated(
            split, settings, lambda *at: _draw(*words, *at), settings.kinds
        )

    @property
    def wording(self) -> int:
        """Version of the sentences: the first one for published instructions."""
        if self.split in alfred.SPLITS:
            return FIRST_WORDING
        return super().wording


def _draw(
    style: str,
    wording: Wording,
    rng: Random,
    draft: Arrangement,
    arrangement: str,
) -> Task | None:
    """Draw a task of the type named in ``arrangement``."""
    chore = draw_chore(rng, draft, arrangement.partition("/")[0])
    scene = draft.home.name
    if chore is None:
        return None
    name = homes.episode_id(scene, arrangement)
    start = homes.draw_start(rng, draft.home, arrangement)
    text = ask_for(rng, chore, wording)
    for kind in filter(
        None, (chore.target, chore.movable, chore.receptacle, chore.lamp)
    ):
        rooms = " and the ".join(sorted({draft.room(each) for each in draft.of(kind)}))
        if style == "rooms":
            text += f" Look for the {spoken_name(kind)} in the {rooms}."
    episode = Episode(name, text, scene, start)
    return Task(episode, HouseholdReference(name, chore.kind, chore.goals))


dataset = Household
