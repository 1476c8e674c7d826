"""Models that answer from a list, a function or a file: for tests, demos and teaching.

They are ordinary models: the answers are counted, recorded and cached like any other.
"""

from __future__ import annotations

import inspect
import json
import math
import random
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import DataError, ModelError, UsageError, suggest
from wayword.core.files import sha256
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, Usage

Answer = str | Completion
Answers = Callable[[Prompt, Sampling], Answer | Awaitable[Answer]]
"""From prompt and sampling to what the model says; it may be a coroutine."""

_NOISE = "qwertzuiop asdfghjkl yxcvbnm 0123456789 []{}()<>:;,.!? \n\t\"'\\/äöü…"


@dataclass(frozen=True, slots=True)
class ScriptedSettings:
    """Settings of ``scripted:``.

    ``repeat`` starts a list of answers over when it is used up, instead of failing. ``seed`` and
    ``length`` (characters) are for ``scripted:noise``.
    """

    repeat: bool = False
    seed: int = 0
    length: int = 100


class ScriptedModel(Model):
    """A model whose answers are known beforehand.

    >>> model = ScriptedModel(answers=["left", "stop"])
    >>> model = ScriptedModel(answers=lambda prompt, sampling: "left")

    By name: ``scripted:first`` gives the first legal answer (the first of ``choices``, the
    smallest value a JSON schema allows), ``scripted:noise`` gives noise unless it is constrained,
    ``scripted:echo`` the end of the prompt, and ``scripted:answers.jsonl`` one answer a line (a
    JSON string, or an object with the field ``text``).

    ``choose`` takes the option a script names (after white space is cut), else the first one.
    Raises ``ModelError`` when a list of answers is used up.
    """

    def __init__(
        self,
        name: str = "script",
        settings: ScriptedSettings | None = None,
        *,
        answers: Answers | Iterable[Answer] | None = None,
    ) -> None:
        self._name = f"scripted:{name}"
        given = settings or ScriptedSettings()
        identity = self._name if given == ScriptedSettings() else f"{self._name} {given}"
        if answers is None:
            answers = _by_name(name, given)
            if not callable(answers):
                identity += f" {sha256(Path(name))}"
        self.identity: str = identity
        """Name, settings and the script's content: what decides about the answers."""
        self._answers = answers if callable(answers) else _List(answers, given.repeat, self._name)

    Settings = ScriptedSettings

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """What the script says, ``sampling.n`` times. Raises ``ModelError``."""
        said = [await self._said(prompt, sampling) for _ in range(sampling.n)]
        if isinstance(said[0], Completion):
            return said[0]
        texts = tuple(str(answer) for answer in said)
        usage = Usage(_words(prompt), sum(text.count(" ") + 1 for text in texts))
        return Completion(texts, ("stop",) * len(texts), usage)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """The option the script names, at probability 0.9; the others share the rest."""
        if not options:
            raise ModelError(f"{self._name}: choose needs at least one option")
        answer = await self._said(prompt, Sampling(choices=tuple(options)))
        said = (answer.text if isinstance(answer, Completion) else answer).strip()
        best = next((i for i, option in enumerate(options) if option.strip() == said), 0)
        rest = math.log(0.1 / max(1, len(options) - 1))
        logprobs = tuple(math.log(0.9) if i == best else rest for i in range(len(options)))
        return Choice(tuple(options), logprobs, Usage(_words(prompt), 1))

    async def aclose(self) -> None:
        """Nothing to release."""

    async def _said(self, prompt: Prompt, sampling: Sampling) -> Answer:
        said = self._answers(prompt, sampling)
        if inspect.isawaitable(said):
            return await said
        return said


class _List:
    """Answers handed out one by one."""

    def __init__(self, answers: Iterable[Answer], repeat: bool, name: str) -> None:
        self._answers, self._repeat, self._name = list(answers), repeat, name
        self._next = 0
        self._lock = threading.Lock()

    def __call__(self, prompt: Prompt, sampling: Sampling) -> Answer:
        with self._lock:
            here, self._next = self._next, self._next + 1
        if here >= len(self._answers) and not (self._repeat and self._answers):
            raise ModelError(f"{self._name}: the script's {len(self._answers)} answers are used up")
        return self._answers[here % len(self._answers)]


def _by_name(name: str, settings: ScriptedSettings) -> Answers | Iterable[Answer]:
    if name.endswith(".jsonl"):
        return _read(Path(name))
    if name == "noise":
        return _Noise(settings)
    known: dict[str, Answers] = {"first": _first, "echo": _echo}
    if name not in known:
        names = [*known, "noise", "FILE.jsonl"]
        raise UsageError(f"no script is called {name!r}; {suggest(name, names)}")
    return known[name]


