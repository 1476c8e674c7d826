"""LangSuitE's strategies, each with its recipe of an answer, in every world.

Source: LangSuitE (Jia et al. 2024), sections 4 and 5; ReAct (Yao et al. 2022); Reflexion (Shinn et
al. 2023).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from wayword.agents.answers import AnswerForm, Field, Reply, fields
from wayword.agents.prompting import joined
from wayword.agents.retractions import LONGEST
from wayword.agents.strategies.strategy import Strategy, StrategySettings
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.trajectory import Verdict
from wayword.core.visible import single_line


class Act(Strategy):
    """Answers with an action alone, without a thought: LangSuitE's plainest strategy.

    wayword run act --on houses --model local:smollm2
    """

    recipe = "act"


class ReAct(Strategy):
    """Thinks in words before it acts, in any world (Yao et al. 2022).

    wayword run react --on towns --model local:smollm2
    """

    recipe = "react"


class ReActEmMem(Strategy):
    """States its place, heading and held objects, then plans, then acts.

        wayword run react_emmem --on houses --model local:smollm2 --set own_state=start

    The stated place, heading and objects are recorded at every step and compared with the true
    state: metrics ``state_place``, ``state_heading`` and ``state_holding``. With
    ``own_state=start`` the prompt shows the true state only once.
    """

    recipe = "react_emmem"


MOST_LESSONS = 3  # latest lessons that are kept
LESSON_LENGTH = 400  # characters of a lesson that are kept
# First characters of a lesson; if the question contains them, it is repeated
ECHO_LENGTH = 60
VERDICT_WORDS: Mapping[bool | None, str] = {
    True: "solved",
    False: "failed",
    None: "unknown",
}
"""Verdict -> its word in the names of prompts, and in the answer of a model that judges itself."""
_FIRST_WORD = re.compile(r"^\W*(\w*)")
LESSON = AnswerForm(Field("Lesson"))
VERDICT = Field("Verdict", choices=(VERDICT_WORDS[False], VERDICT_WORDS[True]))
SELF_JUDGED = AnswerForm(VERDICT, *LESSON.fields)


@dataclass(frozen=True)
class ReflectingSettings(StrategySettings):
    """Settings in addition to those of every strategy.

    ``trials``: maximum number of trials per episode. ``verdict``: who judges a trial. With
    ``judge``, a judge that knows the answer ends the trials at a success (tables count its
    verdicts); with ``self``, the model judges from its observations; with ``none``, all trials are
    played.
    """

    trials: Annotated[int, Ge(1)] = 3
    verdict: Literal["judge", "self", "none"] = "judge"


class Reflexion(Strategy):
    """ReAct that writes a lesson after a failed trial, and tries again (Shinn et al. 2023).

        wayword run reflexion --on houses --model local:smollm2 --set trials=2 --set verdict=self

    Results depend on ``trials`` and on ``verdict``: with ``verdict=judge``, the default, the judge
    knows the answer, and tables count its verdicts. The question about a trial is appended to the
    trial's chat, to reuse the prefix cache. In the next trial the lessons follow the task, which is
    never dropped.
    """

    recipe = "react"
    Settings = ReflectingSettings
    roles = ("reflection",)
    learns = True

    def __init__(self, settings: ReflectingSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        if settings.decoding == "tools":
            # The question about a trial has no function that answers it.
            raise UsageError("reflexion: decoding=tools is for agents with one trial")
        self._self_judged = settings.verdict == "self"
        self._lessons: deque[tuple[int, str]] = deque(maxlen=MOST_LESSONS)

    async def reflect(self, verdict: Verdict) -> bool:
        """Ask what went wrong, and store the lesson. Return False if the model judges that it
        succeeded."""
        if self._conversation is None:  # the model was not asked in this trial
            return True
        # The result is revealed only if the settings give the verdict to a judge.
        outcome = None
        if self._settings.verdict == "judge":
            outcome = verdict.succeeded
        self._message_text = self._prompts.fill(
            "reflection",
            feedback=self._feedback,
            ended=verdict.ended,
            steps=verdict.steps,
            verdict=VERDICT_WORDS[outcome],
            judges_itself=self._self_judged,
            decoding=self._settings.decoding,
        )
        answer = SELF_JUDGED if self._self_judged else LESSON
        schema = None
        if self._constrained:
            schema = answer.schema(LESSON_LENGTH)
        reply = await self._ask(self._conversation, schema, role="reflection")
        return self._learn(reply, verdict.trial + 1)

    def _learn(self, reply: Reply, trial: int) -> bool:
        """Store the lesson in a reply. Return False if the model judges that it succeeded."""
        succeeded, lesson = read_reflection(reply, must_be_labeled=self._constrained)
        note = self._toolkit.note
        trial_info = {"actor": self._actor, "trial": trial}
        if self._self_judged and succeeded:
            note("self_judged", **trial_info, succeeded=True)
            return False
        # A copied prompt is no lesson, and would fill the next one.
        repeats_question = lesson[:ECHO_LENGTH] in single_line(self._message_text)
        problems = []
        if self._self_judged and succeeded is None:
            problems.append("the answer contains no verdict")
        if not lesson:
            problems.append("the answer contains no lesson")
        elif repeats_question:
            problems.append("the lesson repeats the question")
        for problem in problems:
            rejection = reply.reject("no_action", problem)
            note(
                "reflection_rejected",
                **trial_info,
                reason=rejection.reason,
                said=rejection.said,
            )
        if lesson and not repeats_question:
            self._lessons.append((trial, lesson))
            note("lesson", **trial_info, lesson=lesson)
        return True

    def _opening(self, episode: Episode) -> str:
        fill = self._prompts.fill
        task = self._task(episode)
        lessons = [
            fill("lesson", trial=str(trial), lesson=text)
            for trial, text in self._lessons
        ]
        if not lessons:
            return joined(task)
        return joined(task, fill("lessons", lessons="\n".join(lessons)))


def read_reflection(
    answer: str | Reply, must_be_labeled: bool
) -> tuple[bool | None, str]:
    """Parse the model's verdict on its own trial (None if it gave none), and its lesson, as
    labeled lines or as a JSON object.

    Without ``must_be_labeled``, an answer that has neither label is a lesson as a whole.
    """
    reply = Reply.of(answer)
    read = fields(reply.text, ("verdict", "lesson"))
    lessons = [text for text in read.all("lesson") if isinstance(text, str)]
    if not read.values and not must_be_labeled and not reply.opens_json:
        lessons = [reply.text[:LONGEST]]
    lesson = " ".join(" ".join(lessons[:1]).split())[:LESSON_LENGTH].strip(" *_")
    first_words = {
        _FIRST_WORD.findall(str(value).lower())[0] for value in read.all("verdict")
    }
    verdicts = {VERDICT_WORDS[True]: True, VERDICT_WORDS[False]: False}
    if len(first_words) != 1:  # no verdict, or two that contradict each other
        return None, lesson
    return verdicts.get(first_words.pop()), lesson


class ReflexionEmMem(Reflexion):
    """ReAct-EmMem with the trials and lessons of Reflexion.

    wayword run reflexion_emmem --on houses --model local:smollm2 --set trials=2
    """

    recipe = "react_emmem"


agents = {
    "act": Act,
    "react": ReAct,
    "react_emmem": ReActEmMem,
    "reflexion": Reflexion,
    "reflexion_emmem": ReflexionEmMem,
}
