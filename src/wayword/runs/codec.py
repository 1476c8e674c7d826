"""A trajectory as JSON and back: everything that happened in an episode.

    >>> from wayword.core.trajectory import Trajectory
    >>> walk = Trajectory("5593_0", start={"agent": {"viewpoint": "a", "heading": 0.0}})
    >>> from_json(to_json(walk)) == walk
    True

Prompts and percepts are written whole: a compressed line makes repetition cheap. An episode of
several trials is written as its last one, with those before it whole in ``earlier``. Observations
are typed dataclasses of their worlds; they are written with the name of their type and come back as
mappings, so that reading a run needs none of the worlds. Everything else comes back equal, where
tuples within observations, poses, details and states come back as lists.

What JSON has is written as it is. The rest:

===============================  ==========================================================
tuple, array, set, sequence      a list (sets sorted)
dataclass                        ``{"type": "IndoorObservation", "heading": 90.0, ...}``
enum, numpy scalar, path         its plain value
nan, infinity                    ``{"$float": "nan"}``, ``"inf"``, ``"-inf"``
bytes                            ``{"$bytes": "<base64>"}``
keys that are numbers            text, as ``json.dumps`` writes them
===============================  ==========================================================

A string key that begins with ``$`` is written with a second ``$``, so no text can pass for one of
these marks. JSON itself has no nan (RFC 8259, section 6).
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence, Set
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from wayword.core.action import Action, Decision, Rejection
from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.model import (
    Choice,
    Completion,
    Image,
    Message,
    Prompt,
    Sampling,
    TokenLogprob,
    Usage,
)
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.core.secrets import redacted
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory, Verdict
from wayword.core.world import Feedback

# Any value as JSON.

_PLAIN = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Json:
    """The value made of dict, list, str, int, finite float, bool and None.

    Raises ``RecordingError`` for a type that has no such form.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is list or kind is tuple:
        return [item if type(item) in _PLAIN else plain(item) for item in value]
    if kind is dict or isinstance(value, Mapping):
        return {_key(key): v if type(v) in _PLAIN else plain(v) for key, v in value.items()}
    if isinstance(value, bytes | bytearray):
        return {"$bytes": base64.b64encode(value).decode()}
    return plain(_simpler(value))


def _key(key: Any) -> str:
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return str("$" + key if key[:1] == "$" else key)
    if isinstance(key, np.generic):
        key = key.item()
    if key is None or isinstance(key, int | float):
        return json.dumps(key)
    raise RecordingError(f"a key of type {type(key).__name__!r} cannot be recorded; use text")


def _simpler(value: Any) -> Any:
    """A value that JSON lacks, one step closer to it. Raises ``RecordingError``."""
    names = _fields(type(value))  # type: ignore[arg-type]  # mypy doubts that classes are hashable
    if names is not None:
        return {"type": type(value).__name__} | {key: getattr(value, name) for key, name in names}
    if isinstance(value, Enum):
        return value.value
    for base in (bool, int, float, str):
        if isinstance(value, base):  # a subclass, such as numpy's
            return base.__str__(value) if base is str else base(value)
    if isinstance(value, np.generic | np.ndarray):
        listed = value.tolist()
        if type(listed) is not type(value):  # numpy's long double has no plain twin
            return listed
    elif isinstance(value, os.PathLike):
        return os.fspath(value)
    elif isinstance(value, Set):
        return sorted((plain(item) for item in value), key=dump)
    elif isinstance(value, Sequence):
        return list(value)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    remedy = "make it of JSON values, dataclasses, enums or numpy arrays"
    raise RecordingError(f"a value of type {kind!r} cannot be recorded; {remedy}")


@cache
def _fields(kind: type) -> tuple[tuple[str, str], ...] | None:
    """A dataclass's fields as (key, name), None for others; the field ``type`` gets ``type_``."""
    if not dataclasses.is_dataclass(kind):
        return None
    names = [field.name for field in dataclasses.fields(kind)]
    return tuple(("type_" if name == "type" else name, name) for name in names)


def restore(value: Json) -> Any:
    """The value that ``plain`` wrote: lists stay lists and dataclasses stay mappings.

    Raises ``ValueError`` or ``TypeError`` where a ``$`` mark holds something it cannot.
    """
    kind = type(value)
    if kind is dict:
        if len(value) == 1:
            ((key, inner),) = value.items()
            mark = _MARKS.get(key)
            if mark is not None:
                return mark(inner)
        return {(k[1:] if k[:1] == "$" else k): restore(v) for k, v in value.items()}
    if kind is list:
        return [restore(item) for item in value]
    return value


