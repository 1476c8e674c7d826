"""The mistake of a failed episode: the step that lost it, and why, as values.

    mistake = find_mistake(evidence)
    mistake.step, mistake.cause                     # (7, "passed_goal")
    mistake.fact["more"]                            # further facts, as values
    mistake.text                                    # "Step 7: stopped at F, 8.2 m from …"

The step is the one after the last from which an expert could have succeeded within the limit of
steps: often the stop itself. Two kinds of failure have another one. An episode without any legal
answer failed at step 1, and an order that was never sent at the last step of the actor who alone
knew it. Where even an expert needs more steps than the limit, the limit is to blame and no step.

Each family has a module that explains how its episodes fail; ``wording`` puts facts into words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wayword.core.action import Decision
from wayword.core.episode import JsonObject
from wayword.core.visible import spaced
from wayword.metrics.conditions import answer_given
from wayword.metrics.mistakes import babyai, household, objectnav, two_phase, walk
from wayword.metrics.mistakes.causes import meaning_of
from wayword.metrics.mistakes.facts import EpisodeFacts, Explanation, Lost
from wayword.metrics.mistakes.wording import IT, Fact, words
from wayword.metrics.progress import count
from wayword.metrics.recorded import place_of
from wayword.worlds.household.goals import AnswerReference
from wayword.worlds.objectnav.world import ObjectNavReference
from wayword.worlds.two_phase.world import TwoPhaseReference

__all__ = ["EpisodeFacts", "Lost", "Mistake", "describe_success", "find_mistake"]


@dataclass(frozen=True)
class Mistake:
    """The step that lost an episode (from 1; 0 without steps), its first cause and the facts.

    ``limit`` is True if the limit of steps was too low, ``departed`` the step that left
    the path for good (0 if none did), ``missed`` the objects in view that were left alone.
    """

    step: int
    cause: str
    fact: Fact
    limit: bool = False
    departed: int = 0
    missed: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The mistake in words about an agent."""
        return self.words()

    def words(self, person: Mapping[str, str] = IT) -> str:
        """Put the mistake into words, about an agent or to a player (``wording.YOU``)."""
        return words(self.fact, person)

    def sentences(self, person: Mapping[str, str] = IT) -> tuple[str, str]:
        """Return the first sentence, and the others as one text."""
        values = dict(self.fact)
        more = values.pop("more", ())
        head = words(Fact(**values), person)
        if not more:
            return head, ""
        return head, words(Fact("sentences", facts=more), person)

    def json(self) -> JsonObject:
        """Return the mistake for pages: its values, and its sentences in words."""
        head, rest = self.sentences()
        return {
            "step": self.step, "cause": self.cause, "text": self.text, "fact": self.fact,
            "head": head, "rest": rest, "quotes": "“" in rest,
            "limit": self.limit, "departed": self.departed, "missed": [*self.missed],
        }  # fmt: skip


def find_mistake(evidence: EpisodeFacts) -> Mistake | None:
    """Find the step that lost an episode, and explain it.

    The caller knows that the episode had no success. None without steps, or if its
    family and its record explain nothing.
    """
    last = evidence.last
    cause = next(iter(evidence.causes), "")
    if evidence.trajectory.ended == "failed":
        return Mistake(last, cause, Fact("lost", step=last, did=Fact("failed")))
    if not last:
        return None
    # No answer was legal, so no step was taken that another one could have replaced.
    if (rejected := _all_rejected(evidence)) is not None:
        return Mistake(1, cause, Fact("lost", step=1, did=rejected))
    reference = evidence.reference
    # The reference tells the kind of task, whatever family it belongs to.
    explanation = None
    if evidence.gold:
        explanation = walk.explain(evidence, evidence.gold)
    elif isinstance(reference, ObjectNavReference):
        explanation = objectnav.explain(evidence, reference.targets)
    elif isinstance(reference, AnswerReference):
        explanation = household.explain_answer(evidence, reference.answer)
    elif isinstance(reference, TwoPhaseReference):
        explanation = two_phase.explain(evidence, reference.room)
    elif evidence.conditions:
        explanation = household.explain(evidence)
    explanation = explanation or babyai.explain(evidence)
    if explanation is not None:
        return _mistake(evidence, cause, explanation)
    return _by_cause(evidence)


def describe_success(episode: EpisodeFacts, expert_steps: int | None = None) -> Fact:
    """Describe how a solved episode ended, its steps, the expert's, and what it cost.

    ``expert_steps`` is the expert's number of actions, low-level ones where the episode has such a
    score."""
    unit = "low-level action" if "low_level" in episode.scores else "step"
    steps = int(episode.scores.get("low_level", episode.last))
    cost = episode.scores.get("cost", 0.0)
    # On walks the expert follows the gold path, which need not be the shortest.
    needed = {"expert": expert_steps}
    if episode.gold:
        needed = {"gold": expert_steps}
    return Fact(
        "solved", did=_success(episode), taken=count(steps, unit), cost=cost or None,
        **needed,
    )  # fmt: skip


