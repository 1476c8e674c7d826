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

import base64
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

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
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory, Verdict
from wayword.core.world import Feedback
from wayword.runs import earlier
from wayword.runs.jsonl import plain, restore

# Prompts that grow, stored in linear space.
#
# An agent's prompt repeats most of the one before: the task, the history so far, then something
# new. Written whole, forty steps would take the space of eight hundred. So a prompt is written as
# the part it shares with an earlier prompt of the same episode, and the rest:
#
#   "..."                                            a prompt written whole
#   {"from": 3, "shared": 5120, "text": "..."}       the first 5,120 characters of call 3's prompt,
#                                                    then this text
#   [{"role": "user", "content": "..."}]             a conversation written whole
#   {"from": 3, "shared": 2, "messages": [...]}      the first two messages of call 3's prompt, then
#                                                    these; one with "shared" begins with that many
#                                                    characters of call 3's message in its place
#
# Calls are numbered from 0 through the episode: the opening's, each step's, the closing's; those
# of ``earlier`` trials come first. Characters are Unicode code points. Restoring is exact. In
# ``jq``, for prompts that are texts:
#
#     [.trajectory | .earlier[]?, . | .opening_calls, .steps[].calls, .closing_calls
#         | .[]? | .prompt] | reduce .[] as $p ([];
#         . + [if $p | type == "object" then .[$p.from][:$p.shared] + $p.text else $p end])

_HEAD = 64
"""Prompts that agree in so many characters are of one template; less is not worth sharing."""

Key = tuple[str, ...]


class PromptWriter:
    """Writes the prompts of one episode, in the order of its calls."""

    def __init__(self) -> None:
        self._latest: dict[Key, tuple[int, Prompt]] = {}
        self._count = 0

    def write(self, prompt: Prompt) -> Json:
        """The prompt, less what it shares with the latest one that began the same way."""
        key = _key(prompt)
        number, base = self._latest.get(key, (0, ""))
        self._latest[key] = (self._count, prompt)
        self._count += 1
        if isinstance(prompt, str):
            return _text(prompt, number, base)
        return _conversation(prompt, number, base)


class PromptReader:
    """Restores the prompts of one episode, in the order of its calls."""

    def __init__(self) -> None:
        self._prompts: list[Prompt] = []

    def read(self, written: Json) -> Prompt:
        """The whole prompt. Raises ``KeyError``, ``TypeError``, ``ValueError`` on a wrong form."""
        prompt = self._read(written)
        self._prompts.append(prompt)
        return prompt

    def _read(self, written: Json) -> Prompt:
        if isinstance(written, str):
            return written
        if isinstance(written, list):
            return tuple(_restored(message) for message in written)
        base, shared = self._base(written["from"]), int(written["shared"])
        if not 0 <= shared <= len(base):
            raise ValueError(f"call {written['from']} has no {shared} parts to share")
        if isinstance(base, str):
            return base[:shared] + str(written["text"])
        rest = [
            _restored(message, base[at] if at < len(base) else None)
            for at, message in enumerate(written["messages"], shared)
        ]
        return (*base[:shared], *rest)

    def _base(self, number: int) -> Prompt:
        if not 0 <= number < len(self._prompts):
            raise ValueError(f"a prompt continues call {number}, which does not come before it")
        return self._prompts[number]


