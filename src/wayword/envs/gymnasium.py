"""Wayword as a Gymnasium environment.

    import gymnasium

    env = gymnasium.make("wayword:Wayword-v0", dataset="household:generated_test")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(info["expert_action"])

Other keywords are those of :func:`wayword.envs.make`. Observations are texts (JSON for structured
views, messages joined for chat prompts; ``info["messages"]`` has them apart). ``reset`` takes
``options={"episode": ID}``. The id is registered by ``import wayword``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wayword.core.episode import Json
from wayword.core.errors import missing
from wayword.envs.environment import Environment, make
from wayword.envs.game import Info
from wayword.envs.vector import SyncVector, WorkerVector

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise missing(error, "gymnasium") from None

LONGEST = 1_000_000
"""Characters that a text of the spaces may have."""
MENU = 1_000
"""Numbers of a menu, for ``actions="menu"``; those beyond the listed ones are rejected."""


class FreeText(gymnasium.spaces.Text):
    """Any text. A sample is one of ``choices()``, where the space has them: an action that is legal
    now, so that a random policy plays."""

    def __init__(self, choices: Callable[[], Sequence[str]] | None = None) -> None:
        super().__init__(LONGEST, min_length=0)
        self._choices = choices

    def contains(self, x: Any) -> bool:
        """Whether it is a text that is not too long."""
        return isinstance(x, str) and len(x) <= LONGEST

    def sample(self, *masks: Any, **named: Any) -> str:
        """A choice, or some words."""
        found = self._choices() if self._choices is not None else ()
        return str(found[int(self.np_random.integers(len(found)))]) if found else "look"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FreeText)

    __hash__ = gymnasium.Space.__hash__

    def __repr__(self) -> str:
        return "FreeText()"

    def __deepcopy__(self, memo: Any) -> FreeText:
        return FreeText(self._choices)

    def __reduce__(self) -> Any:
        return FreeText, ()


def as_text(observation: Json) -> str:
    """An observation as one text."""
    if isinstance(observation, str):
        return observation
    if isinstance(observation, list):
        return "\n\n".join(str(message["content"]) for message in observation)
    return json.dumps(observation, ensure_ascii=False)


class WaywordEnv(gymnasium.Env[str, Any]):
    """One actor's episodes. ``env.unwrapped.inner`` is the :class:`~.environment.Environment`."""

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - as Gymnasium has it

    def __init__(
        self, dataset: str = "houses", render_mode: str | None = None, **options: Any
    ) -> None:
        self.inner: Environment = make(dataset, **options)
        self.render_mode = render_mode
        self.observation_space = FreeText()
        if self.inner.options.actions == "menu":
            self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(MENU)
        else:
            self.action_space = FreeText(self._admissible)
        self._shown = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode: ``options={"episode": ID}``, one drawn by ``seed``, or the next."""
        super().reset(seed=seed)
        seen, info = self.inner.reset(seed, (options or {}).get("episode"))
        return self._show(seen, info), info

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Say something, or for ``actions="menu"`` give a number."""
        said = int(action) if isinstance(action, int | np.integer) else str(action)
        seen, reward, terminated, truncated, info = self.inner.step(said)
        return self._show(seen, info), reward, terminated, truncated, info

    def render(self) -> Any:
        """The last observation."""
        return self._shown if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Let go of what runs in the background."""
        self.inner.close()

    def _show(self, seen: Json, info: dict[str, Any]) -> str:
        if isinstance(seen, list):
            info["messages"] = seen
        self._shown = as_text(seen)
        return self._shown

    def _admissible(self) -> Sequence[str]:
        if self.inner.said or self._shown:
            game, actor = self.inner.game, self.inner.actor
            if game.active(actor):
                return [str(action) for action in game.space(actor).listed]
        return ()


class WaywordVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Environments that share a dataset: what ``gymnasium.make_vec`` opens.

    They run in this process, or with ``workers`` in so many others. Infos are dicts of lists. Of
    what is worked out when read they hold what ``include`` names.
    """

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int,
        dataset: str = "houses",
        include: Sequence[str] = (),
        workers: int = 0,
        **options: Any,
    ) -> None:
        self.num_envs, self._include = num_envs, tuple(include)
        self.inner: SyncVector | WorkerVector
        if workers:
            self.inner = WorkerVector(
                dataset, num_envs, workers=workers, include=include, **options
            )
        else:
            self.inner = SyncVector(dataset, num_envs, **options)
        self.single_observation_space = self.single_action_space = FreeText()
        space = gymnasium.spaces.Tuple([FreeText() for _ in range(num_envs)])
        self.observation_space = self.action_space = space

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode in each; a seed is counted up from one to the next."""
        seen, infos = self.inner.reset(seed)
        return tuple(map(as_text, seen)), self._infos(infos)

    def step(self, actions: Any) -> Any:
        """One answer for each."""
        seen, rewards, ended, cut, infos = self.inner.step(list(actions))
        texts = tuple(map(as_text, seen))
        return texts, np.array(rewards), np.array(ended), np.array(cut), self._infos(infos)

    def close_extras(self, **named: Any) -> None:
        """Close all of them."""
        self.inner.close()

    def _infos(self, infos: Sequence[Any]) -> dict[str, Any]:
        plain = [i.only(self._include) if isinstance(i, Info) else i for i in infos]
        return {key: [info.get(key) for info in plain] for key in plain[0]}
