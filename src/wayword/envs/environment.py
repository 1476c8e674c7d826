"""Episodes of a dataset for one actor, with ``reset`` and ``step``.

>>> from wayword.envs import make
>>> env = make("houses", episodes=3, include=["expert_action"])
>>> observation, info = env.reset(seed=0)
>>> while info["expert_action"]:
...     observation, reward, terminated, truncated, info = env.step(info["expert_action"])
>>> terminated, info["success"]
(True, True)
"""

from __future__ import annotations

import copy
import operator
import random
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, SupportsIndex

from pydantic import InstanceOf

from wayword.core import registry
from wayword.core.action import Decision, Rejection
from wayword.core.agent import Agent, check_family
from wayword.core.blame import users_errors
from wayword.core.dataset import Dataset, DrawnTasks, Task, of_ids
from wayword.core.episode import Json, JsonObject
from wayword.core.errors import UsageError, door, near, suggest
from wayword.core.model import Image, Message
from wayword.core.recording import Log
from wayword.core.rollout import (
    Setup,
    actor_seed,
    begin_episode,
    decide,
    finish,
    seat,
)
from wayword.core.sight import EyesSettings, Frame, Mode
from wayword.core.trajectory import Step, Trajectory
from wayword.envs.game import Info, TaskGame, check_include
from wayword.envs.rewards import DEFAULT, RewardMeter, check_judged, parse_reward
from wayword.envs.views import (
    Actions,
    ActorView,
    AgentPrompts,
    Background,
    Structured,
    Words,
    check_player,
)
from wayword.runs.opening import open_agent, open_dataset
from wayword.runs.plan import Count, Plan
from wayword.settings import check
from wayword.settings import make as make_settings

Episodes = int | Sequence[str] | None
"""Number of episodes (the first ones), or their ids; None for all."""
StepResult = tuple[Json, float, bool, bool, Info]

# A curriculum's next level begins at 16 successes in 20 episodes: a lower bar would pass by luck.
RECENT = 20
SOLVED = 16


PICKLED_FIELDS = ("_rng", "_next", "_stride", "level", "_recent")
"""Fields of an environment that its episode does not determine."""


@dataclass(frozen=True)
class EnvironmentOptions:
    """Options of :func:`make`, which documents them."""

    name: str
    view: str = "text"
    actions: Actions = "text"
    reward: Any = DEFAULT
    episodes: Episodes = None
    max_steps: Count | None = None
    actor: str = ""
    others: str = "team"
    settings: Mapping[str, Any] = field(default_factory=dict)
    view_settings: Mapping[str, Any] = field(default_factory=dict)
    data: Path | str | None = None
    seed: int | None = None
    include: Any = ()
    discount: float = 1.0
    new_scenes: bool = False
    curriculum: Sequence[Mapping[str, Any]] = ()
    executor: InstanceOf[Executor] | None = None
    eyes: Mode = "words"
    picture_size: str | int | Sequence[int] = ""
    views: Literal["all", "ahead"] = "all"

    def __post_init__(self) -> None:
        ids: Any = self.episodes
        is_list = isinstance(ids, Sequence) and not isinstance(ids, str)
        if is_list and not all(isinstance(each, str) for each in ids):
            raise UsageError(
                f"episodes must be a number of episodes or a list of ids, got {ids!r:.80}"
            )
        check(self)
        size = self.picture_size
        if isinstance(size, int):
            size = (size, size)
        if not isinstance(size, str):
            size = "x".join(map(str, size))
        # In one form, whichever was given; a wrong one is refused here, also in words.
        if size:
            EyesSettings(picture_size=size)
        object.__setattr__(self, "picture_size", size)
        if self.views != "all" and self.eyes == "words":
            raise UsageError(
                f"views={self.views} has no effect in words; add eyes='pictures' or 'both'"
            )
        if self.executor is not None and not (self.new_scenes or self.curriculum):
            raise UsageError(
                "executor has no effect without new scenes; add new_scenes=True"
            )

    @property
    def plan(self) -> Plan:
        """Return the plan that opens the environment's dataset."""
        folder = None if self.data is None else Path(self.data)
        settings: dict[str, Any] = {"dataset": dict(self.settings)}
        if self.eyes != "words":
            settings["eyes"] = self.eyes
            if self.picture_size:
                settings["picture_size"] = self.picture_size
        return Plan(
            self.others,
            self.name,
            settings=settings,
            data=folder,
        )


