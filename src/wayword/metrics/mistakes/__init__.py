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

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wayword.core.action import Decision
from wayword.core.episode import JsonObject
from wayword.core.visible import count, spaced
from wayword.metrics.conditions import answer_given, counted
from wayword.metrics.detector_reports import MISREPORTED, reported_point
from wayword.metrics.mistakes import babyai, household, objectnav, two_phase, walk
from wayword.metrics.mistakes.behavior import FAILING, failures, find_course
from wayword.metrics.mistakes.causes import meaning_of
from wayword.metrics.mistakes.facts import EpisodeFacts, Explanation, Lost
from wayword.metrics.mistakes.wording import IT, Fact, sentences, words
from wayword.metrics.objectnav import RELEASED
from wayword.metrics.recorded import place_of
from wayword.metrics.scoring import reached
from wayword.worlds.household.goals import AnswerReference
from wayword.worlds.objectnav.world import ObjectNavReference
from wayword.worlds.two_phase.world import TwoPhaseReference

__all__ = ["EpisodeFacts", "Lost", "Mistake", "describe_success", "find_mistake"]


@dataclass(frozen=True)
class Mistake:
    """Where an episode went wrong, its first cause and the facts.

    ``step`` is the step that the first sentence names, of several the first one (from 1; 0 without
    steps); maps and time lines mark it. ``lost`` is the step that lost the episode, which may be
    later: an expert could still mend it until then. ``limit`` is True if the limit of steps was
    too low, ``departed`` the step that left the path for good (0 if none did), ``missed`` the
    objects in view that were left alone.
    """

    lost: int
    cause: str
    fact: Fact
    limit: bool = False
    departed: int = 0
    missed: Sequence[str] = ()

    @property
    def step(self) -> int:
        """The step that the first sentence names."""
        return int(self.fact.get("step", self.lost))

    @property
    def text(self) -> str:
        """The mistake in words about an agent."""
        return self.words()

    def words(self, person: Mapping[str, str] = IT) -> str:
        """Put the mistake into words, about an agent or to a player (``wording.YOU``)."""
        return " ".join(filter(None, self.sentences(person)))

    def sentences(self, person: Mapping[str, str] = IT) -> tuple[str, str]:
        """Return the first sentence, and the others as one text."""
        return sentences(self.fact, person)

    def json(self) -> JsonObject:
        """Return the mistake for pages: its values, and its sentences in words."""
        head, rest = self.sentences()
        # A page that marks this clause in the instruction need not repeat it.
        clauses = [
            each for each in self.fact.get("more", ()) if each["kind"] == "clause"
        ]
        quote = ""
        if clauses:
            quote = words(Fact("sentences", facts=clauses))
        return {
            "step": self.step, "lost": self.lost, "cause": self.cause, "text": self.text,
            "fact": self.fact,
            "head": head, "rest": rest, "quote": quote,
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
    """Describe how a solved episode ended, its steps, the expert's, what it cost, and when it first
    reached its goal.

    ``expert_steps`` is the expert's number of actions, low-level ones where the episode has such a
    score."""
    unit = "low-level action" if "low_level" in episode.scores else "step"
    steps = int(episode.scores.get("low_level", episode.last))
    # A skill of a step, such as to go somewhere, is many actions.
    within = ""
    if steps > episode.last:
        within = count(episode.last, "step")
    cost = episode.scores.get("cost", 0.0)
    # On walks the expert follows the gold path, which need not be the shortest.
    needed: dict[str, Any] = {"expert": expert_steps}
    if within and expert_steps is not None:
        needed = {"expert": count(expert_steps, "action")}
    if episode.gold:
        needed = {"gold": expert_steps}
    return Fact(
        "solved", did=_success(episode), taken=count(steps, unit), cost=cost or None,
        within=within,
        more=_course_of_success(episode), **needed,
    )  # fmt: skip


def _success(episode: EpisodeFacts) -> Fact | None:
    """Return where a solved episode ended, and how far from its goal."""
    reference = episode.reference
    last = None
    if episode.trajectory.steps:
        last = episode.trajectory.steps[-1]
    # From the most specific statement to the plainest.
    if episode.gold and last is not None:
        cut = episode.trajectory.ended == "step_limit"
        kind = "solved_stop"
        if cut:
            kind = "solved_cut"
        elif walk.forced(episode):
            kind = "solved_forced"
        place = place_of(last.pose)
        goal = episode.gold[-1]
        if place == goal:
            return Fact(kind, place=place)
        return Fact(kind, place=place, away=episode.progress.left, goal=goal)
    if isinstance(reference, ObjectNavReference) and last is not None:
        target = objectnav.target_at(last.observation, reference.targets)
        if target is not None:
            return target
    if isinstance(reference, AnswerReference):
        return Fact("solved_answer", given=answer_given(episode.trajectory.state))
    if len(episode.conditions) > 1:
        return Fact("solved_goals", goals=household.all_goals(len(episode.conditions)))
    if episode.conditions:
        return Fact("solved_goal", goal=counted(*episode.conditions[0]))
    if hasattr(episode.world, "level"):  # an instruction of a grid, of one part
        return Fact("solved_goal", goal=episode.instruction)
    return None


_OTHER_RULES = {
    "success_challenge": "RoboTHOR's rule (in view within {within:g} m)",
    "success_released": "the rule of LGX's code (within {released:g} m)",
}
"""Scores of published rules for a search, which may differ from a run's own."""


def _course_of_success(episode: EpisodeFacts) -> list[Fact]:
    """Return when a solved episode first reached its goal, and by what."""
    reference = episode.reference
    trajectory = episode.trajectory
    last = episode.last
    if episode.gold:
        (actor,) = trajectory.start
        places = [place_of(pose) for pose in trajectory.visited(actor)]
        facts = []
        near = reached(episode.dataset, episode.task, places)
        first = near.index(True) if True in near else 0
        # The last step may be the stop there.
        if first and {*places[first:]} != {places[first]}:
            facts.append(Fact("reached", step=first, place=places[first]))
        gold = {*episode.gold}
        if {*places} <= gold:
            facts.append(Fact("on_path"))
        elif left := next((n for n, each in enumerate(places) if each not in gold), 0):
            # Who goes on from its end has walked the whole path.
            is_end = places[left - 1] == episode.gold[-1]
            name = "beyond" if is_end else "other_way"
            facts.append(Fact(name, place=places[left - 1]))
        return facts
    if isinstance(reference, ObjectNavReference):
        stricter = [
            rule.format(within=reference.within, released=RELEASED)
            for name, rule in _OTHER_RULES.items()
            if episode.scores.get(name) == 0.0
        ]
        facts = [Fact("other_rules", rules=stricter)] if stricter else []
        reported = reported_point(trajectory)
        if reported is not None and reference.middles:
            away = min(math.dist(reported, middle[:2]) for middle in reference.middles)
            if away > MISREPORTED:
                facts.append(Fact("report_off", away=away))
        for number, before in enumerate(trajectory.steps[:-1], 1):
            seen = objectnav.target_at(before.observation, reference.targets)
            if seen is not None:
                return [*facts, Fact("in_view", target=seen["target"], step=number)]
        return facts
    if (step := episode.progress.held_from) and step < last:
        goals = household.all_goals(len(episode.conditions))
        actor = episode.name(step)
        by = Fact("by", actor=actor, action=episode.acted(step))
        return [Fact("held_from", goals=goals, step=step, by=by)]
    return []


def _mistake(evidence: EpisodeFacts, cause: str, why: Explanation) -> Mistake:
    """Return the mistake of a failed episode: its step, and the facts that its sentences are of."""
    last = evidence.last
    lost = evidence.lost or Lost(last)
    marks: dict[str, Any] = {"missed": why.missed}
    if why.turn_off is not None:
        marks["departed"] = why.turn_off["step"]
    end = why.end
    if "actor" not in end and end["kind"] not in _WITH_SUBJECT:
        end = Fact("ended", end=end)
    course = why.lead or find_course(evidence.trajectory)
    if evidence.conditions and not evidence.unmet:
        course = None
    # The course leads, and need not be repeated with another count.
    notes = [fact for fact in why.more if not course or not _says(course["did"], fact)]
    # The limit is to blame before any actor. Where no expert succeeds at all, it is not: an order
    # that was never sent is.
    by_limit = not lost.step and (lost.needed or not why.step)
    if by_limit or end["kind"] == "no_turn_left":
        notes = [*filter(None, [course]), *notes]
        fact = _by_limit(evidence, lost, why.how, end, notes)
        return Mistake(last, cause, fact, limit=True, **marks)
    step = why.step or lost.step
    # What the others waited for comes first, then what the actors did meanwhile.
    if why.step and course is not None and not why.lead:
        notes.append(course)
        course = None
    lead, tells_end = _lead(evidence, why, course, step, end)
    more = notes
    if course is not None and why.turn_off is not None:
        more = [why.turn_off, *more]
    # Until when it could be mended.
    left: dict[str, Any] = {}
    if lost.needed:  # else the expert's number of steps is not known
        left = {"needed": lost.needed, "left": lost.left, "unit": evidence.unit}
    if step < last and not why.step and (left or lead["step"] < step):
        # The lead may have said that it was too late. An actor that stopped by itself did not lack
        # steps.
        if lead["kind"] == "lost_at":
            more = [*more, Fact("needed", step=step, **left)]
        elif evidence.trajectory.ended == "step_limit":
            more = [*more, Fact("too_late", step=step, **left)]
        elif why.was_right:
            more = [*more, Fact("too_few", step=step, **left)]
    if not tells_end:
        stopped = step == last and evidence.trajectory.ended == "stopped"
        if stopped and lead["step"] < step:
            end = Fact("at_step", step=step, did=why.end)
        more = [end, *more] if why.lead else [*more, end]
    return Mistake(step, cause, Fact(**lead, more=more), **marks)


def _says(course: Fact, fact: Fact) -> bool:
    """True if a course says the same as a fact, or that the same action failed."""
    if fact["kind"] != "failing":
        return fact == course
    same = [course.get(key) == fact.get(key) for key in ("actor", "action")]
    return course["kind"] in FAILING and all(same)


def _lead(
    evidence: EpisodeFacts, why: Explanation, course: Fact | None, step: int, end: Fact
) -> tuple[Fact, bool]:
    """Return the first fact on a failed episode, and True if it tells how the episode ended.

    ``step`` is the one that lost it. What went on for most of the episode leads, else where it left
    the path for good, else that step or the end.
    """
    if course is not None:
        return course, False
    if why.turn_off is not None:
        return Fact("lost", step=why.turn_off["step"], did=why.turn_off["did"]), False
    if step == evidence.last or why.step:
        return Fact("lost", step=step, did=why.end), True
    if why.was_right:
        return Fact("lost", step=evidence.last, did=why.end), True
    if why.did is not None:
        return Fact("lost", step=step, did=why.did), False
    # An actor that stopped before the last one left undone what the end tells.
    if evidence.acted(step) == "stop" and "actor" in end:
        did = Fact(**{**end, "actor": evidence.name(step), "end": "stopped"})
        return Fact("lost", step=step, did=did), True
    if end["kind"] == "ended":
        end = Fact("then", end=why.end)
    # The end of all is no event of the last step.
    last = None if end["kind"] in _WITH_SUBJECT else evidence.last
    return Fact("lost_at", step=step, last=last, what=end), True


_WITH_SUBJECT = ("no_turn_left", "not_stopped")
"""Kinds of ends that are sentences without an actor."""


_SPENT = ("steps", "at_step", "never_opened", "failing")
"""Facts on what the steps were spent on, the most telling kind first."""


def _by_limit(
    evidence: EpisodeFacts, lost: Lost, how: str, end: Fact, more: Sequence[Fact]
) -> Fact:
    """Return the fact of an episode that no step lost: the limit was too low, or nothing is known
    to be to blame, as no expert succeeds. What the steps were spent on leads, if it is known."""
    if lost.step or not lost.needed:
        fact = Fact("at_end", what=end)
        more = [*more]
    else:
        values = {"needed": lost.needed, "limit": lost.limit, "unit": evidence.unit}
        actors = len(evidence.trajectory.start)
        # Steps of a page are numbered over all actors.
        if actors > 1:
            steps = count(actors * lost.limit, "step")
            values |= {"steps": steps, "actors": actors}
        if how:
            return Fact("limit", how=how, **values, more=[end, *more])
        fact = Fact("limit_elsewhere", **values)
        more = [end, *more]
    spent = [each for kind in _SPENT for each in more if each["kind"] == kind]
    if not spent or end["kind"] == "no_turn_left":
        return Fact(**fact, more=more)
    more.remove(spent[0])
    return Fact(**spent[0], more=[fact, *more])


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
        # The sentence before says how the episode ended.
        if name == "stopped":
            continue
        text = _state_value(name, value)
        is_plain = isinstance(value, str | int | float) and len(text) <= _LONGEST
        if not is_plain:
            return []
        values.append(f"{spaced(name)} {text}")
    if not 0 < len(values) <= _MOST_VALUES:
        return []
    return [Fact("state", values=values)]


def _state_value(name: str, value: Any) -> str:
    """Return a value of a final state as text: numbers with the digits that a reader needs."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        # Headings of foreign records may be infinite.
        if name == "heading" and math.isfinite(value):
            return f"{round(value) % 360}°"
        return f"{round(value, 2)}"
    return str(value)


def _by_cause(evidence: EpisodeFacts) -> Mistake | None:
    """Explain an episode of a family without a module here by its first cause or its course."""
    last = evidence.last
    progress = evidence.progress
    for cause, number in evidence.causes.items():
        did = Fact("cause", meaning=meaning_of(cause, evidence.scores))
        step = number or last
        more = failures(evidence.trajectory, last / 4)
        more += _final_state(evidence.trajectory.state)
        fact = Fact("lost", step=step, did=did, more=more)
        if repeated := find_course(evidence.trajectory):
            fact = Fact(**repeated, more=more)
        return Mistake(step, cause, fact)
    step = progress.first_loss or last
    course = ""
    if progress.first_loss:
        course = progress.describe(step)
    course = course or progress.summary() or progress.describe(last)
    if not course:
        return None
    return Mistake(step, "", Fact("lost", step=step, did=Fact("course", course=course)))
