"""Act: one action at a time, with no word of why (LangSuitE's plainest strategy).

    wayword run act --on houses --model local:smollm2
    wayword run act --on household:valid_seen --model local:act

Source: LangSuitE (Jia et al. 2024), sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, Protocol

from wayword.agents.parts.home_walk import HomeWalk
from wayword.agents.parts.strategy import Strategy, StrategySettings
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
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


class PromptLayout(Protocol):
    """How an actor's episode is put to a model: told, asked and answered."""

    @property
    def answers(self) -> Mapping[Action, str]:
        """Decision -> its answer to the question that is asked, empty where none are ranked."""
        ...

    async def begin(self, episode: Episode) -> None: ...

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection: ...

    async def recall(
        self, observation: Observation, space: ActionSpace, decision: Decision | Rejection
    ) -> None: ...

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None: ...


class Chat(Strategy):
    """The layout ``chat``: everything that is seen, and an action in words."""

    recipe: ClassVar[str] = "act"
    answers: Mapping[Action, str] = MappingProxyType({})


class Act(Agent):
    """Answers with an action alone, in any world."""

    Settings: ClassVar[type[ActSettings]] = ActSettings
    families: ClassVar[frozenset[str]] = frozenset()
    needs_model: ClassVar[bool] = True
    restarts_prompt: ClassVar[bool] = True
    """Training takes the first text of an episode where there are several."""
    strategy: ClassVar[type[Strategy]] = Chat

    def __init__(self, settings: ActSettings, toolkit: Toolkit) -> None:
        self._layout: PromptLayout
        if settings.layout == "walk":
            self._layout = HomeWalk(toolkit, settings.prompts)
        else:
            self._layout = Chat(settings, toolkit)

    @property
    def answers(self) -> Mapping[Action, str]:
        """Decision -> its answer to the question that is asked, empty in the layout ``chat``."""
        return self._layout.answers

    async def begin(self, episode: Episode) -> None:
        await self._layout.begin(episode)

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        return await self._layout.act(observation, space)

    async def recall(
        self, observation: Observation, space: ActionSpace, decision: Decision | Rejection
    ) -> None:
        await self._layout.recall(observation, space, decision)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self._layout.on_feedback(decision, feedback)


agent = Act