@door
@users_errors
def make(
    name: str = "", *, dataset: Dataset | None = None, **options: Any
) -> Environment:
    """Open an environment: ``make("household:generated_train", reward="progress")``.

    ``name`` is a dataset and split as ``wayword run --on`` takes it, ``settings`` its settings,
    ``data`` the folder of published data. ``view``: ``text``, ``structured``, or an agent's name
    for that agent's prompts, with its settings in ``view_settings``. ``actions``: ``text``, or
    ``menu``, which lists the legal actions and also accepts their numbers, from 0. ``reward``:
    ``guided`` (the default), ``success``, ``conditions``, ``progress``, ``potential``, ``cost``,
    weights of terms, a callable that gets each recorded step (:mod:`wayword.envs.rewards`), or None
    if no one reads a reward: it is 0 at each step.
    ``episodes``: a number of episodes at most (``len(env.tasks)`` are there), or their ids.
    ``max_steps`` overrides the dataset's limit. In multi-actor tasks, the policy plays ``actor``,
    by default the first, and the agent ``others`` all others. ``seed`` is for these agents and
    for that of a view, as in ``wayword run --seed``; :meth:`Environment.reset` has its own.
    ``include`` names additional keys of infos. ``discount`` is the factor
    of the reward terms ``guide`` and ``potential``: the trainer's gamma. ``new_scenes``: every
    reset generates a scene, if the dataset can. ``curriculum``: levels of settings for new scenes,
    such as ``[{"length": 2}, {"length": 4}]``; the next level begins once 16 of the current one's
    last 20 episodes are solved. ``executor``: a ``concurrent.futures.Executor``, usually of
    processes, that generates the next scene during an episode. ``eyes``: ``pictures`` or ``both``,
    each of ``picture_size``, in the prompts of an agent that looks at them; with other views,
    :meth:`Environment.pictures` has them, and texts lose their words of sight with ``pictures``.
    ``picture_size``: ``"96x72"``, columns and rows as a tuple, or one number; in words, the size of
    rendered pictures. ``views``: ``all`` that the rules allow, or the one ``ahead``.
    ``dataset``: an open dataset, for several environments.

    Raises ``UsageError`` for an unknown name or option.
    """
    given: Any = name
    if not name or isinstance(given, Dataset | type):
        form = "make takes a dataset's name first, as in make('houses') or make('./mine.py')"
        hint = "an open dataset of your own is an option: make('mine', dataset=Mine())"
        raise UsageError(f"{form}; {hint}, got {name or dataset!r:.60}")
    supported = [
        key for key in EnvironmentOptions.__dataclass_fields__ if key != "name"
    ]
    supported.append("dataset")
    for key in options:
        if key not in supported:
            raise UsageError(
                f"environments have no option {key!r}; {suggest(key, supported)}"
            )
    if not options.get("curriculum", True):
        raise UsageError("curriculum has no level; remove it")
    if not isinstance(dataset, Dataset | None):
        raise UsageError(
            f"dataset must be an open dataset, such as env.dataset, got {dataset!r}"
        )
    return Environment(EnvironmentOptions(name, **options), dataset)


def draw_scene(
    options: EnvironmentOptions, rng: random.Random
) -> tuple[TaskGame, random.Random]:
    """Generate a scene and begin an episode in it; the generator comes back in its new state."""
    settings = {**options.settings, "seed": rng.randrange(2**31)}
    dataset = open_dataset(replace(options, settings=settings).plan)
    task = dataset.tasks[rng.randrange(len(dataset.tasks))]
    return TaskGame(dataset, task, options.max_steps or dataset.max_steps), rng


