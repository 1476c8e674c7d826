"""A model for rehearsals: legal actions that go on, and texts of a usual length."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wayword.core.model import Choice, Completion, Prompt, Sampling, Usage, estimated_tokens
from wayword.models.scripted import smallest

LENGTH = 45
"""Words of each text that an answer leaves free: a thought, a summary, an expert's opinion."""

THOUGHT = (
    *("the", "words", "that", "a", "thought", "takes", "up", "before", "an", "action,"),
    *("about", "sixty", "tokens", "of", "them;"),
)
_NUMBER = re.compile(r"(\d+)\.\s*$")
_STOPS = re.compile(r"\bstop\b|\"arrived\": true|\bfinish", re.IGNORECASE)


@dataclass(slots=True)
class Rehearsal:
    """A model that goes on by anything legal, in the name and with the window of the real one."""

    name: str
    window: int = 0
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
        return Choice(tuple(options), values, Usage(estimated_tokens(prompt), 1, estimated=True))

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
            return json.dumps(filled(sampling.json_schema, self._rng))
        number = _NUMBER.search(prompt) if isinstance(prompt, str) else None
        if number:  # a list of numbered actions, to be continued
            ahead = range(int(number[1]) + 1, int(number[1]) + sampling.max_tokens // 4)
            return "\n".join([" forward", *(f"{n}. forward" for n in ahead)])
        return _words(sampling.max_tokens)


def filled(
    schema: Mapping[str, Any], rng: random.Random, root: Mapping[str, Any] | None = None
) -> Any:
    """A value that the schema allows, its free texts ``LENGTH`` words long, where they may be.

    >>> filled({"enum": ["a"]}, random.Random(0))
    'a'
    """
    root = root or schema
    for word in ("anyOf", "oneOf"):
        if schema.get(word):
            return filled(rng.choice(schema[word]), rng, root)
    if "properties" in schema:
        return {key: filled(inner, rng, root) for key, inner in schema["properties"].items()}
    if schema.get("type") == "array" and "enum" not in schema:
        least = schema.get("minItems", 0) or min(3, schema.get("maxItems", 3))
        return [filled(schema.get("items", {}), rng, root) for _ in range(least)]
    if schema.get("type") == "string" and not {"enum", "const", "pattern"} & set(schema):
        return _words(LENGTH * 2)[: schema.get("maxLength", 10_000)]
    return smallest(schema, rng, root)


def _words(tokens: int) -> str:
    """A thought of ``LENGTH`` words, or as many as there is room for."""
    count = min(LENGTH, tokens)
    return " ".join(THOUGHT[number % len(THOUGHT)] for number in range(count))