def common_prefix(one: str, other: str) -> int:
    """How many characters two texts share from the start; by halving, so C compares them."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _text(prompt: str, number: int, base: Prompt) -> Json:
    shared = common_prefix(base, prompt) if isinstance(base, str) else 0
    if shared < _HEAD:
        return prompt
    return {"from": number, "shared": shared, "text": prompt[shared:]}


def _conversation(prompt: Sequence[Message], number: int, base: Prompt) -> Json:
    if isinstance(base, str):
        return [_message(message) for message in prompt]
    shared = 0
    while shared < min(len(base), len(prompt)) and base[shared] == prompt[shared]:
        shared += 1
    rest = [
        _message(prompt[at], base[at] if at < len(base) else None)
        for at in range(shared, len(prompt))
    ]
    return {"from": number, "shared": shared, "messages": rest}


def _key(prompt: Prompt) -> Key:
    """What a template is known by: how the text, or its first two messages, begin."""
    if isinstance(prompt, str):
        return (prompt[:_HEAD],)
    heads = [part for m in prompt[:2] for part in (m.role, m.content[:_HEAD])]
    return ("messages", *heads)


def _message(message: Message, base: Message | None = None) -> Json:
    content = message.content
    written: dict[str, Json] = {"role": message.role}
    shared = common_prefix(base.content, content) if base is not None else 0
    if shared >= _HEAD:
        written["shared"], content = shared, content[shared:]
    written["content"] = content
    if message.images:
        written["images"] = [
            {"media_type": i.media_type, "data": base64.b64encode(i.data).decode()}
            for i in message.images
        ]
    return written


def _restored(written: Json, base: Message | None = None) -> Message:
    content = str(written["content"])
    if "shared" in written:
        if base is None or not 0 <= written["shared"] <= len(base.content):
            raise ValueError("a message shares more than there is")
        content = base.content[: written["shared"]] + content
    images = tuple(
        Image(base64.b64decode(image["data"]), image["media_type"])
        for image in written.get("images", ())
    )
    return Message(written["role"], content, images)


def to_json(trajectory: Trajectory) -> dict[str, Json]:
    """The trajectory as JSON values. What is empty is left out.

    Raises ``RecordingError`` where it holds a value that has no JSON form.
    """
    return _write(trajectory, PromptWriter())


def _write(trajectory: Trajectory, prompts: PromptWriter) -> dict[str, Json]:
    written: dict[str, Json] = {
        "episode_id": trajectory.episode_id,
        "ended": trajectory.ended,
        "error": trajectory.error,
        "seconds": plain(trajectory.seconds),
        "earlier": [_write(trial, prompts) for trial in trajectory.earlier],
        "start": plain(trajectory.start),
        "opening_calls": [_call(call, prompts) for call in trajectory.opening_calls],
        "opening_notes": [_note(note) for note in trajectory.opening_notes],
        "steps": [_step(step, prompts) for step in trajectory.steps],
        "state": plain(trajectory.state),
        "closing_calls": [_call(call, prompts) for call in trajectory.closing_calls],
        "closing_notes": [_note(note) for note in trajectory.closing_notes],
    }
    if trajectory.verdict is not None:
        written["verdict"] = _by_field(trajectory.verdict)
    return {k: v for k, v in written.items() if v not in ("", []) or k in ("steps", "episode_id")}


def from_json(written: dict[str, Json]) -> Trajectory:
    """The trajectory that ``to_json`` wrote. Raises ``RecordingError`` where it is none."""
    try:
        return _trajectory(written, PromptReader())
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise RecordingError(f"is no trajectory ({type(error).__name__}: {error})") from error


def _trajectory(written: dict[str, Json], prompts: PromptReader) -> Trajectory:
    """Read in the order of the calls, as prompts continue those before them."""
    verdict = written.get("verdict")
    return Trajectory(
        episode_id=written["episode_id"],
        earlier=[_trajectory(trial, prompts) for trial in written.get("earlier", ())],
        start=restore(written["start"]),
        opening_calls=[_read_call(c, prompts) for c in written.get("opening_calls", ())],
        opening_notes=[_read_note(n) for n in written.get("opening_notes", ())],
        steps=[_read_step(s, prompts) for s in written["steps"]],
        state=restore(written["state"]),
        closing_calls=[_read_call(c, prompts) for c in written.get("closing_calls", ())],
        closing_notes=[_read_note(n) for n in written.get("closing_notes", ())],
        verdict=None if verdict is None else _read_verdict(verdict),
        ended=written["ended"],
        error=written.get("error", ""),
        seconds=restore(written["seconds"]),
    )


def _step(step: Step, prompts: PromptWriter) -> Json:
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
        written["calls"] = [_call(call, prompts) for call in step.calls]
    if step.notes:
        written["notes"] = [_note(note) for note in step.notes]
    return written


def _read_step(written: Json, prompts: PromptReader) -> Step:
    feedback = written["feedback"]
    return Step(
        actor=written["actor"],
        observation=earlier.observation(restore(written["observation"])),
        decision=_read_decision(written["decision"]),
        feedback=Feedback(feedback["status"], restore(feedback.get("details", {}))),
        pose=restore(written["pose"] if "pose" in written else written["where"]),
        calls=[_read_call(call, prompts) for call in written.get("calls", ())],
        notes=[_read_note(note) for note in written.get("notes", ())],
        seconds=restore(written["seconds"]),
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
