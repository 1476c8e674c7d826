"""Environment: one actor's episodes of a dataset, with ``reset`` and ``step``.

>>> from wayword.envs import make
>>> env = make("houses", episodes=3, include=["expert_action"])
>>> observation, info = env.reset(seed=0)
>>> while info["expert_action"]:
...     observation, reward, terminated, truncated, info = env.step(info["expert_action"])
>>> reward, terminated, info["success"]
(1.0, True, True)
"""

from __future__ import annotations

import copy
import operator
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, SupportsIndex, get_args

from wayword.core.action import Rejection
from wayword.core.agent import Agent
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.episode import Json
from wayword.core.errors import UsageError, suggest
from wayword.core.recording import Log
from wayword.core.rollout import Setup, actor_seed, seat
from wayword.core.trajectory import Step, Trajectory
from wayword.envs.game import Info, TaskGame, included
from wayword.envs.rewards import Reward, RewardMeter, reward
from wayword.envs.views import Actions, ActorView, AgentPrompts, Background, Said, Structured, Words
from wayword.runs.plan import Plan, open_agent, open_dataset

Episodes = int | Sequence[str] | None
"""How many episodes, the first ones; or these ids; or all."""
Stepped = tuple[Json, float, bool, bool, Info]


@dataclass(frozen=True)
class EnvironmentOptions:
    """What :func:`make` was asked for: see there."""

    name: str
    view: str = "text"
    actions: Actions = "text"
    reward: str | Mapping[str, float] | Reward = "success"
    episodes: Episodes = None
    max_steps: int | None = None
    actor: str = ""
    others: str = "team"
    settings: Mapping[str, Any] = field(default_factory=dict)
    view_settings: Mapping[str, Any] = field(default_factory=dict)
    data: Path | str | None = None
    seed: int = 0
    include: Sequence[str] = ()

    @property
    def plan(self) -> Plan:
        """The dataset as a plan names it; the agent is that of the other actors."""
        folder = None if self.data is None else Path(self.data)
        return Plan(self.others, self.name, settings={"dataset": dict(self.settings)}, data=folder)


def make(name: str, *, dataset: Dataset | None = None, **options: Any) -> Environment:
    """Open an environment: ``make("household:generated_train", reward="progress")``.

    ``name`` is a dataset and split as ``wayword run --on`` takes it, ``settings`` its settings,
    ``data`` the folder of published data. ``view``: ``text``, ``structured``, or an agent's name
    for its prompts, with ``view_settings`` of its own. ``actions``: ``text``, or ``menu``, where
    the legal ones are shown and numbers from 0 are understood too. ``reward``: ``success``,
    ``conditions``, ``progress``, ``cost``, or weights of terms (:mod:`wayword.envs.rewards`).
    ``episodes``: the first so many, or these ids. ``max_steps``: instead of the dataset's own.
    In tasks for several ``actor`` is whom one plays, the first by default, and ``others`` the
    agent of everybody else. ``seed`` is that of agents, as ``wayword run --seed``. ``include``
    names what infos hold besides. ``dataset`` may be one that is open already: environments can
    share it.

    Raises ``UsageError`` for a name or option that does not exist.
    """
    known = [key for key in EnvironmentOptions.__dataclass_fields__ if key != "name"]
    for key in options:
        if key not in known:
            raise UsageError(f"environments have no option {key!r}; {suggest(key, known)}")
    return Environment(EnvironmentOptions(name, **options), dataset)


