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

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby, pairwise
from typing import Any, Literal

import numpy as np

from wayword.agents.clauses import FOLLOW, Clause
from wayword.agents.velma.legs import legs
from wayword.core import registry
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, MakePlan, Shared, Toolkit, check_family
from wayword.core.dataset import Dataset, Task, Walkable
from wayword.core.episode import Episode, JsonObject, PathReference, Reference
from wayword.core.errors import UsageError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage
from wayword.core.rollout import Setup, rollout
from wayword.core.world import Feedback, Observation, World
from wayword.metrics.recorded import place_of
from wayword.models.parts.decoding import continued
from wayword.settings import make
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.indoor.world import ObjectReference
from wayword.worlds.street.graph import StreetGraph

Method = Literal["ft", "rbl", "dagger"]
"""Labels of a walk: on a gold walk its own actions (``ft``), on a model's walk the oracle's action
in each state (``dagger``, Ross et al. 2011). ``rbl`` is VELMA's response-based learning (Schumann
et al. 2024, algorithm 1): a walk that completes the task keeps its own answers, its ``stop`` too
where that is one panorama short of the goal; any other has the oracle's."""


def near_goal(dataset: Dataset, task: Task) -> frozenset[str]:
    """Return the places where a stop succeeds, by the rules of the families' scorers.

    Those that see the object where one is sought, else those nearer to the goal than the family's
    ``goal_radius`` (metres on foot), and in streets the goal and all linked with it. Raises
    ``UsageError`` for a task without a goal, and where success does not depend on places.
    """
    reference = task.reference
    if not isinstance(reference, PathReference):
        raise UsageError(f"episode {task.episode.id} has no goal to learn from")
    if isinstance(reference, ObjectReference):
        return reference.visible_from
    # Datasets with paths have graphs.
    graph = dataset.graph(task.episode.scene)  # type: ignore[attr-defined]
    goal = reference.goal
    if isinstance(graph, ViewpointGraph):
        distances = graph.distances[:, graph.index[goal]]
        numbers = np.flatnonzero(distances < dataset.family.goal_radius).tolist()
        return frozenset(graph.ids[number] for number in numbers)
    if isinstance(graph, StreetGraph):
        number = graph.index[goal]
        numbers = [number, *(target for _, target in graph.exits(number))]
        # Links into the goal. Those that leave panorama i are from ``offsets[i]`` on.
        links = np.flatnonzero(graph.targets == number)
        numbers += (np.searchsorted(graph.offsets, links, side="right") - 1).tolist()
        return frozenset(graph.ids[number] for number in numbers)
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
        """Return the oracle's action at a place."""
        if place in self._gold[self.reached :]:
            self.reached = self._gold.index(place, self.reached)
        self.strayed = place != self._gold[self.reached]
        if self.strayed:
            route = self._world.route("agent", self._gold[-1]) or [STOP]
            return route[0]
        if self.reached == len(self._gold) - 1:
            return STOP
        step = self._gold[self.reached : self.reached + 2]
        return self._world.along("agent", step)[0]


# ClauseEnds: the clause of an instruction that belongs to each step of the gold path.
#
# Generated datasets know it: their instructions are written stretch by stretch, and a dataset with
# ``narrated(task)`` gives for each stretch the character where its words begin and the index of
# the place of the path where it ends. Published instructions have no such record. In
# streets a clause that describes a turn ends where that turn is made, and the others share the
# places in between; elsewhere all share the places by their lengths, unless ``align`` knows better.
# Agents never see any of this; it makes labels for training only.


@dataclass(frozen=True)
class ClauseEnds:
    """Clauses along a path: for each, the index of the place where it ends and the next begins."""

    ends: tuple[int, ...]

    def at(self, place: int) -> int:
        """Return the number, from 1, of the clause to follow at a place of the path (its index)."""
        return min(1 + sum(end <= place for end in self.ends), len(self.ends))


Align = Callable[[Dataset, Task, Sequence[Clause], int], ClauseEnds]
"""Align an agent's clauses with a task's gold path of so many places."""


