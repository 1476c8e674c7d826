"""Episodes as training text: one example per episode, with a label for each choice.

The agent itself plays, in its world, with its own prompts. Its model is replaced by one that gives
the oracle's answer (teacher forcing), or that asks the weights under training and records what the
oracle would have answered (student forcing). Because each prompt extends the one before, the last
one contains the whole episode, and each decision is a position in it. The loss covers only these
positions.

An agent can be trained if it asks ``choose`` alone. Its options are the actions' names, or the
values of its attribute ``answers`` (action -> option). An agent that cuts the instruction into
``clauses`` may ask if the current one is done: yes, if the gold step belongs to a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from wayword.agents.clauses import FOLLOW, Clause
from wayword.agents.velma.legs import legs
from wayword.core import registry
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, MakePlan, Shared, Toolkit, check_family
from wayword.core.dataset import Dataset, Task, Walkable
from wayword.core.episode import Episode, PathReference, Reference
from wayword.core.errors import UsageError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.core.rollout import Setup, rollout
from wayword.core.world import Feedback, Observation, World
from wayword.models.parts.decoding import continued
from wayword.settings import make
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.street.graph import StreetGraph

Method = Literal["ft", "rbl", "dagger"]
"""Labels of a walk: on a gold walk its own actions (``ft``), on a model's walk the oracle's action
in each state (``dagger``, Ross et al. 2011). ``rbl`` is VELMA's response-based learning (Schumann
et al. 2024, algorithm 1): a walk that completes the task keeps its own answers, its ``stop`` too
where that is one panorama short of the goal; any other has the oracle's."""


def near_goal(dataset: Dataset, task: Task) -> frozenset[str]:
    """The places that count as the goal: linked with it (streets), within 3 m of it (indoors)."""
    reference = task.reference
    if not isinstance(reference, PathReference):
        raise UsageError(f"episode {task.episode.id} has no goal to learn from")
    graph = dataset.graph(task.episode.scene)  # type: ignore[attr-defined]
    goal = reference.goal
    if isinstance(graph, ViewpointGraph):
        row = graph.distances[:, graph.index[goal]]
        radius = dataset.family.goal_radius
        return frozenset(
            name
            for name, distance in zip(graph.ids, row, strict=True)
            if distance < radius
        )
    if isinstance(graph, StreetGraph):
        number = graph.index[goal]
        successors = {graph.ids[target] for _, target in graph.exits(number)}
        links = np.flatnonzero(graph.targets == number)
        predecessors = np.searchsorted(graph.offsets, links, side="right") - 1
        return frozenset(
            {goal, *successors, *(graph.ids[other] for other in predecessors.tolist())}
        )
    raise UsageError("success in this world does not depend on places")


class Guide:
    """The stepwise oracle of one episode: the gold path while on it, else the shortest route.

    ``best(place)`` is called once per decision, with the agent's place. It is on the gold path at
    the last reached gold place or a later one; of a place that the path visits twice, the earlier
    visit ahead counts. ``reached`` is the index of the last reached gold place; ``strayed`` is True
    if the walk has left it.
    """

    def __init__(self, world: World, gold: Sequence[str]) -> None:
        if not gold:
            raise UsageError(
                "there is no gold path to learn from; is this a test split?"
            )
        if not isinstance(world, Walkable):
            raise UsageError(
                f"{type(world).__name__} has no route() and along() to learn from"
            )
        self._world = world
        self._gold = tuple(gold)
        self.reached = 0
        self.strayed = False

    def best(self, place: str) -> Action:
        if place in self._gold[self.reached :]:
            self.reached = self._gold.index(place, self.reached)
        self.strayed = place != self._gold[self.reached]
        if self.strayed:
            route = self._world.route("agent", self._gold[-1])
            return route[0] if route else STOP
        if self.reached == len(self._gold) - 1:
            return STOP
        return self._world.along("agent", self._gold[self.reached : self.reached + 2])[
            0
        ]


