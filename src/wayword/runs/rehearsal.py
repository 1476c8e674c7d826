"""A model for rehearsals: legal actions that go on, and texts of a usual length."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wayword.agents.answers import ARGUMENT
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage, estimated_tokens
from wayword.models.scripted import smallest
from wayword.models.servers.profile import Profile, profile_of

LENGTH = 45
"""Words of each text that an answer leaves free: a thought, a summary, an expert's opinion."""
SENTENCE = 20
"""Words of each where one sentence is asked for."""
PART = 12
"""Words of a part of a section, such as what is done so far, and of what is said to others."""
LISTED = 8
"""Words of an item of a list: an action with its place, a landmark with its types."""
CONTINUED = 26
"""Tokens that are added to a text which a chat model is to go on with."""

THOUGHT = (
    *("the", "words", "that", "a", "thought", "takes", "up", "before", "an", "action,"),
    *("about", "sixty", "tokens", "of", "them;"),
)
_NUMBER = re.compile(r"(\d+)\.\s*$")
_ONE = re.compile(r"\bone (?:concise )?sentence\b")
_SPEAKS = ("chat", "ask")
_STOPS = re.compile(r"\bstop\b|\"arrived\": true|\bfinish", re.IGNORECASE)


def profile_before(name: str, settings: Mapping[str, Any]) -> Profile:
    """What is known of a model beforehand, its thinking as the settings have it."""
    kind, _, model = name.partition(":")
    if kind != "openai":
        return Profile()
    hosted = not settings.get("base_url")
    profile = profile_of(model, settings.get("profile", ""), hosted)
    asked = settings.get("thinking")
    return replace(
        profile,
        thinking=profile.thinking if asked is None else int(asked),
        samples=profile.samples and not settings.get("one_sample_a_call", False),
    )


def picks(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether options are picked by writing one, as no server ranks them for this model."""
    known = profile_before(name, settings)
    ranks = name.partition(":")[0] != "openai" or (known.completions and known.logprobs > 0)
    return not ranks or settings.get("choose") == "constrained"


@dataclass(slots=True)
class Rehearsal(Model):
    """A model that goes on by anything legal, in the name and with the window of the real one.

    ``picks``: it chooses by writing ``{"answer": …}``; else options are ranked in one request.
    """

    name: str
    window: int = 0
    picks: bool = False
    _rng: random.Random = field(default_factory=lambda: random.Random(0))

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """A legal answer that does not stop, with texts of a usual length; all samples agree."""
        texts = (self._said(prompt, sampling),) * sampling.n
        written = sum(min(estimated_tokens(text), sampling.max_tokens) for text in texts)
        usage = Usage(estimated_tokens(prompt), written, estimated=True)
        return Completion(texts, ("stop",) * sampling.n, usage)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """A random option that does not stop, where there is one."""
        going = [option for option in options if not _STOPS.search(option)] or list(options)
        best = self._rng.choice(going)
        values = tuple(-0.1 if option == best else -3.0 for option in options)
        usage = Usage(estimated_tokens(prompt), 1, estimated=True)
        if self.picks:
            written = estimated_tokens(json.dumps({"answer": best}))
            usage = Usage(usage.prompt + CONTINUED, written, estimated=True)
        return Choice(tuple(options), values, usage)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _said(self, prompt: Prompt, sampling: Sampling) -> str:
        for _ in range(8):  # a walk that stops at once would tell nothing of the later prompts
            text = self._legal(prompt, sampling)
            if not _STOPS.search(text):
                break
        return text

    def _legal(self, prompt: Prompt, sampling: Sampling) -> str:
        if sampling.choices:
            return self._rng.choice(sampling.choices)
        if sampling.json_schema is not None:
            return json.dumps(filled(sampling.json_schema, self._rng, words=_asked_for(prompt)))
        number = _NUMBER.search(prompt) if isinstance(prompt, str) else None
        if number:  # a list of numbered actions, to be continued
            ahead = range(int(number[1]) + 1, int(number[1]) + sampling.max_tokens // 4)
            return "\n".join([" forward", *(f"{n}. forward" for n in ahead)])
        return _words(min(_asked_for(prompt), sampling.max_tokens))


def _asked_for(prompt: Prompt) -> int:
    """Words of a text that answers the prompt: what is asked for stands first or last."""
    told = [prompt] if isinstance(prompt, str) else [prompt[0].content, prompt[-1].content]
    return SENTENCE if any(_ONE.search(text) for text in told) else LENGTH


def filled(
    schema: Mapping[str, Any],
    rng: random.Random,
    root: Mapping[str, Any] | None = None,
    words: int = LENGTH,
) -> Any:
    """A value that the schema allows, its free texts so many words long, where they may be.

    >>> filled({"enum": ["a"]}, random.Random(0))
    'a'
    """
    root = root or schema
    for word in ("anyOf", "oneOf"):
        if schema.get(word):
            return filled(rng.choice(schema[word]), rng, root, words)
    if "properties" in schema:
        length = words if schema is root else min(words, PART)
        made = {k: filled(v, rng, root, length) for k, v in schema["properties"].items()}
        if ARGUMENT in made:
            made[ARGUMENT] = _words(PART) if made.get("action") in _SPEAKS else ""
        return made
    if schema.get("type") == "array" and "enum" not in schema:
        least = schema.get("minItems", 0) or min(3, schema.get("maxItems", 3))
        return [filled(schema.get("items", {}), rng, root, LISTED) for _ in range(least)]
    if schema.get("type") == "string" and not {"enum", "const", "pattern"} & set(schema):
        return _words(words)[: schema.get("maxLength", 10_000)]
    return smallest(schema, rng, root)


def _words(count: int) -> str:
    """A text of so many words."""
    return " ".join(THOUGHT[number % len(THOUGHT)] for number in range(count))
