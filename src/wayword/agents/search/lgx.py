"""Searchers that go to one of the objects listed around them: LGX asks a language model which one,
``prior`` compares names.

They share a second detector for the scene, the note ``asked``, a random direction where there is no
choice, and the two-phase test, which is nothing but choices.

Source: LGX (Dorbala et al. 2024, sections III-B to III-D and V-A).
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from wayword.agents.answers import Decoding, ask, read_pick
from wayword.agents.prompting import Prompts
from wayword.agents.search.searcher import NextPoint, Searcher, SearchSettings
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.errors import UsageError
from wayword.core.geometry import absolute, relative
from wayword.core.model import user
from wayword.core.perceiver import Detection, Perceiver
from wayword.core.trajectory import ASKED
from wayword.perception.detectors import caption, detector_called
from wayword.perception.similarity import similarity
from wayword.worlds.objectnav.observation import View
from wayword.worlds.two_phase.world import TwoPhaseObservation

QUARTERS = {"Front": 0.0, "Right": 90.0, "Behind": 180.0, "Left": -90.0}
"""Direction -> its middle, relative to where a turn began."""


@dataclass(frozen=True, slots=True)
class Around:
    """A name seen in a turn: ``heading`` (absolute degrees), ``distance`` (metres, None where it is
    not known) and ``score`` of its best detection; of several things of the name, the nearest."""

    name: str
    heading: float
    distance: float | None
    score: float


def names_around(detector: Perceiver, views: Sequence[View]) -> list[Around]:
    """Every name detected in the views, in order of first sight, each once."""
    found: dict[str, Around] = {}
    nearest: dict[str, float] = {}
    for view in views:
        for seen in detector.detect(view):
            heading = absolute(view.heading + seen.bearing)
            away = math.inf if seen.distance is None else seen.distance
            if seen.name not in found or away < nearest[seen.name]:
                found[seen.name] = Around(seen.name, heading, seen.distance, seen.score)
                nearest[seen.name] = away
    return list(found.values())


def quarters(detector: Perceiver, views: Sequence[View]) -> dict[str, str]:
    """A sentence for each of four directions, from the first view's heading on."""
    found: dict[str, list[Detection]] = {name: [] for name in QUARTERS}
    for view in views:
        for seen in detector.detect(view):
            off = relative(absolute(view.heading + seen.bearing), views[0].heading)
            nearest = min(QUARTERS, key=lambda name: abs(relative(off, QUARTERS[name])))
            found[nearest].append(seen)
    return {name: caption(things) for name, things in found.items()}


def first_word_fits(text: str, names: Sequence[str]) -> bool:
    """Whether the answer's first word is part of a name: the rule of LGX's released code, by which
    "no" is an answer where a ``notebook`` is listed."""
    words = [re.sub(r"[^\w\s]", "", word) for word in text.split()[:1]]
    return any(word.lower() in name.lower() for word in words for name in names)


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

    def lister(self) -> Perceiver:
        return detector_called(self.scene, self.detector_seed + 1, **self.scene_quality)


