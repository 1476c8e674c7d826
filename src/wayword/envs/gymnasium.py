"""Wayword as a Gymnasium environment.

    import gymnasium

    env = gymnasium.make("wayword:Wayword-v0", dataset="houses", include=["expert_action"])
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(info["expert_action"])

Other keywords are those of :func:`wayword.envs.make`. Observations are texts (JSON for structured
views, messages joined for chat prompts; ``info["messages"]`` has them apart). ``reset`` takes
``options={"episode": ID}``. The id is registered by ``import wayword``.

Infos are those of :class:`~wayword.envs.environment.Environment`, with ``episode_id`` in the place
of ``episode``, which belongs to Gymnasium's ``RecordEpisodeStatistics``. With ``actions="menu"``
they also hold ``action_mask``, for policies that choose a number.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.dataset import Dataset
from wayword.core.episode import Json
from wayword.core.errors import missing
from wayword.envs.environment import Environment, make
from wayword.envs.game import Info

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise missing(error, "gymnasium") from None

LONGEST = 1_000_000
"""Characters that a text of the spaces may have."""
MENU = 1_000
"""Numbers of a menu, for ``actions="menu"``; those beyond the listed ones are rejected."""
Choices = Callable[[], Sequence[str]]
"""The actions that are legal now; none where the episode is over."""


class FreeText(gymnasium.spaces.Space[str]):
    """Any text. A sample is one of ``choices()``, where the space has them: an action that is legal
    now, so that a random policy plays."""

    def __init__(self, choices: Choices | None = None) -> None:
        super().__init__()
        self._choices = choices

    @property
    def is_np_flattenable(self) -> bool:
        """Texts have no fixed length."""
        return False

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


class MenuNumber(gymnasium.spaces.Discrete):
    """A number of the menu. A sample without a mask is one that is listed now."""

    def __init__(self, choices: Choices | None = None) -> None:
        super().__init__(MENU)
        self.choices = choices

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """A listed number, or what Gymnasium draws by a mask or probabilities."""
        drawn = mask is not None or probability is not None
        return super().sample(mask if drawn else self.mask(), probability)

    def mask(self) -> NDArray[np.int8]:
        """The numbers that are listed now: see :func:`mask_of`."""
        return mask_of(len(self.choices()) if self.choices is not None else 0)

    def __deepcopy__(self, memo: Any) -> MenuNumber:
        return MenuNumber(self.choices)

    def __reduce__(self) -> Any:
        return MenuNumber, ()


def mask_of(listed: int) -> NDArray[np.int8]:
    """(``MENU``,) 1 for the numbers of a menu with so many actions. Once an episode is over, no
    number is read, and all are 1: a softmax over an empty mask is no distribution."""
    mask = np.zeros(MENU, dtype=np.int8)
    mask[: listed or MENU] = 1
    return mask


def as_text(observation: Json) -> str:
    """An observation as one text."""
    if isinstance(observation, str):
        return observation
    if isinstance(observation, list):
        return "\n\n".join(str(message["content"]) for message in observation)
    return json.dumps(observation, ensure_ascii=False)


class WaywordEnv(gymnasium.Env[str, Any]):
    """One actor's episodes. ``env.unwrapped.inner`` is the :class:`~.environment.Environment`.

    ``shared`` is a dataset that is open already.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - as Gymnasium has it

    def __init__(
        self,
        dataset: str = "houses",
        render_mode: str | None = None,
        shared: Dataset | None = None,
        **options: Any,
    ) -> None:
        self.inner: Environment = make(dataset, dataset=shared, **options)
        self.render_mode = render_mode
        self.observation_space = FreeText()
        self._menu = self.inner.options.actions == "menu"
        space = MenuNumber if self._menu else FreeText
        self.action_space: gymnasium.Space[Any] = space(self._admissible)
        self._shown = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode: ``options={"episode": ID}``, one drawn by ``seed``, or the next."""
        super().reset(seed=seed)
        seen, info = self.inner.reset(seed, (options or {}).get("episode"))
        return self._show(seen, info), self._told(info)

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Say something, or for ``actions="menu"`` give a number."""
        said = int(action) if isinstance(action, int | np.integer) else str(action)
        seen, reward, terminated, truncated, info = self.inner.step(said)
        return self._show(seen, info), reward, terminated, truncated, self._told(info)

    def action_masks(self) -> NDArray[np.bool_]:
        """The numbers that are listed now, as ``MaskablePPO`` of sb3-contrib asks for them."""
        return mask_of(len(self._admissible())).astype(np.bool_)

    def render(self) -> Any:
        """The last observation."""
        return self._shown if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Let go of what runs in the background."""
        self.inner.close()

    def _show(self, seen: Json, info: Info) -> str:
        if isinstance(seen, list):
            info["messages"] = seen
        self._shown = as_text(seen)
        return self._shown

    def _told(self, info: Info) -> Info:
        info["episode_id"] = info.pop("episode")
        if self._menu:
            info["action_mask"] = mask_of(len(self._admissible()))
        return info

    def _admissible(self) -> Sequence[str]:
        """The actions that are legal now; none before the first episode and after an end."""
        if not (self.inner.said or self._shown):
            return ()
        game, actor = self.inner.game, self.inner.actor
        return [str(action) for action in game.space(actor).listed] if game.active(actor) else ()


def vector(
    num_envs: int,
    dataset: str = "houses",
    parallel: bool = False,
    autoreset_mode: str = "NextStep",
    **options: Any,
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Gymnasium's ``SyncVectorEnv``, or with ``parallel`` its ``AsyncVectorEnv``: what
    ``gymnasium.make_vec`` opens.

    All environments share one dataset, which processes inherit where they can be forked. A seed is
    counted up from one environment to the next; without one each of n plays every n-th episode.
    """
    # A process with threads cannot be forked safely, and macOS has no safe fork at all.
    forked = sys.platform == "linux" and threading.active_count() == 1
    shared = make(dataset, **options).dataset if forked or not parallel else None

    def opened(number: int) -> WaywordEnv:
        env = WaywordEnv(dataset, shared=shared, **options)
        env.inner.share(number, num_envs)
        return env

    each = [partial(opened, number) for number in range(num_envs)]
    if parallel:
        return gymnasium.vector.AsyncVectorEnv(
            each, shared_memory=False, context="fork" if forked else "spawn",
            autoreset_mode=autoreset_mode,
        )  # fmt: skip
    envs = gymnasium.vector.SyncVectorEnv(each, autoreset_mode=autoreset_mode)
    if options.get("actions") != "menu":  # each samples its own legal actions
        envs.action_space = gymnasium.spaces.Tuple([env.action_space for env in envs.envs])
    return envs
