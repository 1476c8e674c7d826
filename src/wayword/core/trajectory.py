"""Trajectory: the full record of one episode.

It holds every observation, model call, decision and feedback, and the final world state. Success is
judged from it; replaying its actions in the world reproduces it step for step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from wayword.core import registry
from wayword.core.action import Action, Decision, Rejection
from wayword.core.episode import Json, JsonObject
from wayword.core.model import Choice, Completion, Prompt, Sampling
from wayword.core.perceiver import Percept
from wayword.core.world import Feedback, Observation

Ending = Literal["stopped", "step_limit", "failed"]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request to a model, in a ``role`` of the agent, and its answer; None if the call failed
    permanently, with the message ``error``."""

    role: str
    prompt: Prompt
    answer: Completion | Choice | None
    sampling: Sampling | None = None
    error: str = ""

    @property
    def pixels(self) -> list[str]:
        """Hashes of the pictures in the prompt that were drawn from the world, in order."""
        if isinstance(self.prompt, str):
            return []
        images = [image for each in self.prompt for image in each.images]
        return [image.pixels for image in images if image.pixels]


# Kinds of notes that metrics and pages read. Agents write others too; pages show them unformatted.
HISTORY_DROPPED = "history_dropped"
"""``steps`` of the history were left out of the prompt, to fit into ``context`` tokens."""
EXAMPLES_DROPPED = "examples_dropped"
"""``count`` solved examples were left out of the prompt, to fit ``context``; ``left`` remain."""
CLAUSES = "clauses"
"""An agent's split of its instruction, noted once: the ``texts`` in order, and where each
``begins`` (character offset; a run of white space counts as one). ``begins`` is empty if the texts
are not substrings of the instruction."""
FOLLOWED = "followed"
"""The ``number`` (from 1) of the clause followed in this turn, and the numbers ``done`` so far."""
STATE = "state"
"""An agent's statement of its own state: ``place``, ``facing`` or ``heading``, ``holding``."""
ASKED = "asked"
"""A searcher asked its model: True if the answer was ``valid``, and the options ``listed``."""
GROUNDED = "grounded"
"""A searcher recognized an object as its target, at a ``distance`` in metres and a ``bearing`` in
degrees to the right of the view."""
NOT_THERE = "not_there"
"""A searcher did not see its target from nearby, where it had recognized one."""
WENT_BACK = "went_back"
"""A searcher returned to its best sighting, which it had seen at a ``distance`` in metres."""
TURN = "turn"
"""A searcher finished its full turn ``number`` and now chooses where to go."""
GAVE_UP = "gave_up"
"""A searcher stopped without finding its target; ``why`` is the reason."""
VOTES = "votes"
"""Number of predictions of an agent for each choice."""
SCENE_EXPERT = "scene_expert"
"""An agent consulted experts in this episode."""
EXPERT_FAILED = "expert_failed"
"""An expert's answer was unusable, late or missing; ``expert``, ``why``, ``recovery``."""


@dataclass(frozen=True, slots=True)
class Note:
    """An event that an agent records; ``kind`` is one of the names above, or the agent's own."""

    kind: str
    details: Mapping[str, Json]


@dataclass(slots=True)
class Step:
    """A turn of one actor. ``pose`` is its true place and heading afterwards, ``percept`` the
    description of the surroundings that the agent read from a perceiver in this turn, or None."""

    actor: str
    observation: Observation | Mapping[str, Json]
    decision: Decision | Rejection
    feedback: Feedback
    pose: Mapping[str, Json]
    calls: list[ModelCall] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    seconds: float = 0.0
    percept: Percept | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Feedback on a finished trial. ``trial`` counts from 0; ``trials`` is their maximum.
    ``succeeded`` is the judge's verdict, None without one. ``steps`` counts all actors' turns."""

    trial: int
    trials: int
    succeeded: bool | None
    ended: Ending
    steps: int


@dataclass(slots=True, repr=False)
class Trajectory:
    """An episode from start to end.

    ``start`` is each actor's pose before the first step. ``opening_calls`` and ``opening_notes``
    come from the agents' ``begin`` (landmark extraction, for example), before any observation.
    ``state`` is the world's final state. ``ended`` is ``"stopped"`` (every actor stopped),
    ``"step_limit"`` or ``"failed"``; ``error`` then gives the reason, and a resumed run plays the
    episode again.

    With several trials, this is the last one, which is scored; ``earlier`` holds the others in
    order, each complete. ``verdict`` is the feedback to agents at the trial's end;
    ``closing_calls`` and ``closing_notes`` come from their reflections on it. ``seconds`` is the
    wall time of the full episode; in an earlier trial, of that trial.
    """

    episode_id: str
    start: Mapping[str, Mapping[str, Json]]
    steps: list[Step] = field(default_factory=list)
    state: Mapping[str, Json] = field(default_factory=dict)
    ended: Ending = "stopped"
    error: str = ""
    opening_calls: list[ModelCall] = field(default_factory=list)
    opening_notes: list[Note] = field(default_factory=list)
    seconds: float = 0.0
    earlier: list[Trajectory] = field(default_factory=list)
    verdict: Verdict | None = None
    closing_calls: list[ModelCall] = field(default_factory=list)
    closing_notes: list[Note] = field(default_factory=list)

    def __repr__(self) -> str:
        """Return id, steps and end: observations and calls fill pages."""
        return (
            f"<Trajectory {self.episode_id}: {len(self.steps):,} steps, {self.ended}>"
        )

    def of(self, actor: str) -> Iterator[Step]:
        """Return the steps of one actor."""
        return (step for step in self.steps if step.actor == actor)

    def actions(self, actor: str) -> list[Action]:
        """Return the actions the actor carried out, rejections left out."""
        return [
            s.decision.action
            for s in self.of(actor)
            if isinstance(s.decision, Decision)
        ]

    def visited(self, actor: str) -> list[JsonObject]:
        """Return the actor's poses: the start, then one entry per step."""
        return [self.start[actor], *(step.pose for step in self.of(actor))]

    def calls(self) -> Iterator[ModelCall]:
        """Return every model call of every trial, in order."""
        for trial in self.trials():
            yield from trial.opening_calls
            for step in trial.steps:
                yield from step.calls
            yield from trial.closing_calls

    def notes(self) -> Iterator[Note]:
        """Return every note of every trial, in order."""
        for trial in self.trials():
            yield from trial.opening_notes
            for step in trial.steps:
                yield from step.notes
            yield from trial.closing_notes

    def noted(self, kind: str) -> list[JsonObject]:
        """Return the details of every note of that kind, in order."""
        return [note.details for note in self.notes() if note.kind == kind]

    def _repr_html_(self) -> str:
        """Show the trajectory as a page in notebooks."""
        return registry.render_html(self)

    def trials(self) -> tuple[Trajectory, ...]:
        """Return every trial in order; the last one is this trajectory."""
        return (*self.earlier, self)