class Environment:
    """Episodes of one dataset for one actor. See :func:`make`.

    Without a seed, ``reset()`` plays the episodes in order; ``reset(seed=7)`` draws one, and so do
    later resets. With ``new_scenes``, or ``reset(options={"rooms": 6})``, an episode is played in a
    newly generated scene of the dataset's own split. An episode is ``terminated`` when the actors
    have stopped and ``truncated`` at the step limit; ``info["success"]`` is judged in both cases,
    as ``wayword run`` does. Only the draw is random.

    ``info`` holds ``success`` (True once the episode has ended and is solved, None if nothing
    judges it), ``rejected`` and ``rejection`` (why the answer was no legal action), ``status`` (of
    the last feedback), ``episode``, ``actor``, ``steps``, ``reward_terms``. ``include`` adds
    ``expert_action``, ``admissible_commands``, ``conditions`` (met, and their number), ``distance``
    (metres or links to the goal) and ``rules`` (for the system prompt). They are slow: an expert
    plans again after each step that deviates from its plan.
    """

    def __init__(
        self, options: EnvironmentOptions, dataset: Dataset | None = None
    ) -> None:
        self.options = options
        self.reward = parse_reward(options.reward, options.discount)
        self.include = check_include(options.include)
        # Names are checked now, not in a reset that may happen in another process.
        check_view(options)
        check_others(options.others)
        self.dataset = dataset if dataset is not None else open_dataset(options.plan)
        check_judged(self.reward, self.dataset)
        tasks = self.dataset.tasks
        requested = options.episodes
        if isinstance(requested, int):
            tasks = tasks[: max(requested, 0)]
        self.tasks: Sequence[Task] = tasks
        if not isinstance(requested, int | None):
            self.tasks = self._tasks(*requested)
        if not self.tasks:
            raise UsageError(
                f"{options.name}: no episode to play (episodes={requested!r})"
            )
        if options.new_scenes:
            self._check_generates("remove new_scenes")
        if options.view in VIEWS:
            check_sight(self.dataset, options.view)
            check_drawn(options.seed, self.tasks[0])
        else:
            check_player(options.view, self.dataset)
        if options.actor:
            # A world has its actors after its first reset.
            first = TaskGame(self.dataset, self.tasks[0], self.max_steps)
            check_actor(options.actor, first.world.actors)
        self._rng: random.Random | None = None
        self._next = 0
        self._stride = 1
        self._background: Background | None = None
        self._game: TaskGame | None = None
        # The scene that the executor prepares: its key (options, state of the generator).
        self._ahead: tuple[Any, Future[tuple[TaskGame, random.Random]]] = None, Future()
        self._view: ActorView
        self._is_closed = False
        self.level = 0
        """Index of the curriculum's current level."""
        self._recent = deque[bool](maxlen=RECENT)
        # A wrong level raises an error now, not after hours of training.
        for self.level in range(len(options.curriculum)):
            self.draw(0, None)
        self.level = 0
        self._rng = None
        self.answers: list[str | int] = []
        """The policy's answers in this episode."""

    @property
    def game(self) -> TaskGame:
        """The current episode. Raises ``UsageError`` before the first reset."""
        if self._game is None:
            raise UsageError("call reset() before anything else")
        return self._game

    @property
    def view(self) -> ActorView:
        """The view of the actor. Raises ``UsageError`` before the first reset."""
        self.game  # noqa: B018 - raises before the first reset
        return self._view

    @door
    @users_errors
    def reset(
        self,
        seed: int | None = None,
        episode: str | int | None = None,
        options: JsonObject | None = None,
    ) -> tuple[Json, Info]:
        """Begin an episode: by id or number from 0, else drawn if seeded, else the next.
        ``options``: settings of the dataset for a newly generated scene, such as ``rooms``."""
        return self._begin(self.draw(seed, episode, options))

    def draw(
        self,
        seed: int | None,
        episode: str | int | None,
        options: JsonObject | None = None,
    ) -> TaskGame:
        """The game that :meth:`reset` would begin."""
        # Settings and seed; a seed also restarts the generator of later draws.
        settings = checked_options(options)
        episode = settings.pop("episode", episode)
        if self.options.curriculum and episode is None:
            # Options of this reset win over those of the level.
            settings = {**self.options.curriculum[self.level], **settings}
        if seed is not None:
            self._rng = random.Random(checked_seed(seed))
        is_new = settings or self.options.new_scenes or self.options.curriculum
        if episode is None and is_new:
            return self._draw_new(settings)
        if settings:
            raise UsageError(
                f"options: {[*settings]} need a new scene; remove the episode"
            )
        if isinstance(episode, str):
            (task,) = self._tasks(episode)
            return TaskGame(self.dataset, task, self.max_steps)
        count = len(self.tasks)
        if episode is not None:
            number = as_integer("episode", episode, "an id or a number from 0")
            if not 0 <= number < count:
                raise UsageError(
                    f"episode must be between 0 and {count - 1}, got {number}"
                )
        elif self._rng:
            number = self._rng.randrange(count)
        else:
            number = self._next % count
        self._next = number + self._stride
        return TaskGame(self.dataset, self.tasks[number], self.max_steps)

    def _check_generates(self, remedy: str) -> None:
        """Raise ``UsageError`` for a dataset that generates no scenes."""
        is_drawn = isinstance(self.dataset.tasks, DrawnTasks)
        if not is_drawn or not hasattr(self.dataset.settings, "seed"):
            raise UsageError(f"{self.options.name} generates no scenes; {remedy}")

    def _draw_new(self, settings: JsonObject) -> TaskGame:
        """Draw an episode in a new scene. Raises ``UsageError`` if the dataset generates none."""
        self._check_generates("reset() takes options={'episode': ID}")
        if own := {"seed", "episodes"} & {*settings}:
            raise UsageError(
                f"options: {min(own)!r} is drawn for each new scene; remove it"
            )
        merged = {**self.options.settings, **settings}
        game, self._rng = self._draw_scene(replace(self.options, settings=merged))
        return game

    def _draw_scene(
        self, options: EnvironmentOptions
    ) -> tuple[TaskGame, random.Random]:
        """Take the scene that the executor made for these options and this state of the generator,
        or make it now; then order the next one."""
        executor = options.executor
        rng = self._rng or random.Random()
        options = replace(options, executor=None)  # it cannot be sent to a process
        ordered, future = self._ahead
        if ordered == (options, rng.getstate()) and not future.cancelled():
            game, rng = future.result()
        else:
            future.cancel()
            game, rng = draw_scene(options, rng)
        if executor is not None:
            future = executor.submit(draw_scene, options, copy.copy(rng))
            self._ahead = ((options, rng.getstate()), future)
        return game, rng

    @property
    def max_steps(self) -> int:
        """The limit of turns of an episode: that of the options, else the dataset's."""
        return self.options.max_steps or self.dataset.max_steps

    def partition(self, number: int, count: int) -> None:
        """Without a seed, play every ``count``-th episode from ``number`` on, so that the
        environments of a batch play different ones."""
        self._next = number
        self._stride = count

    @door
    @users_errors
    def step(self, answer: str | int) -> StepResult:
        """Play a turn. An illegal action costs a turn, changes nothing and is reported. With an
        agent's prompts as the view, an answer may lead to another question without a turn. Raises
        ``UsageError`` if the episode is over or the environment is closed."""
        if self._is_closed:
            raise UsageError("the environment is closed; call reset() before step()")
        game = self.game
        view = self._view
        actor = self.actor
        if not game.active(actor):
            raise UsageError("the episode is over; call reset() before the next step()")
        answer = self.checked_answer(answer)
        self.answers.append(answer)
        # An answer may lead to a question instead of a turn: then no step is measured.
        first_new = len(game.trajectory.steps)
        last = self._play(view.read(answer))
        ended = game.ended
        has_ended = ended is not None
        new_steps = game.trajectory.steps[first_new:]
        terms = self._meter.measure(game, new_steps, has_ended)
        info = self._info(last, terms, has_ended)
        if has_ended:
            self._recent.append(info["success"])
            is_last = self.level + 1 >= len(self.options.curriculum)
            # Successes on an easier level say nothing about the next: counted from 0.
            if not is_last and self._recent.count(True) >= SOLVED:
                self.level += 1
                self._recent.clear()
        # Without terms the sum would be an integer.
        reward = float(sum(terms.values()))
        is_stopped = ended == "stopped"
        return view.observe(), reward, is_stopped, has_ended and not is_stopped, info

    def checked_answer(self, answer: Any) -> str | int:
        """Return an answer as a text, or as an integer for a menu. Raises ``UsageError`` for
        another type: it is a fault of the program, not of its policy, and costs no turn."""
        if isinstance(answer, str):
            return answer
        expected = "a text (numbers need actions='menu')"
        if self.options.actions == "menu":
            expected = "a text or a number of the menu"
        # Booleans are integers in Python.
        is_number = isinstance(answer, SupportsIndex) and not isinstance(answer, bool)
        if is_number and self.options.actions == "menu":
            return as_integer("an action", answer, expected)
        raise UsageError(f"an action must be {expected}, got {answer!r:.80}")

    def frame(self) -> Frame:
        """Draw what the actor sees ahead. Raises ``UsageError`` if the dataset has no pictures."""
        return self.game.ahead(self.actor)

    def pictures(self) -> tuple[Image, ...]:
        """The pictures that come with the observation, in the order that its text lists them; empty
        in words, and for an agent's prompts, whose messages contain them."""
        eyes = self.game.eyes(self.actor)
        if eyes is None or self.options.view not in ("text", "structured"):
            return ()
        return tuple(image for _, image in eyes.look())

    def content(self, observation: Json) -> Json:
        """An observation as the content of a user's message in the chat format of OpenAI: a text
        or, with pictures, its parts."""
        return Message("user", str(observation), self.pictures()).parts

    def clone(self) -> Environment:
        """An independent environment in the same state, for search. Scenes are shared.
        :meth:`restore` accepts it any number of times."""
        other = copy.copy(self)
        other._rng = copy.deepcopy(self._rng)
        other._background = None
        other._ahead = (None, Future())
        other.answers = list(self.answers)
        if self._game is not None:
            # The state itself if the view can be copied, else the answers are played again: other
            # actors' agents and an agent's prompts hold a state that cannot.
            game = self._game.clone()
            view = None
            if not self._agents:
                view = self._view.clone(game)
            if view is not None:
                other._game = game
                other._view = view
                other._meter = copy.copy(self._meter)
            else:
                other._game = None
                other._recent = deque(maxlen=RECENT)
                other._begin(TaskGame(game.dataset, game.task, game.max_steps))
                for answer in self.answers:
                    other.step(answer)
        # A replay counts an ended episode again.
        other.level = self.level
        other._recent = self._recent.copy()
        return other

    def __deepcopy__(self, memo: Any) -> Environment:
        """Copy for planners that know :func:`copy.deepcopy` alone: :meth:`clone`."""
        return self.clone()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the options and the answers so far, not the world: unpickling plays them again. An
        ``executor`` stays behind."""
        episode = None
        if self._game is not None:
            game = self._game
            episode = (game.dataset, game.task, game.max_steps)
        return {
            "options": replace(self.options, executor=None),
            "dataset": self.dataset,
            "episode": episode,
            "answers": list(self.answers),
            "fields": {name: getattr(self, name) for name in PICKLED_FIELDS},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["options"], state["dataset"])  # type: ignore[misc]
        if state["episode"] is not None:
            self._begin(TaskGame(*state["episode"]))
            for answer in state["answers"]:
                self.step(answer)
        # A replay counts an ended episode again.
        self.__dict__.update(state["fields"])

    def restore(self, saved: Environment) -> None:
        """Go back to the state of a clone. Raises ``UsageError`` for anything else."""
        if not isinstance(saved, Environment):
            raise UsageError(f"restore takes a clone of env.clone(), got {saved!r:.80}")
        own, other = (replace(env.options, executor=None) for env in (self, saved))
        if own != other:
            raise UsageError(
                f"restore takes a clone of this environment, {self!r}, got {saved!r}"
            )
        copied = saved.clone()
        self.close()
        self.__dict__.update(copied.__dict__)

    def trajectory(self) -> Trajectory:
        """Return the record of the episode so far, as a run would have it."""
        return self.game.finished()

    def close(self) -> None:
        """Cancel the next scene that is drawn ahead, and end the agent's thread if there is one."""
        self._is_closed = True
        self._ahead[1].cancel()
        if self._background is not None:
            self._background.close()
            self._background = None

    def __getattr__(self, name: str) -> Any:
        hint = ""
        if name in OF_GYMNASIUM:
            hint = (
                '; write gymnasium.make("wayword.envs.gymnasium:Wayword-v0", '
                "dataset=NAME), which has it"
            )
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
        )

    def __repr__(self) -> str:
        options = self.options
        terms = ", ".join(
            f"{name}: {each:g}" for name, each in self.reward.weights.items()
        )
        counts = f"{len(self.tasks):,} episodes, view={options.view!r}"
        return f"<Environment {options.name!r}: {counts}, reward={{{terms}}}>"

    def __enter__(self) -> Environment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _begin(self, game: TaskGame) -> tuple[Json, Info]:
        """Begin an episode: its actors, its view, then the turns before the policy's first."""
        self.answers = []
        # An agent of the last episode may still wait for an answer.
        if self._game is not None:
            self._view.leave()
        self._game = game
        self._is_closed = False
        self.show_pictures(game)
        actors = game.world.actors
        options = self.options
        # Later episodes may have other actors than the first.
        if options.actor:
            check_actor(options.actor, actors)
        self.actor = options.actor or actors[0]
        self._seat_others(game)
        self._view = self._open_view()
        self._play_others()
        self._view.begin(game)
        self._meter = RewardMeter(self.reward, self.actor, game)
        # An agent may act before its first question.
        last = self._play(self._view.decided())
        return self._view.observe(), self._info(last, {}, self.game.ended is not None)

    def show_pictures(self, game: TaskGame) -> None:
        """Give a game the options of pictures."""
        game.shows_ahead = self.options.views == "ahead"
        if size := self.options.picture_size:
            game.rendering = EyesSettings(picture_size=str(size))

    def _seat_others(self, game: TaskGame) -> None:
        """Open an agent for every other actor."""
        self._agents: dict[str, Agent] = {}
        others = [actor for actor in game.world.actors if actor != self.actor]
        if not others:
            return
        name = self.options.others
        dataset = game.dataset
        # `open_agent` would not name the option, whose default plays in homes alone.
        check_family(
            registry.load("agent", name),
            dataset.family.name,
            self.options.name,
            f"others={name}",
            dataset.solutions,
        )
        parts = open_agent(self.options.plan, dataset)
        task = game.task
        setup = Setup(dataset, parts.make, {}, self.options.seed or 0)
        self._log = Log()
        for actor in others:
            # Own seeds: an actor that draws more must not affect the others.
            rng = random.Random(actor_seed(setup.seed, task, actor))
            agent = seat(task, setup, game.world, actor, rng, self._log)
            self._agents[actor] = agent
            finish(begin_episode(agent, task.episode.for_actor(actor)))

    def _open_view(self) -> ActorView:
        """Open the view that the options name. Raises ``UsageError``."""
        options = self.options
        if options.view in VIEWS:
            return VIEWS[options.view](self.actor, options.actions)
        # Kept over resets: a thread for each episode would pile up.
        self._background = self._background or Background()
        return AgentPrompts(
            options.view,
            self.actor,
            options.view_settings,
            options.seed or 0,
            self._background,
        )

    def _play(self, decision: Decision | Rejection | None) -> Step | None:
        """Carry out a decision, and those that need no answer; return the last step."""
        last = None
        game = self.game
        while decision is not None:
            last = game.act(self.actor, decision)
            self._view.on_step(last)
            # Alone, a step asks its world no more than it needs.
            if self._agents:
                self._play_others()
            decision = self._view.decided()
        return last

    def _tasks(self, *episodes: str) -> list[Task]:
        """Return tasks by their ids. Raises ``UsageError`` for an unknown one."""
        matches = of_ids(self.tasks, episodes)
        for name in episodes:
            if name not in matches:
                ids = [task.episode.id for task in self.tasks[:2000]]
                raise UsageError(
                    f"{self.options.name} has no episode {name!r}; {suggest(name, ids)}"
                )
        return [matches[name] for name in episodes]

    def _play_others(self) -> None:
        """Play the others' turns until this actor's, or to the end once it has stopped."""
        game = self.game
        for actor in game.turns():
            if actor == self.actor:
                return
            agent = self._agents[actor]
            decision = finish(decide(agent, game.observation(actor), game.space(actor)))
            step = game.act(actor, decision)
            agent.on_feedback(step.decision, step.feedback)
            step.calls, step.notes = self._log.drain()

    def _info(
        self, last: Step | None, terms: Mapping[str, float], has_ended: bool
    ) -> Info:
        """``info`` after the actor's ``last`` turn, which is None at the start."""
        rules = self._view.rules
        info = self.game.info(self.actor, last, terms, self.include, rules, has_ended)
        info["actor"] = self.actor
        info.update(self._view.extra())
        return info


