"""Trajectory: the whole truth of one episode.

Every observation, model call, decision and feedback, and the final world state. Success is judged
from it afterwards; replaying its actions in the world gives it again, step for step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from wayword.core import registry
from wayword.core.action import Action, Decision, Rejection
from wayword.core.episode import Json
from wayword.core.model import Choice, Completion, Prompt, Sampling
from wayword.core.perceiver import Percept
from wayword.core.world import Feedback, Observation

Ending = Literal["stopped", "step_limit", "failed"]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request to a model and its answer. ``role`` names which of the agent's models it was.

    ``error`` holds the message of a call that failed for good; then there is no answer.
    """

    role: str
    prompt: Prompt
    answer: Completion | Choice | None
    sampling: Sampling | None = None
    error: str = ""


# The kinds of notes that metrics count; agents write others too, which pages show as they are.
HISTORY_DROPPED = "history_dropped"
"""``steps`` of the history were left out of the prompt, to fit a ``context`` of so many tokens."""
EXAMPLES_DROPPED = "examples_dropped"
"""``count`` solved examples were left out of the prompt, to fit a ``context``; ``left`` stayed."""
CLAUSES = "clauses"
"""An agent's split of its instruction, once: the ``texts`` in order, and where each ``begins`` in
the instruction, in characters, of which a run of white space is one; ``begins`` is empty if the
texts are not the instruction's own words."""
FOLLOWED = "followed"
"""The ``number`` of the clause followed in this turn, from 1, and the numbers of those ``done``."""
STATE = "state"
"""An agent's statement of its own state: ``place``, ``facing`` or ``heading``, ``holding``."""
ASKED = "asked"
"""A searcher asked its model: whether the answer was ``valid``, and what was ``listed``."""
GROUNDED = "grounded"
"""A searcher took a thing at a ``distance`` in metres for its target."""
TURN = "turn"
"""A searcher finished its full turn ``number`` and now chooses where to go."""
GAVE_UP = "gave_up"
"""A searcher ended without having found its target; ``why``."""
VOTES = "votes"
"""Number of predictions of an agent for each choice."""
SCENE_EXPERT = "scene_expert"
"""An agent consulted experts in this episode."""
EXPERT_FAILED = "expert_failed"
"""An expert's answer was nonsense, too late or missing; ``expert``, ``why``, ``recovery``."""


@dataclass(frozen=True, slots=True)
class Note:
    """An agent's remark for the record: dropped history, an expert that gave up, a state.

    ``kind`` is one of the names above, or the agent's own.
    """

    kind: str
    details: Mapping[str, Json]


@dataclass(slots=True)
class Step:
    """A turn of one actor. ``pose`` is its true place and heading afterwards.

    ``percept`` is what the agent read of its surroundings from a perceiver in this turn, None if
    it read nothing: the observation of an indoor world, say, has no words for what is around.
    """

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
    """Feedback on a finished trial, before agents may ask for another.

    ``trial`` counts from 0, and there may be ``trials`` of them. ``succeeded`` is the one bit that
    a judge gives away, None if none is asked. ``steps`` are the turns of all actors.
    """

    trial: int
    trials: int
    succeeded: bool | None
    ended: Ending
    steps: int


@dataclass(slots=True)
class Trajectory:
    """An episode from start to end.

    ``start`` gives each actor's place before the first step. ``opening_calls`` and
    ``opening_notes`` are those made while an agent began (landmark extraction, say), before any
    observation. ``state`` is the world's final state. ``ended`` says how: every actor ``stopped``,
    the ``step_limit`` was hit, or it ``failed`` (``error`` says why, and the episode is not
    finished: a resumed run tries it again).

    An episode may have taken several trials. This is the last one, which counts; ``earlier`` holds
    those before it, the first one first, each whole. ``verdict`` is the feedback to agents at a
    trial's end, and ``closing_calls`` and ``closing_notes`` are those they then made: reflections.
    ``seconds`` are those of the whole episode, and in an earlier trial its own.
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

    def of(self, actor: str) -> Iterator[Step]:
        """Return the steps of one actor."""
        return (step for step in self.steps if step.actor == actor)

    def actions(self, actor: str) -> list[Action]:
        """Return the actions the actor carried out, rejections left out."""
        return [s.decision.action for s in self.of(actor) if isinstance(s.decision, Decision)]

    def visited(self, actor: str) -> list[Mapping[str, Json]]:
        """Return the actor's places, the start included, one entry a step."""
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

    def noted(self, kind: str) -> list[Mapping[str, Json]]:
        """Return the details of every note of that kind, in order."""
        return [note.details for note in self.notes() if note.kind == kind]

    def _repr_html_(self) -> str:
        return registry.render_html(self)

    def trials(self) -> tuple[Trajectory, ...]:
        """Return every trial in order, the last one being this."""
        return (*self.earlier, self)