def align_clauses(
    dataset: Dataset,
    task: Task,
    clauses: Sequence[Clause],
    places: int,
) -> ClauseEnds:
    """Align clauses with the task's gold path of ``places``; by their lengths if
    nothing else is known.
    """
    narrated = getattr(dataset, "narrated", None)
    stretches: Sequence[tuple[int, int]] = narrated(task) if narrated else ()
    if stretches:
        return _align_by_stretches(clauses, stretches)
    graph_of = getattr(dataset, "graph", None)
    if graph_of is not None and isinstance(graph_of(task.episode.scene), StreetGraph):
        actions = dataset.solve(task) if dataset.solutions else ()
        return align_by_turns(clauses, turns_of(actions), places)
    ends = [round(share * (places - 1)) for share in _text_shares(clauses)]
    return ClauseEnds(tuple(ends))


def _align_by_stretches(
    clauses: Sequence[Clause],
    stretches: Sequence[tuple[int, int]],
) -> ClauseEnds:
    """Align clauses by stretches of the path, each with the character where its words begin and the
    index of the place where it ends. Clauses that share a stretch divide its places evenly."""
    # The number of each clause's last stretch: the last one that begins before the next clause.
    begins = [begin for begin, _ in stretches]
    numbers = [
        max(0, bisect_left(begins, next_clause.begin) - 1)
        for next_clause in clauses[1:]
    ]
    numbers.append(len(stretches) - 1)

    ends: list[int] = []
    for number, group in groupby(numbers):
        sharing = len([*group])
        # From where the clauses before end, which includes stretches that no clause ended with.
        # Those before the first clause are left out: nothing says that it describes them.
        begin = 0
        if ends:
            begin = ends[-1]
        elif number:
            begin = stretches[number - 1][1]
        places = stretches[number][1] - begin
        ends += [begin + round(places * (n / sharing)) for n in range(1, sharing + 1)]
    return ClauseEnds(tuple(ends))


def _text_shares(clauses: Sequence[Clause]) -> list[float]:
    """Return the share of the text up to the end of each clause, from 0 to 1."""
    sizes = np.cumsum([max(1, len(clause.text)) for clause in clauses])
    return list((sizes / sizes[-1]).tolist())


def turns_of(actions: Sequence[Action]) -> list[tuple[int, str]]:
    """Return the turns of a walk: the number of panoramas left behind, and the side."""
    turns = []
    place = 0
    for before, action in pairwise([Action(""), *actions]):
        if action.name in ("left", "right") and before.name != action.name:
            turns.append((place, action.name))
        if action.name == "forward":
            place += 1
    return turns


def align_by_turns(
    clauses: Sequence[Clause],
    walked: Sequence[tuple[int, str]],
    places: int,
) -> ClauseEnds:
    """End each clause with a turn at that turn; other clauses share the ``places`` in between.
    Runs of turns to the same sides are matched, the longest first, in order."""
    sides = [legs(clause.text)[0].turn for clause in clauses]
    turns = [(number, side) for number, side in enumerate(sides) if side]

    # Clause -> the place of its turn. The last clause ends with the path, whatever it says.
    ends = {len(clauses) - 1: places - 1}
    described_sides = [side for _, side in turns]
    walked_sides = [side for _, side in walked]
    # ``autojunk`` would leave out sides that are frequent, and there are only two.
    matcher = SequenceMatcher(None, described_sides, walked_sides, autojunk=False)
    for run in matcher.get_matching_blocks():
        for n in range(run.size):
            clause, _ = turns[run.a + n]
            place, _ = walked[run.b + n]
            ends.setdefault(clause, place)

    # The clauses up to each of these share the places since the one before, by length of text.
    all_ends: list[int] = []
    before = 0
    first = 0
    for last in sorted(ends):
        stretch = max(ends[last], before) - before
        shares = _text_shares(clauses[first : last + 1])
        all_ends += [before + round(share * stretch) for share in shares]
        before = all_ends[-1]
        first = last + 1
    return ClauseEnds(tuple(all_ends))


