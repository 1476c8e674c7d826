"""The course of an episode: how far it was from success at the start and after each step.

    >>> course = Course((5.0, 3.0, 1.0, 4.0), unit="m")
    >>> course.best, course.worse, course.told(3)
    (2, 3, '4.0 m to go, 3.0 m further')

The recorded actions are played again, and the family's scorer judges the world after each of them,
as it judges one that ends there. Where it knows a way that is left, that is the course; else the
goal conditions that hold are. Where an episode cannot be played again, the distance as the crow
flies stands in, where the map has a gold path.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from wayword.agents.person import answered
from wayword.core.action import STOP, Action, Decision
from wayword.core.errors import WaywordError
from wayword.core.game import Game, PlanningFailed, ReplayDiffers
from wayword.core.trajectory import CLAUSES, FOLLOWED, Note, Trajectory
from wayword.metrics.household import answer_is_right
from wayword.metrics.scoring import Judged, Standing, scorer
from wayword.runs.replaying import recorded_answers
from wayword.viewer.data import Sources
from wayword.viewer.maps import generic
from wayword.viewer.maps.generic import place_of
from wayword.viewer.markup import Html, tag
from wayword.worlds.household.goals import AnswerReference, HouseholdReference
from wayword.worlds.household.verbs import HIGH_LEVEL
from wayword.worlds.two_phase.world import TwoPhaseReference

_MORE = 0.05
"""Metres that a way must grow by to count as worse: less is the rounding of poses."""


@dataclass(frozen=True, slots=True)
class Course:
    """``values`` at the start and after each step: what is left to go, in ``unit``; or, where
    ``of`` is not 0, how many of so many goal conditions hold. ``left`` is the first step, from 1,
    that led off the gold path; 0 where none did, or where there is no such path."""

    values: tuple[float, ...] = ()
    of: int = 0
    unit: str = "m"
    left: int = 0

    @property
    def known(self) -> bool:
        """Whether there is anything to draw: conditions that never change say nothing."""
        return bool(self.values) and (not self.of or self.of > 1 or len(set(self.values)) > 1)

    @property
    def best(self) -> int:
        """The first step after which success was nearest; 0: the start."""
        return self.values.index((max if self.of else min)(self.values)) if self.values else 0

    @property
    def worse(self) -> int:
        """The first step, from 1, after which it was farther than before; 0 where none was. A
        condition that came to hold again, as when a thing is moved, was not undone."""
        farther = (n for n in range(1, len(self.values)) if self.change(n) < 0)
        return next((n for n in farther if not (self.of and self._made_good(n))), 0)

    def _made_good(self, step: int) -> bool:
        return max(self.values[step:]) >= self.values[step - 1]

    def change(self, step: int) -> float:
        """How much nearer a step led: metres or links, or conditions; negative: farther."""
        if not 1 <= step < len(self.values):
            return 0.0
        before, after = self.values[step - 1], self.values[step]
        gained = after - before if self.of else before - after
        return gained if abs(gained) > _MORE else 0.0

    def told(self, step: int) -> str:
        """What a step changed, in words; empty where nothing is known of it."""
        if not self.known or not 0 <= step < len(self.values):
            return ""
        change, now = self.change(step), self.values[step]
        if self.of:
            what = f"{now:.0f} of {self.of} goal conditions hold"
            return (
                f"{what}, {abs(change):.0f} {'more' if change > 0 else 'fewer'}" if change else ""
            )
        far = f", {self._way(-change)} further" if change < 0 else ""
        return f"{self._way(now)} to go{far}"

    def summary(self) -> str:
        """The whole course in a line."""
        if not self.known:
            return ""
        best, last = self.values[self.best], self.values[-1]
        when = f"after step {self.best}" if self.best else "at the start"
        if self.of:
            least = f"{best:.0f} at best, {when}" if best > last else "never more"
            return f"{last:.0f} of {self.of} goal conditions hold at the end, {least}"
        near = f"{self._way(best)} at best, {when}"
        return f"{self._way(last)} to the goal at the end, {near}"

    def _way(self, length: float) -> str:
        if not math.isfinite(length):
            return "no way"
        return f"{length:.0f} {self.unit}" if self.unit != "m" else f"{length:.1f} m"


class Judge:
    """Watches an episode that is played again, and gives its course."""

    def __init__(self, told: Trajectory, sources: Sources) -> None:
        self._told, self._sources = told, sources
        self._standings: list[Standing] = []
        self.watched = False

    def watch(self, world: Any, step: int, actor: str) -> None:
        """Judge the world before a step; the first one is the start."""
        self.watched, dataset = True, self._sources.dataset
        if dataset is None:
            return
        if step == 1:
            self._standings.clear()
        judge, task = scorer(dataset.family), self._sources.tasks[self._told.episode_id]
        if isinstance(judge, Judged):
            now = judge.standing(dataset, task, world)
            self._standings += [now] if now is not None else []

    def course(self) -> Course:
        """The course, once the episode was played; as the crow flies where it cannot be."""
        known, told = self._standings, self._told
        left = _left(told, self._sources.gold(told.episode_id))
        if len(known) != len(told.steps) + 1:
            return Course(tuple(generic.distances(told, self._sources)), left=left)
        ways = [each.distance for each in known if each.distance is not None]
        if len(ways) == len(known):
            return Course(tuple(ways), unit=known[0].unit, left=left)
        return Course(tuple(float(each.met) for each in known), known[0].parts, left=left)


def course_and_map(told: Trajectory, sources: Sources) -> tuple[Course, Html | None]:
    """The course of an episode, and its map: both out of the one time that it is played again."""
    judge = Judge(told, sources)
    drawn = generic.draw(told, replace(sources, watchers=(judge.watch,)))
    if not judge.watched:
        with suppress(WaywordError, LookupError, TypeError, ValueError, AttributeError):
            sources.played(told, judge.watch)  # a map without a film
    return judge.course(), drawn


def _left(told: Trajectory, gold: Sequence[str]) -> int:
    """The first step that led to a place off the gold path."""
    known = set(gold)
    places = (place_of(step.pose) for step in told.steps)
    return next(
        (n for n, place in enumerate(places, 1) if known and place and place not in known), 0
    )


# What should hold in the end, in words.

Wanted = tuple[str, int, int]
"""A goal condition: its words, how many of its parts hold, and how many there are."""
_MOST = 12
"""Conditions that are listed, at most."""


def conditions(reference: Any, state: Mapping[str, Any]) -> list[Wanted]:
    """The goal conditions of an episode and how they stood at its end; none where it has none
    that can be told singly."""
    if isinstance(reference, TwoPhaseReference):
        left = state.get("phase") == 2
        right = left and state.get("place") == reference.room
        return [("leave the room", int(left), 1), (f"go to the {reference.room}", int(right), 1)]
    if not isinstance(reference, HouseholdReference):
        return []
    if isinstance(reference, AnswerReference):
        right = bool(answer_is_right(state, reference.answer))
        return [(f"the answer {reference.answer!r}", int(right), 1)]
    found: list[Wanted] = []
    for goal in reference.goals[:_MOST]:
        try:
            found.append((goal.words, goal.met(state), goal.parts))
        except (KeyError, TypeError, AttributeError):
            return []  # a state that is not of this world
    return found


# What an expert would have done at the steps of a recorded episode.

SPOKEN = ("chat", "ask")
"""Actions whose argument is something said."""
WAYS = ("expert", "shortest", "gold")
"""Ways to solve a task, those to ask first."""
ERRANDS = "errands"
"""The way that takes the place of ``expert`` for actors who run whole errands."""
OVER = "nothing more"
"""Where a plan ends: everything is done, as far as the expert goes."""


def experts(told: Trajectory, sources: Sources, patience: float = 5.0) -> list[tuple[str, bool]]:
    """At each step, the expert's next action and whether it is what was done.

    Empty words where no expert knows a way on; nothing at all where the dataset has none, or where
    the world answers otherwise than it did. The recorded actions are played again, and a plan is
    made before each of them, ``patience`` seconds long at most.
    """
    dataset, task = sources.dataset, sources.tasks.get(told.episode_id)
    if task is None or dataset is None or not dataset.solutions:
        return []
    end = time.monotonic() + patience
    found: list[tuple[str, bool]] = [("", False)] * len(told.steps)
    high = _run_errands(told) if ERRANDS in dataset.solutions else set()
    for how in WAYS:
        for number, world in _played(told, task, dataset):
            step = told.steps[number]
            if found[number][0] or (
                isinstance(step.decision, Decision) and step.decision.action.name in SPOKEN
            ):
                continue
            own = ERRANDS if how == "expert" and step.actor in high else how
            try:
                action: Action | None = next(dataset.plan(task, world, step.actor, own))
            except StopIteration:
                action = None
            except (PlanningFailed, WaywordError, LookupError, ValueError):
                continue
            if action == STOP and len(told.start) > 1:
                continue  # of several, one may have nothing to do
            did = getattr(step.decision, "action", None)
            found[number] = (OVER if action is None else str(action)), action == did
            if time.monotonic() > end:
                return found
        if any(words for words, _ in found):
            break  # one expert for the whole episode
    return found


def _run_errands(told: Trajectory) -> set[str]:
    """The actors who took high-level actions: low-level advice would be beside the point."""
    decided = ((step.actor, step.decision) for step in told.steps)
    return {a for a, d in decided if isinstance(d, Decision) and d.action.name in HIGH_LEVEL}


def _played(told: Trajectory, task: Any, dataset: Any) -> Iterator[tuple[int, Any]]:
    """(number of a step, from 0, and the world before it), as long as it answers as it did."""
    game = Game(answered(dataset.world(task.episode), recorded_answers(told)), task.episode)
    try:
        for number, _ in enumerate(game.replay(told.steps)):
            yield number, game.world
    except ReplayDiffers:
        return


# The instruction of an episode by its clauses, and which of them the agent follows at each step.
#
# >>> told = Clauses(("Go ahead", "stop at the lamp"), (0, 10))
# >>> told.cut("Go ahead. Stop at the lamp.")
# [('Go ahead. ', (1,)), ('Stop at the lamp.', (2,))]
#
# Recipes that know it note it: ``walker`` and ``velma`` with ``follow`` mark the instruction's own
# words, DiscussNav's decomposition and published sub-instructions are a list below it.

SHOWN_ELSEWHERE = frozenset({CLAUSES, FOLLOWED})
"""Kinds of notes that the instruction shows, so that cards need not."""
_CHARACTER = re.compile(r"\S|(?<=\S)\s+(?=\S)")
"""A character of a text whose white space counts once, and not at its ends."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The clause that is followed at a step, from 1, and those done; 0 where it is not said."""

    number: int = 0
    done: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Clauses:
    """What a recipe made of its instruction: clauses, where each begins in it (or nothing), and
    what was followed at each step."""

    texts: tuple[str, ...] = ()
    begins: tuple[int, ...] = ()
    steps: tuple[Followed, ...] = ()

    @staticmethod
    def of(told: Trajectory) -> Clauses:
        """As an episode has noted them. A step without a note has what the last one had."""
        noted = _last(told.opening_notes, CLAUSES)
        texts = noted.get("texts")
        if not isinstance(texts, list | tuple) or not texts:
            return Clauses()
        steps, now = [], Followed()
        for step in told.steps:
            now = _followed(_last(step.notes, FOLLOWED), len(texts)) or now
            steps.append(now)
        begins = tuple(_whole(noted.get("begins")))
        if len(texts) == 1 and not begins:
            return Clauses()  # no decomposition
        fit = len(begins) == len(texts) and all(one <= two for one, two in pairwise(begins))
        return Clauses(tuple(map(str, texts)), begins if fit else (), tuple(steps))

    @property
    def known(self) -> bool:
        """Whether any step says which clause it follows."""
        return any(step.number for step in self.steps)

    def at(self, step: int) -> Followed:
        """What was followed at a step, from 1."""
        return self.steps[step - 1] if 0 < step <= len(self.steps) else Followed()

    def cut(self, instruction: str) -> list[tuple[str, tuple[int, ...]]]:
        """The instruction in pieces, each with the numbers of its clauses; in one where the clauses
        are not words of it. Clauses that begin at one place share a piece."""
        places = [found.start() for found in _CHARACTER.finditer(instruction)]
        if not self.begins or self.begins[-1] >= len(places):
            return [(instruction, ())]
        starts = sorted(set(self.begins))
        places.append(len(instruction))
        ends = [0, *(_behind_marks(instruction, places[at]) for at in starts[1:])]
        return [
            (instruction[a:b], tuple(n for n, at in enumerate(self.begins, 1) if at == start))
            for start, (a, b) in zip(starts, pairwise([*ends, len(instruction)]), strict=True)
        ]

    def chip(self, step: int) -> Html | None:
        """Which clause a step follows, where it begins to."""
        number = self.at(step).number
        if not number or number == self.at(step - 1).number:
            return None
        words = f"clause {number} of {len(self.texts)}"
        return tag("span", words, class_="chip", title=self.texts[number - 1])

    def marks(self, step: int) -> dict[str, str]:
        """What the page's script reads from a step's card."""
        if not self.texts:
            return {}
        now = self.at(step)
        return {"data_clause": str(now.number), "data_done": _numbers(now.done)}

    def instruction(self, words: str) -> Html:
        """The instruction that stays in view; its script marks the clauses of each step."""
        cut = self.cut(words)
        pieces = [
            tag("span", text, class_="clause", data_clauses=_numbers(numbers)) if numbers else text
            for text, numbers in cut
        ]
        listed = [
            tag("li", text, class_="clause", data_clauses=number)
            for number, text in enumerate(self.texts, 1)
        ]
        own = any(numbers for _, numbers in cut)
        rest = tag("ol", *listed, class_="clauses") if listed and not own else None
        shown = tag("div", tag("p", *pieces), rest, class_="instruction", tabindex=0)
        return tag("div", shown, self._legend(), class_="pinned")

    def _legend(self) -> Html | None:
        if not self.texts:
            return None
        if not self.known:
            told = "The agent was given these parts, and does not say which one it follows."
            return tag("p", told, class_="dim")
        return tag(
            "p", tag("span", "followed now", class_="clause at"), " ",
            tag("span", "done, says the agent", class_="clause done"), class_="dim",
        )  # fmt: skip


def _behind_marks(text: str, at: int) -> int:
    """The first place from there on that has no white space and none of the marks that end a clause
    before."""
    return len(text) - len(text[at:].lstrip(" \t\r\n.,;!"))


def _last(notes: Sequence[Note], kind: str) -> Mapping[str, Any]:
    """The details of the last note of a kind."""
    details = next((note.details for note in reversed(notes) if note.kind == kind), {})
    return details if isinstance(details, Mapping) else {}  # a folder may hold anything


def _followed(details: Mapping[str, Any], count: int) -> Followed | None:
    number = details.get("number")
    if not isinstance(number, int) or not 0 <= number <= count:
        return None
    return Followed(number, tuple(n for n in _whole(details.get("done")) if 1 <= n <= count))


def _whole(value: Any) -> list[int]:
    """The whole numbers of a list; of anything else none."""
    items = value if isinstance(value, list | tuple) else ()
    return [each for each in items if type(each) is int and each >= 0]


def _numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