OF_GYMNASIUM = (
    "action_masks",
    "action_space",
    "observation_space",
    "render",
    "unwrapped",
)
"""Attributes that people of Gymnasium look for."""
VIEWS: Mapping[str, type[Words]] = {"text": Words, "structured": Structured}
"""Views that need no agent."""


def check_view(options: EnvironmentOptions) -> None:
    """Raise ``UsageError`` for a view that does not exist, or settings that it does not take."""
    if options.view in VIEWS:
        if options.view_settings:
            raise UsageError(
                f"view={options.view} takes no settings; only agents' views do"
            )
        return
    try:
        agent = registry.load("agent", options.view)
    except UsageError as error:
        kinds = "text, structured, or the name of an agent"
        problem = str(error)
        if hint := near(options.view, [*VIEWS, *registry.names("agent")]):
            problem = f"got {options.view!r}{hint}"
        raise UsageError(f"view must be {kinds}: {problem}") from None
    make_settings(agent.Settings, options.view_settings, options.view)


def check_sight(dataset: Dataset, view: str) -> None:
    """Raise ``UsageError`` for a view whose words would name what is to be seen."""
    painter = dataset.painter()
    if dataset.eyes is None or dataset.eyes.eyes != "pictures" or painter is None:
        return
    # The text, the menu and the state name objects.
    if VIEWS[view].has_fields or painter.has_marks:
        raise UsageError(
            "eyes=pictures: this view names objects in words; use eyes='both', or an agent's "
            "prompts, such as view='react'"
        )


