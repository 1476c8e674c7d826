"""Rewards: the reward of a step, as a weighted sum of terms.

    >>> parse_reward("progress").weights
    {'success': 1.0, 'progress': 1.0}
    >>> parse_reward({"success": 1, "cost": 0.01}).shaped
    ('cost',)

A callable is a term of your own: it gets each recorded step of the actor (its observation,
decision, feedback and pose afterwards) and returns a number. One with two parameters also gets the
game, whose ``task`` and ``world`` are those after the step. ``{"success": 1, "near": callable}``
adds it to other terms; a callable alone is the whole reward.

``success`` is given once, by the family's metric, if the actor stopped by itself: not at the step
limit. All other terms are shaped: they make learning easier but do not measure success.
Environments declare them in ``env.reward.shaped`` and in ``info["reward_terms"]``.

If several actors share a task, the others could solve it without the policy. Then ``success`` is
multiplied by the share of goal conditions that the actor's own turns met, ``conditions`` counts
only its own turns, and ``progress`` is refused, as it cannot be split.

``guide`` is the default's shaping: a potential without the expert's plans, which take time. It is
the share of the distance covered where the world measures one, else the share of the conditions
met. Undiscounted, it sums to 0 over any complete episode, so the return is the success metric.
``progress`` rewards the distance covered on any route; walking back and forth earns nothing.
``potential`` shapes without changing which policy is best: the potential is the share of the
distance covered, multiplied by ``discount`` after a step (the trainer's gamma), and 0 once the
episode has ended, also at the step limit. Its discounted sum over any complete episode is 0.

Sources: Ng, Harada and Russell (1999); for the end of episodes, Grzes (2017).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import iscoroutinefunction, signature
from typing import Any

from wayword.core.action import Rejection
from wayword.core.blame import finite, is_own, place_of
from wayword.core.dataset import Dataset
from wayword.core.errors import UsageError, suggest
from wayword.core.trajectory import Step
from wayword.envs.game import TaskGame
from wayword.metrics.scoring import check_success, missing_success

TERMS: Mapping[str, str] = {
    "success": "1 when the actor stops and the episode is solved",
    "conditions": "share of the goal conditions newly met, minus those lost",
    "progress": "share of the distance (or of the expert's remaining actions) covered",
    "guide": "as potential, by distance or conditions alone, never by the expert",
    "potential": "discount times the share covered, minus the share before; 0 at the end",
    "cost": "-1 each turn",
    "rejected": "-1 for each answer that was no legal action",
}
"""Term -> its value before weighting."""

PRESETS: Mapping[str, Mapping[str, float]] = {
    "guided": {"success": 1.0, "guide": 1.0},
    "success": {"success": 1.0},
    "conditions": {"conditions": 1.0},
    "progress": {"success": 1.0, "progress": 1.0},
    "potential": {"success": 1.0, "potential": 1.0},
    "cost": {"success": 1.0, "cost": 0.01},
}


DEFAULT = "guided"
"""A table of values solves 96% of its last episodes with it in ten houses and 54% in two towns, and
with ``success`` alone 34% and 0% (docs/training.md); and its return is still the metric."""


StepReward = Callable[[Step], float] | Callable[[Step, TaskGame], float]
"""A term of your own: the value of a recorded step, or of a step and the game after it."""
JUDGED = ("success", "conditions", "guide")
"""Terms that are always 0 where nothing judges success."""
CUSTOM = "custom"
"""Name of the term of a reward that is a callable alone."""


@dataclass(frozen=True)
class Reward:
    """Weights of the reward's terms, the discount of ``potential``, and terms of your own."""

    weights: Mapping[str, float] = field(default_factory=lambda: dict(PRESETS[DEFAULT]))
    discount: float = 1.0
    custom: Mapping[str, StepReward] = field(default_factory=dict)

    @property
    def shaped(self) -> tuple[str, ...]:
        """The terms that do not measure success."""
        return tuple(name for name in self.weights if name != "success")


def parse_reward(
    spec: str | StepReward | Mapping[str, float | StepReward] | Reward | None,
    discount: float = 1.0,
) -> Reward:
    """The reward of a preset's name, of weights, or of a callable; without terms for None. Raises
    ``UsageError`` for unknown names."""
    if isinstance(spec, Reward):
        return spec
    reward = _parsed(spec, discount)
    if discount != 1.0 and not {"guide", "potential"} & {*reward.weights}:
        raise UsageError(
            f"discount={discount} has no effect on the reward "
            f"{' + '.join(reward.weights) or None}, only on guide and potential; remove it"
        )
    return reward


