"""Wayword as a Gymnasium environment.

    import gymnasium

    name = "wayword.envs.gymnasium:Wayword-v0"
    env = gymnasium.make(name, dataset="houses", include=["expert_action"])
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(info["expert_action"])

Other keywords are those of :func:`wayword.envs.make`. Observations are texts (JSON for structured
views, joined messages for chat prompts; ``info["messages"]`` has them separately). ``reset`` takes
``options={"episode": ID}``, or settings of a newly generated scene: ``options={"rooms": 6}``. The
part of the name before the colon is the module that registers the id. ``wayword:Wayword-v0`` works
as well in a program that imports ``gymnasium`` before ``wayword``.

With ``eyes`` an observation is ``{"text": ..., "pictures": ...}``: colors (views, rows, columns, 3)
of what the actor sees, as many as the rules of its world let it see; ``info["views"]`` names them.
``views="ahead"`` draws the one ahead alone: ``pictures`` is then a box (rows, columns, 3).
``render_mode`` gives the view ahead, as ``rgb_array``, ``depth_array`` or, in the terminal,
``human``; ``ansi`` gives the text.

Infos are those of :class:`~wayword.envs.environment.Environment`, with ``episode_id`` in place of
``episode``, which belongs to Gymnasium's ``RecordEpisodeStatistics``. With ``actions="menu"``
they also contain ``action_mask``, for policies that choose a number.
"""

from __future__ import annotations

import json
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword import _register_gymnasium
from wayword.core.blame import users_errors
from wayword.core.dataset import Dataset
from wayword.core.episode import Json
from wayword.core.errors import UsageError, door, missing
from wayword.core.geometry import Bools
from wayword.core.sight import Eyes
from wayword.envs.environment import (
    Environment,
    EnvironmentOptions,
    checked_seed,
    make,
)
from wayword.envs.game import Info
from wayword.envs.rendering import RENDER_MODES, checked_mode, render_modes, rendered
from wayword.settings import checked_call

try:
    import gymnasium
    from gymnasium.wrappers.utils import create_zero_array
except ModuleNotFoundError as error:
    raise missing(error, "gymnasium") from None

MAX_CHARACTERS = 1_000_000
"""Longest text of the spaces."""
MENU_SIZE = 1_000
"""Numbers of the action space with ``actions="menu"``; those without an entry are rejected. A space
has one size, and homes list up to about a hundred actions."""
MISSES = 20
"""Numbers without an entry after which a policy is said to ignore the mask."""
ListActions = Callable[[], Sequence[str]]
"""Lists the legal actions; none once the episode is over."""


class FreeText(gymnasium.spaces.Space[str]):
    """Any text.

    A sample is one of ``list_actions()``, if given: a legal action, so that a random
    policy can play.
    """

    def __init__(self, list_actions: ListActions | None = None) -> None:
        super().__init__()
        self._list_actions = list_actions

    @property
    def is_np_flattenable(self) -> bool:
        """False: a text has no fixed size."""
        return False

    def contains(self, x: Any) -> bool:
        """True for a text up to the limit of characters."""
        return isinstance(x, str) and len(x) <= MAX_CHARACTERS

    def sample(self, *masks: Any, **named: Any) -> str:
        """Return a legal action if they are listed, else a fixed word."""
        actions = self._list_actions() if self._list_actions is not None else ()
        if actions:
            return str(actions[int(self.np_random.integers(len(actions)))])
        return "look"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FreeText)

    __hash__ = gymnasium.Space.__hash__

    def __repr__(self) -> str:
        return "FreeText()"

    def __deepcopy__(self, memo: Any) -> FreeText:
        return FreeText(self._list_actions)

    def __reduce__(self) -> Any:
        return FreeText, ()


# An empty text, with which wrappers that stack or delay observations fill up
create_zero_array.register(FreeText, lambda _: "")


