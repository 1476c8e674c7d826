"""Episodes as training text: one example an episode, with a label wherever the agent chose.

The agent itself plays, in its world, with its own prompts. Its model is replaced by one that gives
the oracle's answer (teacher forcing), or that asks the weights under training and records what the
oracle would have said (student forcing). Because each prompt extends the one before, the last one
holds the whole episode, and each decision is a position in it. The loss is on these alone.

An agent can be trained if it asks ``choose`` alone. Its options are the actions' names, or what its
attribute ``answers`` (action -> option) says. An agent that cuts the instruction into ``clauses``
may ask whether the one it follows is done: yes, where the gold step belongs to a later one. In
homes the oracle is the expert's plan (:mod:`~wayword.training.labels`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from wayword.agents.parts.clauses import FOLLOW, YES
from wayword.core import registry
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, MakePlan, Shared, Toolkit, check_family
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, PathReference, Reference
from wayword.core.errors import UsageError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.core.rollout import Setup, rollout
from wayword.core.world import Feedback, Observation, World
from wayword.models.parts.decoding import continued
from wayword.settings import make
from wayword.training.alignment import Narrated, narrated
from wayword.training.labels import (
    UNKNOWN,
    Guide,
    LabeledDecision,
    Method,
    PlanGuide,
    keeps_own,
    near_goal,
)
from wayword.worlds.household.goals import HouseholdReference


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


def vocabulary(source: Source, folder: Path | None) -> Iterator[str]:
    """A dataset's instructions, and the words for its places in lower case: no walks are played."""
    dataset, tasks = source.opened(folder)
    yield from (f'"{task.episode.instruction}"' for task in tasks)
    perceiver, seen = dataset.perceiver(), set()
    if perceiver is None:
        return
    for scene in sorted({task.episode.scene for task in tasks}):
        for place in dataset.graph(scene).ids:  # type: ignore[attr-defined]
            percept = perceiver.perceive(scene, place)
            told = [percept.summary, *(part.caption for part in percept.sectors)]
            told += [thing.name for part in percept.sectors for thing in part.sightings]
            seen.update(re.findall(r"[a-z]+", " ".join(told).lower()))
    yield from (f": {word}; {word}, {word}" for word in sorted(seen))


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
