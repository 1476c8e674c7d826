"""A trajectory as JSON and back: the whole truth of an episode.

    >>> from wayword.core.trajectory import Trajectory
    >>> told = Trajectory("5593_0", start={"agent": {"viewpoint": "a", "heading": 0.0}})
    >>> from_json(to_json(told)) == told
    True

An episode of several trials is written as its last one, with those before it whole in ``earlier``.
Calls are numbered in the order they were made.

Observations are typed dataclasses of their worlds; they are written with the name of their type
and come back as mappings, so that reading a run needs none of the worlds. Everything else comes
back equal, where tuples within observations, places, details and states come back as lists.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from wayword.core.action import Action, Decision, Rejection
from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.model import Choice, Completion, Sampling, TokenLogprob, Usage
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory, Verdict
from wayword.core.world import Feedback
from wayword.runs import earlier
from wayword.runs.compact import PerceptReader, PerceptWriter, PromptReader, PromptWriter
from wayword.runs.jsonl import plain, restore


class _Writers:
    """What one episode repeats is written once: prompts and percepts."""

    def __init__(self) -> None:
        self.prompts, self.percepts = PromptWriter(), PerceptWriter()


class _Readers:
    def __init__(self) -> None:
        self.prompts, self.percepts = PromptReader(), PerceptReader()


def to_json(trajectory: Trajectory) -> dict[str, Json]:
    """The trajectory as JSON values. What is empty is left out.

    Raises ``RecordingError`` where it holds a value that has no JSON form.
    """
    return _write(trajectory, _Writers())


def _write(trajectory: Trajectory, to: _Writers) -> dict[str, Json]:
    written: dict[str, Json] = {
        "episode_id": trajectory.episode_id,
        "ended": trajectory.ended,
        "error": trajectory.error,
        "seconds": plain(trajectory.seconds),
        "earlier": [_write(trial, to) for trial in trajectory.earlier],
        "start": plain(trajectory.start),
        "opening_calls": [_call(call, to.prompts) for call in trajectory.opening_calls],
        "opening_notes": [_note(note) for note in trajectory.opening_notes],
        "steps": [_step(step, to) for step in trajectory.steps],
        "state": plain(trajectory.state),
        "closing_calls": [_call(call, to.prompts) for call in trajectory.closing_calls],
        "closing_notes": [_note(note) for note in trajectory.closing_notes],
    }
    if trajectory.verdict is not None:
        written["verdict"] = _by_field(trajectory.verdict)
    return {k: v for k, v in written.items() if v not in ("", []) or k in ("steps", "episode_id")}


def from_json(written: dict[str, Json]) -> Trajectory:
    """The trajectory that ``to_json`` wrote. Raises ``RecordingError`` where it is none."""
    try:
        return _trajectory(written, _Readers())
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise RecordingError(f"is no trajectory ({type(error).__name__}: {error})") from error


def _trajectory(written: dict[str, Json], source: _Readers) -> Trajectory:
    """Read in the order of the calls, as prompts continue those before them."""
    verdict = written.get("verdict")
    return Trajectory(
        episode_id=written["episode_id"],
        earlier=[_trajectory(trial, source) for trial in written.get("earlier", ())],
        start=restore(written["start"]),
        opening_calls=[_read_call(c, source.prompts) for c in written.get("opening_calls", ())],
        opening_notes=[_read_note(n) for n in written.get("opening_notes", ())],
        steps=[_read_step(s, source) for s in written["steps"]],
        state=restore(written["state"]),
        closing_calls=[_read_call(c, source.prompts) for c in written.get("closing_calls", ())],
        closing_notes=[_read_note(n) for n in written.get("closing_notes", ())],
        verdict=None if verdict is None else _read_verdict(verdict),
        ended=written["ended"],
        error=written.get("error", ""),
        seconds=restore(written["seconds"]),
    )


def _step(step: Step, to: _Writers) -> Json:
    written = {
        "actor": step.actor,
        "observation": plain(step.observation),
        "decision": _decision(step.decision),
        "feedback": {"status": step.feedback.status},
        "pose": plain(step.pose),
        "seconds": plain(step.seconds),
    }
    if step.feedback.details:
        written["feedback"]["details"] = plain(step.feedback.details)
    if step.calls:
        written["calls"] = [_call(call, to.prompts) for call in step.calls]
    if step.notes:
        written["notes"] = [_note(note) for note in step.notes]
    if step.percept is not None:
        written["percept"] = to.percepts.write(step.percept)
    return written


def _read_step(written: Json, source: _Readers) -> Step:
    feedback, percept = written["feedback"], written.get("percept")
    return Step(
        actor=written["actor"],
        observation=earlier.observation(restore(written["observation"])),
        decision=_read_decision(written["decision"]),
        feedback=Feedback(feedback["status"], restore(feedback.get("details", {}))),
        pose=restore(written["pose"] if "pose" in written else written["where"]),
        calls=[_read_call(call, source.prompts) for call in written.get("calls", ())],
        notes=[_read_note(note) for note in written.get("notes", ())],
        seconds=restore(written["seconds"]),
        percept=None if percept is None else source.percepts.read(percept),
    )


def _decision(decision: Decision | Rejection) -> Json:
    if isinstance(decision, Rejection):
        return _full(
            rejected=decision.kind,
            reason=decision.reason,
            said=decision.said,
            thought=decision.thought,
        )
    written = _full(
        action=decision.action.name,
        arguments=plain(decision.action.arguments),
        thought=decision.thought,
    )
    if decision.fallback_for is not None:
        written["fallback_for"] = _decision(decision.fallback_for)
    return written


def _full(**values: Json) -> dict[str, Json]:
    """The first value, and those of the others that say something."""
    first = next(iter(values))
    return {key: value for key, value in values.items() if value or key == first}


def _read_decision(written: Json) -> Decision | Rejection:
    if "rejected" in written:
        return _read_rejection(written)
    fallback = written.get("fallback_for")
    return Decision(
        Action(written["action"], tuple(written.get("arguments", ()))),
        written.get("thought", ""),
        None if fallback is None else _read_rejection(fallback),
    )


def _read_rejection(written: Json) -> Rejection:
    return Rejection(
        written["rejected"],
        written.get("reason", ""),
        written.get("said", ""),
        written.get("thought", ""),
    )


def _note(note: Note) -> Json:
    return {"kind": note.kind, "details": plain(note.details)}


def _read_note(written: Json) -> Note:
    return Note(written["kind"], restore(written["details"]))


def _read_verdict(written: Json) -> Verdict:
    return Verdict(**{"succeeded": None, **_arguments(written)})


def _call(call: ModelCall, prompts: PromptWriter) -> Json:
    written: dict[str, Json] = {"role": call.role, "prompt": prompts.write(call.prompt)}
    if call.answer is not None:
        written["answer"] = _answer(call.answer)
    if call.sampling is not None:
        written["sampling"] = _by_field(call.sampling)
    if call.error:
        written["error"] = call.error
    return written


def _read_call(written: Json, prompts: PromptReader) -> ModelCall:
    answer, sampling = written.get("answer"), written.get("sampling")
    return ModelCall(
        written["role"],
        prompts.read(written["prompt"]),
        None if answer is None else _read_answer(answer),
        None if sampling is None else Sampling(**_arguments(sampling)),
        written.get("error", ""),
    )


def _answer(answer: Completion | Choice) -> Json:
    written = _by_field(answer, apart=("usage", "logprobs"))
    rare = () if answer.usage.reasoning else ("reasoning",)  # most models write none
    written["usage"] = _by_field(answer.usage, rare)
    if isinstance(answer, Choice):
        written["logprobs"] = plain(answer.logprobs)
    elif answer.logprobs:
        written["logprobs"] = [
            plain([t.token, t.logprob, t.alternatives] if t.alternatives else [t.token, t.logprob])
            for t in answer.logprobs
        ]
    return written


def _read_answer(written: Json) -> Completion | Choice:
    values = _arguments(written)
    values["usage"] = Usage(**_arguments(written["usage"]))
    if "options" in written:
        return Choice(**values)
    values["logprobs"] = tuple(TokenLogprob(*entry) for entry in values.get("logprobs", ()))
    return Completion(**values)


def _by_field(value: Any, apart: tuple[str, ...] = ()) -> dict[str, Json]:
    """A dataclass of the core by its fields, without those that are None, False or () by default.

    Numbers are always written, so that a default that changes one day changes no old record.
    """
    written = {}
    for field in fields(value):
        held = getattr(value, field.name)
        unsaid = held is None or held is False or held == ()
        if field.name not in apart and not (unsaid and held == field.default):
            written[field.name] = plain(held)
    return written


def _arguments(written: Json) -> dict[str, Any]:
    """The arguments of a core dataclass; its sequences are tuples."""
    restored = {name: restore(value) for name, value in written.items()}
    return {n: tuple(v) if isinstance(v, list) else v for n, v in restored.items()}