class MenuNumber(gymnasium.spaces.Discrete):
    """A number of the menu. A sample without a mask is the number of a legal action."""

    def __init__(self, list_actions: ListActions | None = None) -> None:
        super().__init__(MENU_SIZE)
        self.list_actions = list_actions

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """A legal number, or what Gymnasium draws by a mask or by probabilities."""
        if mask is None and probability is None:
            actions: Sequence[str] = ()
            if self.list_actions is not None:
                actions = self.list_actions()
            mask = menu_mask(len(actions))
        return super().sample(mask, probability)

    def __deepcopy__(self, memo: Any) -> MenuNumber:
        return MenuNumber(self.list_actions)

    def __reduce__(self) -> Any:
        return MenuNumber, ()


def menu_mask(action_count: int) -> NDArray[np.int8]:
    """(``MENU_SIZE``,) 1 for the numbers of legal actions. Once an episode is over, no number is
    read and all are 1: a softmax over an empty mask is undefined. Raises ``UsageError`` for more
    actions than numbers."""
    if action_count > MENU_SIZE:
        raise UsageError(
            f"the world lists {action_count:,} actions, and a menu has {MENU_SIZE:,} numbers; use "
            "actions='text'"
        )
    mask = np.zeros(MENU_SIZE, dtype=np.int8)
    mask[: action_count or MENU_SIZE] = 1
    return mask


def as_text(observation: Json) -> str:
    """An observation as one text."""
    if isinstance(observation, str):
        return observation
    if isinstance(observation, list):
        return "\n\n".join(_text_of(message["content"]) for message in observation)
    return json.dumps(observation, ensure_ascii=False)


def plain_answer(action: Any) -> Any:
    """An action as a number or a text. Policies send arrays and tensors of one element, and whole
    numbers as floats. Other types are returned as they are."""
    with suppress(AttributeError, ValueError, TypeError, RuntimeError):
        action = action.item()
    # Wrappers hand over a batch of one text, or bytes.
    if isinstance(action, list | tuple) and [*map(type, action)] == [str]:
        (action,) = action
    if isinstance(action, bytes):
        action = action.decode(errors="replace")
    if isinstance(action, float) and action.is_integer():
        action = int(action)
    return action


def _text_of(content: Json) -> str:
    """The text of a message; its pictures are left out."""
    if isinstance(content, list):
        return str(content[0]["text"])
    return str(content)


def observation_space(
    dataset: Dataset, is_ahead: bool = False
) -> dict[str, gymnasium.spaces.Space[Any]]:
    """The spaces of an observation: ``text`` and, with ``eyes``, ``pictures``, whose number
    depends on the last action in homes; of the view ahead alone, a picture."""
    spaces: dict[str, gymnasium.spaces.Space[Any]] = {"text": FreeText()}
    if dataset.eyes is not None:
        picture = gymnasium.spaces.Box(0, 255, (*dataset.eyes.size, 3), np.uint8)
        spaces["pictures"] = picture
        if not is_ahead:
            spaces["pictures"] = gymnasium.spaces.Sequence(picture, stack=True)
    return spaces


def colors_of(eyes: Eyes) -> NDArray[np.uint8]:
    """(views, rows, columns, 3) what an actor sees; (rows, columns, 3) of the view ahead alone."""
    colors = [frame.color for _, frame in eyes.frames()]
    return colors[0] if eyes.is_ahead else np.stack(colors)


