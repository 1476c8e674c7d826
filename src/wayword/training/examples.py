"""Episodes as training text: one example an episode, with a label wherever the agent chose.

The agent itself plays, in its world, with its own prompts. Its model is replaced by one that gives
the oracle's answer (teacher forcing), or that asks the weights under training and records what the
oracle would have said (student forcing). Because each prompt extends the one before, the last one
holds the whole episode, and each decision is a position in it. The loss is on these alone.

An agent can be trained if it asks ``choose`` alone. Its options are the actions' names, or what its
attribute ``answers`` (action -> option) says. An agent that cuts the instruction into ``clauses``
may ask whether the one it follows is done: yes, where the gold step belongs to a later one. In
homes the oracle is the expert's plan.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wayword.agents.clauses import FOLLOW, YES, Clause
from wayword.agents.velma.legs import legs
from wayword.agents.walker.agent import STEEP
from wayword.core import registry
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, MakePlan, Shared, Toolkit, check_family
from wayword.core.dataset import Dataset, Task, Walkable
from wayword.core.episode import Episode, PathReference, Reference
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, PlanningFailed
from wayword.core.geometry import relative, sector
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.core.rollout import Setup, rollout
from wayword.core.world import Feedback, Observation, World
from wayword.models.parts.decoding import continued
from wayword.settings import make
from wayword.worlds.household.goals import HouseholdReference
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.street.graph import StreetGraph

Method = Literal["ft", "rbl", "dagger"]


@dataclass(frozen=True, slots=True)
class LabeledDecision:
    """One decision: the place, the action taken, and the oracle's."""

    place: str
    taken: Action
    best: Action


def completed(walk: Sequence[LabeledDecision], near_goal: frozenset[str]) -> bool:
    """Whether the agent stopped, of its own accord, in a place that counts as the goal.

    ``near_goal`` holds the goal and what the task's metric lets pass for it: in streets its direct
    neighbours, indoors every viewpoint within three metres.
    """
    return bool(walk) and walk[-1].taken == STOP and walk[-1].place in near_goal


def keeps_own(method: Method, walk: Sequence[LabeledDecision], near_goal: frozenset[str]) -> bool:
    """Whether the agent's own answers are the labels of its walk, all of them; else the oracle's.

    Under response-based learning a walk that completes the task keeps them. One panorama short of
    the goal is a success: the agent's own ``stop`` is the label there, not the step that is
    missing. A walk that never stops, stops elsewhere or runs on is no success, also where it passed
    the goal: each label is the oracle's action in that state.
    """
    return method == "rbl" and completed(walk, near_goal)


def near_goal(dataset: Dataset, task: Task) -> frozenset[str]:
    """The places that count as the goal: linked with it (streets), within 3 m of it (indoors)."""
    reference = task.reference
    if not isinstance(reference, PathReference):
        raise UsageError(f"episode {task.episode.id} has no goal to learn from")
    graph = dataset.graph(task.episode.scene)  # type: ignore[attr-defined]
    goal = reference.goal
    if isinstance(graph, ViewpointGraph):
        row, radius = graph.distances[:, graph.index[goal]], dataset.family.goal_radius
        return frozenset(name for name, far in zip(graph.ids, row, strict=True) if far < radius)
    if isinstance(graph, StreetGraph):
        number = graph.index[goal]
        out = {graph.ids[target] for _, target in graph.exits(number)}
        links = np.flatnonzero(graph.targets == number)
        back = np.searchsorted(graph.offsets, links, side="right") - 1
        return frozenset({goal, *out, *(graph.ids[other] for other in back.tolist())})
    raise UsageError("success in this world is not a matter of places")


class Guide:
    """The stepwise oracle of one episode: the gold path while on it, else the shortest way.

    ``best(place)`` is asked once a decision, in order, with the place the agent stands at. Being on
    the gold path means standing at the place it was at last, or at a later one; a place that the
    path visits twice counts as the earlier visit that is still ahead. ``reached`` is the index of
    the gold place that the walk was at last; ``strayed`` says that it is not there now.
    """

    def __init__(self, world: World, gold: Sequence[str]) -> None:
        if not gold:
            raise UsageError("there is no gold path to learn from; is this a test split?")
        if not isinstance(world, Walkable):
            raise UsageError(f"{type(world).__name__} has no route() and along() to learn from")
        self._world, self._gold, self.reached = world, tuple(gold), 0
        self.strayed = False

    def best(self, place: str) -> Action:
        """The oracle's action here."""
        if place in self._gold[self.reached :]:
            self.reached = self._gold.index(place, self.reached)
        self.strayed = place != self._gold[self.reached]
        if not self.strayed:
            if self.reached == len(self._gold) - 1:
                return STOP
            return self._world.along("agent", self._gold[self.reached : self.reached + 2])[0]
        route = self._world.route("agent", self._gold[-1])
        return route[0] if route else STOP