class ListingSearcher(Searcher):
    """Goes towards the listed thing that ``pick`` names."""

    Settings: ClassVar[type[ListingSettings]] = ListingSettings
    families: ClassVar[frozenset[str]] = frozenset({"objectnav", "two_phase"})

    def __init__(self, settings: ListingSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self.lister = settings.lister()
        self.eyes = (self.detector, self.lister)
        self.said = ""
        """The latest answer as a model wrote it; empty where none was asked."""

    @abstractmethod
    async def pick(self, names: Sequence[str]) -> str | Rejection:
        """One of ``names``, of which there is at least one; or why there is no choice."""

    async def act(
        self, observation: View | TwoPhaseObservation, space: ActionSpace
    ) -> Decision | Rejection:
        if not isinstance(observation, TwoPhaseObservation):
            return await super().act(observation, space)
        if not observation.objects:
            return Decision(STOP)
        self.target = observation.target
        picked = await self.decide(observation.objects)
        if isinstance(picked, Rejection):  # anything that is listed
            chance = self.toolkit.rng.choice(observation.objects)
            return Decision(Action("go", (chance,)), "Any of them.", picked)
        return Decision(Action("go", (picked,)), f"Towards the {picked}.")

    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        """Towards the picked thing. The target's own name may be on the list, as in the paper."""
        around = {one.name: one for one in names_around(self.lister, views)}
        if not around:
            self.toolkit.note("nothing_listed", turn=self.turn)
            return self.anywhere("Nothing is listed.")
        picked = await self.decide(list(around))
        if isinstance(picked, Rejection):
            return self.anywhere("No answer that counts.", picked)
        return NextPoint(self.point_towards(around[picked].heading), f"Towards the {picked}.")

    async def decide(self, names: Sequence[str]) -> str | Rejection:
        """The choice, noted: ``asked`` where a model was, else ``picked``."""
        picked = await self.pick(names)
        valid = not isinstance(picked, Rejection)
        answer = picked.said[:200] if isinstance(picked, Rejection) else picked
        kind = ASKED if self.needs_model else "picked"
        told = {"first_word": first_word_fits(self.said, names)} if self.needs_model else {}
        self.toolkit.note(kind, valid=valid, answer=answer, listed=list(names), **told)
        return picked

    def anywhere(self, thought: str, instead_of: Rejection | None = None) -> NextPoint:
        heading = absolute(self.toolkit.rng.uniform(0.0, 360.0))
        return NextPoint(self.point_towards(heading), f"{thought} Any direction.", instead_of)


PromptName = Literal[
    "robot", "i", "third_person", "objects_first", "closest", "one_word_first", "captions"
]
"""The seven prompts of Table IV: whose view it is, in which order it is told, and what is listed.

``robot`` (a robot is controlled), ``i`` (the first person), ``third_person``; ``objects_first``,
``closest`` (which object is nearest to the target) and ``one_word_first`` are of the robot;
``captions`` tells four directions instead of listing objects.
"""


@dataclass(frozen=True)
class LGXSettings(ListingSettings):
    """``prompt`` is one of the seven; ``decoding`` ``constrained`` (the model can only name what is
    listed) or ``free`` (an answer that names nothing listed lowers PSR, and the direction is
    random). ``resolution=0`` is the paper's: 90 degrees with captions, else 30. ``max_tokens`` is
    the most that an answer may take. ``prompts``: a folder of texts to use instead of the shipped
    ones. Other defaults follow the paper: five turns, a threshold of 0.85, an exploratory distance
    of 5 m, and it stops where it sees the target; ``approach=true`` goes up to it (the stop rule is
    ``Searcher._stop_when_found`` in ``agents/search/searcher.py``).
    """

    prompt: PromptName = "robot"
    decoding: Decoding = "constrained"
    resolution: float = 0.0
    max_tokens: int = 24
    prompts: str = ""

    def __post_init__(self) -> None:
        if self.resolution == 0:
            object.__setattr__(self, "resolution", 90.0 if self.prompt == "captions" else 30.0)
        if self.max_tokens < 1:
            raise UsageError("lgx: max_tokens must be at least 1")
        super().__post_init__()


class LGX(ListingSearcher):
    """Language-guided exploration: rotate, list what is around, ask which way, go there.

        wayword run lgx --on apartments --model local:smollm2
        wayword run lgx --on robothor:train --model local:smollm2 --set prompt=captions

    After each full turn the model is asked once: which of the listed objects to go towards, or
    which of four directions that are described by captions.
    An answer that names nothing listed is kept as what a random direction stands in for. In the
    two-phase test the model is asked the same question about what that test lists.
    """

    Settings: ClassVar[type[LGXSettings]] = LGXSettings
    needs_model: ClassVar[bool] = True

    def __init__(self, settings: LGXSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._prompts = Prompts(__file__, settings.prompts)
        self.captions: Mapping[str, str] = {}
        """The sentence for each direction, for the prompt that tells directions."""

    async def pick(self, names: Sequence[str]) -> str | Rejection:
        settings = self.settings
        slots = {name.lower(): told for name, told in self.captions.items()}
        slots |= {"target": self.target, "objects": ", ".join(names)}
        question = user(self._prompts.fill(settings.prompt, **slots))
        model = self.toolkit.model()
        reply = await ask(model, [question], names, settings.decoding, settings.max_tokens)
        self.said = reply.text
        return read_pick(reply, names)

    async def act(
        self, observation: View | TwoPhaseObservation, space: ActionSpace
    ) -> Decision | Rejection:
        if self.settings.prompt == "captions" and not isinstance(observation, View):
            raise UsageError("lgx: prompt=captions tells directions, and there are none here")
        return await super().act(observation, space)

    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        if self.settings.prompt != "captions":
            return await super().choose(views)
        self.captions = quarters(self.lister, views)
        picked, front = await self.decide(list(QUARTERS)), views[0].heading
        refused = picked if isinstance(picked, Rejection) else None
        name = self.toolkit.rng.choice(list(QUARTERS)) if isinstance(picked, Rejection) else picked
        point = self.point_towards(absolute(front + QUARTERS[name]))
        thought = "No answer that counts. Any direction: " if refused else "To go: "
        return NextPoint(point, f"{thought}{name}.", refused)


class PriorAgent(ListingSearcher):
    """Searches as LGX does, and goes to the object whose name is most like the target's, by the
    cosine of sentence embeddings (all-MiniLM-L6-v2).

        wayword run prior --on apartments

    The baseline without a language model for what LGX asks one: that a remote control is where the
    television is, because the words are alike.
    It needs the extra ``[prior]`` and ``wayword models fetch minilm``. Where the target's own kind
    is listed, that is what it goes to.
    """

    async def pick(self, names: Sequence[str]) -> str:
        """The most alike name. Raises ``UsageError`` where the network is not installed."""
        return similarity().best(self.target, names)


agents = {"lgx": LGX, "prior": PriorAgent}