def _parsed(
    spec: str | StepReward | Mapping[str, float | StepReward] | None, discount: float
) -> Reward:
    # Above 1 the potential would grow without limit.
    if not 0.0 <= discount <= 1.0:
        raise UsageError(f"discount must be between 0 and 1, got {discount!r}")
    if spec is None:
        return Reward({}, discount)
    # A name is one of the presets.
    if isinstance(spec, str):
        if spec not in PRESETS:
            raise UsageError(f"no reward is called {spec!r}; {suggest(spec, PRESETS)}")
        return Reward(dict(PRESETS[spec]), discount)
    if callable(spec):
        spec = {CUSTOM: spec}
    if not isinstance(spec, Mapping):
        raise UsageError(
            'reward must be a name or weights such as {"success": 1}, or a callable that gets a '
            f"step, got {spec!r}"
        )
    if not spec:
        raise UsageError(
            f'reward needs a term, such as {{"success": 1}}; there are: {", ".join(TERMS)}'
        )
    # Every weight is checked, as a wrong name would silently be 0.
    weights = {}
    custom = {}
    for name, weight in spec.items():
        if callable(weight) and name not in TERMS:
            takes_game(weight)  # a wrong number of parameters is refused now
            custom[name] = weight
            weights[name] = 1.0
            continue
        if name not in TERMS:
            raise UsageError(
                f"no reward term is called {name!r}; {suggest(name, TERMS)}"
            )
        # NaN compares false with everything, so it is tested by name.
        if not isinstance(weight, int | float) or not math.isfinite(weight):
            raise UsageError(
                f"reward: the weight of {name} must be a number, got {weight!r}"
            )
        weights[name] = float(weight)
    return Reward(weights, discount, custom)


def takes_game(term: StepReward) -> bool:
    """True if a term of the user's needs two arguments. Raises ``UsageError`` for another number
    than one or two, or a coroutine's function."""
    if iscoroutinefunction(term):
        raise UsageError(
            f"{place_of(term)}: reward: {term.__name__} must be declared with `def`, not "
            "`async def`"
        )
    try:
        expected = signature(term)
    except ValueError:  # some functions in C have none
        return False
    for arguments in ((None,), (None, None)):
        with suppress(TypeError):
            expected.bind(*arguments)
            return len(arguments) == 2
    raise UsageError(
        f"{place_of(term)}: reward: a callable takes a step, or a step and the game, got {expected}"
    )


def check_judged(reward: Reward, dataset: Dataset) -> None:
    """Raise ``UsageError`` for a reward that is always 0, as nothing judges success."""
    check_success(dataset)
    problem = missing_success(dataset)
    if problem and (terms := [name for name in JUDGED if name in reward.weights]):
        raise UsageError(
            f"{problem}; without it {' and '.join(terms)} of the reward are always 0: define it, "
            "or give a callable as the reward, or reward=None if no one reads it"
        )