_MARKS: dict[str, Callable[[Json], Any]] = {"$float": float, "$bytes": base64.b64decode}


def _default(value: Any) -> Any:
    """As ``_simpler``, for the encoder, which fails on what it cannot write by itself."""
    if isinstance(value, bytes | bytearray | Mapping):
        raise TypeError
    return _simpler(value)


_QUICK, _EXACT = (
    json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default)
    for default in (_default, None)
)


def dump(value: Any) -> bytes:
    """One line of JSON in UTF-8, without its newline and without any secret that is registered.

    Half a surrogate pair, which UTF-8 cannot hold, is written as a JSON escape. Raises
    ``RecordingError`` for a type that has no JSON form.
    """
    try:
        text = _QUICK.encode(value)  # runs in C, and cannot write the marks
        marked = '"$' in text
    except (ValueError, TypeError):
        marked = True
    if marked:
        text = _EXACT.encode(plain(value))
    return redacted(text).encode(errors="backslashreplace")


# Trajectories, written.


def to_json(trajectory: Trajectory) -> dict[str, Json]:
    """The trajectory as JSON values. Empty fields are omitted.

    Raises ``RecordingError`` where it holds a value that has no JSON form.
    """
    written: dict[str, Json] = plain(tree(trajectory))
    return written


def tree(trajectory: Trajectory) -> dict[str, Any]:
    """The trajectory as nested mappings and lists, for ``dump`` to encode."""
    written: dict[str, Any] = {
        "episode_id": trajectory.episode_id,
        "ended": trajectory.ended,
        "error": trajectory.error,
        "seconds": trajectory.seconds,
        "earlier": [tree(trial) for trial in trajectory.earlier],
        "start": trajectory.start,
        "opening_calls": [_call(call) for call in trajectory.opening_calls],
        "opening_notes": [_note(note) for note in trajectory.opening_notes],
        "steps": [_step(step) for step in trajectory.steps],
        "state": trajectory.state,
        "closing_calls": [_call(call) for call in trajectory.closing_calls],
        "closing_notes": [_note(note) for note in trajectory.closing_notes],
    }
    if trajectory.verdict is not None:
        written["verdict"] = _by_field(trajectory.verdict)
    return {k: v for k, v in written.items() if v not in ("", []) or k in ("steps", "episode_id")}


def _step(step: Step) -> dict[str, Any]:
    feedback: dict[str, Any] = {"status": step.feedback.status}
    if step.feedback.details:
        feedback["details"] = step.feedback.details
    written: dict[str, Any] = {
        "actor": step.actor,
        "observation": step.observation,
        "decision": _decision(step.decision),
        "feedback": feedback,
        "pose": step.pose,
        "seconds": step.seconds,
    }
    if step.calls:
        written["calls"] = [_call(call) for call in step.calls]
    if step.notes:
        written["notes"] = [_note(note) for note in step.notes]
    if step.percept is not None:
        written["percept"] = _percept(step.percept)
    return written


def _percept(percept: Percept) -> dict[str, Any]:
    """A percept by its fields; what a sighting does not have is omitted."""
    sectors = [
        {
            **_by_field(sector, apart=("sightings",)),
            "sightings": [*map(_by_field, sector.sightings)],
        }
        for sector in percept.sectors
    ]
    return {"summary": percept.summary, "sectors": sectors}


def _decision(decision: Decision | Rejection) -> dict[str, Any]:
    if isinstance(decision, Rejection):
        return _full(
            rejected=decision.kind,
            reason=decision.reason,
            said=decision.said,
            thought=decision.thought,
        )
    written = _full(
        action=decision.action.name, arguments=decision.action.arguments, thought=decision.thought
    )
    if decision.fallback_for is not None:
        written["fallback_for"] = _decision(decision.fallback_for)
    return written


def _full(**values: Any) -> dict[str, Any]:
    """The first value, and those of the others that are not empty."""
    first = next(iter(values))
    return {key: value for key, value in values.items() if value or key == first}


def _note(note: Note) -> dict[str, Any]:
    return {"kind": note.kind, "details": note.details}


def _call(call: ModelCall) -> dict[str, Any]:
    prompt = call.prompt
    written: dict[str, Any] = {
        "role": call.role,
        "prompt": prompt if isinstance(prompt, str) else [_message(each) for each in prompt],
    }
    if call.answer is not None:
        written["answer"] = _answer(call.answer)
    if call.sampling is not None:
        written["sampling"] = _by_field(call.sampling)
    if call.error:
        written["error"] = call.error
    return written


def _message(message: Message) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.images:
        written["images"] = [
            {"media_type": i.media_type, "data": base64.b64encode(i.data).decode()}
            for i in message.images
        ]
    return written


