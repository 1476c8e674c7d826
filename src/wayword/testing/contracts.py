"""Contract tests of agents, datasets, models and worlds."""

from __future__ import annotations

import asyncio
import copy
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from itertools import chain
from typing import Any, ParamSpec

from wayword.agents.person import PERSON, Person, Style
from wayword.core import registry
from wayword.core.action import (
    STOP,
    Action,
    Decision,
    Rejection,
    as_written,
    nearest_legal,
)
from wayword.core.agent import Agent, Shared, Toolkit
from wayword.core.blame import (
    CodeError,
    describe,
    finite,
    is_own,
    is_shipped,
    place_of,
    user_frame,
)
from wayword.core.blocking import blocking
from wayword.core.dataset import INDEPENDENT, Dataset, Task, check_opened, task_id
from wayword.core.episode import Episode, Reference
from wayword.core.errors import UsageError
from wayword.core.game import Game, PlanningFailed, json_problem, next_action
from wayword.core.metric import is_solved
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, user
from wayword.core.rollout import Setup, new_world, rollout
from wayword.core.trajectory import Trajectory
from wayword.core.visible import join_words
from wayword.core.world import SLIPPED, Family, Feedback, World
from wayword.metrics import scoring
from wayword.settings import make
from wayword.verbalize import generic

PLAYED = 2
"""Episodes that the expert plays: a second one meets what the first has left behind."""
SOLVED = 5
"""Tasks of a dataset that its own solutions play, spread over it."""
NOISE = (
    "",
    "   ",
    "I would rather not say.",
    "Action Input: \nAction Input: ",
    "{",
    "[" * 8000,
    '{"action": "\ud800"}',
    "\x00\ufffd" * 5000,
)


class Noise(Model):
    """A model whose answers are noise and ignore all constraints.

    It gives the same answers in the same order each time.
    """

    name = "noise"

    def __init__(self) -> None:
        self._calls = 0

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Return the next noise, as many texts as are requested."""
        self._calls += 1
        texts = [NOISE[(self._calls + i) % len(NOISE)] for i in range(sampling.n)]
        return Completion(tuple(texts), ("stop",) * sampling.n)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Return all options as equally likely."""
        return Choice(tuple(options), (0.0,) * len(options))


class Typist(Person):
    """A person who types noise, and at every fourth question a legal answer."""

    def __init__(self) -> None:
        self._calls = 0

    def write(self, text: str, style: Style = "") -> None:
        """Ignore the text."""

    def ask(self, question: str) -> str:
        """Return the next noise, or ``1``."""
        self._calls += 1
        return "1" if self._calls % 4 == 0 else NOISE[self._calls % len(NOISE)]


P = ParamSpec("P")


def _contract(check: Callable[P, None]) -> Callable[P, None]:
    """Let a check raise ``AssertionError`` alone, in one line with the user's file and line."""

    @wraps(check)
    def checked(*args: P.args, **kwargs: P.kwargs) -> None:
        """Run the check."""
        try:
            check(*args, **kwargs)
        # The frames of the check itself say nothing about the user's part.
        except (AssertionError, CodeError, UsageError) as error:
            raise AssertionError(str(error)) from None
        except Exception as error:
            if user_frame(error) is None:
                raise
            raise AssertionError(describe(error)) from error

    return checked