# ClauseEnds: the clause of an instruction that belongs to each step of the gold path.
#
# Generated datasets know it: their instructions are written stretch by stretch, and a dataset with
# ``narrated(task)`` gives for each stretch the character where its words begin and the index of
# the place of the path where it ends. Published instructions have no such record. In
# streets a clause that describes a turn ends where that turn is made, and the others share the
# places in between; elsewhere all share the places by their lengths, unless ``align`` knows better.
# Agents never see any of this; it makes labels for training only.


@dataclass(frozen=True, slots=True)
class ClauseEnds:
    """Clauses along a path: for each, the index of the place where it ends and the next begins."""

    ends: tuple[int, ...]

    def at(self, place: int) -> int:
        """Number, from 1, of the clause that is followed at a place of the path (its index)."""
        return min(1 + sum(end <= place for end in self.ends), len(self.ends))


Narrated = Callable[[Sequence[Clause], int], ClauseEnds]
"""The agent's clauses and the number of the gold path's places -> the clauses laid along it."""


def align_clauses(
    dataset: Dataset, task: Task, clauses: Sequence[Clause], places: int
) -> ClauseEnds:
    """Align clauses with the task's gold path; by their lengths if nothing else is known."""
    narrated = getattr(dataset, "narrated", None)
    stretches: Sequence[tuple[int, int]] = narrated(task) if narrated else ()
    if stretches:
        # Each clause ends with the last stretch that begins before the next clause does. Clauses
        # that share a stretch divide its places evenly.
        nexts = [clause.begin for clause in clauses[1:]]
        last = [max(i for i, (begin, _) in enumerate(stretches) if i == 0 or begin < following)
                for following in nexts] + [len(stretches) - 1]  # fmt: skip
        ends: list[int] = []
        for number, stretch in enumerate(last):
            sharing = [n for n, other in enumerate(last) if other == stretch]
            first = stretches[stretch - 1][1] if stretch else 0
            if len(sharing) > 1 and sharing[0] and last[sharing[0] - 1] < stretch - 1:
                first = stretches[last[sharing[0] - 1]][1]
            part = (sharing.index(number) + 1) / len(sharing)
            ends.append(first + round((stretches[stretch][1] - first) * part))
        return ClauseEnds(tuple(ends))
    graph_of = getattr(dataset, "graph", None)
    if graph_of is not None and isinstance(graph_of(task.episode.scene), StreetGraph):
        actions = dataset.solve(task) if dataset.solutions else ()
        return align_by_turns(clauses, turns_of(actions), places)
    return ClauseEnds(
        tuple(round(share * (places - 1)) for share in _text_shares(clauses))
    )


def _text_shares(clauses: Sequence[Clause]) -> list[float]:
    """The share of the words up to the end of each clause."""
    sizes = np.cumsum([max(1, len(clause.text)) for clause in clauses])
    return list((sizes / sizes[-1]).tolist())


def turns_of(actions: Sequence[Action]) -> list[tuple[int, str]]:
    """The turns of a walk: the number of panoramas it had left behind, and the side."""
    turns = []
    place = 0
    for before, action in pairwise([Action(""), *actions]):
        if action.name in ("left", "right") and before.name != action.name:
            turns.append((place, action.name))
        place += action.name == "forward"
    return turns


def align_by_turns(
    clauses: Sequence[Clause], walked: Sequence[tuple[int, str]], places: int
) -> ClauseEnds:
    """End each clause with a turn at that turn; other clauses share the ``places`` in between.
    Runs of turns to the same sides are matched, the longest first, in order."""
    turns = [
        (n, side)
        for n, clause in enumerate(clauses)
        if (side := legs(clause.text)[0].turn)
    ]
    ends = {len(clauses) - 1: places - 1}
    sides = [side for _, side in turns], [side for _, side in walked]
    for run in SequenceMatcher(None, *sides, autojunk=False).get_matching_blocks():
        for n in range(run.size):
            ends.setdefault(turns[run.a + n][0], walked[run.b + n][0])
    laid: list[int] = []
    before = 0
    began = 0
    for last in sorted(ends):
        stretch = max(ends[last], before) - before
        laid += [
            before + round(share * stretch)
            for share in _text_shares(clauses[began : last + 1])
        ]
        before = laid[-1]
        began = last + 1
    return ClauseEnds(tuple(laid))