# The stepwise oracle of a home task: the expert's plan, made anew wherever the walk left it.

UNKNOWN = Action("")
"""What the oracle says where it has no plan: no question is labelled there."""


class PlanGuide:
    """``best(place)`` is asked once a decision, in order; the place does not matter. ``took`` tells
    what came of the decision.

    While the walk does what the plan says, the plan goes on; else the next one begins at the state
    that the walk has come to.
    """

    reached, strayed = 0, False

    def __init__(self, make: MakePlan) -> None:
        self._make = make
        self._plan: ActionPlan | None = None
        self._said, self._feedback = UNKNOWN, Feedback()

    def best(self, place: str) -> Action:
        """The expert's next high-level action, ``UNKNOWN`` where it has none."""
        try:
            if self._plan is None:
                self._plan = self._make("errands")
                self._said = next(self._plan)
            else:
                self._said = self._plan.send(self._feedback)
        except StopIteration:
            self._plan, self._said = None, STOP
        except PlanningFailed:
            self._plan, self._said = None, UNKNOWN
        return self._said

    def took(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Go on with the plan if it was followed."""
        self._feedback = feedback
        if not isinstance(decision, Decision) or decision.action != self._said:
            self._plan = None


# Labels: what an agent should have done, for walks along the gold path and for its own.
#
# Response-based learning, algorithm 1 of VELMA (Schumann et al. 2024, section 6.3.1): a walk of the
# agent's own that completes the task keeps its actions as labels; in any other walk the label at
# every step is the oracle's action in the state that the agent was in. The text keeps the agent's
# own actions either way.
#
# DAgger (Ross et al. 2011) always takes the oracle's action.

# Which clause of an instruction belongs to which step of the gold path.
#
# Generated places know it: their instructions are written stretch by stretch, and a dataset with
# ``narrated(task)`` tells where in the text each stretch begins and at which place of the path it
# ends. Published instructions have no such record. For walks indoors the clauses are laid along the
# path in order (dynamic programming), by plain features: a turn that is told and made, stairs that
# are told and climbed, words of the clause that the captions have, an even spread. In streets a
# clause that tells a turn ends where that turn is made, and the others share what lies between.
# Nothing of this is known to an agent; it makes labels for training only.


@dataclass(frozen=True, slots=True)
class Laid:
    """Clauses laid along a path: for each, from 1, the index of the last place it is followed at.

    The place where a clause ends belongs to the next one.
    """

    ends: tuple[int, ...]

    def at(self, place: int) -> int:
        """The clause, from 1, that is followed at a place of the path (its index)."""
        return min(1 + sum(end <= place for end in self.ends), len(self.ends))


Narrated = Callable[[Sequence[Clause], int], Laid]
"""The agent's clauses and the number of the gold path's places -> the clauses laid along it."""


@runtime_checkable
class Narrator(Protocol):
    """A dataset whose instructions are written stretch by stretch."""

    def narrated(self, task: Task) -> Sequence[tuple[int, int]]:
        """For each stretch, the character where its words begin, and the path index of its end."""
        ...


def narrated(dataset: Dataset, task: Task, clauses: Sequence[Clause], places: int) -> Laid:
    """The clauses laid along the task's gold path; by their lengths if nothing else tells how."""
    if isinstance(dataset, Narrator):
        return _from_stretches(clauses, dataset.narrated(task))
    graph = getattr(dataset, "graph", None)
    perceiver = dataset.perceiver()
    reference = task.reference
    walked = graph(task.episode.scene) if graph is not None else None
    if isinstance(walked, StreetGraph):
        actions = dataset.solve(task) if dataset.solutions else ()
        return by_turns(clauses, turns_made(actions), places)
    if not isinstance(walked, ViewpointGraph) or not isinstance(reference, PathReference):
        return _spread(clauses, places)
    if perceiver is None:
        return _spread(clauses, places)
    heading = float(task.episode.start.get("heading", 0.0))  # type: ignore[arg-type]
    steps = _steps(walked, perceiver, task.episode.scene, reference.path, heading)
    return aligned(clauses, steps)


def _spread(clauses: Sequence[Clause], places: int) -> Laid:
    """Every clause as long as its share of the words."""
    sizes = np.cumsum([max(1, len(clause.text)) for clause in clauses])
    return Laid(tuple(round(share * (places - 1)) for share in (sizes / sizes[-1]).tolist()))


def _from_stretches(clauses: Sequence[Clause], stretches: Sequence[tuple[int, int]]) -> Laid:
    """Each clause ends with the last stretch that begins before the next clause does.

    Clauses that share a stretch divide its places evenly.
    """
    nexts = [clause.begin for clause in clauses[1:]]
    last = [max(i for i, (begin, _) in enumerate(stretches) if i == 0 or begin < following)
            for following in nexts] + [len(stretches) - 1]  # fmt: skip
    ends: list[int] = []
    for number, stretch in enumerate(last):
        sharing = [n for n, other in enumerate(last) if other == stretch]
        first = stretches[stretch - 1][1] if stretch else 0
        if len(sharing) > 1 and sharing[0] and last[sharing[0] - 1] < stretch - 1:
            first = stretches[last[sharing[0] - 1]][1]
        whole = stretches[stretch][1] - first
        part = (sharing.index(number) + 1) / len(sharing)
        ends.append(first + round(whole * part))
    return Laid(tuple(ends))


# Streets: a turn that is told is one that is made, in order.


def turns_made(actions: Sequence[Action]) -> list[tuple[int, str]]:
    """The turns of a walk: how many panoramas it had left behind, and the side."""
    made, place = [], 0
    for before, action in pairwise([Action(""), *actions]):
        if action.name in ("left", "right") and before.name != action.name:
            made.append((place, action.name))
        place += action.name == "forward"
    return made


def by_turns(clauses: Sequence[Clause], made: Sequence[tuple[int, str]], places: int) -> Laid:
    """Each clause that ends in a turn ends where that turn is made; others share what lies between.

    Runs of turns to the same sides are matched, the longest first, in order; a clause whose turn
    is matched with none counts as one without. ``places``: how many the path has.
    """
    told = [(number, side) for number, clause in enumerate(clauses) if (side := _side(clause))]
    ends = {len(clauses) - 1: places - 1}
    sides = [side for _, side in told], [side for _, side in made]
    for run in SequenceMatcher(None, *sides, autojunk=False).get_matching_blocks():
        for n in range(run.size):
            ends.setdefault(told[run.a + n][0], made[run.b + n][0])
    laid: list[int] = []
    before, began = 0, 0
    for last in sorted(ends):
        sizes = np.cumsum([max(1, len(one.text)) for one in clauses[began : last + 1]])
        stretch = max(ends[last], before) - before
        laid += [before + round(share * stretch) for share in (sizes / sizes[-1]).tolist()]
        before, began = laid[-1], last + 1
    return Laid(tuple(laid))


def _side(clause: Clause) -> str:
    """``left`` or ``right`` where a clause ends in a turn to that side; else nothing."""
    return legs(clause.text)[0].turn


# Instructions without a record: clauses and steps matched by what both speak of.


@dataclass(frozen=True, slots=True)
class GoldStep:
    """One step of a gold path: its turn and slope (degrees), and the words around it."""

    turn: float
    slope: float
    words: frozenset[str]
    ahead: frozenset[str]


_WORD = re.compile(r"[a-z]{3,}")
_DULL = """
    the and you your then into through past with from that there turn left right walk straight
    room stop wait head until when reach side end way front next down are will see area
"""


def _steps(
    graph: ViewpointGraph, perceiver: Any, scene: str, path: Sequence[str], heading: float
) -> list[GoldStep]:
    steps, facing = [], heading
    for here, there in pairwise(path):
        bearing, slope, _ = graph.bearing(here, there)
        sectors = perceiver.perceive(scene, here).sectors
        view = sectors[sector(bearing, len(sectors))]
        arrived = perceiver.perceive(scene, there)
        things = (thing.name for part in arrived.sectors for thing in part.sightings)
        around = _content(" ".join([arrived.summary, *things]))
        told = _content(" ".join([view.caption, *(thing.name for thing in view.sightings)]))
        steps.append(GoldStep(relative(bearing, facing), slope, around, told))
        facing = bearing
    return steps


def _content(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - frozenset(_DULL.split())


def _fit(clause: str, step: GoldStep) -> float:
    """How well a clause tells a step; the terms' weights are set by hand."""
    words = clause.lower()
    named = _content(words)
    found = 0.6 * len(named & step.words) + 0.6 * len(named & step.ahead)
    score = float(found / max(1.0, len(named) ** 0.5))
    for side, sign in (("left", -1), ("right", 1)):
        if re.search(rf"\b(?:turn|veer|bear|take|make|hang)\b[^,.]*\b{side}\b", words):
            score += 1.0 if step.turn * sign > 30 else -0.5
    if re.search(r"\bstraight\b|\bforward\b", words) and abs(step.turn) < 25:
        score += 0.4
    if re.search(r"\bturn around\b", words):
        score += 1.0 if abs(step.turn) > 130 else -0.4
    climbs = re.search(r"\b(?:stair\w*|steps|flight)\b", words)
    if climbs or abs(step.slope) >= STEEP:
        told_up = bool(re.search(r"\bup\b|\bascend|\bclimb", words))
        steep = abs(step.slope) >= STEEP
        agrees = steep and told_up == (step.slope > 0)
        score += 1.5 if climbs and agrees else -0.7 if bool(climbs) != steep else 0.0
    return score


SPREAD = 2.0
"""What it costs a clause to lie half a path away from its place in the text, squared."""


def aligned(clauses: Sequence[Clause], steps: Sequence[GoldStep]) -> Laid:
    """The best order-keeping assignment of one clause to each step, by dynamic programming."""
    if not steps:
        return Laid((0,) * len(clauses))
    sizes = np.array([max(1, len(clause.text)) for clause in clauses], dtype=float)
    middles = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    fits = np.array([[_fit(clause.text, step) for clause in clauses] for step in steps])
    times = (np.arange(len(steps)) + 0.5) / len(steps)
    fits -= SPREAD * (2 * (times[:, None] - middles[None, :])) ** 2
    chosen = _best_path(fits)
    return Laid(tuple(sum(one <= number for one in chosen) for number in range(len(clauses))))


def _best_path(fits: NDArray[np.float64]) -> list[int]:
    """The column of each row with the largest sum, never going back."""
    best, came = fits[0].copy(), []
    for row in fits[1:]:
        reach = np.maximum.accumulate(best)
        came.append([int(np.argmax(best[: column + 1])) for column in range(len(row))])
        best = reach + row
    path = [int(np.argmax(best))]
    for back in reversed(came):
        path.append(back[path[-1]])
    return path[::-1]


@dataclass(frozen=True, slots=True)
class Choosing:
    """A decision in the text: ``at`` characters in stands ``taken``, and ``label`` belongs there.

    Both begin with the blank that stands before them. ``taken`` is empty where the agent did not
    write the answer down, and only weighed it against others.
    """

    at: int
    taken: str
    label: str


@dataclass(frozen=True, slots=True)
class Example:
    """One episode as text."""

    episode: str
    source: str
    text: str
    choices: tuple[Choosing, ...]
    success: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset to learn from: ``data`` is ``name:split``, ``settings`` its own.

    ``limit`` takes the first so many episodes (0: all). ``scenes`` keeps or, with ``leave_out``,
    drops scenes; ``area`` keeps the routes wholly in an area of a street graph (``seen``).
    ``skip`` leaves out every so-and-so-th episode, ``only`` keeps just these: one list, two halves.
    """

    data: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    limit: int = 0
    scenes: Sequence[str] = ()
    leave_out: Sequence[str] = ()
    area: str = ""
    skip: int = 0
    only: int = 0

    def opened(self, folder: Path | None) -> tuple[Dataset, list[Task]]:
        """The dataset and the tasks that are meant. Raises ``UsageError``, ``DataError``."""
        name, _, split = self.data.partition(":")
        cls = registry.load("dataset", name)
        dataset: Dataset = cls(
            split or cls.splits[0], folder, make(cls.Settings, self.settings, name)
        )
        tasks = list(self._chosen(dataset))
        if not tasks:
            raise UsageError(f"{self.data}: no episode is left to learn from")
        return dataset, tasks[: self.limit or None]

    def _chosen(self, dataset: Dataset) -> Iterator[Task]:
        in_area = getattr(dataset, "in_area", None)
        if self.area and in_area is None:
            raise UsageError(f"{self.data}: has no areas")
        tasks = list(in_area(self.area)) if self.area and in_area else dataset.tasks
        for number in range(len(tasks)):
            if (self.skip and number % self.skip == 0) or (self.only and number % self.only):
                continue  # before the task is looked at: some are made only then
            task, scene = tasks[number], tasks[number].episode.scene
            if (not self.scenes or scene in self.scenes) and scene not in self.leave_out:
                yield task


def refuse_test(on: str, area: str = "") -> None:
    """Raise ``UsageError`` for a split that must not be learnt from."""
    name, _, split = on.partition(":")
    if "train" in split or (name == "map2seq" and split.startswith("seen_") and area == "seen"):
        return
    raise UsageError(
        f"{on} is no training split; train on {name}:train, or on map2seq:seen_dev and "
        "map2seq:seen_test with area: seen"
    )


class _Chooser(Model):
    """The model of an agent in training: answers for the oracle or the student, and takes notes."""

    name = "training"

    def __init__(self, student: Model | None, asked: Callable[[str, str, Sequence[str]], str]):
        self._student, self._asked = student, asked

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        if not isinstance(prompt, str):
            raise UsageError("only agents whose prompt is one text can be trained")
        if self._student is not None:
            choice = await self._student.choose(prompt, options)
            self._asked(prompt, choice.best, options)
            return choice
        want = self._asked(prompt, "", options) or options[0]
        if want not in options:
            raise UsageError(f"{want!r} is none of the options {list(options)}")
        return Choice(tuple(options), tuple(0.0 if o == want else -1e9 for o in options), Usage())

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        raise UsageError("only agents that ask `choose` alone can be trained (set decoding=choose)")

    async def aclose(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """What an agent asked, and the options that were taken and that were best ("": none was)."""

    prompt: str
    taken: str
    best: str


class _Guided(Agent):
    """An agent with an oracle looking over its shoulder."""

    Settings: ClassVar[type[Any]] = object
    families: ClassVar[frozenset[str]] = frozenset()
    needs_model: ClassVar[bool] = True
    sees_answer: ClassVar[bool] = True

    def __init__(
        self,
        cls: Any,
        settings: Any,
        toolkit: Toolkit,
        student: Model | None,
        narrated: Narrated,
        near: frozenset[str] = frozenset(),
    ):
        models = {**toolkit.models, "main": _Chooser(student, self._noted)}
        self.agent: Any = cls(settings, replace(toolkit, models=models))
        self.walk: list[LabeledDecision] = []
        self.questions: list[AskedQuestion] = []
        self._narrated, self._near = narrated, near
        self._best = STOP
        self._world: World | None = None
        self._guide: Guide | PlanGuide | None = None
        self._free = student is not None
        self._gold: tuple[str, ...] = ()

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        if isinstance(reference, HouseholdReference):
            self._world, self._guide = world, PlanGuide(plan)
            return
        if not isinstance(reference, PathReference):
            raise UsageError(f"episode {reference.episode_id} has no gold path to learn from")
        self._world, self._guide = world, Guide(world, reference.path)
        self._gold = reference.path

    async def begin(self, episode: Episode) -> None:
        await self.agent.begin(episode)
        clauses = getattr(self.agent, "clauses", ())
        self._clauses = self._narrated(clauses, len(self._gold)) if clauses else None

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        if self._world is None or self._guide is None:
            raise UsageError("nothing was revealed to the oracle of this walk")
        place = _place(self._world)
        self._best = self._guide.best(place)
        before = len(self.questions)
        decision: Decision | Rejection = await self.agent.act(observation, space)
        if isinstance(decision, Rejection):
            raise UsageError(f"an agent that rejects answers cannot be trained: {decision.reason}")
        asked = self.questions[before:]
        if isinstance(self._guide, PlanGuide) and not any(one.best == YES for one in asked):
            # The expert does what was not asked about, so that these questions have no answer.
            self.questions[before:] = [replace(one, best="") for one in asked]
        if isinstance(self._guide, PlanGuide) and not self._free:
            decision = Decision(self._best if self._best != UNKNOWN else STOP)
        if asked:
            self.walk.append(LabeledDecision(place, decision.action, self._best))
        return decision

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self.agent.on_feedback(decision, feedback)
        if isinstance(self._guide, PlanGuide):
            self._guide.took(decision, feedback)

    def _noted(self, prompt: str, taken: str, options: Sequence[str]) -> str:
        """Note a question; returns the oracle's option. Without a student, that is taken.

        Which clause is followed has no right answer off the gold path: the oracle would turn back.
        """
        answers: Mapping[Action, str] = getattr(self.agent, "answers", {})
        best, lost = self._best, False
        if self._clauses and best not in answers and any(a.name == FOLLOW for a in answers):
            assert self._guide is not None
            number = self._clauses.at(self._guide.reached)
            now, lost = self.agent.followed, self._guide.strayed
            best = Action(FOLLOW, (str(min(max(number, now), now + 1)),))
        want = answers.get(best, "" if isinstance(self._guide, PlanGuide) else best.name)
        ends = self._near and self._world is not None and _place(self._world) in self._near
        right = answers[STOP] if ends and STOP in answers else "" if lost else want
        kept = right if right in options else ""
        self.questions.append(AskedQuestion(prompt, taken or want, kept))
        return want


ERRANDS = 40
"""High-level actions that a home task may take; the expert needs 4 to 12."""


class ExampleMaker:
    """Plays the episodes of one source with one agent, and writes them down as examples."""

    def __init__(
        self,
        agent: str,
        settings: Mapping[str, Any],
        source: str,
        dataset: Dataset,
        *,
        near: bool = False,
    ):
        self._cls = registry.load("agent", agent)
        self._settings = make(self._cls.Settings, settings, agent)
        check_family(self._cls, dataset.family.name, source, agent)
        self._source, self._dataset, self._near = source, dataset, near
        self._shared = Shared()

    async def example(self, task: Task, student: Model | None, method: Method) -> Example:
        """One episode: the gold walk without a student, else the student's own, labelled."""
        made: list[_Guided] = []
        near = near_goal(self._dataset, task) if self._near else frozenset()

        def build(toolkit: Toolkit, actor: str) -> Agent:
            told = partial(narrated, self._dataset, task)
            made.append(_Guided(self._cls, self._settings, toolkit, student, told, near))
            return made[-1]

        most = self._dataset.max_steps if student else 10 * self._dataset.max_steps
        most = ERRANDS if isinstance(task.reference, HouseholdReference) else most
        setup = Setup(self._dataset, build, shared=self._shared, max_steps=most)
        trajectory = await rollout(task, setup)
        if trajectory.error:
            raise UsageError(f"episode {task.episode.id}: {trajectory.error}")
        (guided,) = made
        if isinstance(task.reference, HouseholdReference):
            done = task.reference.met(trajectory.state) == task.reference.parts()
            return written(
                task.episode.id, self._source, self._first_text(guided.questions), done,
                own=method == "rbl",
            )  # fmt: skip
        goals = near_goal(self._dataset, task)
        own = student is not None and keeps_own(method, guided.walk, goals)
        success = bool(guided.walk) and guided.walk[-1].place in goals
        return written(
            task.episode.id,
            self._source,
            guided.questions,
            success and trajectory.ended == "stopped",
            own=own,
        )

    def _first_text(self, questions: Sequence[AskedQuestion]) -> Sequence[AskedQuestion]:
        """The questions up to where an agent that says so began its text anew: one example is one
        growing text."""
        ends = [
            n for n, (a, b) in enumerate(pairwise(questions), 1) if len(b.prompt) < len(a.prompt)
        ]
        return questions[: ends[0]] if ends and self._cls.restarts_prompt else questions


def written(
    episode: str,
    source: str,
    questions: Sequence[AskedQuestion],
    success: bool = True,
    *,
    own: bool,
) -> Example:
    """The prompts of an episode as one text; with ``own``, what was taken is its own label. Raises
    ``UsageError`` where one prompt does not extend the last byte for byte.
    """
    text, choices = "", []
    for asked, after in zip(questions, [*questions[1:], None], strict=True):
        if not asked.prompt.startswith(text):
            raise UsageError(
                f"episode {episode}: a prompt does not extend the one before it; only agents whose "
                "prompt is one growing text can be trained"
            )
        base, option = continued(asked.prompt, asked.taken)
        wanted = asked.taken if own else asked.best
        if after is not None and not after.prompt.startswith(base + option):
            if own:
                raise UsageError(
                    f"episode {episode}: rbl needs answers that are written down, and these were "
                    "only weighed; train this agent with --method dagger"
                )
            option = ""
        if wanted:
            choices.append(Choosing(len(base), option, continued(asked.prompt, wanted)[1]))
        text = base + option
    return Example(episode, source, text, tuple(choices), success)


def _place(world: World) -> str:
    pose = world.pose("agent")
    return str(pose.get("viewpoint", pose.get("panorama", "")))


def save(path: Path, examples: Iterable[Example]) -> None:
    """Write examples as JSON lines; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    with beside.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in examples)
    os.replace(beside, path)


def read(path: Path) -> list[Example]:
    """Examples as :func:`save` wrote them."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        choices = tuple(Choosing(**choice) for choice in record.pop("choices"))
        found.append(Example(**record, choices=choices))
    return found
