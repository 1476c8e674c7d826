"""The steps of an episode as cards: observation, prompts, answers, decision and outcome.

A prompt repeats most of the one before. A page that held each of them whole would grow with the
square of the steps; so a long passage that an earlier prompt has too is a reference to it, which
the page's script fills in on demand.
"""

from __future__ import annotations

import base64
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from wayword.core.action import Decision, Rejection
from wayword.core.model import Choice, Completion, Image, Prompt, Usage
from wayword.core.perceiver import Percept
from wayword.core.trajectory import STATE, ModelCall, Note, Step, Trajectory
from wayword.metrics.state_accuracy import claims
from wayword.viewer import figures
from wayword.viewer.data import Sources
from wayword.viewer.document import SHOWN_ELSEWHERE, SPOKEN
from wayword.viewer.figures import as_mapping, count
from wayword.viewer.maps import place_of
from wayword.viewer.markup import Html, Letters, template_function

# The new passages of a prompt, and references to the earlier ones.

FOLD = 6
"""Shared passages of this many lines or more are folded away."""
_HEAD = 64
_MOST = 1500  # longer differences are taken as new all through, rather than compared line by line


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage: ``new``, or ``same`` as in an earlier prompt, or ``folded``.

    A folded one has no text; it is ``count`` lines from line ``start`` (from 0) of the same block
    of call ``call``.
    """

    kind: Literal["new", "same", "folded"]
    text: str = ""
    call: int = 0
    start: int = 0
    count: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """A message; a raw text prompt is a single block without a role."""

    role: str
    pieces: tuple[Piece, ...]
    images: tuple[Image, ...] = ()


class PromptHistory:
    """The prompts of one episode, in the order of its calls, each compared with its forerunner."""

    def __init__(self) -> None:
        self._latest: dict[tuple[str, str], tuple[int, list[tuple[str, list[str]]]]] = {}
        """The last prompt by role and beginning: number of its call, roles and lines of blocks."""
        self._count = 0

    def add(self, role: str, prompt: Prompt) -> tuple[Block, ...]:
        """The prompt's blocks; ``role`` is that of the model it went to."""
        if isinstance(prompt, str):
            messages: list[tuple[str, str, tuple[Image, ...]]] = [("", prompt, ())]
        else:
            messages = [(message.role, message.content, message.images) for message in prompt]
        key = (role, messages[0][1][:_HEAD] if messages else "")
        call, earlier = self._latest.get(key, (0, []))
        lines = [(who, split_lines(text)) for who, text, _ in messages]
        self._latest[key] = self._count, lines
        self._count += 1
        blocks = []
        for at, (who, new) in enumerate(lines):
            pieces: Iterator[Piece] = iter([Piece("new", "".join(new))])
            if at < len(earlier) and earlier[at][0] == who:
                pieces = _pieces(earlier[at][1], new, call)
            blocks.append(Block(who, tuple(pieces), messages[at][2]))
        return tuple(blocks)