class WaywordEnv(gymnasium.Env[Any, Any]):
    """Episodes of one actor. ``env.unwrapped.inner`` is the :class:`~.environment.Environment`.

    ``dataset`` is a name, a file, or a dataset that is open already, as is ``shared``. The default
    is a training split, as a policy that trains on the test split measures nothing.
    """

    metadata = {  # noqa: RUF012 - Gymnasium's form
        "render_modes": RENDER_MODES,
        "render_fps": 1,
    }

    def __init__(
        self,
        dataset: str | Dataset = "houses:train",
        render_mode: str | None = None,
        shared: Dataset | None = None,
        **options: Any,
    ) -> None:
        if "name" in options:
            raise UsageError(
                "environments have no option 'name'; did you mean 'dataset'?"
            )
        if isinstance(dataset, Dataset):
            shared = dataset
            dataset = type(dataset).__name__
        self.inner: Environment = make(dataset, dataset=shared, **options)
        self.render_mode = checked_mode(render_mode, self.inner.dataset)
        # Gymnasium's checker draws each mode that the environment lists.
        modes = render_modes(self.inner.dataset)
        self.metadata = {**self.metadata, "render_modes": modes}
        self._text = ""
        self._misses = 0
        self._make_spaces()

    def _make_spaces(self) -> None:
        """Make the spaces of observations, and of actions: text, or a number of the menu."""
        is_ahead = self.inner.options.views == "ahead"
        spaces = observation_space(self.inner.dataset, is_ahead)
        self.observation_space = spaces["text"]
        if len(spaces) > 1:
            self.observation_space = gymnasium.spaces.Dict(spaces)
        self._has_menu = self.inner.options.actions == "menu"
        space = MenuNumber if self._has_menu else FreeText
        # It lists this environment's legal actions, so a copy makes its own.
        self.action_space: gymnasium.Space[Any] = space(self._legal_actions)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        for name in ("observation_space", "action_space"):
            state.pop(name)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_spaces()

    @door
    @users_errors
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: ``options={"episode": ID}``, one drawn by ``seed``, or the next."""
        if seed is not None:  # numpy's integers, which Gymnasium refuses
            seed = checked_seed(seed)
        super().reset(seed=seed)
        return self._shown(*self.inner.reset(seed, options=options))

    @door
    @users_errors
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Answer with a text, or with ``actions="menu"`` with a number."""
        answer = plain_answer(action)
        if self._has_menu:
            self._count_miss(answer)
        step = self.inner.step(answer)
        observation, reward, terminated, truncated, info = step
        shown, info = self._shown(observation, info)
        return shown, reward, terminated, truncated, info

    def _count_miss(self, answer: Any) -> None:
        """Warn once of a policy that ignores the mask: it would train on rejected turns."""
        if isinstance(answer, int) and answer >= len(self._legal_actions()) > 0:
            self._misses += 1
            if self._misses == MISSES:
                warnings.warn(
                    f"{MISSES} actions were numbers without an entry of the menu, and each cost a "
                    'turn; choose by info["action_mask"], as MaskablePPO does',
                    stacklevel=4,
                )

    def action_masks(self) -> Bools:
        """The mask of legal numbers, for ``MaskablePPO`` of sb3-contrib."""
        return menu_mask(len(self._legal_actions())).astype(np.bool_)

    def render(self) -> Any:
        """What :func:`~wayword.envs.rendering.rendered` returns for this actor."""
        if self.render_mode is None:
            return None
        inner = self.inner
        return rendered(self.render_mode, inner.game, [inner.actor], self._text)

    def close(self) -> None:
        """End what the environment does in the background."""
        self.inner.close()

    def _shown(self, observation: Json, info: Info) -> tuple[Any, Info]:
        """The observation as text, with eyes next to pictures, and the info in Gymnasium's form."""
        if isinstance(observation, list):
            info["messages"] = observation
        info["episode_id"] = info.pop("episode")
        self._text = as_text(observation)
        if self._has_menu:
            info["action_mask"] = menu_mask(len(self._legal_actions()))
        if self.render_mode == "human":
            self.render()
        eyes = self.inner.game.eyes(self.inner.actor)
        if eyes is None:
            return self._text, info
        info["views"] = [view.label for view in eyes.views()]
        return {"text": self._text, "pictures": colors_of(eyes)}, info

    def _legal_actions(self) -> Sequence[str]:
        """Return the listed actions; empty before the first episode and after its end."""
        if not (self.inner.answers or self._text):
            return ()
        return self.inner.game.legal_actions(self.inner.actor)