@dataclass(frozen=True, slots=True)
class TextChoice:
    """A decision in the text: at offset ``at`` is ``taken``, which should be ``label``. Both
    include the space before them. ``taken`` is empty if the agent only ranked the options."""

    at: int
    taken: str
    label: str


@dataclass(frozen=True, slots=True)
class Example:
    """An episode as text."""

    episode: str
    source: str
    text: str
    choices: tuple[TextChoice, ...]
    success: bool = True


class _Chooser(Model):
    """The model of an agent in training: answers for the oracle or the student, and takes notes."""

    name = "training"

    def __init__(
        self, student: Model | None, answer: Callable[[str, str, Sequence[str]], str]
    ):
        self._student = student
        self._answer = answer

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        if not isinstance(prompt, str):
            raise UsageError("only agents whose prompt is one text can be trained")
        if self._student is not None:
            choice = await self._student.choose(prompt, options)
            self._answer(prompt, choice.best, options)
            return choice
        want = self._answer(prompt, "", options) or options[0]
        if want not in options:
            raise UsageError(f"{want!r} is not one of the options {list(options)}")
        return Choice(
            tuple(options), tuple(0.0 if o == want else -1e9 for o in options), Usage()
        )

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        raise UsageError(
            "only agents that call just `choose` can be trained: set decoding=choose"
        )


@dataclass(frozen=True, slots=True)
class LabeledQuestion:
    """An agent's question, and the options that were taken and that were best ("" for none)."""

    prompt: str
    taken: str
    best: str


class _LabeledAgent(Agent):
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
        models = {**toolkit.models, "main": _Chooser(student, self._note_question)}
        self.agent: Any = cls(settings, replace(toolkit, models=models))
        self.stopped_at = ""
        self.questions: list[LabeledQuestion] = []
        self._narrated = narrated
        self._near = near
        self._best = STOP
        self._world: World | None = None
        self._guide: Guide | None = None
        self._gold: tuple[str, ...] = ()

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        self._world = world
        if not isinstance(reference, PathReference):
            raise UsageError(
                f"episode {reference.episode_id} has no gold path to learn from"
            )
        self._guide = Guide(world, reference.path)
        self._gold = reference.path

    async def begin(self, episode: Episode) -> None:
        await self.agent.begin(episode)
        clauses = getattr(self.agent, "clauses", ())
        self._clauses = self._narrated(clauses, len(self._gold)) if clauses else None

    async def act(
        self, observation: Observation, space: ActionSpace
    ) -> Decision | Rejection:
        if self._world is None or self._guide is None:
            raise UsageError("the oracle has no world: call reveal() first")
        place = _place(self._world)
        self._best = self._guide.best(place)
        before = len(self.questions)
        decision: Decision | Rejection = await self.agent.act(observation, space)
        if isinstance(decision, Rejection):
            raise UsageError(
                f"an agent that rejects answers cannot be trained: {decision.reason}"
            )
        if self.questions[before:]:
            self.stopped_at = place if decision.action == STOP else ""
        return decision

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self.agent.on_feedback(decision, feedback)

    def _note_question(self, prompt: str, taken: str, options: Sequence[str]) -> str:
        """Note a question; returns the oracle's option, which is taken without a student. The
        clause to follow has no right answer off the gold path: the oracle would turn back."""
        answers: Mapping[Action, str] = getattr(self.agent, "answers", {})
        best = self._best
        off_path = False
        if (
            self._clauses
            and best not in answers
            and any(a.name == FOLLOW for a in answers)
        ):
            assert self._guide is not None
            number = self._clauses.at(self._guide.reached)
            now = self.agent.followed
            off_path = self._guide.strayed
            best = Action(FOLLOW, (str(min(max(number, now), now + 1)),))
        oracle = answers.get(best, best.name)
        at_goal = (
            self._near and self._world is not None and _place(self._world) in self._near
        )
        if at_goal and STOP in answers:
            label = answers[STOP]
        elif off_path:
            label = ""
        else:
            label = oracle
        self.questions.append(
            LabeledQuestion(prompt, taken or oracle, label if label in options else "")
        )
        return oracle


