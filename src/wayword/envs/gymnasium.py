"""Wayword as a Gymnasium environment.

    import gymnasium

    env = gymnasium.make("wayword:Wayword-v0", dataset="household:generated_test")
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
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import Json
from wayword.core.errors import UsageError, missing
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
    """One actor's episodes. ``env.unwrapped.inner`` is the :class:`~.environment.Environment`."""

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - as Gymnasium has it

    def __init__(
        self, dataset: str = "houses", render_mode: str | None = None, **options: Any
    ) -> None:
        self.inner: Environment = make(dataset, **options)
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
        return _legal(self.inner) if self.inner.said or self._shown else ()


def _legal(env: Environment) -> Sequence[str]:
    """The actions that are legal now; none where the episode is over."""
    game, actor = env.game, env.actor
    return [str(action) for action in game.space(actor).listed] if game.active(actor) else ()


class WaywordVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Environments that share a dataset: what ``gymnasium.make_vec`` opens.

    They run in this process, or with ``workers`` in so many others. Infos are arrays with a mask
    ``_key`` beside each, as Gymnasium's own. Of what is worked out when read they hold what
    ``include`` names. ``autoreset`` is ``next`` or ``same`` (step).
    """

    def __init__(
        self,
        num_envs: int,
        dataset: str = "houses",
        include: Sequence[str] = (),
        workers: int = 0,
        autoreset: Literal["next", "same"] = "next",
        **options: Any,
    ) -> None:
        if autoreset not in MODES:
            raise UsageError(f"autoreset={autoreset!r} must be 'next' or 'same'")
        self.metadata = {"autoreset_mode": MODES[autoreset]}
        self.num_envs = num_envs
        self._menu = options.get("actions") == "menu"
        # The menu's length, for its mask and for samples.
        self._include = tuple(dict.fromkeys((*include, *(("admissible_commands",) * self._menu))))
        options = {**options, "autoreset": autoreset}
        self.inner: SyncVector | WorkerVector
        if workers:
            self.inner = WorkerVector(
                dataset, num_envs, workers=workers, include=self._include, **options
            )
        else:
            self.inner = SyncVector(dataset, num_envs, **options)
        self._asked_for = frozenset(include)
        self._latest: Sequence[Any] = ()
        self.single_observation_space = FreeText()
        self.observation_space = gymnasium.spaces.Tuple([FreeText() for _ in range(num_envs)])
        each = [partial(self._choices, number) for number in range(num_envs)]
        if self._menu:
            self.single_action_space, self.action_space = MenuNumber(), Menus(each)
        else:
            self.single_action_space = FreeText()
            self.action_space = gymnasium.spaces.Tuple([FreeText(own) for own in each])

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode in each; a seed is counted up from one to the next, or each has its own
        in a list. Raises ``UsageError`` for any option."""
        if options:
            raise UsageError(f"vectors take no reset options, got {', '.join(map(repr, options))}")
        seen, infos = self.inner.reset(seed)
        return tuple(map(as_text, seen)), self._infos(infos)

    def step(self, actions: Any) -> Any:
        """One answer for each: texts, or for ``actions="menu"`` numbers."""
        said = [int(n) for n in actions] if self._menu else [str(text) for text in actions]
        seen, rewards, ended, cut, infos = self.inner.step(said)
        texts = tuple(map(as_text, seen))
        return texts, np.array(rewards), np.array(ended), np.array(cut), self._infos(infos)

    def close_extras(self, **named: Any) -> None:
        """Close all of them."""
        self.inner.close()

    def _choices(self, number: int) -> Sequence[str]:
        if isinstance(self.inner, SyncVector):
            return _legal(self.inner.envs[number]) if self._latest else ()
        told = self._latest[number] if self._latest else {}
        return told.get("admissible_commands") or ()

    def _infos(self, infos: Sequence[Any]) -> dict[str, Any]:
        self._latest = [i.only(self._include) if isinstance(i, Info) else i for i in infos]
        return stacked([self._told(info) for info in self._latest])

    def _told(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """An environment's info by Gymnasium's names."""
        told = {NAMES.get(key, key): value for key, value in info.items()}
        if self._menu:
            told["action_mask"] = mask_of(len(told["admissible_commands"]))
            if "admissible_commands" not in self._asked_for:
                del told["admissible_commands"]
        if "final_info" in told:
            final = told["final_info"]
            given = final.only(self._include) if isinstance(final, Info) else final
            told |= {"final_info": self._told(given), "final_obs": as_text(told["final_obs"])}
        return told


MODES = {
    "next": gymnasium.vector.AutoresetMode.NEXT_STEP,
    "same": gymnasium.vector.AutoresetMode.SAME_STEP,
}
NAMES = {"episode": "episode_id", "final_observation": "final_obs"}
"""Our names of what an info holds -> those in Gymnasium."""


class Menus(gymnasium.spaces.MultiDiscrete):
    """A number of each environment's menu. A sample without masks takes listed ones."""

    def __init__(self, each: Sequence[Choices | None]) -> None:
        super().__init__(np.full(len(each), MENU))
        self._each = [MenuNumber(choices) for choices in each]

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Listed numbers, or what Gymnasium draws by masks or probabilities."""
        drawn = mask is not None or probability is not None
        listed = mask if drawn else tuple(space.mask() for space in self._each)
        return super().sample(listed, probability)

    def __deepcopy__(self, memo: Any) -> Menus:
        return Menus([space.choices for space in self._each])

    def __reduce__(self) -> Any:
        return Menus, ([None] * len(self._each),)


NUMBERS: Mapping[type, tuple[type, ...]] = {bool: (bool,), int: (int,), float: (int, float)}
"""Type of an array -> what its values may be."""


def stacked(infos: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Infos of several environments as Gymnasium holds them: an array a key, and under ``_key``
    which of them have it. Numbers are told apart by all values, as a distance may be missing."""
    found: dict[str, Any] = {}
    for key in dict.fromkeys(key for info in infos for key in info):
        there = np.array([key in info for info in infos])
        values = [info.get(key) for info in infos]
        found[key], found[f"_{key}"] = _column(values, there), there
    return found


def _column(values: Sequence[Any], there: NDArray[np.bool_]) -> Any:
    """One key's values; those that are not there are 0, None or empty."""
    given = [value for value, has in zip(values, there, strict=True) if has]
    if all(isinstance(value, dict) for value in given):
        return stacked([value or {} for value in values])
    if all(isinstance(value, np.ndarray) for value in given):
        empty = np.zeros_like(given[0])
        return np.stack([empty if value is None else value for value in values])
    for kind, taken in NUMBERS.items():
        if all(type(value) in taken for value in given):
            return np.array([kind(0) if value is None else value for value in values], dtype=kind)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
