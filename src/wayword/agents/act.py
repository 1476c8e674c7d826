"""Act: one action at a time, with no word of why (LangSuitE's plainest strategy).

    wayword run act --on houses --model local:smollm2
    wayword run act --on household:valid_seen --model local:act

Source: LangSuitE (Jia et al. 2024), sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from wayword.agents.parts.home_walk import HomeWalk
from wayword.agents.parts.strategy import Strategy, StrategySettings
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.core.world import Feedback, Observation


@dataclass(frozen=True, slots=True)
class ActSettings(StrategySettings):
    """The settings of every strategy, and the layout of the prompt.

    ``layout``: ``chat`` tells everything seen and asks for an action in words; ``walk`` is for
    small models in homes: a line an action that can matter, answered by yes or no
    (:mod:`~wayword.agents.parts.home_walk`). With ``walk`` the other settings but ``prompts`` say
    nothing, and ``prompts`` replaces texts of ``prompts/homes``.
    """

    layout: Literal["chat", "walk"] = "chat"


class Act(Strategy):
    """Answers with an action alone, in any world."""

    recipe: ClassVar[str] = "act"
    Settings: ClassVar[type[ActSettings]] = ActSettings

    def __init__(self, settings: ActSettings, toolkit: Toolkit) -> None:
        self._walk: HomeWalk | None = None
        if settings.layout == "walk":
            self._walk = HomeWalk(toolkit, settings.prompts)
        else:
            super().__init__(settings, toolkit)

    @property
    def answers(self) -> Mapping[Action, str]:
        """Decision -> its answer to the question that is asked, empty in the layout ``chat``."""
        return self._walk.answers if self._walk else {}

    async def begin(self, episode: Episode) -> None:
        await (self._walk.begin(episode) if self._walk else super().begin(episode))

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        if self._walk:
            return await self._walk.act(observation, space)
        return await super().act(observation, space)

    async def recall(
        self, observation: Observation, space: ActionSpace, decision: Decision | Rejection
    ) -> None:
        if self._walk:
            self._walk.recall(observation, decision)
        else:
            await super().recall(observation, space, decision)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        if self._walk:
            self._walk.on_feedback(decision, feedback)
        else:
            super().on_feedback(decision, feedback)


agent = Act