class Environment:
    """Episodes of one dataset for one actor. See :func:`make`.

    Without a seed, ``reset()`` goes through the episodes in their order; ``reset(seed=7)`` draws
    one, and later resets go on drawing. An episode has its family's rules and its own step limit;
    it is ``terminated`` when the actors have stopped and ``truncated`` at the limit, and success is
    judged in both cases, as ``wayword run`` does. Nothing of it is random but the draw: the same
    episode and the same answers give the same observations.

    ``info`` holds ``success`` (whether the episode ended and was solved), ``rejected`` and
    ``rejection`` (why the answer was no legal action), ``status`` (of the last feedback),
    ``episode``, ``actor``, ``steps``, ``reward_terms``; and what ``include`` names of
    ``expert_action``, ``admissible_commands``, ``conditions`` (met, of how many), ``distance``
    (metres or links to the goal) and ``rules`` (what a policy is told once). They cost time: an
    expert plans anew after each step that is not its own.
    """

    def __init__(self, options: EnvironmentOptions, dataset: Dataset | None = None) -> None:
        self.options, self.reward = options, reward(options.reward)
        self.include = included(options.include)
        if options.actions not in get_args(Actions):
            raise UsageError(f"actions={options.actions!r} must be 'text' or 'menu'")
        self.dataset = dataset if dataset is not None else open_dataset(options.plan)
        self.tasks = _chosen(self.dataset, options)
        limit = options.max_steps
        self.max_steps = self.dataset.max_steps if limit is None else limit
        if self.max_steps < 1:
            raise UsageError(f"max_steps must be at least 1, got {self.max_steps}")
        self._rng: random.Random | None = None
        self._next, self._stride = 0, 1
        self._background: Background | None = None
        self._game: TaskGame | None = None
        self._view: ActorView
        self.said: list[Said] = []
        """What the policy has said in this episode."""

    @property
    def game(self) -> TaskGame:
        """The episode under way. Raises ``UsageError`` before the first reset."""
        if self._game is None:
            raise UsageError("call reset() before anything else")
        return self._game

    @property
    def view(self) -> ActorView:
        """How the episode under way is shown."""
        self.game  # noqa: B018 - raises before the first reset
        return self._view

    def reset(self, seed: int | None = None, episode: str | int | None = None) -> tuple[Json, Info]:
        """Begin an episode: the one of that id or number from 0, else the next, or a drawn one."""
        if seed is not None:
            self._rng = random.Random(_whole("seed", seed, "a whole number"))
        return self._begin(self._pick(episode))

    def share(self, number: int, count: int) -> None:
        """Without a seed, go through every ``count``-th episode from ``number`` on: of so many
        environments side by side each plays others."""
        self._next, self._stride = number, count

    def step(self, said: Said) -> Stepped:
        """Say something. Raises ``UsageError`` where the episode is over.

        What is no legal action costs a turn, changes nothing and is told back. Where an agent's
        prompts are the view, an answer may lead to another question, and no turn is taken.
        """
        game, view, actor = self.game, self._view, self.actor
        if not game.active(actor):
            raise UsageError("the episode is over; call reset() before the next step()")
        self.said.append(said)
        before, last = len(game.trajectory.steps), None
        given = view.read(said)
        while given is not None:
            last = game.act(actor, given)
            view.told(last)
            self._play_others()
            given = _decided(view)
        terms = self._meter.measure(game, game.trajectory.steps[before:])
        stopped, cut = game.ended == "stopped", game.ended == "step_limit"
        return view.observe(), sum(terms.values()), stopped, cut, self._info(last, terms)

    def clone(self) -> Environment:
        """An independent environment in the same state, for search. Scenes stay shared."""
        other = copy.copy(self)
        other._rng, other._background = copy.deepcopy(self._rng), None
        other.said = list(self.said)
        if self._game is None:
            return other
        other._game = None
        game = self._game.clone()
        view = None if self._agents else self._view.clone(game)
        if view is None:
            other._replay(self._game.task, self.said)
            return other
        other._game, other._view, other._meter = game, view, self._meter.clone()
        return other

    def save(self) -> Environment:
        """The present state, to be restored any number of times."""
        return self.clone()

    def restore(self, saved: Environment) -> None:
        """Go back to a state that :meth:`save` returned."""
        again = saved.clone()
        self.close()
        self.__dict__.update(again.__dict__)

    def trajectory(self) -> Trajectory:
        """The episode as a run records it, as far as it has gone."""
        return self.game.finished()

    def close(self) -> None:
        """Let go of what runs in the background."""
        if self._background is not None:
            self._background.close()
            self._background = None

    def __enter__(self) -> Environment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _begin(self, task: Task) -> tuple[Json, Info]:
        self.said = []
        if self._game is not None and isinstance(self._view, AgentPrompts):
            self._view.leave()
        self._game = game = TaskGame(self.dataset, task, self.max_steps)
        self.actor = _actor(self.options.actor, game.world.actors)
        self._agents = self._seated(game)
        self._meter = RewardMeter(self.reward, self.actor)
        self._view = self._new_view()
        for actor in game.world.actors:
            if actor == self.actor:
                break
            self._turn(actor)
        self._view.begin(game)
        self._meter.start(game)
        last, given = None, _decided(self._view)
        while given is not None:  # an agent may act before it asks anything
            last = game.act(self.actor, given)
            self._view.told(last)
            self._play_others()
            given = _decided(self._view)
        return self._view.observe(), self._info(last, {})

    def _replay(self, task: Task, said: Sequence[Said]) -> None:
        self._begin(task)
        for words in said:
            self.step(words)

    def _pick(self, episode: str | int | None) -> Task:
        if isinstance(episode, str):
            return self.task(episode)
        if episode is None:
            count = len(self.tasks)
            number = self._rng.randrange(count) if self._rng else self._next % count
            self._next = number + self._stride
            return self.tasks[number]
        episode = _whole("episode", episode, "an id or a number from 0")
        if not 0 <= episode < len(self.tasks):
            raise UsageError(f"episode={episode} must lie between 0 and {len(self.tasks) - 1}")
        self._next = episode + self._stride
        return self.tasks[episode]

    def task(self, episode: str) -> Task:
        """The task of that episode. Raises ``UsageError`` with a suggestion for an unknown id."""
        found = of_ids(self.tasks, {episode})
        if episode not in found:
            ids = [task.episode.id for task in self.tasks[:40]]
            name = self.options.name
            raise UsageError(f"{name} has no episode {episode!r}; {suggest(episode, ids)}")
        return found[episode]

    def _new_view(self) -> ActorView:
        options = self.options
        if options.view in ("text", "structured"):
            if options.view_settings:
                raise UsageError(f"view={options.view} has no settings; an agent's view has")
            cls = Words if options.view == "text" else Structured
            return cls(self.actor, options.actions)
        self._background = self._background or Background()
        return AgentPrompts(
            options.view, self.actor, options.view_settings, options.seed, self._background
        )

    def _seated(self, game: TaskGame) -> dict[str, Agent]:
        """The agents of the other actors."""
        others = [actor for actor in game.world.actors if actor != self.actor]
        if not others:
            return {}
        parts = open_agent(self.options.plan, self.dataset)
        if parts.cls.needs_model:
            raise UsageError(f"others={parts.name}: asks a model; give an agent that needs none")
        setup = Setup(self.dataset, parts.maker(), {}, self.options.seed)
        self._log = Log()
        agents = {}
        for actor in others:
            rng = random.Random(actor_seed(setup.seed, game.task, actor))
            agents[actor] = seat(game.task, setup, game.world, actor, rng, self._log)
            finish(agents[actor].begin(game.task.episode.as_told(actor)))
        return agents

    def _play_others(self) -> None:
        """Everybody else until it is this actor's turn again; to the end once it has stopped."""
        if not self._agents:
            return
        game, order = self.game, self.game.world.actors
        at = order.index(self.actor)
        while not game.ended:
            for actor in (*order[at + 1 :], *order[:at]):
                self._turn(actor)
            if game.active(self.actor):
                return

    def _turn(self, actor: str) -> None:
        game, agent = self.game, self._agents[actor]
        if not game.active(actor):
            return
        step = game.act(actor, finish(agent.act(game.observation(actor), game.space(actor))))
        agent.on_feedback(step.decision, step.feedback)
        step.calls, step.notes = self._log.drain()

    def _info(self, last: Step | None, terms: Mapping[str, float]) -> Info:
        """What is told beside an observation after the actor's ``last`` turn, None for none."""
        game = self.game
        refused = last.decision if last and isinstance(last.decision, Rejection) else None
        standing = game.standing() if game.ended else None
        return {
            "episode": game.task.episode.id,
            "actor": self.actor,
            "steps": game.taken[self.actor],
            "success": standing is not None and bool(standing.success),
            "rejected": refused is not None,
            "rejection": refused.reason if refused else "",
            "status": last.feedback.status if last else "",
            "reward_terms": dict(terms),
            **self._view.extra(),
            **game.told(self.actor, self.include, self._view.rules),
        }


