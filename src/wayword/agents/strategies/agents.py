"""LangSuitE's strategies, each with its recipe of an answer, in every world.

Source: LangSuitE (Jia et al. 2024), sections 4 and 5; ReAct (Yao et al. 2022); Reflexion (Shinn et
al. 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

from wayword.agents.household.walk import HomeWalk
from wayword.agents.strategies.reflecting import ReflectingStrategy
from wayword.agents.strategies.strategy import Strategy, StrategySettings
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.world import Feedback, Observation


@dataclass(frozen=True, slots=True)
class ActSettings(StrategySettings):
    """The settings of every strategy, and the layout of the prompt.

    ``layout``: ``chat`` tells everything seen and asks for an action in words; ``walk`` is for
    small models in homes: a line an action that can matter, answered by yes or no
    (:mod:`~wayword.agents.household.walk`). With ``walk`` the other settings but ``prompts`` say
    nothing, and ``prompts`` replaces texts of ``agents/household/prompts``.
    """

    layout: Literal["chat", "walk"] = "chat"


class Chat(Strategy):
    """The layout ``chat``: everything that is seen, and an action in words."""

    recipe: ClassVar[str] = "act"
    answers: Mapping[Action, str] = MappingProxyType({})


class Act(Agent):
    """Answers with an action alone, with no word of why.

        wayword run act --on houses --model local:smollm2
        wayword run act --on household:valid_seen --model local:act

    Source: LangSuitE (Jia et al. 2024), section 4: its plainest strategy.
    """

    Settings: ClassVar[type[ActSettings]] = ActSettings
    needs_model: ClassVar[bool] = True
    restarts_prompt: ClassVar[bool] = True
    """Training takes the first text of an episode where there are several."""
    strategy: ClassVar[type[Strategy]] = Chat

    def __init__(self, settings: ActSettings, toolkit: Toolkit) -> None:
        home = settings.layout == "walk"
        self._layout = HomeWalk(toolkit, settings.prompts) if home else Chat(settings, toolkit)

    @property
    def answers(self) -> Mapping[Action, str]:
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


class ReAct(Strategy):
    """Thinks in words before it acts, in any world.

        wayword run react --on towns --model local:smollm2

    Source: ReAct (Yao et al. 2022), as in LangSuitE (Jia et al. 2024), sections 4 and 5.
    """

    recipe: ClassVar[str] = "react"


class ReActEmMem(Strategy):
    """States where it is, which direction it faces and what it holds; then plans; then acts.

        wayword run react_emmem --on houses --model local:smollm2 --set own_state=start

    What it states about place, heading and hands is noted at every step and compared with the
    truth: the metrics ``state_place``, ``state_heading`` and ``state_holding``. With
    ``own_state=start`` it is given these only once and has to keep them in mind.
    """

    recipe: ClassVar[str] = "react_emmem"


class Reflexion(ReflectingStrategy):
    """ReAct that writes down what went wrong in a failed trial, and tries again.

        wayword run reflexion --on houses --model local:smollm2 --set trials=2 --set verdict=self

    The number of trials is part of the result, and so is who says that one has failed: with
    ``verdict=told`` it is a judge who knows the answer, and the table counts how often it did.
    """

    recipe: ClassVar[str] = "react"


class ReflexionEmMem(ReflectingStrategy):
    """ReAct-EmMem with the trials of Reflexion: embodied memory at every step, lessons between.

        wayword run reflexion_emmem --on houses --model local:smollm2 --set trials=2

    Source: LangSuitE (Jia et al. 2024), sections 4 and 5.
    """

    recipe: ClassVar[str] = "react_emmem"


agents = {
    "act": Act,
    "react": ReAct,
    "react_emmem": ReActEmMem,
    "reflexion": Reflexion,
    "reflexion_emmem": ReflexionEmMem,
}