def _answer(answer: Completion | Choice) -> dict[str, Any]:
    written = _by_field(answer, apart=("usage", "logprobs"))
    rare = () if answer.usage.reasoning else ("reasoning",)  # most models write none
    written["usage"] = _by_field(answer.usage, rare)
    if isinstance(answer, Choice):
        written["logprobs"] = answer.logprobs
    elif answer.logprobs:
        written["logprobs"] = [
            [t.token, t.logprob, t.alternatives] if t.alternatives else [t.token, t.logprob]
            for t in answer.logprobs
        ]
    return written


def _by_field(value: Any, apart: tuple[str, ...] = ()) -> dict[str, Any]:
    """A dataclass of the core by its fields, without those that are None, False or () by default.

    Numbers are always written, so that a default that changes one day changes no old record.
    """
    written = {}
    for name, default in _defaults(type(value)):  # type: ignore[arg-type]
        held = getattr(value, name)
        absent = held is None or held is False or held == ()
        if name not in apart and not (absent and held == default):
            written[name] = held
    return written


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    return tuple((field.name, field.default) for field in dataclasses.fields(kind))


# Trajectories, read.


def from_json(written: dict[str, Json]) -> Trajectory:
    """The trajectory that ``to_json`` wrote. Raises ``RecordingError`` where it is none."""
    try:
        return _trajectory(written)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise RecordingError(f"is no trajectory ({type(error).__name__}: {error})") from error


def _trajectory(written: dict[str, Json]) -> Trajectory:
    verdict = written.get("verdict")
    return Trajectory(
        episode_id=written["episode_id"],
        earlier=[_trajectory(trial) for trial in written.get("earlier", ())],
        start=restore(written["start"]),
        opening_calls=[_read_call(call) for call in written.get("opening_calls", ())],
        opening_notes=[_read_note(note) for note in written.get("opening_notes", ())],
        steps=[_read_step(step) for step in written["steps"]],
        state=restore(written["state"]),
        closing_calls=[_read_call(call) for call in written.get("closing_calls", ())],
        closing_notes=[_read_note(note) for note in written.get("closing_notes", ())],
        verdict=None if verdict is None else Verdict(**{"succeeded": None, **_arguments(verdict)}),
        ended=written["ended"],
        error=written.get("error", ""),
        seconds=restore(written["seconds"]),
    )


def _read_step(written: Json) -> Step:
    feedback, percept = written["feedback"], written.get("percept")
    return Step(
        actor=written["actor"],
        observation=restore(written["observation"]),
        decision=_read_decision(written["decision"]),
        feedback=Feedback(feedback["status"], restore(feedback.get("details", {}))),
        pose=restore(written["pose"]),
        calls=[_read_call(call) for call in written.get("calls", ())],
        notes=[_read_note(note) for note in written.get("notes", ())],
        seconds=restore(written["seconds"]),
        percept=None if percept is None else _read_percept(percept),
    )


def _read_percept(written: Json) -> Percept:
    sectors = [
        Sector(
            restore(each["heading"]),
            restore(each["width"]),
            each["caption"],
            tuple(Sighting(**_arguments(sighting)) for sighting in each["sightings"]),
        )
        for each in written["sectors"]
    ]
    return Percept(tuple(sectors), written["summary"])


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


def _read_note(written: Json) -> Note:
    return Note(written["kind"], restore(written["details"]))


def _read_call(written: Json) -> ModelCall:
    answer, sampling = written.get("answer"), written.get("sampling")
    return ModelCall(
        written["role"],
        _read_prompt(written["prompt"]),
        None if answer is None else _read_answer(answer),
        None if sampling is None else Sampling(**_arguments(sampling)),
        written.get("error", ""),
    )


def _read_prompt(written: Json) -> Prompt:
    if isinstance(written, str):
        return written
    return tuple(
        Message(
            each["role"],
            each["content"],
            tuple(
                Image(base64.b64decode(image["data"]), image["media_type"])
                for image in each.get("images", ())
            ),
        )
        for each in written
    )


def _read_answer(written: Json) -> Completion | Choice:
    values = _arguments(written)
    values["usage"] = Usage(**_arguments(written["usage"]))
    if "options" in written:
        return Choice(**values)
    values["logprobs"] = tuple(TokenLogprob(*entry) for entry in values.get("logprobs", ()))
    return Completion(**values)


def _arguments(written: Json) -> dict[str, Any]:
    """The arguments of a core dataclass; its sequences are tuples."""
    restored = {name: restore(value) for name, value in written.items()}
    return {n: tuple(v) if isinstance(v, list) else v for n, v in restored.items()}
