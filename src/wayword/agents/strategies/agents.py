"""LangSuitE's strategies, each with its recipe of an answer, in every world.

Source: LangSuitE (Jia et al. 2024), sections 4 and 5; ReAct (Yao et al. 2022); Reflexion (Shinn et
al. 2023).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

from wayword.agents.answers import AnswerForm, Field, Reply, fields
from wayword.agents.household.walk import HomeWalk
from wayword.agents.legal import LONGEST
from wayword.agents.strategies.strategy import Strategy, StrategySettings
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.trajectory import Verdict
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


LESSONS = 3
"""How many lessons are kept: the latest ones."""
LESSON_LENGTH = 400
"""Characters of a lesson that are kept."""
ECHO = 60
"""A lesson whose first so many characters stand in the question is the question once more."""
WORDS: Mapping[bool | None, str] = {True: "solved", False: "failed", None: "unknown"}
"""What stands for a verdict in a prompt's name, and in the answer of a model that judges itself."""
_FIRST_WORD = re.compile(r"^\W*(\w*)")
LESSON = AnswerForm(Field("Lesson"))
SELF_JUDGED = AnswerForm(Field("Verdict", choices=(WORDS[False], WORDS[True])), *LESSON.fields)


@dataclass(frozen=True, slots=True)
class ReflectingSettings(StrategySettings):
    """The settings of every strategy, and how it tries again.

    ``trials``: how often an episode may be played. ``verdict``: who says that a trial failed. With
    ``told`` a judge does, who knows the answer and ends the trials at a success (tables count what
    it tells); with ``self`` the model judges by what it saw; with ``none`` nobody does, and all
    trials are used up.
    """

    trials: int = 3
    verdict: Literal["told", "self", "none"] = "told"

    def __post_init__(self) -> None:
        StrategySettings.__post_init__(self)
        if self.trials < 1:
            raise UsageError(f"trials must be at least 1, not {self.trials}")


@dataclass(frozen=True, slots=True)
class Reflection:
    """What was understood of an answer: the model's own verdict, None for none, and its lesson."""

    succeeded: bool | None
    lesson: str


class ReflectingStrategy(Strategy):
    """A strategy that writes down what went wrong in a failed trial, and heeds it in the next.

    The failed trial is already there as the chat, so the question about it goes at the chat's end:
    a model reuses what it has read, and what does not fit is dropped as ever. The lessons stand
    next to the task in the next trial, where no cut of the history reaches them. A subclass names
    a recipe. Source: Reflexion (Shinn et al. 2023), section 3.
    """

    Settings: ClassVar[type[ReflectingSettings]] = ReflectingSettings
    roles: ClassVar[tuple[str, ...]] = ("reflection",)
    learns: ClassVar[bool] = True

    def __init__(self, settings: ReflectingSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._judging = settings.verdict
        self._lessons: deque[tuple[int, str]] = deque(maxlen=LESSONS)

    async def reflect(self, verdict: Verdict) -> bool:
        """Ask what went wrong, and keep the lesson. Only a model's own verdict ends the trials."""
        if self._conversation is None:  # it has not been asked anything, so there is nothing to say
            return True
        known = verdict.succeeded if self._judging == "told" else None
        self._now = self._question(verdict, known)
        messages = self._fitted(self._conversation)
        asked = SELF_JUDGED if self._judging == "self" else LESSON
        schema = asked.schema(LESSON_LENGTH) if self._constrained else None
        reply = await self._complete(messages, schema, role="reflection")
        return self._learn(reply, verdict.trial + 1)

    def _question(self, verdict: Verdict, known: bool | None) -> str:
        ended = "trial_stopped" if verdict.ended == "stopped" else "trial_cut_off"
        over = self._prompts.fill(ended, steps=str(verdict.steps))
        told = self._prompts[f"trial_{WORDS[known]}"]
        form = "reflection_self" if self._judging == "self" else "reflection"
        asked = self._prompts["reflect"], self._prompts[f"{form}_{self._settings.decoding}"]
        return "\n".join(line for line in (self._feedback, over, told, *asked) if line)

    def _learn(self, reply: Reply, trial: int) -> bool:
        """Keep what the answer teaches; whether to try again."""
        found = read_reflection(reply, labelled=self._constrained)
        judged = found.succeeded if self._judging == "self" else None
        if judged:
            self._toolkit.note("self_judged", actor=self._actor, trial=trial, succeeded=True)
            return False
        again = found.lesson[:ECHO] in " ".join(self._now.split())
        lacking = []
        if self._judging == "self" and judged is None:
            lacking.append("the answer held no verdict of its own")
        if not found.lesson:
            lacking.append("the answer held no lesson")
        elif again:
            lacking.append("the lesson repeated the question")
        for why in lacking:
            refused = reply.reject("no_action", why)
            told = {"reason": refused.reason, "said": refused.said}
            self._toolkit.note("reflection_rejected", actor=self._actor, trial=trial, **told)
        if found.lesson and not again:
            self._lessons.append((trial, found.lesson))
            self._toolkit.note("lesson", actor=self._actor, trial=trial, lesson=found.lesson)
        return True

    def _opening(self, episode: Episode) -> str:
        """The task, and below it what was learnt of it."""
        if not self._lessons:
            return self._task(episode)
        told = [
            self._prompts.fill("lesson", trial=str(trial), lesson=lesson)
            for trial, lesson in self._lessons
        ]
        lessons = self._prompts.fill("lessons", lessons="\n".join(told))
        return f"{self._task(episode)}\n\n{lessons}"


def read_reflection(said: str | Reply, labelled: bool) -> Reflection:
    """Read ``Verdict`` and ``Lesson``, as lines or as a JSON object.

    Unless they must be ``labelled``, an answer without either is a lesson as a whole.
    """
    reply = Reply.of(said)
    found = fields(reply.text, ("verdict", "lesson"))
    lessons = [text for text in found.all("lesson") if isinstance(text, str)]
    if not found.given and not labelled and reply.text.lstrip()[:1] not in ("{", "["):
        lessons = [reply.text[:LONGEST]]
    lesson = " ".join(" ".join(lessons[:1]).split())[:LESSON_LENGTH].strip(" *_")
    firsts = {_FIRST_WORD.findall(str(value).lower())[0] for value in found.all("verdict")}
    verdicts = {WORDS[True]: True, WORDS[False]: False}
    return Reflection(verdicts.get(firsts.pop()) if len(firsts) == 1 else None, lesson)


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