@_contract
def check_agent(
    agent: type[Agent],
    dataset: Dataset,
    model: Model | None = None,
) -> None:
    """Check an agent on the first episode of a dataset.

    Default settings work, the same seed gives the same decisions, and noise from a
    model never fails an episode, nor a later trial of a learning agent. ``model`` (such
    as a scripted one) answers in the first check; the default is noise. Raises
    ``AssertionError`` that names the rule.
    """
    settings = make(agent.Settings, {}, agent.__name__)
    sensible = model or Noise()
    task = dataset.tasks[0]
    # What a world changes by itself is no mistake of the agent.
    _started(dataset, task.episode)
    start = copy.deepcopy(dict(task.episode.start))
    first = _play(agent, settings, dataset, task, sensible)
    assert task.episode.start == start, (
        f"{place_of(agent.begin)}: begin changes episode.start, which all players of the episode "
        f"share: {_difference(start, task.episode.start)}; copy it"
    )
    assert first.ended != "failed", f"an episode failed: {first.error}"
    assert first.steps, "an agent acts at least once"
    # Noise is drawn in the same order each time, so a second run must not differ.
    if model is None:
        again = _play(agent, settings, dataset, task, Noise())
        decided = [step.decision for step in first.steps]
        repeated = [step.decision for step in again.steps]
        number = _first_difference(decided, repeated)
        assert not number, (
            f"{place_of(agent.act)}: two runs with the same seed and answers differ at step "
            f"{number}; draw random numbers from self.toolkit.rng alone"
        )

    # Several trials, so that a learning agent also reflects on noise.
    noisy = _play(agent, settings, dataset, task, Noise(), trials=3)
    assert noisy.ended != "failed", (
        f"an unreadable model answer ended the episode: {noisy.error}"
    )
    for step in chain.from_iterable(trial.steps for trial in noisy.trials()):
        kind = type(step.decision).__name__
        assert isinstance(step.decision, Decision | Rejection), (
            f"{kind} is not a Decision or Rejection"
        )
        if isinstance(step.decision, Rejection):
            assert step.decision.reason, "a rejection states a reason"


def _play(
    agent: type[Agent],
    settings: Any,
    dataset: Dataset,
    task: Task,
    model: Model,
    trials: int = 1,
) -> Trajectory:
    """Play an episode for up to six steps.

    ``trials``: attempts at it, for agents that learn from one to the next.
    """

    def build(toolkit: Toolkit, actor: str) -> Agent:
        """Return the agent of an actor."""
        return agent(settings, toolkit)

    shared = Shared({PERSON: Typist()})  # no test waits for a real one
    setup = Setup(
        dataset,
        build,
        {"main": model},
        seed=1,
        max_steps=6,
        shared=shared,
        trials=trials,
    )
    return blocking(rollout(task, setup))


def _first_difference(first: Sequence[object], second: Sequence[object]) -> int:
    """Return the number, from 1, of the first item in which two lists differ; 0 if in none."""
    for number, pair in enumerate(zip(first, second, strict=False), 1):
        if pair[0] != pair[1]:
            return number
    return 0 if len(first) == len(second) else min(len(first), len(second)) + 1


# Contract of a dataset.