@dataclass(frozen=True)
class TextChoice:
    """A decision in the text: at offset ``at`` is ``taken``, which should be ``label``. Both
    include the space before them. ``taken`` is empty if the agent only ranked the options."""

    at: int
    taken: str
    label: str


@dataclass(frozen=True)
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
        self,
        student: Model | None,
        answer: Callable[[str, str, Sequence[str]], str],
    ):
        self._student = student
        self._answer = answer

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Return the student's choice, else the oracle's answer. Raises ``UsageError`` for an
        answer that is no option."""
        if not isinstance(prompt, str):
            raise UsageError("only agents whose prompt is one text can be trained")
        if self._student is not None:
            choice = await self._student.choose(prompt, options)
            self._answer(prompt, choice.best, options)
            return choice
        best = self._answer(prompt, "", options) or options[0]
        if best not in options:
            raise UsageError(f"{best!r} is not one of the options {list(options)}")
        # Log probabilities: as good as certain.
        scores = dict.fromkeys(options, -1e9) | {best: 0.0}
        return Choice(tuple(options), tuple(scores[it] for it in options), Usage())

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Raise ``UsageError``: only choices can be learned."""
        raise UsageError(
            "only agents that call just `choose` can be trained: set decoding=choose"
        )


@dataclass(frozen=True)
class LabeledQuestion:
    """An agent's question, and the options that were taken and that were best ("" for none)."""

    prompt: str
    taken: str
    best: str


