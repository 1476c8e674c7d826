"""Contract tests of agents, datasets, models and worlds."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import random
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import Any

from wayword.agents.person import PERSON, Person, Style
from wayword.core.action import STOP, Action, Decision, Rejection
from wayword.core.agent import Agent, Shared, Toolkit
from wayword.core.blocking import blocking
from wayword.core.dataset import INDEPENDENT, Dataset, Task, task_id
from wayword.core.episode import Episode, Reference
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, user
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.core.world import Family, Observation, World
from wayword.settings import make

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
    first = _play(agent, settings, dataset, sensible)
    assert first.ended != "failed", f"an episode failed: {first.error}"
    assert first.steps, "an agent acts at least once"
    # Noise is drawn in the same order each time, so a second run must not differ.
    if model is None:
        again = _play(agent, settings, dataset, Noise())
        decided = [step.decision for step in first.steps]
        assert decided == [step.decision for step in again.steps], (
            "same seed, same decisions"
        )

    # Several trials, so that a learning agent also reflects on noise.
    noisy = _play(agent, settings, dataset, Noise(), trials=3)
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
            assert len(step.decision.said) <= 2000, (
                "a recorded rejected answer is at most 2000 characters long"
            )


def _play(
    agent: type[Agent],
    settings: Any,
    dataset: Dataset,
    model: Model,
    trials: int = 1,
) -> Trajectory:
    """Play the first episode for up to six steps.

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
    return blocking(rollout(dataset.tasks[0], setup))


# Contract of a dataset.


def check_dataset(dataset: Dataset, max_tasks: int = 200) -> None:
    """Check that episodes are complete, serializable, uniquely named and free of answers.

    All ids, and about ``max_tasks`` tasks, evenly spread over the dataset. Raises
    ``AssertionError`` that names the rule.
    """
    tasks = dataset.tasks
    assert len(tasks) > 0, "a dataset has at least one episode"
    ids = [task_id(tasks, number) for number in range(len(tasks))]
    assert len(set(ids)) == len(ids), "episode IDs are unique within a split"
    assert isinstance(dataset.family, Family), "a dataset's family is a Family"
    assert dataset.splits, "a dataset names its splits, the default first"
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
        json.dumps([dict(episode.start), dict(episode.extra)])
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
    _check_clusters(dataset, [tasks[number] for number in range(min(30, len(tasks)))])


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
            f"{pair} share their start and answer: state the dataset's clusters, or INDEPENDENT"
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


def check_world(
    dataset: Dataset,
    episodes: int = 3,
    steps: int = 15,
    seed: int = 0,
) -> None:
    """Check determinism, that observing changes nothing, and that illegal actions raise.

    The first ``episodes`` of the dataset are played twice with the same random actions,
    up to ``steps`` each. Raises ``AssertionError`` that names the rule.
    """
    for task in dataset.tasks[:episodes]:
        _check_twins(dataset, task.episode, steps, random.Random(seed))

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
            try:
                world.step(actor, action)
            except ValueError:
                unchanged = dict(world.state()) == before
                assert unchanged, f"the refused action {action} changed the state"
            else:
                raise AssertionError(
                    f"{action} is not legal, but the world carried it out"
                )

        # Stopping, with an answer where the task asks for one.
        world = _started(dataset, task.episode)
        for actor in world.actors:
            space = world.action_space(actor)
            ending = STOP if STOP in space else Action("stop", ("nothing",))
            assert ending in space, "every actor can stop at any time"
            assert not world.done(actor), "no actor has stopped at the start"
            world.step(actor, ending)
            assert world.done(actor), "an actor is done after it stops"


def _started(dataset: Dataset, episode: Episode) -> World:
    """Return a new world at the start of an episode."""
    world = dataset.world(episode)
    world.reset(episode)
    return world


def _check_twins(
    dataset: Dataset,
    episode: Episode,
    steps: int,
    rng: random.Random,
) -> None:
    """Check that two worlds of an episode stay equal under the same random actions.

    Equal in observation, menu, feedback and pose at each step, and in state at the end;
    a reset brings the first one back to the state of a new world.
    """
    first = _started(dataset, episode)
    second = _started(dataset, episode)
    assert first.actors == second.actors, (
        f"{episode.id}: twin worlds have the same actors"
    )
    for _ in range(steps):
        for actor in first.actors:
            if first.done(actor):
                continue
            observation = first.observe(actor)
            space = first.action_space(actor)
            assert isinstance(observation, Observation), (
                "observe() returns an Observation"
            )
            assert is_dataclass(observation), "an observation is a dataclass"
            assert observation == first.observe(actor), "observing changes nothing"
            assert observation == second.observe(actor), (
                "same actions, same observation"
            )
            choices = [action for action in space.listed if action != STOP]
            assert list(space.listed) == list(second.action_space(actor).listed), (
                "same actions"
            )
            if not choices:
                continue
            action = choices[rng.randrange(len(choices))]
            assert action in space, f"{action} is listed, so it must be legal"
            feedback = first.step(actor, action), second.step(actor, action)
            assert feedback[0] == feedback[1], (
                f"{action}: twin worlds give the same feedback"
            )
            pose = first.pose(actor)
            # Poses are recorded as JSON; an object of another type raises here.
            json.dumps(dict(pose))
            heading = pose.get("heading", 0)
            valid = not isinstance(heading, int | float) or 0 <= heading < 360
            assert valid, f"headings must be in [0, 360), got {heading}"
            assert pose == second.pose(actor), "the same actions lead to the same pose"
    json.dumps(dict(first.state()))
    assert first.state() == second.state(), (
        "the same actions lead to the same final state"
    )
    first.reset(episode)
    fresh = _started(dataset, episode)
    assert first.state() == fresh.state(), "reset restarts the episode"
