"""Tasks for several actors as PettingZoo environments, one agent per actor.

    from wayword.envs.pettingzoo import aec, parallel

    env = aec("ma_household")          # one actor after the other
    env = parallel("ma_household")     # all at once, carried out in turn order

Actions are texts, and observations are ``{"text": ...}``: PettingZoo's tests do not accept a bare
string. With ``actions="menu"`` actions are numbers, and observations have an ``action_mask`` as
well; with ``eyes`` they have ``pictures`` (views, rows, columns, 3). ``render_mode`` shows what all
actors see ahead, side by side. Each actor has its own task and view of the episode.

Each actor is rewarded by the same terms for its own turns; success is the team's, and if actors
share a task, it is weighted by contribution (:mod:`wayword.envs.rewards`). An actor that has
stopped takes no more turns and is terminated with the others, because success is rewarded only
then.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, SupportsIndex

import numpy as np

from wayword.core.blame import users_errors
from wayword.core.errors import UsageError, door, missing
from wayword.core.trajectory import Step
from wayword.envs.environment import check_actor, checked_options, make
from wayword.envs.game import Info, TaskGame
from wayword.envs.rewards import RewardMeter
from wayword.envs.views import Structured, Words

try:
    import pettingzoo
    from gymnasium.spaces import Box, Dict, Space
except ModuleNotFoundError as error:
    raise missing(error, "pettingzoo") from None

from wayword.envs.gymnasium import (
    MENU_SIZE,
    FreeText,
    MenuNumber,
    as_text,
    colors_of,
    menu_mask,
    observation_space,
    plain_answer,
)
from wayword.envs.rendering import RENDER_MODES, checked_mode, render_modes, rendered

Obs = dict[str, Any]


class _MultiActorEnv:
    """Episodes with a view and a reward meter for each actor, and the spaces of both interfaces.
    Options are those of :func:`wayword.envs.make`."""

    metadata = {  # noqa: RUF012 - PettingZoo's form
        "name": "wayword_v0",
        "render_modes": RENDER_MODES,
        "render_fps": 1,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        name: str = "ma_household",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self._env = make(name, **options)
        self.render_mode = checked_mode(render_mode, self._env.dataset)
        modes = render_modes(self._env.dataset)
        self.metadata = {**self.metadata, "render_modes": modes}
        view = self._env.options.view
        actions = self._env.options.actions
        # An agent's own prompts have one player.
        if view not in ("text", "structured"):
            raise UsageError(
                f"view={view!r} must be 'text' or 'structured' for several actors"
            )
        view_class = {"structured": Structured, "text": Words}[view]
        self._view_class = partial(view_class, actions=actions)
        self._has_menu = actions == "menu"
        self._game: TaskGame | None = None
        # Actors are the same in all episodes of a dataset.
        self.possible_agents = list(self._env.tasks[0].episode.actors)
        self.agents: list[str] = []
        spaces = observation_space(
            self._env.dataset, self._env.options.views == "ahead"
        )
        if self._has_menu:
            spaces["action_mask"] = Box(0, 1, (MENU_SIZE,), np.int8)
        self.observation_spaces = {
            actor: Dict(spaces) for actor in self.possible_agents
        }
        kind: Any = MenuNumber if self._has_menu else FreeText
        # PettingZoo requires the same object at each call.
        self.action_spaces: dict[str, Space[Any]] = {
            actor: kind(partial(self._legal_actions, actor))
            for actor in self.possible_agents
        }

    @property
    def game(self) -> TaskGame:
        """The current episode. Raises ``UsageError`` before the first reset."""
        if self._game is None:
            raise UsageError("call reset() first")
        return self._game

    def observation_space(self, agent: str) -> Dict:
        """Any text, under the key ``text``; for menus also ``action_mask``."""
        check_actor(agent, self.possible_agents)
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """Any text, or for menus a number; a sample is a legal action."""
        check_actor(agent, self.possible_agents)
        return self.action_spaces[agent]

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise UsageError(
            "PettingZoo environments are not copied; play one actor of "
            "wayword.envs.make(...), whose clone() and pickle are exact"
        )

    def render(self) -> Any:
        """What :func:`~wayword.envs.rendering.rendered` returns for all actors."""
        if self.render_mode is None:
            return None
        actors = self.possible_agents
        texts = [
            f"{actor}: {as_text(self._views[actor].observe())}" for actor in actors
        ]
        return rendered(self.render_mode, self.game, actors, "\n\n".join(texts))

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def observe(self, agent: str) -> Obs:
        """Return an actor's view, with a mask of the menu where there is one."""
        check_actor(agent, self.possible_agents)
        observation: Obs = {"text": as_text(self._views[agent].observe())}
        if self._has_menu:
            observation["action_mask"] = menu_mask(len(self._legal_actions(agent)))
        eyes = self.game.eyes(agent)
        if eyes is not None:
            observation["pictures"] = colors_of(eyes)
        return observation

    def _begin(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Begin an episode, with a view and a meter for each actor."""
        # PettingZoo's own test passes options={"options": 1} to every environment.
        given = checked_options(options)
        given.pop("options", None)
        game = self._env.draw(seed, None, given)
        self._env.show_pictures(game)
        # A meter looks at the game when it is made, so it comes after the reset.
        self._game = game
        self._last: dict[str, Step] = {}
        self._terms: dict[str, dict[str, float]] = {}
        self.agents = list(game.world.actors)
        self._views = {actor: self._view_class(actor) for actor in self.agents}
        for view in self._views.values():
            view.begin(game)
        self._meters = {a: RewardMeter(self._env.reward, a, game) for a in self.agents}
        self._show()

    def _show(self) -> None:
        """Print what the actors see, in the mode ``human``."""
        if self.render_mode == "human":
            self.render()

    def _checked_answer(self, actor: str, action: Any) -> str | int:
        """Return the action of an actor whose turn it is, as :func:`~wayword.envs.make` takes it.
        Raises ``UsageError`` for another type."""
        if action is None:
            raise UsageError(f"no action for {actor!r}, whose turn it is")
        return self._env.checked_answer(plain_answer(action))

    def _take_turn(self, actor: str, answer: str | int) -> None:
        """Play an actor's turn."""
        view = self._views[actor]
        decision = view.read(answer)
        assert decision is not None  # these views decide by one answer
        step = self.game.act(actor, decision)
        view.on_step(step)
        self._last[actor] = step

    def _rewards_since(self, step_count: int) -> dict[str, float]:
        """Each actor's reward for the turns after the first ``step_count``."""
        steps = self.game.trajectory.steps[step_count:]
        has_ended = self.game.ended is not None
        # All meters measure at each turn: one actor's turn may reward another.
        self._terms = {
            actor: meter.measure(self.game, steps, has_ended)
            for actor, meter in self._meters.items()
        }
        return {actor: sum(terms.values()) for actor, terms in self._terms.items()}

    def _endings(self, actor: str) -> tuple[bool, bool]:
        """Terminated (the actor has stopped) and truncated (it was cut off at the limit)."""
        ended = self.game.ended is not None
        stopped = self.game.world.done(actor)
        # An actor that had not stopped was cut off by the end of the episode.
        return ended and stopped, ended and not stopped

    def _info(self, actor: str) -> Info:
        """Return an actor's ``info`` of the last step."""
        return self.game.info(
            actor,
            self._last.get(actor),
            self._terms.get(actor, {}),
            self._env.include,
            self._views[actor].rules,
            self.game.ended is not None,
        )

    def _legal_actions(self, actor: str) -> list[str]:
        """Return an actor's legal actions; none before the first reset."""
        return [] if self._game is None else self._game.legal_actions(actor)


class WaywordAEC(_MultiActorEnv, pettingzoo.AECEnv):  # type: ignore[misc]
    """Environment in which actors take turns, in the order of a rollout."""

    # An actor that has stopped is passed over, which PettingZoo's conversion does not support:
    # ``parallel`` plays the same tasks.
    metadata = {**_MultiActorEnv.metadata, "is_parallelizable": False}  # noqa: RUF012

    @door
    @users_errors
    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Begin an episode: ``options={"episode": ID}``, one drawn by ``seed``, or the next."""
        self._begin(seed, options)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {actor: self._info(actor) for actor in self.agents}
        self.agent_selection = self.agents[0]

    def __getattr__(self, name: str) -> Any:
        # PettingZoo's attributes, such as ``agent_selection``, are set by reset.
        hint = "; call reset() first" if vars(self).get("_game") is None else ""
        raise AttributeError(f"{type(self).__name__} has no {name!r}{hint}")

    @door
    @users_errors
    def step(self, action: Any) -> None:
        """Play the turn of ``agent_selection``; None removes an actor whose episode is over."""
        actor = self.agent_selection
        if not self.agents:
            raise UsageError("the episode is over; call reset()")
        # PettingZoo removes an actor by a step without an action.
        if self.terminations[actor] or self.truncations[actor]:
            self._was_dead_step(action)
            return
        answer = self._checked_answer(actor, action)
        step_count = len(self.game.trajectory.steps)
        # The actor's reward restarts with its own turn.
        self._cumulative_rewards[actor] = 0.0
        self._take_turn(actor, answer)
        rewards = self._rewards_since(step_count)
        self.rewards = {each: rewards[each] for each in self.agents}
        self.infos[actor] = self._info(actor)
        # One turn may end the episode for others, too.
        for other in self.agents:
            self.terminations[other], self.truncations[other] = self._endings(other)
            if self.terminations[other] or self.truncations[other]:
                # Success is known now; its last answer stays the same.
                self.infos[other] = self._info(other)
        # Once the episode is over, PettingZoo selects the actors to remove.
        self.agent_selection = next(self.game.turns(), actor)
        self._accumulate_rewards()
        self._deads_step_first()
        self._show()


class WaywordParallel(_MultiActorEnv, pettingzoo.ParallelEnv):  # type: ignore[misc]
    """All actors at once: answers are given together, and carried out in turn order."""

    @door
    @users_errors
    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Obs], dict[str, Any]]:
        """Begin an episode: ``options={"episode": ID}``, one drawn by ``seed``, or the next."""
        self._begin(seed, options)
        infos = {actor: self._info(actor) for actor in self.agents}
        return {actor: self.observe(actor) for actor in self.agents}, infos

    @door
    @users_errors
    def step(
        self,
        actions: dict[str, Any],
    ) -> tuple[
        dict[str, Obs],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, Any],
    ]:
        """Play a turn of every actor that has turns left; other actions are ignored."""
        agents = self.agents
        step_count = len(self.game.trajectory.steps)
        if not isinstance(actions, Mapping):
            raise UsageError(f"step takes actions by agent, got {actions!r:.60}")
        # Checked before any turn: a wrong action must not leave half a round played.
        for actor in actions:
            check_actor(actor, self.possible_agents)
        answers = {
            actor: self._checked_answer(actor, actions.get(actor))
            for actor in agents
            if self.game.active(actor)
        }
        self._last = {}
        for actor, answer in answers.items():
            # A turn may end the episode for those after it.
            if self.game.active(actor):
                self._take_turn(actor, answer)
        # Measured once for the round, after all turns.
        rewards = self._rewards_since(step_count)
        endings = {actor: self._endings(actor) for actor in agents}
        self.agents = [actor for actor in agents if not any(endings[actor])]
        self._show()
        return (
            {actor: self.observe(actor) for actor in agents},
            {actor: rewards[actor] for actor in agents},
            {actor: terminated for actor, (terminated, _) in endings.items()},
            {actor: truncated for actor, (_, truncated) in endings.items()},
            {actor: self._info(actor) for actor in agents},
        )


aec = WaywordAEC
parallel = WaywordParallel
