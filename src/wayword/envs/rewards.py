"""Rewards: what a step is worth, as a weighted sum of terms.

    >>> reward("progress").weights
    {'success': 1.0, 'progress': 1.0}
    >>> reward({"success": 1, "cost": 0.01}).shaped
    ('cost',)

``success`` is paid once, when the episode ends, and is the family's own metric. All other terms are
shaped: they make learning easier and are no measure of it. Environments declare them, in
``env.reward.shaped`` and in ``info["reward_terms"]``.

Progress is the difference of a potential, so that it adds up to how far one came whatever way one
took, and going to and fro earns nothing (Ng et al. 1999).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from wayword.core.action import Rejection
from wayword.core.errors import UsageError, suggest
from wayword.core.trajectory import Step
from wayword.envs.game import TaskGame

TERMS: Mapping[str, str] = {
    "success": "1 at the end of an episode that was solved",
    "conditions": "share of the goal conditions that came to hold, less those that ceased to",
    "progress": "share of the way (or of the expert's remaining actions) that was covered",
    "cost": "-1 each turn",
    "rejected": "-1 for each answer that was no legal action",
}
"""Term -> what it is before it is weighted."""

PRESETS: Mapping[str, Mapping[str, float]] = {
    "success": {"success": 1.0},
    "conditions": {"conditions": 1.0},
    "progress": {"success": 1.0, "progress": 1.0},
    "cost": {"success": 1.0, "cost": 0.01},
}


@dataclass(frozen=True)
class Reward:
    """Terms and their weights. ``shaped`` names the terms that are no measure of success."""

    weights: Mapping[str, float] = field(default_factory=lambda: dict(PRESETS["success"]))

    @property
    def shaped(self) -> tuple[str, ...]:
        """The terms beside success."""
        return tuple(name for name in self.weights if name != "success")


def reward(given: str | Mapping[str, float] | Reward) -> Reward:
    """A reward by its name, or by weights. Raises ``UsageError`` for unknown names."""
    if isinstance(given, Reward):
        return given
    if isinstance(given, str):
        if given not in PRESETS:
            raise UsageError(f"no reward is called {given!r}; {suggest(given, list(PRESETS))}")
        return Reward(dict(PRESETS[given]))
    for name in given:
        if name not in TERMS:
            raise UsageError(f"no reward term is called {name!r}; {suggest(name, list(TERMS))}")
        if not isinstance(given[name], int | float) or not math.isfinite(given[name]):
            raise UsageError(f"reward: the weight of {name} must be a number, got {given[name]!r}")
    return Reward({name: float(weight) for name, weight in given.items()})


class RewardMeter:
    """Measures one actor's reward over an episode; ``start`` at its beginning."""

    def __init__(self, declared: Reward, actor: str) -> None:
        self._weights, self._actor = declared.weights, actor
        self._conditions = self._potential = 0.0
        self._whole: float | None = None

    def start(self, game: TaskGame) -> None:
        """Read what later steps are compared with."""
        self._conditions = self._share(game) if "conditions" in self._weights else 0.0
        self._whole = self._left(game) if "progress" in self._weights else None
        self._potential = self._whole or 0.0

    def measure(self, game: TaskGame, steps: list[Step]) -> dict[str, float]:
        """Each weighted term of what happened since the last measure: the actor's own turns, and
        what others did in between."""
        own = [step for step in steps if step.actor == self._actor]
        found: dict[str, float] = {}
        for name, weight in self._weights.items():
            found[name] = weight * self._term(name, game, own)
        return found

    def clone(self) -> RewardMeter:
        """An independent meter in the same state."""
        other = RewardMeter(Reward(self._weights), self._actor)
        other._conditions, other._potential = self._conditions, self._potential
        other._whole = self._whole
        return other

    def _term(self, name: str, game: TaskGame, own: list[Step]) -> float:
        if name == "success":
            standing = game.standing() if game.ended else None
            return float(standing is not None and standing.success)
        if name == "cost":
            return -float(len(own))
        if name == "rejected":
            return -float(sum(isinstance(step.decision, Rejection) for step in own))
        return self._changed(game) if name == "conditions" else self._covered(game)

    def _changed(self, game: TaskGame) -> float:
        before, self._conditions = self._conditions, self._share(game)
        return self._conditions - before

    def _covered(self, game: TaskGame) -> float:
        left = self._left(game)
        if left is None or not self._whole:
            return 0.0
        before, self._potential = self._potential, left
        return (before - left) / self._whole

    def _share(self, game: TaskGame) -> float:
        standing = game.standing()
        return standing.met / standing.parts if standing is not None and standing.parts else 0.0

    def _left(self, game: TaskGame) -> float | None:
        """The way that is left, else the expert's remaining actions."""
        standing = game.standing()
        if standing is None:
            return None
        if standing.distance is not None:
            return standing.distance
        if game.ended:
            return 0.0 if standing.success else self._potential
        left = game.remaining(self._actor)
        return None if left is None else float(left)
