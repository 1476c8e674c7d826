"""Model for rehearsals: legal actions that do not stop, and texts of typical length."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

from wayword.agents.answers import ARGUMENT
from wayword.core.episode import JsonObject
from wayword.core.model import (
    ASSUMED,
    Choice,
    Completion,
    Model,
    PictureTokens,
    Prompt,
    Sampling,
    Usage,
    estimated_tokens,
)
from wayword.models.scripted import smallest

# Words of a free text in an answer: a thought, a summary, an expert's opinion.
LENGTH = 45
# Words of a free text if the prompt requests one sentence.
SENTENCE = 20
# Words of a part of a section, such as the progress so far, and of a message.
PART = 12
# Words of a list item: an action with its place, a landmark with its types.
LISTED = 8
# Tokens added to raw text for a chat model.
CONTINUED = 26
# Repeated for a text of any length.
THOUGHT = (
    "the words that a thought takes up before an action, about sixty tokens of them;"
)
# The end of a prompt with a list of numbered actions, the next of which the model writes.
_NUMBER = re.compile(r"(\d+)\.\s*$")
# A prompt that requests one sentence.
_ONE_SENTENCE = re.compile(r"\bone (?:concise )?sentence\b")
# Actions with a text as argument.
_SPEAKS = ("chat", "ask")
# Answers that end the episode.
_STOPS = re.compile(r"\bstop\b|\"arrived\": true|\bfinish", re.IGNORECASE)


@dataclass
class Rehearsal(Model):
    """A model that gives random legal answers, with the name and window of the real one.

    With ``writes``, it chooses by writing ``{"answer": …}``, else it ranks the options.
    The same sequence of calls gets the same answers, since the generator has a fixed
    seed.
    """

    name: str
    window: int = 0
    writes: bool = False
    pictures: PictureTokens = ASSUMED
    _rng: random.Random = field(default_factory=lambda: random.Random(0))

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Answer with a legal action and texts of typical length; all samples are equal."""
        for _ in range(8):  # avoid stopping: the episode would have no later prompts
            text = self._legal(prompt, sampling)
            if not _STOPS.search(text):
                break
        # Each sample is paid, up to its limit.
        completion = sampling.n * min(estimated_tokens(text), sampling.max_tokens)
        read = estimated_tokens(prompt, self.pictures)
        usage = Usage(read, completion, estimated=True)
        return Completion((text,) * sampling.n, ("stop",) * sampling.n, usage)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Choose a random option, one that does not stop if possible."""
        # An episode that ends early would be forecast as too cheap.
        going_on = [option for option in options if not _STOPS.search(option)]
        best = self._rng.choice(going_on or list(options))
        values = tuple(-0.1 if option == best else -3.0 for option in options)
        usage = Usage(estimated_tokens(prompt, self.pictures), 1, estimated=True)
        # A server that cannot rank is asked to write the option as JSON.
        if self.writes:
            completion = estimated_tokens(json.dumps({"answer": best}))
            usage = Usage(usage.prompt + CONTINUED, completion, estimated=True)
        return Choice(tuple(options), values, usage)

    def _legal(self, prompt: Prompt, sampling: Sampling) -> str:
        """Return an answer that the prompt accepts, of a likely length."""
        # the first or last message requests a text
        if isinstance(prompt, str):
            parts = [prompt]
        else:
            parts = [prompt[0].content, prompt[-1].content]
        words = LENGTH
        if any(_ONE_SENTENCE.search(text) for text in parts):
            words = SENTENCE
        # A legal answer to the constraint, else a text of typical length.
        if sampling.choices:
            return self._rng.choice(sampling.choices)
        if sampling.json_schema is not None:
            schema = sampling.json_schema
            return json.dumps(_filled(schema, self._rng, schema, words))
        if isinstance(prompt, str) and (number := _NUMBER.search(prompt)):
            # a list of numbered actions to continue
            ahead = range(int(number[1]) + 1, int(number[1]) + sampling.max_tokens // 4)
            return "\n".join([" forward", *(f"{n}. forward" for n in ahead)])
        return _words(min(words, sampling.max_tokens))


def _filled(
    schema: JsonObject,
    rng: random.Random,
    root: JsonObject,
    words: int,
) -> Any:
    """Return a random value that matches the schema, with free texts of up to ``words`` words.

    ``root`` is the whole schema, in which references are resolved.
    """
    # Any of the forms is legal.
    for keyword in ("anyOf", "oneOf"):
        if schema.get(keyword):
            return _filled(rng.choice(schema[keyword]), rng, root, words)
    if "properties" in schema:
        # Texts inside a section are short. A call in words has the whole answer inside, which is
        # known by its thought.
        is_section = schema is not root and "thought" not in schema["properties"]
        value = {}
        for name, field in schema["properties"].items():
            length = words
            if is_section and field.get("type") == "string":
                length = min(words, PART)
            value[name] = _filled(field, rng, root, length)
        # Only actions that speak have a text as argument.
        if ARGUMENT in value:
            value[ARGUMENT] = ""
            if value.get("action") in _SPEAKS:
                value[ARGUMENT] = _words(PART)
        return value
    # Lists have three items, unless the schema demands another number.
    if schema.get("type") == "array" and "enum" not in schema:
        count = schema.get("minItems", 0) or min(3, schema.get("maxItems", 3))
        return [
            _filled(schema.get("items", {}), rng, root, LISTED) for _ in range(count)
        ]
    # Free text; constrained texts are left to the general rule.
    is_free = schema.keys().isdisjoint({"enum", "const", "pattern"})
    if schema.get("type") == "string" and is_free:
        return _words(words)[: schema.get("maxLength", 10_000)]
    return smallest(schema, rng, root)


def _words(count: int) -> str:
    """Return a thought of that many words."""
    return " ".join(islice(cycle(THOUGHT.split()), count))
