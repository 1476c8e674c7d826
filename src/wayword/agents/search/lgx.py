"""LGX: a language model says where to look for a freely described thing (Dorbala et al. 2024).

    wayword run lgx --on apartments --model local:smollm2
    wayword run lgx --on robothor:train --model local:smollm2 --set prompt=captions decoding=free

After each full turn the model is asked once: which of the listed objects to go towards, or which
of four directions that are told by captions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from wayword.agents.prompting import Prompts
from wayword.agents.search.listing import (
    QUARTERS,
    Decoding,
    ListingSearcher,
    ListingSettings,
    ask,
    directions,
    quarters,
    read_pick,
)
from wayword.agents.search.searcher import NextPoint
from wayword.core.action import ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.errors import UsageError
from wayword.core.geometry import absolute
from wayword.core.model import user
from wayword.worlds.objectnav.observation import View
from wayword.worlds.two_phase.world import TwoPhaseObservation

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


class ModelPicker:
    """The picker that asks a model, one question a choice.

    ``captions``: the sentence for each direction, for the prompt that tells directions.
    """

    def __init__(self, settings: LGXSettings, toolkit: Toolkit) -> None:
        self._settings, self._toolkit = settings, toolkit
        self._prompts = Prompts(__file__, settings.prompts)
        self.captions: Mapping[str, str] = {}
        self.said = ""

    async def pick(self, target: str, names: Sequence[str]) -> str | Rejection:
        """The name in the model's answer."""
        settings = self._settings
        slots = {name.lower(): told for name, told in self.captions.items()}
        slots |= {"target": target, "objects": ", ".join(names)}
        question = user(self._prompts.fill(settings.prompt, **slots))
        model = self._toolkit.model()
        reply = await ask(model, [question], names, settings.decoding, settings.max_tokens)
        self.said = reply.text
        return read_pick(reply, names)


class LGX(ListingSearcher):
    """Language-guided exploration: rotate, list what is around, ask which way, go there.

    An answer that names nothing listed is kept as what a random direction stands in for. In the
    two-phase test the model is asked the same question about what that test lists.
    """

    Settings: ClassVar[type[LGXSettings]] = LGXSettings
    needs_model: ClassVar[bool] = True

    def __init__(self, settings: LGXSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._questions = ModelPicker(settings, toolkit)
        self.picker = self._questions
        self._captions = settings.prompt == "captions"

    async def act(
        self, observation: View | TwoPhaseObservation, space: ActionSpace
    ) -> Decision | Rejection:
        if self._captions and not isinstance(observation, View):
            raise UsageError("lgx: prompt=captions tells directions, and there are none here")
        return await super().act(observation, space)

    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        """Towards the object, or in the direction, that the model names."""
        if not self._captions:
            return await super().choose(views)
        self._questions.captions = directions(quarters(self.lister, views))
        picked, front = await self.decide(list(QUARTERS)), views[0].heading
        refused = picked if isinstance(picked, Rejection) else None
        name = self.toolkit.rng.choice(list(QUARTERS)) if isinstance(picked, Rejection) else picked
        point = self.point_towards(absolute(front + QUARTERS[name]))
        thought = "No answer that counts. Any direction: " if refused else "To go: "
        return NextPoint(point, f"{thought}{name}.", refused)


agent = LGX
