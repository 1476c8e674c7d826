"""Tasks for several actors as PettingZoo environments, one agent an actor.

    from wayword.envs.pettingzoo import aec, parallel

    env = aec("ma_household")          # one actor after the other
    env = parallel("ma_household")     # everybody at once, carried out in turn order

Actions are texts, and observations are ``{"text": ...}``: PettingZoo's own tests take no bare text
for an observation. With ``actions="menu"`` actions are numbers, and observations have an
``action_mask`` as well. Each actor has its own task and view of the episode.

The reward is each actor's own by the same terms; success is everybody's. An actor that has stopped
waits for the others: it is asked nothing more, and is terminated with them, as it can be paid for
the team's success only then. Infos hold what ``include`` names besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from wayword.core.dataset import Task
from wayword.core.errors import UsageError, missing
from wayword.envs.environment import make
from wayword.envs.game import Info, TaskGame
from wayword.envs.rewards import RewardMeter, reward
from wayword.envs.views import Structured, Words

try:
    import pettingzoo
    from gymnasium.spaces import Box, Dict, Space
    from gymnasium.utils import seeding
except ModuleNotFoundError as error:
    raise missing(error, "pettingzoo") from None

from wayword.envs.gymnasium import MENU, FreeText, MenuNumber, as_text, mask_of

Seen = dict[str, Any]


class _Table:
    """An episode with a view and a meter for each of its actors."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.inner = make(name, **options)
        asked = self.inner.options
        if asked.view not in ("text", "structured"):
            raise UsageError(
                f"view={asked.view!r} must be 'text' or 'structured' for several actors"
            )
        self._reward, self._view = reward(asked.reward), asked.view
        self.menu, self._actions = asked.actions == "menu", asked.actions
        first = self.inner.tasks[0].episode
        self.actors: list[str] = list(first.actors)
        self._draw: Any = None
        self._next = 0

    def begin(self, seed: int | None, episode: str | None) -> None:
        """Begin an episode."""
        if seed is not None:
            self._draw, _ = seeding.np_random(seed)
        self.game = game = TaskGame(self.inner.dataset, self._task(episode), self.inner.max_steps)
        cls = Structured if self._view == "structured" else Words
        self.views = {actor: cls(actor, self._actions) for actor in game.world.actors}
        self.meters = {actor: RewardMeter(self._reward, actor) for actor in game.world.actors}
        for actor, view in self.views.items():
            view.begin(game)
            self.meters[actor].start(game)

    def take(self, actor: str, said: Any) -> bool:
        """One actor's turn; whether its answer was rejected."""
        decision = self.views[actor].read(int(said) if self.menu else str(said))
        assert decision is not None  # these views ask nothing in between
        step = self.game.act(actor, decision)
        self.views[actor].told(step)
        return step.feedback.status == "rejected"

    def rewards(self, since: int) -> dict[str, float]:
        """Each actor's reward for what happened since so many turns."""
        steps = self.game.trajectory.steps[since:]
        return {a: sum(m.measure(self.game, steps).values()) for a, m in self.meters.items()}

    def seen(self, actor: str) -> Seen:
        """What an actor is shown now."""
        seen: Seen = {"text": as_text(self.views[actor].observe())}
        return {**seen, "action_mask": mask_of(len(self.legal(actor)))} if self.menu else seen

    def over(self, actor: str) -> tuple[bool, bool]:
        """Whether the episode is over for an actor that has stopped, or for one cut off."""
        over, stopped = self.game.ended is not None, self.game.world.done(actor)
        return over and stopped, over and not stopped

    def info(self, actor: str, rejected: bool = False) -> Info:
        """What is told beside an observation."""
        game, standing = self.game, self.game.standing() if self.game.ended else None
        return {
            "episode": game.task.episode.id,
            "steps": game.taken[actor],
            "success": standing is not None and bool(standing.success),
            "rejected": rejected,
            **game.told(actor, self.inner.include, self.views[actor].rules),
        }

    def legal(self, actor: str) -> Sequence[str]:
        """The actions an actor may choose from."""
        game = getattr(self, "game", None)
        if game is None or not game.active(actor):
            return ()
        return [str(action) for action in game.space(actor).listed]

    def _task(self, episode: str | None) -> Task:
        tasks = self.inner.tasks
        if episode is not None:
            return self.inner.task(episode)
        number = int(self._draw.integers(len(tasks))) if self._draw else self._next % len(tasks)
        self._next = number + 1
        return tasks[number]


