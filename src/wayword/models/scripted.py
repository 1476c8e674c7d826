"""Models with predefined answers, from a list, a function or a file: for tests and demos.

They are ordinary models: their answers are counted, recorded and cached like any others.
"""

from __future__ import annotations

import inspect
import itertools
import json
import math
import random
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import DataError, ModelError, UsageError, suggest
from wayword.core.files import read_json_lines, sha256
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage

Answer = str | Completion
Answers = Callable[[Prompt, Sampling], Answer | Awaitable[Answer]]
"""Function from prompt and sampling to an answer; it may be a coroutine function."""

_NOISE = "qwertzuiop asdfghjkl yxcvbnm 0123456789 []{}()<>:;,.!? \n\t\"'\\/äöü…"


@dataclass(frozen=True)
class ScriptedSettings:
    """Settings of ``scripted:``.

    ``repeat`` starts a list of answers over at its end instead of raising an error. ``seed`` and
    ``length`` (characters) are for ``scripted:noise``.
    """

    repeat: bool = False
    seed: int = 0
    length: int = 100


class ScriptedModel(Model):
    """A model with predefined answers.

    >>> model = ScriptedModel(answers=["left", "stop"])
    >>> model = ScriptedModel(answers=lambda prompt, sampling: "left")

    By name: ``scripted:first`` gives the first legal answer (the first of ``choices``, the
    smallest value a JSON schema allows), ``scripted:noise`` random characters or a random legal
    answer, ``scripted:echo`` the end of the prompt, and ``scripted:answers.jsonl`` the file's
    answers, one per line (a JSON string, or an object with the field ``text``).

    ``choose`` picks the option that the script answers (ignoring outer white space), else the
    first. Raises ``ModelError`` when a list of answers is used up.
    """

    def __init__(
        self,
        name: str = "script",
        settings: ScriptedSettings | None = None,
        *,
        answers: Answers | Iterable[Answer] | None = None,
    ) -> None:
        self.name: str = f"scripted:{name}"
        settings = settings or ScriptedSettings()
        if settings == ScriptedSettings():
            identity = self.name
        else:
            identity = f"{self.name} {settings}"
        if answers is None:
            answers = _script_named(name, settings)
            if not callable(answers):
                # The content of a file may change while its name stays.
                identity += f" {sha256(Path(name))}"
        self.identity: str = identity
        """Name, settings and checksum of the script: everything that affects answers."""
        if callable(answers):
            self._answers = answers
        else:
            self._answers = _answer_in_turn(answers, settings.repeat, self.name)

    Settings = ScriptedSettings

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Return the script's answers, one per sample."""
        answers = [await self._answer(prompt, sampling) for _ in range(sampling.n)]
        if isinstance(answers[0], Completion):
            return answers[0]
        texts = tuple(str(answer) for answer in answers)
        usage = Usage(_count_words(prompt), sum(text.count(" ") + 1 for text in texts))
        return Completion(texts, ("stop",) * len(texts), usage)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Give one option probability 0.9, by choice; the others share the rest equally.

        It is the first that the script answers but for outer white space, or else the first of all.
        """
        if not options:
            raise ModelError(f"{self.name}: choose needs at least one option")
        answer = await self._answer(prompt, Sampling(choices=tuple(options)))
        if isinstance(answer, Completion):
            answer = answer.text
        text = answer.strip()
        best = next(
            (i for i, option in enumerate(options) if option.strip() == text),
            0,
        )
        # A single option has no others to share with.
        others = max(1, len(options) - 1)
        logprobs = [math.log(0.1 / others)] * len(options)
        logprobs[best] = math.log(0.9)
        return Choice(tuple(options), tuple(logprobs), Usage(_count_words(prompt), 1))

    async def _answer(self, prompt: Prompt, sampling: Sampling) -> Answer:
        """Return the script's next answer, waiting for it if it is a coroutine."""
        answer = self._answers(prompt, sampling)
        if inspect.isawaitable(answer):
            return await answer
        return answer


def _answer_in_turn(listed: Iterable[Answer], repeat: bool, name: str) -> Answers:
    """Return a script that gives the answers in turn."""
    answers = list(listed)
    numbers = itertools.count()  # count() is thread-safe

    def answer(prompt: Prompt, sampling: Sampling) -> Answer:
        """Return the next answer. Raises ``ModelError`` after the last one."""
        number = next(numbers)
        if number >= len(answers) and not (repeat and answers):
            raise ModelError(
                f"{name}: all {len(answers)} answers of the script are used"
            )
        return answers[number % len(answers)]

    return answer