def check_drawn(seed: int | None, task: Task) -> None:
    """Raise ``UsageError`` for the seed of agents where there are none: a user means that of the
    episodes."""
    if seed is not None and len(task.episode.actors) == 1:
        raise UsageError(
            f"seed={seed} is for agents, and none plays here; to draw episodes, write "
            f"env.reset(seed={seed})"
        )


def check_others(name: str) -> None:
    """Raise ``UsageError`` for an agent that does not exist or needs a model."""
    # `open_agent` would advise an option that environments do not have.
    if registry.load("agent", name).needs_model:
        problem = "needs a model; use an agent that needs none"
        raise UsageError(f"others={name}: {problem}")


def check_actor(name: str, actors: Sequence[str]) -> None:
    """Raise ``UsageError`` for an actor that the world does not have."""
    if name not in actors:
        raise UsageError(f"no actor is called {name!r}; {suggest(name, actors)}")


def checked_options(options: object) -> dict[str, Any]:
    """The ``options`` of a reset as a new dict. Raises ``UsageError`` if they are not a mapping of
    names."""
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(k, str) for k in options):
        raise UsageError(
            f"options must be a mapping, such as {{'episode': ID}}, got {options!r:.80}"
        )
    return dict(options)


def checked_seed(seed: SupportsIndex) -> int:
    """Return a seed as an int. Raises ``UsageError`` for one that Gymnasium would refuse."""
    expected = "a whole number from 0"
    number = as_integer("seed", seed, expected)
    if number < 0:
        raise UsageError(f"seed must be {expected}, got {number}")
    return number


def as_integer(name: str, value: SupportsIndex, expected: str) -> int:
    """Return an integer, including numpy's, as an int. Raises ``UsageError`` for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        raise UsageError(f"{name} must be {expected}, got {value!r}") from None