def split_lines(text: str) -> list[str]:
    """Lines with their newlines; only ``\\n`` ends a line, as in the page's script."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _pieces(base: Sequence[str], new: Sequence[str], call: int) -> Iterator[Piece]:
    """The lines of a block, compared with the same block of an earlier call."""

    def shared(one: Sequence[str], other: Sequence[str]) -> int:
        pairs = enumerate(zip(one, other, strict=False))
        return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))

    head = shared(base, new)
    tail = shared(base[head:][::-1], new[head:][::-1])
    middle, other = new[head : len(new) - tail], base[head : len(base) - tail]
    runs = [(True, 0, head, 0)]  # shared?, from and to in ``new``, from where in ``base``
    if len(middle) + len(other) > _MOST:
        runs.append((False, head, head + len(middle), 0))
    else:
        for kind, a0, _, b0, b1 in SequenceMatcher(None, other, middle, False).get_opcodes():
            runs.append((kind == "equal", head + b0, head + b1, head + a0))
    runs.append((True, len(new) - tail, len(new), len(base) - tail))
    for same, start, end, origin in runs:
        if same and end - start >= FOLD:
            yield Piece("folded", "", call, origin, end - start)
        elif end > start:
            yield Piece("same" if same else "new", "".join(new[start:end]))


# Outcome and label of a step.


@template_function
def outcome(step: Step) -> str:
    """``ok``, ``rejected``, ``fallback`` (the recipe's own action for a rejected answer), ``odd``
    (carried out, but the world's answer was not ``ok``)."""
    if isinstance(step.decision, Rejection):
        return "rejected"
    if step.decision.fallback_for is not None:
        return "fallback"
    return "ok" if step.feedback.ok else "odd"


@template_function
def label(step: Step) -> str:
    """The action, or what kind of answer was rejected."""
    if isinstance(step.decision, Rejection):
        return f"rejected: {step.decision.kind.replace('_', ' ')}"
    return step.decision.action.name if speech(step) else str(step.decision.action)


@template_function
def speech(step: Step) -> str:
    """The message to others, or empty."""
    action = step.decision.action if isinstance(step.decision, Decision) else None
    return action.arguments[0] if action and action.name in SPOKEN and action.arguments else ""


ENDINGS = {
    "stopped": "stopped by itself",
    "step_limit": "cut off at the step limit",
    "failed": "failed",
}

# Cards.

_FEW_OBJECTS, _MOST_CHIPS = 6, 16
_REPEATED = ("action", "executed", "place", "thing", "to")
"""Details of feedback that often repeat the action."""
VERDICTS = {True: "reported: success", False: "reported: failure", None: "not reported"}


@dataclass(frozen=True, slots=True)
class CallView:
    """A model call as its card shows it: ``when`` it was made in words, and its number on the
    page."""

    call: ModelCall
    number: int
    when: str
    blocks: tuple[Block, ...]

    @property
    def summary(self) -> str:
        """Role, prompt tokens and new characters in a line."""
        new = sum(len(p.text) for block in self.blocks for p in block.pieces if p.kind == "new")
        words = "" if self.call.role == "main" else f"to {self.call.role}, "
        words += f"{count(self.call.answer.usage.prompt, 'token')}, " if self.call.answer else ""
        return f"{words}{new:,} characters new"


@dataclass(frozen=True, slots=True)
class StepCard:
    """A step with all that its card shows, or a frame of calls before the first or after the last
    step, which has no ``step``."""

    id: str
    calls: Sequence[CallView]
    notes: Sequence[Note]
    number: int = 0
    step: Step | None = None
    title: str = ""
    summary: str = ""
    earlier: bool = False
    """True for a step of a trial that does not count."""
    observation: Html | None = None
    objects: Sequence[str] = ()
    new_objects: Sequence[str] = ()
    percept: Percept | None = None
    claims: Sequence[tuple[str, Any, Any, bool]] = ()
    """What the agent stated of itself: about, stated, true, right."""

    @property
    def folded(self) -> bool:
        """True if the observation is long."""
        held = as_mapping(self.step.observation) if self.step else {}
        return len(self.objects) > _FEW_OBJECTS or "depth" in held

    @property
    def chips(self) -> Sequence[str]:
        """Objects that the actor sees for the first time, where the observation is folded."""
        return self.new_objects[:_MOST_CHIPS] if self.folded else ()

    @property
    def questions(self) -> list[tuple[str, float]]:
        """Many questions of yes or no with the probability of yes; none for other calls."""
        rows = []
        for view in self.calls:
            answer = view.call.answer
            if not isinstance(answer, Choice) or set(answer.options) != YES_OR_NO:
                return []
            if answer.reasoning:
                return []
            logprobs = dict(zip(answer.options, answer.logprobs, strict=False))
            yes = figures.probability(logprobs.get("yes", -math.inf))
            rows.append((last_line(view.call), yes))
        return rows if len(rows) >= _SEVERAL else []

    @property
    def usage(self) -> Usage:
        """Tokens of all calls."""
        answers = (view.call.answer for view in self.calls)
        return sum((answer.usage for answer in answers if answer is not None), Usage())


class Cards:
    """The cards of one episode, in order. The page's keys and map go by the steps of the trial
    that counts, the last one."""

    def __init__(self, sources: Sources, trajectory: Trajectory) -> None:
        self._sources, self._id = sources, trajectory.episode_id
        self._letters = sources.letters or Letters()
        self._history = PromptHistory()
        self.when: list[str] = []
        """When each call was made, in words."""
        self._met: dict[str, set[str]] = {}  # the objects that each actor has seen
        self.trials = [
            (trial, self._trial(trial, number))
            for number, trial in enumerate(trajectory.earlier, 1)
        ]
        """Earlier trials with their cards; they do not count."""
        self.cards = self._trial(trajectory, 0)

    def _trial(self, trial: Trajectory, number: int) -> list[StepCard]:
        """The calls before the first step, the steps, and the reflection after a trial."""
        prefix = f"trial-{number}-" if number else ""
        cards, poses = [], dict(trial.start)
        if trial.opening_calls or listed_notes(trial.opening_notes):
            calls, notes = self._calls(trial.opening_calls, "the opening"), trial.opening_notes
            summary = "before the first step"
            cards.append(StepCard(f"{prefix}opening", calls, notes, 0, None, "Opening", summary))
        for n, step in enumerate(trial.steps, 1):
            cards.append(self._step(step, n, number, as_mapping(poses.get(step.actor, {}))))
            poses[step.actor] = step.pose
        if trial.verdict is not None:
            calls, notes = self._calls(trial.closing_calls, "the reflection"), trial.closing_notes
            summary = VERDICTS[trial.verdict.succeeded]
            cards.append(StepCard(f"{prefix}verdict", calls, notes, 0, None, "Verdict", summary))
        return cards

    def _calls(self, calls: Sequence[ModelCall], when: str) -> list[CallView]:
        views = []
        for call in calls:
            views.append(
                CallView(call, len(self.when), when, self._history.add(call.role, call.prompt))
            )
            self.when.append(when)
        return views

    def _step(self, step: Step, number: int, trial: int, before: Mapping[str, Any]) -> StepCard:
        """Step ``number``, counted from 1 over all actors; ``before`` is the actor's pose then."""
        when = f"step {number}" + (f" of trial {trial}" if trial else "")
        held = as_mapping(step.observation)
        names = figures.objects_in(held)
        met = self._met.setdefault(step.actor, set())
        new = [name for name in names if name not in met]
        met.update(names)
        taken = place_of(step.pose) if isinstance(step.decision, Decision) else ""
        percept = None  # the place in words, where no prompt of the step has them
        if (place := place_of(held)) and not step.calls:
            scene = self._sources.scene(self._id)
            percept = step.percept or self._sources.percept(scene, place)
        stated = [
            (claim.about, claim.stated, claim.true, claim.right)
            for note in step.notes if note.kind == STATE
            for claim in claims(as_mapping(note.details), before, step.observation)
        ]  # fmt: skip
        return StepCard(
            f"trial-{trial}-step-{number}" if trial else f"step-{number}",
            self._calls(step.calls, when), step.notes, number, step, earlier=bool(trial),
            observation=figures.observation(step.observation, taken, self._letters),
            objects=names, new_objects=new, percept=percept, claims=stated,
        )  # fmt: skip


@template_function
def seconds(took: float) -> str:
    """``48.0 s``, ``12 ms``; a dash for a missing number."""
    if not math.isfinite(took):
        return "–"
    return f"{took:.1f} s" if took >= 0.1 else f"{1000 * took:.0f} ms"


# The decision and its outcome.


@template_function
def rejection(step: Step) -> Rejection | None:
    """Why an answer was rejected, carried out by a fallback or not."""
    return step.decision if isinstance(step.decision, Rejection) else step.decision.fallback_for


@template_function
def messages(step: Step) -> list[tuple[str, str]]:
    """Sender and text of what others said since the actor's last turn."""
    listed = as_mapping(step.observation).get("messages")
    items = map(as_mapping, listed if isinstance(listed, list | tuple) else ())
    return [(str(each.get("sender", "")), str(each.get("text", ""))) for each in items]


@template_function
def new_details(step: Step) -> dict[str, Any]:
    """Details of the feedback that neither the card's head nor the pose shows."""
    action = step.decision.action if isinstance(step.decision, Decision) else None
    words = (action.name, *action.arguments) if action else ()
    return {
        key: _counted(value)
        for key, value in step.feedback.details.items()
        if not (key in ("heading", "heading_before") and "heading" in step.pose)
        and not (key in _REPEATED and value in words)
    }


def _counted(value: Any) -> Any:
    """``move_ahead × 5, turn_left`` for a list of words that repeats itself."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        return value
    runs = ((word, len(list(same))) for word, same in itertools.groupby(value))
    return [word if count == 1 else f"{word} × {count}" for word, count in runs]


@template_function
def brief_pose(pose: Any) -> Any:
    """A pose as ``d800c0, facing 36° north-east`` or ``kitchen (2.0, 1.5), facing …``, else as
    it is."""
    if not isinstance(pose, Mapping):
        return pose
    place, heading = place_of(pose), pose.get("heading")
    x, y = pose.get("x"), pose.get("y")
    if "heading" in pose and isinstance(x, int | float) and isinstance(y, int | float):
        place = f"{pose.get('room', '')} ({x:.4g}, {y:.4g})".replace("_", " ").strip()
    place = place or str(pose.get("place", ""))
    if place and set(pose) == {"place"}:
        return place
    if place and isinstance(heading, int | float):
        return f"{place}, facing {figures.number(heading, 'heading')}"
    return pose


@template_function
def listed_notes(notes: Sequence[Note]) -> list[Note]:
    """Notes that no other part of the page shows."""
    return [note for note in notes if note.kind not in SHOWN_ELSEWHERE | {STATE}]


# Answers of models.

_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
YES_OR_NO = frozenset({"yes", "no"})
_SEVERAL = 3  # yes-or-no questions in one step from which they are shown as a table
LAST_LINE = 300
"""Characters of a prompt's last line that stand above its ranked answers, at most."""
_FORMS = {"json_schema": "a JSON schema", "grammar": "a grammar", "choices": "a list of choices"}


@template_function
def last_line(call: ModelCall) -> str:
    """The last line of a text prompt, or its end: what was asked."""
    line = call.prompt.rpartition("\n")[2].strip() if isinstance(call.prompt, str) else ""
    return line[-LAST_LINE:]


@template_function
def call_summary(call: ModelCall) -> str:
    """The call's small print: tokens, time, price, and how the answer was sampled, as far as it
    was sent to the model's server."""
    answer = call.answer
    if answer is None:
        return ""
    usage, unsent = answer.usage, answer.unsent if isinstance(answer, Completion) else ()
    model = f" by the {answer.answered_by} model" * bool(answer.answered_by)
    parts = [f"{count(usage.completion, 'token')} written{model}"]
    if usage.reasoning:
        parts.append(f"{usage.reasoning:,} of them for reasoning")
    if usage.estimated:
        parts.append("tokens estimated: the server counts none")
    if isinstance(answer, Choice) and answer.other_text:
        parts.append(f"none of the options was written, but {answer.other_text[:80]!r}")
    elif isinstance(answer, Choice) and answer.picked:
        parts.append("one option written, not ranked: the server gives no log-probabilities")
    if usage.reused:
        parts.append(f"{usage.reused:,} prompt tokens reused")
    if isinstance(answer, Completion) and any(end != "stop" for end in answer.finish):
        parts.append(f"ended by {', '.join(answer.finish)}")
    parts.append(seconds(answer.seconds))
    parts.append("price unknown" if answer.cost is None else f"${answer.cost:.4f}")
    if answer.cached:
        parts.append("from the response cache")
    if call.sampling is not None:
        if "temperature" not in unsent:
            parts.append(f"temperature {call.sampling.temperature:g}")
        if left := [name for name in unsent if name not in _FORMS]:
            parts.append(f"{' and '.join(left)} not sent")
        for name, words in _FORMS.items():
            if getattr(call.sampling, name) is not None:
                parts.append(f"{'prompted with' if name in unsent else 'constrained to'} {words}")
    return " · ".join(parts)


@template_function
def picture_source(image: Image) -> str:
    """An image as a ``data:`` address; empty for a format that pages do not show."""
    if image.media_type not in _PICTURES:
        return ""
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"