def _place(world: World) -> str:
    pose = world.pose("agent")
    return str(pose.get("viewpoint", pose.get("panorama", "")))


class ExampleMaker:
    """Plays the episodes of one source with one agent, and writes them as examples.

        dataset = Towns("train", None, Towns.Settings())
        maker = ExampleMaker("velma", {"shots": 0}, "towns:train", dataset)
        example = asyncio.run(maker.example(dataset.tasks[0], None, "ft"))

    ``align`` aligns an agent's clauses with the gold path; ``near`` labels the last one as done
    wherever a stop counts as success.
    """

    def __init__(
        self,
        agent: str,
        settings: Mapping[str, Any],
        source: str,
        dataset: Dataset,
        *,
        near: bool = False,
        align: Callable[
            [Dataset, Task, Sequence[Clause], int], ClauseEnds
        ] = align_clauses,
    ):
        self._cls = registry.load("agent", agent)
        self._settings = make(self._cls.Settings, settings, agent)
        check_family(self._cls, dataset.family.name, source, agent)
        self._source = source
        self._dataset = dataset
        self._near = near
        self._align = align
        self._shared = Shared()

    async def example(
        self, task: Task, student: Model | None, method: Method
    ) -> Example:
        """Play one episode: the gold walk without a student, else the student's own, labeled."""
        guides: list[_LabeledAgent] = []
        near = near_goal(self._dataset, task) if self._near else frozenset()

        def build(toolkit: Toolkit, actor: str) -> Agent:
            laid = partial(self._align, self._dataset, task)
            guides.append(
                _LabeledAgent(self._cls, self._settings, toolkit, student, laid, near)
            )
            return guides[-1]

        name = task.episode.id
        most = self._dataset.max_steps if student else 10 * self._dataset.max_steps
        setup = Setup(self._dataset, build, shared=self._shared, max_steps=most)
        trajectory = await rollout(task, setup)
        if trajectory.error:
            raise UsageError(f"episode {name}: {trajectory.error}")
        (guided,) = guides
        success = guided.stopped_at in near_goal(self._dataset, task)
        keep = method == "rbl" and student is not None and success
        return write_example(
            name, self._source, guided.questions, success, keep_answers=keep
        )


def write_example(
    episode: str,
    source: str,
    questions: Sequence[LabeledQuestion],
    success: bool = True,
    *,
    keep_answers: bool,
) -> Example:
    """Return the prompts of an episode as one text; with ``keep_answers``, taken options are their
    own labels. Raises ``UsageError`` if a prompt does not extend the last byte for byte."""
    text = ""
    choices = []
    for question, after in zip(questions, [*questions[1:], None], strict=True):
        if not question.prompt.startswith(text):
            raise UsageError(
                f"episode {episode}: a prompt does not extend the one before it; only agents whose "
                "prompt is one growing text can be trained"
            )
        base, option = continued(question.prompt, question.taken)
        label = question.taken if keep_answers else question.best
        if after is not None and not after.prompt.startswith(base + option):
            if keep_answers:
                raise UsageError(
                    f"episode {episode}: rbl needs answers that are written down, and these were "
                    "only weighed; train this agent with --method dagger"
                )
            option = ""
        if label:
            choices.append(
                TextChoice(len(base), option, continued(question.prompt, label)[1])
            )
        text = base + option
    return Example(episode, source, text, tuple(choices), success)