def _success(episode: EpisodeFacts) -> Fact:
    """Return where a solved episode ended, and how far from its goal."""
    reference = episode.reference
    progress = episode.progress
    last = None
    if episode.trajectory.steps:
        last = episode.trajectory.steps[-1]
    # From the most specific statement to the plainest.
    if episode.gold and last is not None:
        place = place_of(last.pose)
        goal = episode.gold[-1]
        if place == goal:
            return Fact("solved_stop", place=place)
        away = ""
        if progress.values:
            away = progress.length(progress.values[-1])
        return Fact("solved_stop", place=place, away=away, goal=goal)
    if isinstance(reference, ObjectNavReference) and last is not None:
        target = objectnav.target_at(last.observation, reference.targets)
        if target is not None:
            return target
    if isinstance(reference, AnswerReference):
        return Fact("solved_answer", given=answer_given(episode.trajectory.state))
    if len(episode.conditions) > 1:
        number = len(episode.conditions)
        goals = f"all {number}"
        if number == 2:
            goals = "both"
        return Fact("solved_goals", goals=goals)
    return Fact("solved_plain")


def _mistake(evidence: EpisodeFacts, cause: str, why: Explanation) -> Mistake:
    """Return the mistake of a failed episode: its step, and the facts that its sentences are of."""
    last = evidence.last
    lost = evidence.lost or Lost(last)
    step = why.step or lost.step
    marks: dict[str, Any] = {"departed": why.departed, "missed": why.missed}
    if not step:
        values = {"needed": lost.needed, "limit": lost.limit}
        more = [Fact("ended", end=why.end), *why.more]
        if not lost.needed:
            fact = Fact("lost", step=last, did=why.end, more=why.more)
        elif why.how:
            fact = Fact("limit", how=why.how, more=more, **values)
        else:
            fact = Fact("limit_elsewhere", more=more, **values)
        return Mistake(last, cause, fact, limit=True, **marks)
    # The end is the mistake: a sentence about it says all.
    if step == last or why.step:
        fact = Fact("lost", step=step, did=why.end, more=why.more)
        return Mistake(step, cause, fact, **marks)
    action = evidence.acted(step)
    did = why.did or Fact("acted", actor=evidence.name(step), action=action)
    end = why.end
    if "actor" not in end:
        end = Fact("ended", end=end)
    more = [*why.more, end]
    # An actor that stopped before the last one left undone what the end tells.
    if why.did is None and action == "stop" and "actor" in end:
        did = Fact(**{**end, "actor": evidence.name(step), "end": "stopped"})
        more.remove(end)
    left = {}
    if lost.needed:  # else the expert's number of steps is not known
        left = {"needed": lost.needed, "left": lost.left}
    fact = Fact("out_of_time", step=step, did=did, more=more, **left)
    # A reader asks where it went wrong, and only then until when it could be mended.
    if 0 < why.departed < step:
        more = [*why.more, Fact("too_late", step=step, **left), more[-1]]
        fact = Fact("lost", step=why.departed, did=did, more=more)
    return Mistake(step, cause, fact, **marks)


def _all_rejected(evidence: EpisodeFacts) -> Fact | None:
    """Return the fact that every answer was rejected; None if one was not."""
    steps = evidence.trajectory.steps
    if any(isinstance(step.decision, Decision) for step in steps):
        return None
    reason = spaced(getattr(steps[0].decision, "kind", ""))
    if len(steps) == 1:
        return Fact("rejected", reason=reason)
    return Fact("all_rejected", count=len(steps), reason=reason)


_MOST_VALUES = 6  # of a final state; more than a reader takes in as a sentence
_LONGEST = 40  # characters of such a value: longer ones are texts, not states


def _final_state(state: JsonObject) -> list[Fact]:
    """Return the final state in the world's own words; empty if it is long or nested."""
    values = []
    for name, value in state.items():
        text = str(value)
        if isinstance(value, bool):
            text = "yes" if value else "no"
        is_plain = isinstance(value, str | int | float) and len(text) <= _LONGEST
        if not is_plain:
            return []
        values.append(f"{spaced(name)} {text}")
    if not 0 < len(values) <= _MOST_VALUES:
        return []
    return [Fact("state", values=values)]


def _by_cause(evidence: EpisodeFacts) -> Mistake | None:
    """Explain an episode of a family without a module here by its first cause or its course."""
    last = evidence.last
    progress = evidence.progress
    for cause, number in evidence.causes.items():
        did = Fact("cause", meaning=meaning_of(cause, evidence.scores))
        step = number or last
        more = _final_state(evidence.trajectory.state)
        return Mistake(step, cause, Fact("lost", step=step, did=did, more=more))
    step = progress.first_loss or last
    course = ""
    if progress.first_loss:
        course = progress.describe(step)
    course = course or progress.summary() or progress.describe(last)
    if not course:
        return None
    return Mistake(step, "", Fact("lost", step=step, did=Fact("course", course=course)))