@_contract
def check_dataset(dataset: Dataset, max_tasks: int = 200) -> None:
    """Check that episodes are complete, serializable, uniquely named and free of answers.

    All ids, and about ``max_tasks`` tasks, evenly spread over the dataset. The solutions of a
    user's dataset must reach the goals of ``SOLVED`` of them. Raises ``AssertionError`` that names
    the rule.
    """
    check_opened(dataset)
    scoring.check_success(dataset)
    tasks = dataset.tasks
    assert len(tasks) > 0, "a dataset has at least one episode"
    ids = [task_id(tasks, number) for number in range(len(tasks))]
    repeated = [name for name, count in Counter(ids).items() if count > 1]
    assert not repeated, f"episode IDs are unique within a split: {repeated[:1]}"
    assert isinstance(dataset.family, Family), "a dataset's family is a Family"
    assert dataset.splits, "a dataset names its splits"
    assert dataset.max_steps > 0, "max_steps is above 0"

    # Each task: its answer stays out of the episode, which agents see.
    for number in range(0, len(tasks), max(1, len(tasks) // max_tasks)):
        episode = tasks[number].episode
        reference = tasks[number].reference
        assert episode.id == ids[number], "ids() gives the task's own ID"
        assert isinstance(reference, Reference), (
            f"{episode.id}: the answer is a Reference"
        )
        assert reference.episode_id == episode.id, (
            f"{episode.id}: the reference has another episode_id"
        )
        assert episode.instruction.strip(), f"{episode.id}: the instruction is empty"
        assert episode.actors, f"{episode.id}: no actor"
        for name in ("start", "extra"):
            for key, value in getattr(episode, name).items():
                problem = json_problem({key: value})
                assert not problem, (
                    f"{place_of(type(dataset))}: episode {episode.id!r}: {name}[{key!r}] must be "
                    f"a JSON value: {problem}"
                )
        for field in fields(episode):
            value = getattr(episode, field.name)
            assert not isinstance(value, Reference), (
                f"{episode.id}: {field.name} holds the answer"
            )
        keys = {*episode.start, *episode.extra}
        leaked = keys & {
            "goal",
            "path",
            "gold",
            "target_viewpoint",
            "answer",
            "reference",
        }
        assert not leaked, f"{episode.id}: the episode leaks {sorted(leaked)}"
    for name, path in dataset.files.items():
        assert path.is_file(), f"{name}: {path} is in files but does not exist"
    _check_judge(dataset)
    _check_clusters(dataset, [tasks[number] for number in range(min(30, len(tasks)))])
    # The experts of published data solve most episodes: their rates have tests of their own.
    if is_shipped(type(dataset)):
        return
    for number in range(0, len(tasks), math.ceil(len(tasks) / SOLVED)):
        for kind in dataset.solutions:
            _check_solved(dataset, tasks[number], kind)


def _check_solved(dataset: Dataset, task: Task, kind: str) -> None:
    """Check that a dataset's own solution of a task reaches its goal, by the family's success."""
    episode = task.episode
    game = Game(new_world(dataset, episode), episode, dataset.max_steps)
    if len(game.world.actors) > 1:
        return  # the plan of one actor may leave the rest to the others
    actor = game.world.actors[0]
    where = f"{place_of(type(dataset))}: episode {episode.id!r}: the solution {kind!r}"
    # Some episodes cannot be solved, or keep their answer to themselves.
    try:
        plan = dataset.plan(task, game.world, actor, kind)
        action = next_action(plan)
    except (PlanningFailed, UsageError):
        return
    while action is not None and game.active(actor):
        step = game.act(actor, Decision(action))
        assert isinstance(step.decision, Decision), (
            f"{where} is rejected at step {len(game.trajectory.steps)}: "
            f"{step.decision.reason}{_nearest(step.decision, game, actor)}"
        )
        _own_distance(dataset, task, game)  # a number at each step
        if game.done(actor):
            break  # a plan may leave the end to the world
        # A slipped action changed nothing: the plan still stands at it.
        if step.feedback.status == SLIPPED:
            continue
        try:
            action = next_action(plan, step.feedback)
        except PlanningFailed:
            return
    [scores] = scoring.score(dataset, [(task, game.finished())])
    success = dataset.family.success
    steps = len(game.trajectory.steps)
    assert is_solved(scores.get(success, 1.0)), (
        f"{where} does not reach the goal: {success} is {scores[success]:g} after {steps} of at "
        f"most {dataset.max_steps} steps; correct its reference{_files_of(dataset)}, or max_steps"
    )
    _check_goal_distance(dataset, task, game)


def _check_goal_distance(dataset: Dataset, task: Task, game: Game) -> None:
    """Check that a user's distance is 0, or within the goal's radius, where its episode is
    solved."""
    distance = _own_distance(dataset, task, game)
    # Sums of lengths end near 0.
    assert (distance or 0) <= max(dataset.family.goal_radius, 1e-6), (
        f"{place_of(_distance_method(dataset))}: episode {task.episode.id!r}: distance is "
        f"{distance:g} where the episode is solved; it should be 0"
    )


def _files_of(dataset: Dataset) -> str:
    """Return `` in FILE``, with the files of a dataset, of which the first are named."""
    names = [str(path) for path in dataset.files.values()]
    return f" in {join_words(names[:3], 'or')}" if names else ""


def _check_clusters(dataset: Dataset, tasks: Sequence[Task]) -> None:
    """Check that a dataset says which episodes depend on each other.

    Those with the same start and answer do, unless it states that they are independent.
    """
    first: dict[str, Task] = {}
    for task in tasks:
        if type(task.reference) is Reference:
            continue  # the dataset keeps the answer to itself: nothing to compare
        answer = replace(task.reference, episode_id="")
        source = repr((task.episode.scene, task.episode.start, answer))
        other = first.setdefault(source, task)
        if other is task:
            continue
        pair = f"{other.episode.id} and {task.episode.id}"
        assert dataset.clusters is not None, (
            f"{pair} share their start and answer: state the dataset's clusters, or INDEPENDENT "
            "(from wayword.core.dataset import INDEPENDENT, Clusters; see docs/adding.md)"
        )
        same = dataset.clusters.of_task(other) == dataset.clusters.of_task(task)
        assert same or dataset.clusters == INDEPENDENT, (
            f"{pair} share their start and answer, but not their cluster"
        )


# Contract of a model backend.

COLORS = ("red", "green", "blue")


async def check_model(model: Model) -> None:
    """Check counts of samples and tokens, constraints, complete rankings and concurrent calls.

    Raises ``AssertionError`` that names the rule.
    """
    question = [user("Name a color of the rainbow.")]
    single = await model.complete(question, Sampling(max_tokens=16))
    assert model.name, "a model has a name for tables and run folders"
    assert len(single.texts) == 1, "one sample by default"
    assert single.usage.prompt >= single.usage.reused >= 0, (
        "reused tokens are part of the prompt"
    )
    several = await model.complete(
        question,
        Sampling(max_tokens=8, n=3, temperature=1.0, seed=1),
    )
    assert len(several.texts) == 3, "n samples for n=3"
    bound = await model.complete(question, Sampling(max_tokens=16, choices=COLORS))
    assert bound.text in COLORS, (
        f"with choices, the answer is one of them, got {bound.text!r}"
    )
    ranked = await model.choose(
        "The sky on a clear day is",
        (" blue", " green", " made of cheese"),
    )
    assert ranked.options == (" blue", " green", " made of cheese"), (
        "options keep their order"
    )
    assert len(ranked.logprobs) == 3, "every option has its log-probability"
    # A certain option may round to a little above 0.
    assert all(p <= 1e-6 and not math.isnan(p) for p in ranked.logprobs), (
        "log-probabilities are at most 0"
    )
    assert ranked.best in ranked.options, "the best option is one of them"
    calls = [model.complete(question, Sampling(max_tokens=8)) for _ in range(4)]
    assert len(await asyncio.gather(*calls)) == 4, "calls may overlap"


# Contract of a world.


@_contract
def check_world(
    dataset: Dataset,
    episodes: int = 3,
    steps: int = 15,
    seed: int = 0,
) -> None:
    """Check determinism, that observing changes nothing, and that illegal actions raise.

    The first ``episodes`` of the dataset are played twice with the same random actions,
    up to ``steps`` each, and scored as in a run. The first ``PLAYED`` are also played by the
    expert, and read through the verbalizer. Raises ``AssertionError`` that names the rule.
    """
    check_opened(dataset)
    scoring.check_success(dataset)
    _check_judge(dataset)
    for number, task in enumerate(dataset.tasks[:episodes]):
        _check_twins(dataset, task, steps, random.Random(seed))

        # Actions that no world knows: an unknown place, verb, or number of arguments.
        world = _started(dataset, task.episode)
        actor = world.actors[0]
        # A world may return its own lists, which a refused action could change in place.
        before = copy.deepcopy(dict(world.state()))
        for action in (
            Action("goto", ("no such place",)),
            Action("fly"),
            Action("stop", ("a", "b")),
        ):
            if action in world.action_space(actor):
                continue
            where = place_of(type(world).step)
            try:
                world.step(actor, action)
            except ValueError:
                unchanged = dict(world.state()) == before
                assert unchanged, (
                    f"{where}: the refused action {action} changed the state; raise ValueError "
                    "before the first change"
                )
            except Exception as error:
                # A lookup of the action that fails: its own text would not name the rule.
                raise AssertionError(
                    f"{where}: step must raise ValueError for an action that action_space does "
                    f"not list; tried {action}, got {describe(error)}"
                ) from error
            else:
                raise AssertionError(
                    f"{where}: {action} is not legal, but the world carried "
                    "it out; raise ValueError for an action that is not in action_space"
                )

        # Stopping, with an answer where the task asks for one.
        world = _started(dataset, task.episode)
        for actor in world.actors:
            space = world.action_space(actor)
            ending = STOP if STOP in space else Action("stop", ("nothing",))
            where = place_of(type(world).action_space)
            assert ending in space, f"{where}: list STOP: an actor can stop at any time"
            where = place_of(type(world).done)
            assert not world.done(actor), (
                f"{where}: {actor} is done at the start; reset must undo a stop"
            )
            world.step(actor, ending)
            assert world.done(actor), f"{where}: {actor} is not done after its stop"
        if number < PLAYED:
            _check_played(dataset, task, steps)


def _check_judge(dataset: Dataset) -> None:
    """Check that a method meant to judge success is called so, and returns its answer."""
    # A dataset need not judge success.
    missing = scoring.missing_success(dataset)
    judge = dataset.succeeded
    where = place_of(judge if is_own(judge) else type(dataset))
    is_meant = is_own(judge) or scoring.misspelled_success(dataset)
    assert not (missing and is_meant), f"{where}: {missing}"


def _started(dataset: Dataset, episode: Episode) -> World:
    """Return a new world at the start of an episode."""
    world = new_world(dataset, episode)
    world.reset(episode)
    return world


def _check_twins(
    dataset: Dataset,
    task: Task,
    steps: int,
    rng: random.Random,
) -> None:
    """Check that two worlds of an episode stay equal under the same random actions.

    Equal in observation, menu, feedback, pose and state at each step; a reset brings the first one
    back to the state of a new world. Both are played as in a run, which checks the types of what
    the world returns, and the result is scored.
    """
    episode = task.episode
    first = Game(new_world(dataset, episode), episode)
    second = Game(new_world(dataset, episode), episode)
    world = first.world
    assert world.actors == second.world.actors, (
        f"{place_of(type(world))}: twin worlds have different actors"
    )
    _check_same("reset", first, second)
    is_measured = _distance_left(dataset, task, first) is not None
    for _ in range(steps):
        for actor in world.actors:
            if world.done(actor):
                continue
            _check_view(first, second, actor)
            space = first.space(actor)
            choices = [action for action in space.listed if action != STOP]
            if not choices:
                continue
            action = choices[rng.randrange(len(choices))]
            assert action in space, (
                f"{place_of(type(world).action_space)}: {action} is listed, so it must be legal"
            )
            before = copy.deepcopy(dict(second.world.state()))
            results = [first.act(actor, Decision(action))]
            _check_apart(world, action, before, second.world.state())
            results.append(second.act(actor, Decision(action)))
            _check_same("step", first, second)
            _check_equal("step", [step.feedback for step in results], first)
            is_known = _distance_left(dataset, task, first) is not None
            taken = map(str, first.trajectory.actions(actor))
            assert is_known == is_measured, (
                f"{place_of(type(dataset).distance)}: distance is "
                f"{'None' if is_measured else 'known'} after {', '.join(taken)}, but not at the "
                "start; give it at every step or at none"
            )
            where = place_of(type(world).pose)
            pose = world.pose(actor)
            for name in ("x", "y", "heading"):
                value = pose.get(name, 0)
                assert finite(value) is not None, (
                    f"{where}: pose: {name} must be a number, got {value!r:.60}"
                )
            heading = pose.get("heading", 0)
            assert 0 <= heading < 360, (
                f"{where}: headings must be in [0, 360), got {heading}"
            )
    played = first.finished()
    try:
        scoring.score(dataset, [(task, played)])
    except CodeError as error:
        raise AssertionError(str(error)) from None
    except Exception as error:
        # A judge may raise anything; a run reports it as here.
        raise AssertionError(f"scoring: {describe(error)}") from error
    # Found by name: pages are built on top of the contracts.
    if dataset.family.map is not None:
        registry.load("display", "map")(dataset, task, played)
    world.reset(episode)
    states = [world.state(), _started(dataset, episode).state()]
    remedy = "set every attribute that step changes"
    _check_equal("reset", states, first, "a second time", remedy)


def _distance_left(dataset: Dataset, task: Task, game: Game) -> float | None:
    """Return what is left to the goal, as rewards measure it; None if it is unknown."""
    by = scoring.scorer(dataset.family)
    if not isinstance(by, scoring.Judged):
        return scoring.distance_of(dataset, task, game.world)
    standing = scoring.standing_of(by, dataset, task, game.world)
    return None if standing is None else standing.distance


def _distance_method(dataset: Dataset) -> Callable[..., Any]:
    """Return the method that gives what is left to the goal: the scorer's or the dataset's."""
    by = scoring.scorer(dataset.family)
    return by.standing if isinstance(by, scoring.Judged) else dataset.distance


def _own_distance(dataset: Dataset, task: Task, game: Game) -> float | None:
    """Return what is left to the goal by a user's method; None for those of the package, which have
    tests of their own."""
    if not is_own(_distance_method(dataset)):
        return None
    return _distance_left(dataset, task, game)


def _check_apart(
    world: World,
    action: Action,
    before: Mapping[str, object],
    after: Mapping[str, object],
) -> None:
    """Check that an action in one world has not changed the state of another."""
    assert dict(after) == before, (
        f"{place_of(type(world).reset)}: {action} in one world changes another: "
        f"{_difference(before, after)}; reset must make a copy of what step changes"
    )


def _check_played(dataset: Dataset, task: Task, steps: int) -> None:
    """Check that the expert's actions are legal and each view has words, in one episode.

    Without an expert, the first listed action is taken, up to ``steps`` times. The next episode
    begins as this one did.
    """
    episode = task.episode
    start = _start(dataset, episode)
    game = Game(new_world(dataset, episode), episode, dataset.max_steps)
    actor = game.world.actors[0]
    _check_words(dataset, game, actor)
    taken: list[str] = []
    try:
        if dataset.solutions:
            plan = dataset.plan(task, game.world, actor, dataset.solutions[0])
            for decision, feedback in game.follow(actor, plan):
                after = f"after {', '.join(taken)}" if taken else "at the start"
                assert isinstance(decision, Decision), (
                    f"{place_of(type(dataset).make_plan)}: the expert's action is rejected "
                    f"{after}: {decision.reason}{_nearest(decision, game, actor)}"
                )
                taken.append(str(decision.action))
                _own_distance(dataset, task, game)  # a number at each step
                _check_words(dataset, game, actor, feedback)
                # A user's plan is asked for one more, which it must not have.
                if game.taken[actor] > dataset.max_steps:
                    break
    # Some episodes cannot be solved, or keep their answer to themselves.
    except (PlanningFailed, UsageError):
        pass
    while not taken and len(game.trajectory.steps) < steps and game.active(actor):
        choices = [each for each in game.space(actor).listed if each != STOP]
        if not choices:
            break
        feedback = game.act(actor, Decision(choices[0])).feedback
        _check_words(dataset, game, actor, feedback)
    is_measured = _own_distance(dataset, task, game) is not None
    if taken and is_measured and _is_solved(dataset, task, game):
        _check_goal_distance(dataset, task, game)
    again = _start(dataset, episode)
    assert again == start, (
        f"{place_of(type(game.world).reset)}: an episode starts otherwise once it was played: "
        f"{_difference(start, again)}; reset must make a copy of what step changes"
    )


def _is_solved(dataset: Dataset, task: Task, game: Game) -> bool:
    """True if a game's episode counts as solved."""
    [scores] = scoring.score(dataset, [(task, game.finished())])
    return is_solved(scores.get(dataset.family.success, 0.0))


def _start(dataset: Dataset, episode: Episode) -> dict[str, object]:
    """Return a copy of a new world's state, and what its first actor sees and can do."""
    world = _started(dataset, episode)
    actor = world.actors[0]
    actions = [str(each) for each in world.action_space(actor).listed]
    views = {"the observation": world.observe(actor), "the listed actions": actions}
    return copy.deepcopy({**world.state(), **views})


def _nearest(rejection: Rejection, game: Game, actor: str) -> str:
    """Return the legal actions that are most like an illegal one; it changed nothing."""
    if rejection.kind != "illegal":
        return ""
    return f"; {nearest_legal(as_written(rejection.said), game.space(actor))}"


def _check_words(
    dataset: Dataset, game: Game, actor: str, result: Feedback | None = None
) -> None:
    """Check that the verbalizer gives texts of what an actor sees, and of its last result."""
    if game.done(actor):
        return
    observation = game.observation(actor)
    # The verbalizer checks the types of what its functions return.
    words = generic.verbalizer(observation)
    words.self_state(observation)
    words.around(observation, dataset.perceiver())
    words.briefing(game.space(actor))
    if result is not None:
        generic.feedback(result, words)


def _check_view(first: Game, second: Game, actor: str) -> None:
    """Check that looking is repeatable, the same in both worlds, and changes nothing."""
    world = first.world
    # A game checks the types of what it is given.
    views: dict[str, Callable[[str], Any]] = {
        "observe": first.observation,
        "action_space": first.space,
        "pose": world.pose,
    }
    for name, view in views.items():
        looks = getattr(world, name)
        before = copy.deepcopy(dict(world.state()))
        shown = [view(actor), looks(actor)]
        state = dict(world.state())
        assert state == before, (
            f"{place_of(looks)}: {name} changes the state: {_difference(before, state)}; only "
            "reset and step may change it"
        )
        if name == "action_space":
            shown = [list(space.listed) for space in shown]
        remedy = "it must draw and count nothing"
        _check_equal(name, shown, first, "when it is called twice", remedy)
    observation = first.observation(actor)
    assert is_dataclass(observation), (
        f"{place_of(type(observation))}: an observation must be a dataclass; add "
        "@dataclass(frozen=True)"
    )
    _check_equal("observe", [observation, second.observation(actor)], first)
    menus = [list(game.space(actor).listed) for game in (first, second)]
    _check_equal("action_space", menus, first)


def _check_same(name: str, first: Game, second: Game) -> None:
    """Check that states and poses are equal in both worlds, and JSON, as they are recorded."""
    world = first.world
    games = (first, second)
    for part in ("state", *world.actors):
        method = "state" if part == "state" else "pose"
        values = [
            game.world.state() if part == "state" else game.world.pose(part)
            for game in games
        ]
        where = place_of(getattr(type(world), method))
        for value in values:
            assert isinstance(value, Mapping), (
                f"{where}: {method} must return a dict, got {value!r:.80}"
            )
        problem = json_problem(values[0])
        assert not problem, f"{where}: {method} must hold JSON values: {problem}"
        _check_equal(name, values, first)


def _check_equal(
    name: str,
    values: Sequence[object],
    game: Game,
    when: str = "in two worlds of one episode",
    remedy: str = "draw from random.Random(episode.id), not from random, time or a set's order",
) -> None:
    """Check that a method of a world gives the same twice. The message says after which actions."""
    if values[0] == values[1]:
        return
    actions = [
        str(getattr(step.decision, "action", "")) for step in game.trajectory.steps
    ]
    after = f"after {', '.join(actions)}" if actions else "at the start"
    raise AssertionError(
        f"{place_of(getattr(type(game.world), name))}: {name} is not repeatable {after}, {when}: "
        f"{_difference(*values)}; {remedy}"
    )


def _difference(first: object, second: object) -> str:
    """Return the first field in which two values differ: ``room is 'hall' and 'roof'``."""
    one = _fields(first)
    other = _fields(second)
    for name in {**one, **other}:
        if one.get(name) != other.get(name):
            return f"{name} is {one.get(name)!r:.60} and {other.get(name)!r:.60}"
    return f"{first!r:.80} and {second!r:.80}"


def _fields(value: Any) -> Mapping[str, object]:
    """Return the fields of a dataclass, or a mapping; nothing of another value."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value if isinstance(value, Mapping) else {}