def _script_named(name: str, settings: ScriptedSettings) -> Answers | Iterable[Answer]:
    """Return a script by its name."""

    def first(prompt: Prompt, sampling: Sampling) -> str:
        """Return the smallest legal answer: the first choice, or the smallest object of
        a schema."""
        if sampling.choices:
            return sampling.choices[0]
        if sampling.json_schema is not None:
            return json.dumps(smallest(sampling.json_schema), ensure_ascii=False)
        return ""

    def echo(prompt: Prompt, sampling: Sampling) -> str:
        """Return the end of the prompt."""
        if isinstance(prompt, str):
            return prompt[-sampling.max_tokens :]
        return prompt[-1].content[-sampling.max_tokens :]

    rng = random.Random(settings.seed)

    def noise(prompt: Prompt, sampling: Sampling) -> str:  # or a random legal value
        if sampling.choices:
            return rng.choice(sampling.choices)
        if sampling.json_schema is not None:
            return json.dumps(smallest(sampling.json_schema, rng), ensure_ascii=False)
        return "".join(rng.choices(_NOISE, k=settings.length))

    if name.endswith(".jsonl"):
        answers: list[Answer] = []
        for number, value in read_json_lines(Path(name)):
            text = value.get("text") if isinstance(value, dict) else value
            if not isinstance(text, str):
                problem = "must be a string, or an object with a string 'text'"
                raise DataError(Path(name), f"line {number}", problem)
            answers.append(text)
        return answers
    scripts = {"first": first, "echo": echo, "noise": noise}
    if name not in scripts:
        raise UsageError(
            f"no script is called {name!r}; {suggest(name, [*scripts, 'FILE.jsonl'])}"
        )
    return scripts[name]


def smallest(
    schema: JsonObject,
    rng: random.Random | None = None,
    root: JsonObject | None = None,
) -> Json:
    """Return a small value that the schema allows, with the first or a random enumerated value.

    Supports what agents use: ``enum``, ``const``, ``anyOf``, ``oneOf``, ``$ref``, objects,
    arrays, strings, numbers, booleans and null.
    """
    root = root or schema
    # References lead to other parts of the schema.
    if "$ref" in schema:
        node: Any = root
        for key in str(schema["$ref"]).removeprefix("#/").split("/"):
            node = node[key]
        return smallest(node, rng, root)
    if "const" in schema:
        return schema["const"]
    for word in ("enum", "anyOf", "oneOf"):
        if options := schema.get(word):
            picked = _picked(options, rng)
            if word == "enum":
                return picked
            return smallest(picked, rng, root)
    # Else the type decides; a list of types counts by its first.
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = kind[0]
    match kind:
        case "object" if "type" in schema or "properties" in schema:
            fields: dict[str, Any] = schema.get("properties", {})
            return {name: smallest(inner, rng, root) for name, inner in fields.items()}
        case "array":
            item = schema.get("items", {})
            return [smallest(item, rng, root) for _ in range(schema.get("minItems", 0))]
        case "string" if "pattern" in schema:
            return _matching_text(str(schema["pattern"]).strip("^$"), rng)
        case "string":
            return "x" * int(schema.get("minLength", 0))
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
    return None


def _picked(options: Sequence[Any], rng: random.Random | None) -> Any:
    """The first option, or a random one."""
    if rng is None:
        return options[0]
    return rng.choice(options)


# A character of a pattern: an escaped one, or a class (a `]` may be its first) or a single one.
_PATTERN_PIECE = re.compile(r"\\(.)|(\[\^?\]?(?:\\.|[^\]\\])*\]|.)")
_QUANTIFIER = re.compile(r"[?+]|\{\d+,\d+\}")


def _matching_text(pattern: str, rng: random.Random | None) -> str:
    """Return a text that matches a pattern of groups, alternatives, classes, escapes and
    quantifiers: the first or a random alternative, the last character of a class, no optional part.

    Raises ``UsageError`` if that text does not match, as with ``{3}``, ``*`` and ``\\d``.

    >>> _matching_text(r"(goto\\[(a|b)\\]|turn\\[-?[0-9]+\\]|stop)", None)
    'goto[a]'
    """

    def alternatives(at: int) -> tuple[str, int]:
        """Return a text for the alternatives that begin at an offset, and the offset of the `)` or
        the end that closes them."""
        options = list[str]()
        written = ""
        while at < len(pattern) and pattern[at] != ")":
            if pattern[at] == "|":
                options.append(written)
                written = ""
                at += 1
                continue
            # A group, or a single character.
            if pattern[at] == "(":
                text, at = alternatives(at + 1)
                at += 1
            else:
                piece = _PATTERN_PIECE.match(pattern, at)
                assert piece is not None
                # An escaped character; the last of a class, before its `]`; or the character
                # itself.
                text = piece[1] or piece[2][-2:-1] or piece[2]
                # A negated class lists what it excludes, seldom an x.
                if piece[0].startswith("[^"):
                    text = "x"
                at = piece.end()
            # `?` leaves the part out; other quantifiers give one copy.
            if quantifier := _QUANTIFIER.match(pattern, at):
                if quantifier[0] == "?":
                    text = ""
                at = quantifier.end()
            written += text
        options.append(written)
        return _picked(options, rng), at

    text, _ = alternatives(0)
    # Whatever is not supported was read as characters.
    if not re.fullmatch(pattern, text):
        raise UsageError(
            f"a script has no answer to the pattern {pattern!r}, only to patterns of groups, "
            "alternatives, classes, escaped punctuation, ?, + and {m,n} with m of 0 or 1"
        )
    return text


def _count_words(prompt: Prompt) -> int:
    """Return the number of words, in place of tokens: a script has no tokenizer."""
    if isinstance(prompt, str):
        return prompt.count(" ") + 1
    return sum(message.content.count(" ") + 1 for message in prompt)


model = ScriptedModel
