"""Searchers that go towards one of the detected objects: LGX asks a language model which one,
``prior`` compares names.

Both use a second detector that lists the scene's objects, go in a random direction if no choice is
made, and play the two-phase test, which consists of such choices.

Source: LGX (Dorbala et al. 2024, sections III-B to III-D and V-A).
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from wayword.agents.answers import Decoding, ask, read_pick
from wayword.agents.pages import Prompts
from wayword.agents.prompting import Temperature, pictures_around
from wayword.agents.search.searcher import NextPoint, Searcher, SearchSettings
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.errors import UsageError
from wayword.core.geometry import absolute, relative
from wayword.core.model import Image, Message
from wayword.core.perceiver import Detection, Perceiver
from wayword.core.trajectory import ASKED
from wayword.perception.detectors import caption, detector_called
from wayword.perception.similarity import similarity
from wayword.worlds.objectnav.observation import View
from wayword.worlds.two_phase.world import TwoPhaseObservation

QUARTERS = {"Front": 0.0, "Right": 90.0, "Behind": 180.0, "Left": -90.0}
"""Direction -> its center in degrees relative to the first view of a turn."""


def names_around(detector: Perceiver, views: Sequence[View]) -> dict[str, float]:
    """Return every name detected in the views, in order of first sight.

    Each with the heading (absolute degrees) of its nearest object.
    """
    nearest: dict[str, tuple[float, float]] = {}
    for view in views:
        for seen in detector.detect(view):
            distance = math.inf if seen.distance is None else seen.distance
            if seen.name not in nearest or distance < nearest[seen.name][0]:
                nearest[seen.name] = distance, absolute(view.heading + seen.bearing)
    return {name: heading for name, (_, heading) in nearest.items()}


def quarter_captions(detector: Perceiver, views: Sequence[View]) -> dict[str, str]:
    """Return a sentence for each of the four directions relative to the first view."""
    detections: dict[str, list[Detection]] = {name: [] for name in QUARTERS}
    for view in views:
        for detection in detector.detect(view):
            heading = absolute(view.heading + detection.bearing)
            angle = relative(heading, views[0].heading)
            gaps = {name: abs(relative(angle, at)) for name, at in QUARTERS.items()}
            side = min(gaps, key=gaps.__getitem__)
            detections[side].append(detection)
    return {name: caption(group) for name, group in detections.items()}


def first_word_fits(text: str, names: Sequence[str]) -> bool:
    """True if the answer's first word is part of a name, the rule of LGX's released code.

    By this rule, "no" counts as an answer if a ``notebook`` is listed.
    """
    words = text.split()
    if not words:
        return False
    word = re.sub(r"[^\w\s]", "", words[0]).lower()
    return any(word in name.lower() for name in names)


@dataclass(frozen=True)
class ListingSettings(SearchSettings):
    """Settings in addition to those of all searchers.

    ``scene``: the detector that lists the scene's objects: ``yolo``, another preset, or a network
    for real pictures (``detr:WEIGHTS``). ``scene_quality`` changes the parameters of a simulated
    one (``--set scene_quality.recall=0.5``). Its errors are independent of those of ``grounding``.
    ``step_limit``: prompts state the number of actions left, or not, as in the papers.
    """

    scene: str = "yolo"
    scene_quality: Mapping[str, float] = field(default_factory=dict)
    step_limit: Literal["counted", "hidden"] = "counted"

    def detectors(self) -> tuple[Perceiver, ...]:
        """Return the detectors of target and scene."""
        scene = detector_called(
            self.scene,
            self.detector_seed + 1,
            **self.scene_quality,
        )
        return (*super().detectors(), scene)


class ListingSearcher(Searcher):
    """Goes towards the listed object that ``pick`` names, or in a random direction without one.

    ``detectors`` are those of the target and of the scene's objects, in this order.
    """

    Settings = ListingSettings
    families = frozenset({"objectnav", "two_phase"})
    sightless = frozenset({"two_phase"})

    def __init__(self, settings: ListingSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self.scene_detector = self.detectors[1]
        self.answer_text = ""
        """The model's latest answer, empty without a model."""

    @abstractmethod
    async def pick(self, names: Sequence[str]) -> str | Rejection:
        """Return one of ``names`` (at least one), or the rejected answer."""

    async def act(
        self,
        observation: View | TwoPhaseObservation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Answer the two-phase questions from the listed objects; search elsewhere."""
        if not isinstance(observation, TwoPhaseObservation):
            return await super().act(observation, space)
        if not observation.objects:
            return Decision(STOP)
        self.target = observation.target
        picked = await self.decide(observation.objects)
        if isinstance(picked, Rejection):
            chance = self.toolkit.rng.choice(observation.objects)
            return Decision(Action("go", (chance,)), "Any of them.", picked)
        return Decision(Action("go", (picked,)), f"Towards the {picked}.")

    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        """Go towards the picked object. As in the paper, the list may contain the target itself."""
        headings = names_around(self.scene_detector, views)
        if not headings:
            self.toolkit.note("nothing_listed", turn=self.turns)
            return self.random_direction("No object is listed.")
        picked = await self.decide(list(headings))
        if isinstance(picked, Rejection):
            return self.random_direction("No valid answer.", picked)
        return NextPoint(self.point_towards(headings[picked]), f"Towards the {picked}.")

    async def decide(self, names: Sequence[str]) -> str | Rejection:
        """Return the choice, and note it: as ``asked`` if a model made it, else ``picked``."""
        picked = await self.pick(names)
        answer = picked
        if isinstance(answer, Rejection):
            answer = answer.said[:200]
        details: dict[str, Any] = {
            "valid": not isinstance(picked, Rejection),
            "answer": answer,
            "listed": list(names),
        }
        if self.needs_model:
            details["first_word"] = first_word_fits(self.answer_text, names)
            self.toolkit.note(ASKED, **details)
        else:
            self.toolkit.note("picked", **details)
        return picked

    def random_direction(
        self,
        thought: str,
        instead_of: Rejection | None = None,
    ) -> NextPoint:
        """Return a point in a random direction, with the reason."""
        heading = absolute(self.toolkit.rng.uniform(0.0, 360.0))
        return NextPoint(
            self.point_towards(heading),
            f"{thought} Any direction.",
            instead_of,
        )


PromptName = Literal[
    "robot",
    "i",
    "third_person",
    "objects_first",
    "closest",
    "one_word_first",
    "captions",
]
"""The seven prompts of Table IV. ``robot``, ``i`` and ``third_person`` differ in the speaker;
``objects_first``, ``closest`` (which object is nearest to the target) and ``one_word_first`` are
variants of ``robot``; ``captions`` describes four directions instead of listing objects."""


@dataclass(frozen=True)
class LGXSettings(ListingSettings):
    """Settings of LGX; defaults follow the paper: five turns, a threshold of 0.85, a distance of
    5 m, and no ``approach``.

    ``prompt``: one of the paper's seven. ``decoding``: ``constrained`` (the answer is a listed
    name) or ``free`` (an answer without a listed name lowers PSR, and a random direction is taken).
    ``resolution``: 0 for the paper's, 90 degrees with captions, else 30. ``max_tokens`` and
    ``temperature`` of the answer (the released code: 50 and 0.7). ``prompts``: a folder of texts
    that replace the shipped ones.
    """

    prompt: PromptName = "robot"
    decoding: Decoding = "constrained"
    resolution: Annotated[float, Ge(0.0), Le(360.0)] = 0.0
    max_tokens: Annotated[int, Ge(1)] = 24
    temperature: Temperature = 0.0
    prompts: str = ""

    def __post_init__(self) -> None:
        if self.resolution == 0:
            object.__setattr__(
                self,
                "resolution",
                90.0 if self.prompt == "captions" else 30.0,
            )
        super().__post_init__()


class LGX(ListingSearcher):
    """Language-guided exploration: rotate, list the objects, ask which one to go towards, go there.

        wayword run lgx --on apartments --model local:smollm2
        wayword run lgx --on robothor:train --model local:smollm2 --set prompt=captions

    After each full turn the model is asked once which of the listed objects to go towards, or which
    of four described directions. If the answer names none of them, it is recorded and a random
    direction is taken. The two-phase test asks the same question about its own lists. With
    ``eyes=pictures``, it is asked which of the pictures shows the way.
    """

    Settings = LGXSettings
    needs_model = True
    has_eyes = True

    def __init__(self, settings: LGXSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._eyes = toolkit.eyes and toolkit.eyes.turning()
        if self._eyes is not None and settings.prompt != "robot":
            raise UsageError(
                f"lgx: eyes={self._eyes.settings.eyes} has a prompt of its own; remove "
                f"prompt={settings.prompt}"
            )
        self._prompts = Prompts(__file__, settings.prompts, "lgx.jinja")
        self.captions: Mapping[str, str] = {}
        """Direction -> its sentence, for ``prompt=captions``."""

    async def pick(self, names: Sequence[str]) -> str | Rejection:
        """Return the name that the model picks, or the rejected answer.

        Raises ``UsageError`` for a prompt without its views.
        """
        settings = self.settings
        if settings.prompt == "captions" and not self.captions:
            raise UsageError(
                "lgx: prompt=captions needs views; choose another prompt for two_phase"
            )
        slots = {name.lower(): caption for name, caption in self.captions.items()}
        # Target and options also as the released code writes them: types, and lists of Python.
        target = self.target.title()
        slots |= {
            "target": self.target,
            "objects": ", ".join(names),
            "target_name": target,
            "target_type": target.replace(" ", ""),
            "object_list": str(list(names)),
            "direction_list": str([each.upper() for each in QUARTERS]),
        }
        page: str = settings.prompt
        labels = ""
        images: tuple[Image, ...] = ()
        if self._eyes is not None:
            labels, images = pictures_around(self._eyes)
            if not self._eyes.reads_words:
                page = "pictures"
        text = self._prompts.fill(page, images=labels, **slots)
        if self._eyes is not None and self._eyes.reads_words:
            text = f"{self._prompts.fill('pictures_too', images=labels)}\n{text}"
        if left := self.actions_left():
            text = f"{self._prompts.fill('steps_left', left=left)}\n{text}"
        question = Message("user", text, images)
        model = self.toolkit.model()
        limits = settings.max_tokens, settings.temperature, self.toolkit.rng
        reply = await ask(model, [question], names, settings.decoding, *limits)
        self.answer_text = reply.text
        return read_pick(reply, names)

    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        """Return a point towards the object, the picture or the quarter that was picked."""
        if self._eyes is not None and not self._eyes.reads_words:
            headings = {view.label: view.heading for view in self._eyes.views()}
            picked = await self.decide(list(headings))
            if isinstance(picked, Rejection):
                return self.random_direction("No valid answer.", picked)
            return NextPoint(self.point_towards(headings[picked]), f"To go: {picked}.")
        if self.settings.prompt != "captions":
            return await super().choose(views)
        self.captions = quarter_captions(self.scene_detector, views)
        name = await self.decide(list(QUARTERS))
        facing = views[0].heading
        rejection = None
        # A random quarter keeps the search going after an invalid answer.
        if isinstance(name, Rejection):
            rejection = name
            name = self.toolkit.rng.choice(list(QUARTERS))
        point = self.point_towards(absolute(facing + QUARTERS[name]))
        thought = "No valid answer. Any direction: " if rejection else "To go: "
        return NextPoint(point, f"{thought}{name}.", rejection)


class PriorAgent(ListingSearcher):
    """As LGX, but goes towards the object whose name is most similar to the target's.

        wayword run prior --on apartments

    A baseline without a language model: similarity is the cosine of sentence embeddings
    (all-MiniLM-L6-v2), by which a remote control is near a television. Needs the extra ``[prior]``
    and ``wayword models fetch minilm``.
    """

    async def pick(self, names: Sequence[str]) -> str:
        """Return the name most similar to the target."""
        return similarity().best(self.target, names)


agents = {"lgx": LGX, "prior": PriorAgent}