class _LabeledAgent(Agent):
    """An agent in training: it plays with the answers of the oracle or of a student, and every
    question is recorded with the oracle's answer."""

    Settings = object
    families = frozenset()
    needs_model = True
    sees_answer = True

    def __init__(
        self,
        cls: Any,
        settings: Any,
        toolkit: Toolkit,
        student: Model | None,
        align: Callable[[Sequence[Clause], int], ClauseEnds],
        near: frozenset[str] = frozenset(),
    ):
        models = {**toolkit.models, "main": _Chooser(student, self._note_question)}
        self.agent: Any = cls(settings, replace(toolkit, models=models))
        self.stopped_at = ""
        self.questions: list[LabeledQuestion] = []
        self._align = align
        self._near = near
        self._best = STOP
        self._world: World | None = None
        self._guide: Guide | None = None
        self._gold: tuple[str, ...] = ()

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        """Keep the world and the gold path. Raises ``UsageError`` for a reference without a
        path."""
        self._world = world
        if not isinstance(reference, PathReference):
            raise UsageError(
                f"episode {reference.episode_id} has no gold path to learn from"
            )
        self._guide = Guide(world, reference.path)
        self._gold = reference.path

    async def begin(self, episode: Episode) -> None:
        """Begin the agent's episode, and align its clauses with the gold path."""
        await self.agent.begin(episode)
        clauses = getattr(self.agent, "clauses", ())
        self._clauses = self._align(clauses, len(self._gold)) if clauses else None

    async def act(
        self,
        observation: Observation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Return the agent's decision; its questions are answered with the best next place. Raises
        ``UsageError`` if it rejects an answer."""
        if self._world is None or self._guide is None:
            raise UsageError("the oracle has no world: call reveal() first")
        place = place_of(self._world.pose("agent"))
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
        """Pass the feedback to the agent that is imitated."""
        self.agent.on_feedback(decision, feedback)

    def _note_question(
        self,
        prompt: str,
        taken: str,
        options: Sequence[str],
    ) -> str:
        """Record a question with its label, and return the oracle's option.

        ``taken`` is the student's choice; without a student it is empty, and the caller takes the
        oracle's option, which must then be one of ``options``. The label is empty if no option is
        right. The clause to follow has no right answer off the gold path: the oracle would turn
        back.
        """
        # The agent's text of each action that its question offers; others offer names of actions.
        answers: Mapping[Action, str] = getattr(self.agent, "answers", {})
        best = self._best

        # A question about the clause to follow: the current one or the next. The oracle's action
        # is none of its answers; in its place comes the clause at the last gold place reached. The
        # agent goes on by at most one clause per question and never back.
        asks_clause = any(action.name == FOLLOW for action in answers)
        off_path = False
        if self._clauses and best not in answers and asks_clause:
            assert self._guide is not None
            due = self._clauses.at(self._guide.reached)
            current = self.agent.followed
            off_path = self._guide.strayed
            best = Action(FOLLOW, (str(min(max(due, current), current + 1)),))
        oracle = answers.get(best, best.name)

        # The label may differ from the oracle's option: wherever a stop counts as success, a stop
        # is right, while the oracle walks on to the goal.
        label = oracle
        if off_path:
            label = ""
        world = self._world
        if world is not None and place_of(world.pose("agent")) in self._near:
            label = answers.get(STOP, label)
        if label not in options:
            label = ""
        self.questions.append(LabeledQuestion(prompt, taken or oracle, label))
        return oracle


class ExampleMaker:
    """Plays the episodes of one source with one agent, and writes them as examples.

        dataset = Towns("train", None, Towns.Settings())
        maker = ExampleMaker("velma", {"shots": 0}, "towns:train", dataset)
        example = asyncio.run(maker.example(dataset.tasks[0], None, "ft"))

    ``source`` is the dataset as a user names it. ``near``: wherever a stop counts as success, the
    label is to stop.
    """

    def __init__(
        self,
        agent: str,
        settings: JsonObject,
        source: str,
        dataset: Dataset,
        *,
        near: bool = False,
        align: Align = align_clauses,
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
        self,
        task: Task,
        student: Model | None,
        method: Method,
    ) -> Example:
        """Play one episode: the gold walk without a student, else the student's own, labeled."""
        agents: list[_LabeledAgent] = []
        near: frozenset[str] = frozenset()
        if self._near:
            near = near_goal(self._dataset, task)

        def build(toolkit: Toolkit, actor: str) -> Agent:
            """Build the agent in training, and keep it, since the rollout does not return it."""
            agent = _LabeledAgent(
                self._cls,
                self._settings,
                toolkit,
                student,
                partial(self._align, self._dataset, task),
                near,
            )
            agents.append(agent)
            return agent

        name = task.episode.id
        max_steps = self._dataset.max_steps
        if student is None:
            # A gold walk must not be cut short: ten times a player's limit, by choice.
            max_steps *= 10
        setup = Setup(
            self._dataset,
            build,
            shared=self._shared,
            max_steps=max_steps,
        )
        trajectory = await rollout(task, setup)
        if trajectory.error:
            raise UsageError(f"episode {name}: {trajectory.error}")
        if len(agents) != 1:
            raise UsageError(
                f"episode {name} has {len(agents)} actors; training needs a single one"
            )
        agent = agents[0]
        success = agent.stopped_at in near_goal(self._dataset, task)
        keep = method == "rbl" and student is not None and success
        return write_example(
            name,
            self._source,
            agent.questions,
            success,
            keep_answers=keep,
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
    following: list[LabeledQuestion | None] = [*questions[1:], None]
    for question, after in zip(questions, following, strict=True):
        if not question.prompt.startswith(text):
            raise UsageError(
                f"episode {episode}: a prompt does not extend the one before it; only agents whose "
                "prompt is one growing text can be trained"
            )
        base, option = continued(question.prompt, question.taken)
        label = question.taken if keep_answers else question.best
        # The next prompt shows that the answer was not written down.
        if after is not None and not after.prompt.startswith(base + option):
            if keep_answers:
                raise UsageError(
                    f"episode {episode}: rbl needs answers that are written down, and these were "
                    "only weighed; train this agent with --method dagger"
                )
            option = ""
        if label:
            _, label_text = continued(question.prompt, label)
            choices.append(TextChoice(len(base), option, label_text))
        text = base + option
    return Example(episode, source, text, tuple(choices), success)
