"""ListingSearcher: goes to one of the things that its detector lists around it.

What searchers share that choose among names: a second detector for the scene, the note ``asked``,
a random direction where there is no choice, and the two-phase test, which is nothing but choices.

Source: LGX (Dorbala et al. 2024, sections III-B to III-D and V-A).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from wayword.agents.exploring.around import names_around
from wayword.agents.exploring.picking import Picker
from wayword.agents.exploring.searcher import Choice, Searcher
from wayword.agents.exploring.settings import SearchSettings
from wayword.core.action import STOP, Action, Menu
from wayword.core.agent import Toolkit
from wayword.core.angles import absolute
from wayword.core.decision import Decision, Rejection
from wayword.core.world import Observation
from wayword.perception.detecting import Detector
from wayword.perception.seeing_views import detector_called
from wayword.worlds.search.observation import View
from wayword.worlds.two_phase import TwoPhaseObservation


@dataclass(frozen=True)
class ListingSettings(SearchSettings):
    """As all searchers. ``scene`` names the detector that lists what is around: ``yolo``, another
    preset, or a network for real pictures (``detr:WEIGHTS``); ``scene_quality`` changes numbers of
    it (``--set scene_quality.recall=0.5``). Its errors are drawn apart from those of ``grounding``.
    """

    scene: str = "yolo"
    scene_quality: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lister()

    def lister(self) -> Detector:
        """The detector that lists what is around."""
        return detector_called(self.scene, self.detector_seed + 1, **self.scene_quality)


class ListingSearcher(Searcher):
    """Goes towards the listed thing that its ``picker`` names; a strategy sets ``picker``."""

    Settings: ClassVar[type[ListingSettings]] = ListingSettings
    families: ClassVar[frozenset[str]] = frozenset({"objectnav", "two_phase"})
    picker: Picker

    def __init__(self, settings: ListingSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self.lister = settings.lister()

    async def act(self, observation: Observation, menu: Menu) -> Decision | Rejection:
        if isinstance(observation, TwoPhaseObservation):
            return await self._among(observation)
        return await super().act(observation, menu)

    async def choose(self, views: Sequence[View]) -> Choice | None:
        """Towards the picked thing. The target's own name may be on the list, as in the paper."""
        around = {one.name: one for one in names_around(self.lister, views)}
        if not around:
            self.toolkit.note("nothing_listed", turn=self.turn)
            return self.anywhere("Nothing is listed.")
        picked = await self.decide(list(around))
        if isinstance(picked, Rejection):
            return self.anywhere("No answer that counts.", picked)
        return Choice(self.point_towards(around[picked].heading), f"Towards the {picked}.")

    async def decide(self, names: Sequence[str]) -> str | Rejection:
        """The picker's choice, noted: ``asked`` where a model was, else ``picked``."""
        picked = await self.picker.pick(self.target, names)
        valid = not isinstance(picked, Rejection)
        answer = picked.said[:200] if isinstance(picked, Rejection) else picked
        kind = "asked" if self.needs_model else "picked"
        self.toolkit.note(kind, valid=valid, answer=answer, listed=list(names))
        return picked

    def anywhere(self, thought: str, instead_of: Rejection | None = None) -> Choice:
        """A random direction, as the paper falls back to."""
        heading = absolute(self.toolkit.rng.uniform(0.0, 360.0))
        return Choice(self.point_towards(heading), f"{thought} Any direction.", instead_of)

    async def _among(self, seen: TwoPhaseObservation) -> Decision | Rejection:
        """One choice of the two-phase test; any thing listed where the answer is none."""
        if not seen.objects:
            return Decision(STOP)
        self.target = seen.target
        picked = await self.decide(seen.objects)
        if isinstance(picked, Rejection):
            chance = self.toolkit.rng.choice(seen.objects)
            return Decision(Action("go", (chance,)), "Any of them.", picked)
        return Decision(Action("go", (picked,)), f"Towards the {picked}.")