def _read(path: Path) -> list[Answer]:
    """One answer a line. Raises ``DataError``."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, "", f"cannot be read: {error}") from None
    answers: list[Answer] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            answers.append(_answer(path, number, line))
    return answers


def _answer(path: Path, number: int, line: str) -> str:
    try:
        value = json.loads(line)
    except ValueError:
        raise DataError(path, f"line {number}", "is not JSON") from None
    text = value.get("text") if isinstance(value, dict) else value
    if not isinstance(text, str):
        raise DataError(path, f"line {number}", "is neither a string nor has a string 'text'")
    return text


def _first(prompt: Prompt, sampling: Sampling) -> str:
    if sampling.choices:
        return sampling.choices[0]
    if sampling.json_schema is not None:
        return json.dumps(smallest(sampling.json_schema), ensure_ascii=False)
    return ""


def _echo(prompt: Prompt, sampling: Sampling) -> str:
    last = prompt if isinstance(prompt, str) else prompt[-1].content
    return last[-sampling.max_tokens :]


class _Noise:
    """Free answers are noise, the same for a seed; constrained ones are a random legal value."""

    def __init__(self, settings: ScriptedSettings) -> None:
        self._rng = random.Random(settings.seed)
        self._length = settings.length

    def __call__(self, prompt: Prompt, sampling: Sampling) -> str:
        if sampling.choices:
            return self._rng.choice(sampling.choices)
        if sampling.json_schema is not None:
            return json.dumps(smallest(sampling.json_schema, self._rng), ensure_ascii=False)
        return "".join(self._rng.choices(_NOISE, k=self._length))


def smallest(
    schema: Mapping[str, Json], rng: random.Random | None = None, root: Mapping[str, Json] = {}
) -> Json:
    """A small value the schema allows: the first of every enumeration, or one drawn by ``rng``.

    Understands what agents use: ``enum``, ``const``, ``anyOf``, ``oneOf``, ``$ref``, objects,
    arrays, strings, numbers, booleans and null.
    """
    root = root or schema
    if "$ref" in schema:
        return smallest(_referred(str(schema["$ref"]), root), rng, root)
    if "const" in schema:
        return schema["const"]
    for word in ("enum", "anyOf", "oneOf"):
        if schema.get(word):
            options = schema[word]
            picked = rng.choice(options) if rng else options[0]
            return picked if word == "enum" else smallest(picked, rng, root)
    return _typed(schema, rng, root)


def _typed(schema: Mapping[str, Json], rng: random.Random | None, root: Mapping[str, Json]) -> Json:
    kind = schema.get("type", "object" if "properties" in schema else "null")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        fields: dict[str, Any] = schema.get("properties", {})
        return {name: smallest(inner, rng, root) for name, inner in fields.items()}
    if kind == "array":
        item = schema.get("items", {})
        return [smallest(item, rng, root) for _ in range(schema.get("minItems", 0))]
    if kind == "string" and "pattern" in schema:
        return _matching(str(schema["pattern"]).strip("^$"), rng)
    if kind == "string":
        return "x" * int(schema.get("minLength", 0))
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return False if kind == "boolean" else None


_PIECE = re.compile(r"\\(.)|(\[[^\]]+\]|.)")


def _matching(pattern: str, rng: random.Random | None) -> str:
    """A text for a pattern of groups, alternatives, classes, escapes and ``+`` or ``?``: of
    alternatives the first or one that is drawn, of a class its last sign, nothing optional.

    >>> _matching(r"(goto\\[(a|b)\\]|turn\\[-?[0-9]+\\]|stop)", None)
    'goto[a]'
    """
    options = _alternatives(pattern)
    if len(options) > 1:
        return _matching(rng.choice(options) if rng else options[0], rng)
    made, at = "", 0
    while at < len(pattern):
        if pattern[at] == "(":
            end = at + _group(pattern[at:])
            text = _matching(pattern[at + 1 : end - 1], rng)
        else:
            piece = _PIECE.match(pattern, at)
            assert piece is not None
            end, text = piece.end(), piece[1] or (piece[2][-2:-1] or piece[2])
        optional = pattern[end : end + 1] == "?"
        made += "" if optional else text
        at = end + (pattern[end : end + 1] in ("?", "+"))
    return made


def _group(text: str) -> int:
    """The length of the group that a text begins with."""
    depth = 0
    for piece in _PIECE.finditer(text):
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if depth == 0:
            return piece.end()
    return len(text)


def _alternatives(pattern: str) -> list[str]:
    """What stands between the bars that are in no group."""
    depth, cuts = 0, [-1]
    for piece in _PIECE.finditer(pattern):
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if piece[0] == "|" and depth == 0:
            cuts.append(piece.start())
    return [pattern[a + 1 : b] for a, b in zip(cuts, [*cuts[1:], len(pattern)], strict=True)]


def _referred(reference: str, root: Mapping[str, Json]) -> Mapping[str, Json]:
    node: Any = root
    for step in reference.removeprefix("#/").split("/"):
        node = node[step]
    found: Mapping[str, Json] = node
    return found


def _words(prompt: Prompt) -> int:
    """Words stand in for tokens: a script has no tokeniser."""
    if isinstance(prompt, str):
        return prompt.count(" ") + 1
    return sum(message.content.count(" ") + 1 for message in prompt)


model = ScriptedModel