def check_batch(actions: Any, num_envs: int) -> None:
    """Raise ``UsageError`` unless there is an action for each environment."""
    is_batch = hasattr(actions, "__len__") and not isinstance(actions, str)
    count = len(actions) if is_batch else "no list"
    if count != num_envs:
        raise UsageError(
            f"step takes {num_envs} actions, one for each environment, got {count}: {actions!r:.60}"
        )


def first_seed(seed: Any) -> Any:
    """Return numpy's integers as Python's, which Gymnasium requires; lists as they are."""
    return int(seed) if isinstance(seed, np.integer) else seed


class SyncBatch(gymnasium.vector.SyncVectorEnv):
    """Gymnasium's ``SyncVectorEnv``, which counts the actions of a step."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Begin an episode in each environment; a seed may be one of numpy's integers."""
        return super().reset(seed=first_seed(seed), options=options)

    def step(self, actions: Any) -> Any:
        """Take a step in each environment. Raises ``UsageError`` for another number of actions."""
        check_batch(actions, self.num_envs)
        return super().step(actions)


class AsyncBatch(gymnasium.vector.AsyncVectorEnv):
    """Gymnasium's ``AsyncVectorEnv``, which counts the actions of a step."""

    def reset_async(self, seed: Any = None, options: Any = None) -> None:
        """Begin an episode in each environment; a seed may be one of numpy's integers."""
        super().reset_async(seed=first_seed(seed), options=options)

    def step_async(self, actions: Any) -> None:
        """Begin a step in each environment. Raises ``UsageError`` for another number of actions."""
        check_batch(actions, self.num_envs)
        super().step_async(actions)


@checked_call
def vector(
    num_envs: int,
    dataset: str = "houses:train",
    parallel: bool = False,
    autoreset_mode: str | gymnasium.vector.AutoresetMode = "NextStep",
    render_mode: str | None = None,
    **options: Any,
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Return a batch of environments, as ``gymnasium.make_vec`` opens it.

    Gymnasium's ``SyncVectorEnv``, or with ``parallel`` its ``AsyncVectorEnv``. All
    environments share one dataset, which processes inherit if they can be forked, and
    otherwise open again. Seeds count up from one environment to the next; without a
    seed, each of n plays every n-th episode.
    """
    if parallel and options.get("executor") is not None:
        raise UsageError(
            "executor: processes of a parallel environment cannot share it; remove it"
        )
    modes = [mode.value for mode in gymnasium.vector.AutoresetMode]
    mode = getattr(autoreset_mode, "value", autoreset_mode)
    if mode not in modes:
        raise UsageError(
            f"autoreset_mode must be {' or '.join(map(repr, modes))}, got {mode!r}"
        )
    own = ("parallel", "autoreset_mode", "render_mode")
    for key in set(options) - set(EnvironmentOptions.__dataclass_fields__):
        # `make` names those that are like its own; it does not know these.
        if close := get_close_matches(key, own, 1):
            raise UsageError(
                f"make_vec has no option {key!r}; did you mean {close[0]!r}?"
            )
    if num_envs < 1:
        raise UsageError(f"num_envs must be at least 1, got {num_envs}")
    # A process with threads cannot be forked safely, and macOS has no safe fork at all.
    can_fork = sys.platform == "linux" and threading.active_count() == 1
    shared = make(dataset, **options).dataset

    def open_env(number: int) -> WaywordEnv:
        """Return the environment of that number."""
        env = WaywordEnv(dataset, render_mode, shared, **options)
        env.inner.partition(number, num_envs)
        return env

    openers = [partial(open_env, number) for number in range(num_envs)]
    if parallel:
        return AsyncBatch(
            openers, shared_memory=False, context="fork" if can_fork else "spawn",
            autoreset_mode=mode,
        )  # fmt: skip
    envs = SyncBatch(openers, autoreset_mode=mode)
    if options.get("actions") != "menu":  # each samples its own legal actions
        envs.action_space = gymnasium.spaces.Tuple(
            [env.action_space for env in envs.envs]
        )
    return envs


_register_gymnasium(gymnasium)