def _whole(name: str, given: SupportsIndex, wanted: str) -> int:
    try:
        return operator.index(given)
    except TypeError:
        raise UsageError(f"{name}={given!r} must be {wanted}") from None


def _decided(view: ActorView) -> Any:
    return view.decided() if isinstance(view, AgentPrompts) else None


def _actor(wanted: str, actors: Sequence[str]) -> str:
    if wanted and wanted not in actors:
        raise UsageError(f"no actor is called {wanted!r}; {suggest(wanted, list(actors))}")
    return wanted or actors[0]


def finish(work: Any) -> Any:
    """The result of a coroutine that waits for nothing. Raises ``UsageError`` where it waits."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise UsageError("the other actors' agent waits for something; give one that needs no model")


def _chosen(dataset: Dataset, options: EnvironmentOptions) -> Sequence[Task]:
    tasks, wanted = dataset.tasks, options.episodes
    if wanted is None:
        chosen: Sequence[Task] = tasks
    elif isinstance(wanted, int):
        chosen = tasks[: max(wanted, 0)]
    else:
        found = of_ids(tasks, set(wanted))
        missing = [name for name in wanted if name not in found]
        if missing:
            raise UsageError(f"{options.name} has no episode {missing[0]!r}")
        chosen = [found[name] for name in wanted]
    if not chosen:
        raise UsageError(f"{options.name}: no episode is left to play (episodes={wanted!r})")
    return chosen
