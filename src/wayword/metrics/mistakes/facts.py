"""All that is known of an episode, and how a family explains its failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from wayword.core.action import Action, Decision
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import PathReference
from wayword.core.trajectory import Trajectory
from wayword.core.visible import spaced
from wayword.metrics.conditions import Condition, Sought, conditions
from wayword.metrics.mistakes.wording import Fact
from wayword.metrics.progress import GoalProgress


@dataclass(frozen=True)
class Lost:
    """The step (from 1) that lost an episode: 0 if even an expert needs more steps than the limit,
    which then needs ``needed`` steps from the start; else ``needed`` after the step, 0 if unknown.
    ``left`` are the steps that the same actor had left, of ``limit``: fewer than needed. A walk
    needs no stop if the limit ends it near the goal."""

    step: int
    needed: int = 0
    left: int = 0
    limit: int = 0


@dataclass(frozen=True)
class EpisodeFacts:
    """All that is known of an episode: its record, its causes of failure, and what a replay showed.

    ``history`` has the goal conditions after each step that changed one, ``sought`` the object of
    each condition, ``world`` the final world, and ``worse`` the first step from a given one on at
    which the agent did something worse than the expert (0: none)."""

    trajectory: Trajectory
    scores: Mapping[str, float]
    causes: Mapping[str, int] = field(default_factory=dict)
    dataset: Dataset | None = None
    task: Task | None = None
    progress: GoalProgress = field(default_factory=GoalProgress)
    history: Mapping[int, Sequence[Condition]] = field(default_factory=dict)
    sought: Sequence[Sought] = ()
    world: Any = None
    lost: Lost | None = None
    worse: Callable[[int], int] | None = None

    @property
    def reference(self) -> Any:
        """Reference of the task; None if the task is unknown."""
        return self.task.reference if self.task else None

    @property
    def instruction(self) -> str:
        """Instruction of the task; empty if it is unknown."""
        return self.task.episode.instruction if self.task else ""

    @property
    def gold(self) -> tuple[str, ...]:
        """The places of the gold path; empty if there is none."""
        reference = self.reference
        return reference.path if isinstance(reference, PathReference) else ()

    @property
    def conditions(self) -> Sequence[Condition]:
        """The goal conditions at the end."""
        final = conditions(self.reference, self.trajectory.state)
        return final or self.history.get(max(self.history, default=0), ())

    @property
    def unmet(self) -> list[tuple[str, Sought | None]]:
        """Each unmet condition's words and object."""
        sought = [*self.sought, *[None] * len(self.conditions)]
        pairs = zip(self.conditions, sought, strict=False)
        return [(words, about) for (words, met, parts), about in pairs if met < parts]

    @property
    def unit(self) -> str:
        """What the limit counts: steps, or rounds of several actors."""
        return "step" if len(self.trajectory.start) < 2 else "round"

    @property
    def last(self) -> int:
        """Number of the last step."""
        return len(self.trajectory.steps)

    def acted(self, step: int) -> str:
        """Return the action of a step (from 1) in words: ``pick up mug 1``."""
        taken = self.trajectory.steps[step - 1]
        decision = taken.decision
        if isinstance(decision, Decision):
            held = spaced(taken.feedback.details.get("object") or "what was held")
            return _deed(decision.action, held)
        return f"a rejected answer ({decision.kind.replace('_', ' ')})"

    def name(self, step: int = 0) -> str:
        """Return the actor of a step (by default the last); empty if there is only one."""
        if len(self.trajectory.start) < 2:
            return ""
        return self.trajectory.steps[step - 1].actor

    def end(self, actor: str = "") -> str:
        """Describe how the episode ended, or how it ended for one of several actors."""
        trajectory = self.trajectory
        stopped = trajectory.ended == "stopped"
        if actor and len(trajectory.start) > 1:
            names = [action.name for action in trajectory.actions(actor)]
            stopped = names[-1:] == ["stop"]
        if stopped:
            return "stopped"
        if trajectory.ended == "stopped":
            return "took its last action"
        return "ran out of steps"


def action_words(action: Action) -> str:
    """Return an action in words: ``go grab mug 1``."""
    return spaced(f"{action.name} {', '.join(action.arguments)}".strip())


_DEEDS = {
    "put": "put {0} in or on {1}",
    "go_put": "go to {0} and put {held} there",
    "go_grab": "go to {0} and pick it up",
    "go_check": "go to {0} and look inside",
    "go_explore": "explore {0}",
    "goto": "go to {0}",
    "toggle_on": "switch on {0}",
    "toggle_off": "switch off {0}",
    "heat": "heat {0} with {1}",
    "cool": "cool {0} with {1}",
    "clean": "clean {0} with {1}",
}
"""Actions as sentences say them; all others by their name and arguments."""


def _deed(action: Action, held: str) -> str:
    """Return an action as part of a sentence; ``held`` is the object that it was done with."""
    # An action of another world may have fewer arguments.
    with suppress(IndexError):
        if action.name in _DEEDS:
            names = map(spaced, action.arguments)
            return _DEEDS[action.name].format(*names, held=held)
    return action_words(action)


@dataclass(frozen=True)
class Explanation:
    """A family's explanation of a failure: ``end`` is how the episode ended, as the rest of
    "It …"; ``more`` are facts for sentences of their own, ``did`` the step that lost it, in words,
    where ``end`` is not about it. ``step`` replaces the step that lost the episode; ``lead`` is an
    earlier step that leads the sentence. ``turn_off`` is the step that left the path of a walk for
    good, or turned away from its goal. ``was_right`` is True if the step that lost it was as good
    as the expert's: too few steps were left, and no step leads that was right."""

    end: Fact
    more: Sequence[Fact] = ()
    did: Fact | None = None
    how: str = ""
    turn_off: Fact | None = None
    missed: Sequence[str] = ()
    step: int = 0
    lead: Fact | None = None
    was_right: bool = False
