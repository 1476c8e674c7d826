"""What an episode repeats, stored in linear space: prompts that grow, and percepts.

An agent's prompt repeats most of the one before: the task, the history so far, then something
new. Written whole, forty steps would take the space of eight hundred. So a prompt is written as
the part it shares with an earlier prompt of the same episode, and the rest:

  "..."                                            a prompt written whole
  {"from": 3, "shared": 5120, "text": "..."}       the first 5,120 characters of call 3's prompt,
                                                   then this text
  [{"role": "user", "content": "..."}]             a conversation written whole
  {"from": 3, "shared": 2, "messages": [...]}      the first two messages of call 3's prompt, then
                                                   these; one with "shared" begins with that many
                                                   characters of call 3's message in its place

Calls are numbered from 0 through the episode: the opening's, each step's, the closing's; those
of ``earlier`` trials come first. Characters are Unicode code points. Restoring is exact. In
``jq``, for prompts that are texts:

    [.trajectory | .earlier[]?, . | .opening_calls, .steps[].calls, .closing_calls
        | .[]? | .prompt] | reduce .[] as $p ([];
        . + [if $p | type == "object" then .[$p.from][:$p.shared] + $p.text else $p end])
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from wayword.core.episode import Json
from wayword.core.model import Image, Message, Prompt
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.runs.jsonl import plain, restore

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


class PerceptWriter:
    """Writes the percepts of one episode: one read again is the number of the first, from 0.

        {"summary": "A bare room.", "sectors": [[0.0, 45.0, "a sofa", [["sofa", 12.0, 2.1]]]]}

    A sector is written as heading, width (degrees), caption and sightings; a sighting as name,
    heading (degrees), distance (metres) and score, without the last ones that are None.
    """

    def __init__(self) -> None:
        self._numbers: dict[Percept, int] = {}

    def write(self, percept: Percept) -> Json:
        """The percept, or the number of an equal one before."""
        if percept in self._numbers:
            return self._numbers[percept]
        self._numbers[percept] = len(self._numbers)
        sectors = [
            [s.heading, s.width, s.caption, [_sighting(sighting) for sighting in s.sightings]]
            for s in percept.sectors
        ]
        return {"summary": percept.summary, "sectors": plain(sectors)}


class PerceptReader:
    """Restores the percepts of one episode, in the order of its steps."""

    def __init__(self) -> None:
        self._percepts: list[Percept] = []

    def read(self, written: Json) -> Percept:
        """The percept. Raises ``KeyError``, ``TypeError``, ``ValueError`` on a wrong form."""
        if isinstance(written, int):
            if not 0 <= written < len(self._percepts):
                raise ValueError(f"a step repeats percept {written}, which does not come before it")
            return self._percepts[written]
        sectors = tuple(
            Sector(restore(heading), restore(width), str(caption), _sightings(sightings))
            for heading, width, caption, sightings in written["sectors"]
        )
        self._percepts.append(Percept(sectors, str(written["summary"])))
        return self._percepts[-1]


def _sighting(sighting: Sighting) -> list[Json]:
    written = [sighting.name, sighting.heading, sighting.distance, sighting.score]
    while written[-1] is None:
        written.pop()
    return written


def _sightings(written: Json) -> tuple[Sighting, ...]:
    return tuple(Sighting(str(name), *map(restore, rest)) for name, *rest in written)