class _Spaces:
    """The spaces of both interfaces, the same object for an agent each time."""

    metadata = {"name": "wayword_v0", "render_modes": [], "is_parallelizable": True}  # noqa: RUF012
    render_mode = None

    def _open(self, name: str, options: dict[str, Any]) -> None:
        self.table = table = _Table(name, options)
        self.possible_agents = list(table.actors)
        seen: dict[str, Space[Any]] = {"text": FreeText()}
        if table.menu:
            seen["action_mask"] = Box(0, 1, (MENU,), np.int8)
        self.observation_spaces = {actor: Dict(seen) for actor in table.actors}
        kind: Any = MenuNumber if table.menu else FreeText
        self.action_spaces: dict[str, Space[Any]] = {
            actor: kind(partial(table.legal, actor)) for actor in table.actors
        }

    def observation_space(self, agent: str) -> Dict:
        """Any text, under the key ``text``; for menus ``action_mask`` besides."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """Any text, or for menus a number; a sample is a legal action."""
        return self.action_spaces[agent]

    def render(self) -> None:
        """Texts need no rendering."""

    def close(self) -> None:
        """Nothing to close."""


class WaywordAEC(_Spaces, pettingzoo.AECEnv):  # type: ignore[misc]
    """One actor after the other, as a rollout plays them."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__()
        self._open(name, options)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode: ``options={"episode": ID}``, one drawn by ``seed``, or the next."""
        self.table.begin(seed, (options or {}).get("episode"))
        self.agents = list(self.table.game.world.actors)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {actor: self.table.info(actor) for actor in self.agents}
        self.agent_selection = self.agents[0]

    def observe(self, agent: str) -> Seen:
        """What an actor is shown now."""
        return self.table.seen(agent)

    def step(self, action: Any) -> None:
        """The turn of ``agent_selection``; None takes one that is over away."""
        actor, table = self.agent_selection, self.table
        if self.terminations[actor] or self.truncations[actor]:
            self._was_dead_step(action)
            return
        before = len(table.game.trajectory.steps)
        self._cumulative_rewards[actor] = 0.0
        rejected = table.take(actor, action)
        self.rewards = {a: r for a, r in table.rewards(before).items() if a in self.agents}
        self.infos[actor] = table.info(actor, rejected)
        for other in self.agents:
            self.terminations[other], self.truncations[other] = table.over(other)
            if self.terminations[other] or self.truncations[other]:
                self.infos[other] = table.info(other)
        self.agent_selection = self._after(actor)
        self._accumulate_rewards()
        self._deads_step_first()

    def _after(self, actor: str) -> str:
        """Who is next: the nearest in turn order with turns left; anybody once it is over."""
        order, game = list(self.table.game.world.actors), self.table.game
        at = order.index(actor)
        later = [a for a in (*order[at + 1 :], *order[: at + 1]) if a in self.agents]
        return next((a for a in later if game.active(a)), later[0])


class WaywordParallel(_Spaces, pettingzoo.ParallelEnv):  # type: ignore[misc]
    """Everybody at once: answers are given together, and carried out in turn order."""

    def __init__(self, name: str, **options: Any) -> None:
        self._open(name, options)
        self.agents: list[str] = []

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, Any]]:
        """Begin an episode: ``options={"episode": ID}``, one drawn by ``seed``, or the next."""
        self.table.begin(seed, (options or {}).get("episode"))
        self.agents = list(self.table.game.world.actors)
        seen = {actor: self.table.seen(actor) for actor in self.agents}
        return seen, {actor: self.table.info(actor) for actor in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, Any]]:
        """A turn of everybody who has turns left; others need no action, and none is read."""
        table, there = self.table, list(self.agents)
        before, refused = len(table.game.trajectory.steps), dict.fromkeys(there, False)
        silent = [a for a in there if table.game.active(a) and actions.get(a) is None]
        if silent:
            raise UsageError(f"no action for {silent[0]!r}, whose turn it is")
        for actor in there:
            if table.game.active(actor):
                refused[actor] = table.take(actor, actions[actor])
        rewards = table.rewards(before)
        over = {actor: table.over(actor) for actor in there}
        self.agents = [actor for actor in there if not any(over[actor])]
        return (
            {actor: table.seen(actor) for actor in there},
            {actor: rewards[actor] for actor in there},
            {actor: ended for actor, (ended, _) in over.items()},
            {actor: cut for actor, (_, cut) in over.items()},
            {actor: table.info(actor, refused[actor]) for actor in there},
        )


def aec(name: str = "ma_household", **options: Any) -> WaywordAEC:
    """An environment in which the actors take turns. Options as in :func:`wayword.envs.make`."""
    return WaywordAEC(name, **options)


def parallel(name: str = "ma_household", **options: Any) -> WaywordParallel:
    """An environment in which all actors answer at once."""
    return WaywordParallel(name, **options)