class RewardMeter:
    """Measures one actor's reward over an episode. Raises ``UsageError`` for a reward that the
    game cannot measure."""

    def __init__(self, reward: Reward, actor: str, game: TaskGame) -> None:
        self._weights = reward.weights
        # Decided once, as reading a signature takes longer than a step.
        self._custom = reward.custom
        self._of_game = {
            name for name, each in self._custom.items() if takes_game(each)
        }
        self._discount = reward.discount
        self._actor = actor
        # Both terms measure the same distance.
        by_distance = [
            name for name in ("progress", "potential") if name in self._weights
        ]
        if game.has_shared_task and by_distance:
            raise UsageError(
                f"reward: {by_distance[0]} cannot be split between actors who share a task; use "
                "conditions"
            )
        # Standings are measured only if a term needs them: they take time.
        self._conditions = 0.0
        if "conditions" in self._weights:
            self._conditions = self._met_share(game)
        self._initial: float | None = None
        # One unit for the whole episode: metres and actions of an expert do not mix.
        standing = game.standing() if by_distance else None
        self._is_measured = standing is not None and standing.distance is not None
        # The first distance is the unit of all later ones.
        if by_distance:
            self._initial = self._distance(game)
            if self._initial is None:
                warnings.warn(
                    f"reward: {by_distance[0]} is always 0 here: this world has no distance to "
                    "the goal and no expert; use conditions, or a callable of your own",
                    stacklevel=2,
                )
        self._distance_left = self._initial or 0.0
        # The shares of the distance rewarded so far.
        self._progress = 0.0
        self._potential = 0.0
        self._guide = 0.0
        self._first_guide = 0.0
        self._first_distance: float | None = None
        if "guide" in self._weights:
            standing = game.standing()
            if standing is not None and not game.has_shared_task:
                self._first_distance = standing.distance
            self._first_guide = self._guide_value(game)

    def measure(
        self, game: TaskGame, steps: list[Step], has_ended: bool
    ) -> dict[str, float]:
        """The weighted terms of ``steps``, which are those since the last measure."""
        # Only the actor's own turns count for its reward.
        turns = [step for step in steps if step.actor == self._actor]
        return {
            name: weight * self._term(name, game, turns, has_ended)
            for name, weight in self._weights.items()
        }

    def _term(
        self, name: str, game: TaskGame, turns: list[Step], has_ended: bool
    ) -> float:
        """An unweighted term; ``turns`` are the actor's new turns."""
        if name in self._custom:
            return sum(self._custom_value(name, game, step) for step in turns)
        if name == "success":
            # No success before the end: a state may be solved by accident and left
            # again.
            if not (has_ended and game.done(self._actor)):
                return 0.0
            standing = game.standing()
            judge = game.dataset.succeeded
            if standing is None and is_own(judge):
                # A branch without `return`; of challenges, no answer is known.
                warnings.warn(
                    f"{place_of(judge)}: no success metric: succeeded returned None, so success "
                    "of the reward is 0; write `return` in each branch",
                    stacklevel=2,
                )
            if standing is None or not standing.success:
                return 0.0
            # In a shared task, an actor gets the share that its own turns met.
            return self._met_share(game) if game.has_shared_task else 1.0
        if name == "cost":
            return -float(len(turns))
        if name == "rejected":
            return -float(sum(isinstance(step.decision, Rejection) for step in turns))
        if name == "conditions":
            before = self._conditions
            self._conditions = self._met_share(game)
            return self._conditions - before

        if name == "guide":
            before = self._guide
            self._guide = 0.0
            if not has_ended:
                self._guide = self._guide_value(game) - self._first_guide
            return self._discount * self._guide - before

        # ``progress`` and ``potential``, both by the share of the distance covered.
        # Without a distance at the start there is nothing to cover.
        if not self._initial:
            return 0.0
        distance = self._distance(game)
        # An unknown distance leaves the last one.
        if distance is not None:
            self._distance_left = distance
        covered = 1.0 - self._distance_left / self._initial
        if name == "potential":
            # At the end the potential is 0, so that the sum over an episode is 0 as
            # well.
            before = self._potential
            self._potential = 0.0 if has_ended else covered
            return self._discount * self._potential - before
        before = self._progress
        self._progress = covered
        return covered - before

    def _custom_value(self, name: str, game: TaskGame, step: Step) -> float:
        """Return a step's value by a term of the user's. Raises ``UsageError`` for no number."""
        term: Callable[..., Any] = self._custom[name]
        value = term(step, game) if name in self._of_game else term(step)
        number = finite(value)
        if number is None:
            raise UsageError(
                f"{place_of(term)}: reward: {name} must return a finite number for a step, got "
                f"{value!r:.80}"
            )
        return number

    def _guide_value(self, game: TaskGame) -> float:
        """Return the share of the distance covered, else of the conditions met."""
        if not self._first_distance:
            return self._met_share(game)
        standing = game.standing()
        if standing is None or standing.distance is None:
            return self._guide
        return 1.0 - standing.distance / self._first_distance

    def _met_share(self, game: TaskGame) -> float:
        """Return the share of goal conditions met; in a shared task, by the actor's own turns."""
        standing = game.standing()
        if standing is None or not standing.parts:
            return 0.0
        met = standing.met
        # Conditions may be undone, so the share can sink, but not below 0.
        if game.has_shared_task:
            met = game.conditions_met[self._actor]
        return min(max(met / standing.parts, 0.0), 1.0)

    def _distance(self, game: TaskGame) -> float | None:
        """Remaining distance (m, links), else the expert's remaining actions."""
        standing = game.standing()
        if standing is None:
            return None
        # Metres or links where the family measures them; else actions of the expert.
        if standing.distance is not None:
            return standing.distance
        if self._is_measured:
            return None
        # At the end the expert has nothing left to plan.
        if game.ended:
            return 0.0 if standing.success else self._distance_left
        actions = game.remaining(self._actor)
        return None if actions is None else float(actions)
