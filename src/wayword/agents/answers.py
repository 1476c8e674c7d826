r"""Parse a model's answer, in any wrapping, without guessing.

    >>> reply = Reply.of("<think>b or c?</think>Sure.\n```json\n{\"Action\": \"b\"}\n```")
    >>> reply.text, reply.reasoning
    ('Sure.\n```json\n{"Action": "b"}\n```', 'b or c?')
    >>> fields(reply.text, ["thought", "action"]).all("action")
    ['b']

Three steps, shared by all agents: :class:`Reply` (the text without reasoning and lone surrogates),
:func:`fields` (a JSON object or labeled lines), and matching with the legal actions
(:mod:`~wayword.agents.legal`). An :class:`AnswerForm` declares the fields once, for the request,
the JSON schema and the parser; a :class:`StrategyRecipe` is a form written as text that ends in an
action. Model output is data: it is compared, but never run, opened or shown as markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile, islice, takewhile
from typing import Any, Literal, TypeAlias

from wayword.agents.legal import (
    AROUND,
    LONGEST,
    MARKER,
    Legal,
    Refusal,
    is_negated,
    normalize,
    pick,
    strip_marker,
)
from wayword.core.action import Action, ActionSpace, Decision, Rejection, RejectionKind
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.core.model import Completion, Message, Model, Sampling
from wayword.models.parts.decoding import split_thought

READ_ENDS = 2 * LONGEST
"""Characters read at each end of a raw text. A model that repeats itself up to its token limit
writes megabytes, and parsing them would block every episode of the run. Nothing is lost: the middle
is reasoning, or the answer is too long anyway."""
MOST_VALUES = (
    100  # maximum objects, labels and values of a field; no real answer has more
)
REJECTED_LENGTH = 500  # characters of a rejected answer that are recorded
LONGEST_THOUGHT = 2_000  # characters of a thought that are kept

# Reply: the answer itself, apart from the reasoning around it.

_SURROGATE = re.compile("[\ud800-\udfff]")
_UNFINISHED_WORD = re.compile(r"[^\s\])}\"'`.!?;,]*")
"""The broken last word, matched in the reversed text: a search from the front is quadratic."""
_CUT_OFF = frozenset({"length", "max_tokens", "model_length"})
"""Finish reasons of backends for an answer that ended at its token limit."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer, cleaned for parsing.

    ``text`` may be fed back to the model. It is cut one character after ``LONGEST``, which marks it
    as too long. ``reasoning`` comes from ``<think>`` blocks and must not be fed back. ``cut_off``
    is the reason for a rejection if the answer ended at its token limit, else empty; then ``text``
    omits the incomplete last word.
    """

    text: str
    reasoning: str = ""
    cut_off: str = ""

    @classmethod
    def of(cls, raw: str | Reply, stop: Sequence[str] = (), cut_off: str = "") -> Reply:
        """Return raw text as a reply, cut at the first of ``stop``: not every server honors it."""
        if isinstance(raw, Reply):
            return raw
        if len(raw) > 2 * READ_ENDS:
            raw = raw[:READ_ENDS] + raw[-READ_ENDS:]
        text, reasoning = split_thought(sanitized(raw))
        stop_positions = [
            position for position in map(text.find, stop) if position >= 0
        ]
        if stop_positions:
            text, cut_off = text[: min(stop_positions)], ""
        if cut_off and (unfinished := _UNFINISHED_WORD.match(text[::-1])):
            text = text[: len(text) - unfinished.end()]
        return cls(text[: LONGEST + 1], reasoning, cut_off)

    def reject(self, kind: RejectionKind, reason: str, thought: str = "") -> Rejection:
        """Return a rejection; for a cut-off answer its kind is always ``cut_off``."""
        if self.cut_off:
            kind, reason = "cut_off", self.cut_off
        return Rejection(kind, reason, self.text.strip()[:REJECTED_LENGTH], thought)

    def unreadable(self) -> Rejection | None:
        """Return the rejection of an empty or too long answer; None for others."""
        if not self.text.strip():
            after = "nothing followed the reasoning; answer after it"
            return self.reject(
                "empty", after if self.reasoning else "the answer was empty"
            )
        if len(self.text) > LONGEST:
            reason = f"the answer ran to more than {LONGEST:,} characters; be brief"
            return self.reject("too_long", reason)
        return None

    @property
    def opens_json(self) -> bool:
        """True if the text begins as a JSON object or list, complete or not."""
        return self.text.lstrip()[:1] in ("{", "[")


def replies(
    completion: Completion, sampling: Sampling, setting: str = "max_tokens"
) -> list[Reply]:
    """Return each sample of a completion. ``setting`` is the name of the token limit's setting."""
    limit, usage = sampling.max_tokens, completion.usage
    if len(completion.texts) == 1:  # a backend may grant more, for reasoning
        limit = max(limit, usage.completion)
    problem = f"the answer was cut off at {limit:,} tokens"
    advice = f"raise {setting}, or answer in fewer words"
    if len(completion.texts) == 1 and usage.reasoning > usage.completion / 2:
        problem += f", {usage.reasoning:,} of them thought"
        advice = "raise model.thinking, or think less"
    finish_reasons = [*completion.finish, *("" for _ in completion.texts)]
    return [
        Reply.of(
            text,
            sampling.stop,
            f"{problem}; {advice}" if finish.lower() in _CUT_OFF else "",
        )
        for text, finish in zip(completion.texts, finish_reasons, strict=False)
    ]


def sanitized(text: str) -> str:
    """Return the text without lone surrogates, which cannot be encoded in requests and files."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# Fields: the named parts of an answer, from a JSON object or from labeled lines.


_LINE_START = r"[ \t>*#_\-•]{0,8}(?:\d{1,2}[.)][ \t*_]{0,4})?"
_DECORATION = r"[ \t*_]{0,4}"
_GAP = r"[ \t]{0,8}"  # bounded: three adjacent runs of blanks would take cubic time
FENCE = re.compile(
    r"(?:```|~~~)(?:json|text|txt|python|plaintext|markdown|yaml)?(?![\w])", re.I
)


@dataclass(frozen=True, slots=True)
class AnswerFields:
    """Every value that an answer gives for each field, in order.

    ``before`` is the text before the first field; ``is_json`` is True if an object was found.
    """

    values: Mapping[str, list[Json]] = field(default_factory=dict)
    before: str = ""
    is_json: bool = False

    def all(self, name: str) -> list[Json]:
        return self.values.get(name, [])

    def line(self, *names: str) -> str:
        texts = (value for name in names for value in self.all(name))
        return one_line(
            " ".join(str(v) for v in texts if isinstance(v, str | int | float))
        )


def fields(text: str, names: Collection[str]) -> AnswerFields:
    """Return the fields of an answer, from all its JSON objects and labeled lines.

    ``names`` are lower case; ``action_input`` also matches ``Action Input`` and ``**ACTION
    INPUT:**``. Objects may be in prose or in a fence; a repeated object counts once.
    """
    text = text[:LONGEST]
    objects = list(islice(_objects(text, set(names)), MOST_VALUES))
    values: dict[str, list[Json]] = {}
    rest = text
    for _, start, end in reversed(objects):
        rest = f"{rest[:start]}\n{rest[end:]}"
    for number, (value, _, _) in enumerate(objects):
        if value in (earlier for earlier, _, _ in objects[:number]):
            continue
        for name in names:
            if name in value:
                more = value[name]
                values.setdefault(name, []).extend(
                    more if isinstance(more, _Repeats) else [more]
                )
    rest = FENCE.sub("", rest)
    # Match ``Action:``, ``**Action 1:**``, ``- action :``, and headings without a colon.
    ordered = sorted(names, key=len, reverse=True)
    spelled = "|".join(re.escape(name).replace("_", r"[ \t_]{1,3}") for name in ordered)
    with_colon = rf"{_LINE_START}({spelled}){_DECORATION}\d{{0,3}}{_DECORATION}[:：]"
    heading_start = rf"[ \t>]{{0,8}}(?:#{{1,6}}{_GAP}|\*\*|__)"
    heading_end = rf"{_GAP}\d{{0,3}}(?:\*\*|__)?{_GAP}$"
    heading = rf"{heading_start}({spelled}){heading_end}"
    pattern = re.compile(rf"^(?:{with_colon}|{heading})", re.I | re.MULTILINE)
    labels = list(islice(pattern.finditer(rest), MOST_VALUES))
    label_ends = [*(label.start() for label in labels[1:]), len(rest)]
    for label, end in zip(labels, label_ends, strict=False):
        name = re.sub(
            r"[\s_]+", "_", next(group for group in label.groups() if group).lower()
        )
        body = rest[label.end() : end].strip(" \t\r\n*")
        if body or name not in values:
            values.setdefault(name, []).append(body)
    cut = objects[0][1] if objects and not labels else None
    before = (
        text[:cut] if cut is not None else rest[: labels[0].start()] if labels else rest
    )
    values = {name: each[:MOST_VALUES] for name, each in values.items()}
    return AnswerFields(values, FENCE.sub("", before).strip(), bool(objects))


def one_line(value: object, max_length: int = LONGEST_THOUGHT) -> str:
    """Return a value as text without line breaks."""
    return " ".join(str(value).split())[:max_length]


def items(text: str) -> list[str]:
    """Return the entries of a JSON list, else of a numbered or bulleted one.

    Lines before the list are skipped; the first line without a marker ends it.
    """
    text = text[:LONGEST]
    decoder = json.JSONDecoder(strict=False)
    for start in [match.start() for match in re.finditer(r"\[", text)][:50]:
        try:
            value, _ = decoder.raw_decode(text, start)
        except ValueError:
            continue
        except (
            RecursionError
        ):  # takes milliseconds, and the next bracket raises it again
            break
        if (
            isinstance(value, list)
            and value
            and all(isinstance(item, str) for item in value)
        ):
            return [sanitized(item) for item in value]
    lines = text.splitlines()
    from_first = dropwhile(lambda line: not MARKER.match(line), lines)
    return [strip_marker(line) for line in takewhile(MARKER.match, from_first)]


class _Repeats(list[Any]):
    """The values of a key that occurs several times in an object, with different values."""


def _objects(text: str, names: set[str]) -> Iterator[tuple[dict[str, Json], int, int]]:
    """Yield each outermost JSON object with one of the fields, and its start and end.

    Inside an object without these fields, nested ones are decoded again, which could take quadratic
    time: the search ends after decoding four times the length of the longest answer.
    """
    budget = 4 * LONGEST
    decoder = json.JSONDecoder(object_pairs_hook=_unique_keys, strict=False)
    start = text.find("{")
    while start >= 0 and budget > 0:
        search_from = start + 1
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            value, end = None, error.pos
        except ValueError:  # a number of thousands of digits
            value, end = None, len(text)
        except (
            RecursionError
        ):  # a thousand open brackets are not an answer, and take milliseconds
            return
        budget -= max(
            32, end - start
        )  # a failed attempt takes about as long as 32 characters
        if isinstance(value, dict) and names & value.keys():
            yield value, start, end
            search_from = end
        start = text.find("{", search_from)


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    values: dict[str, Json] = {}
    for written, value in pairs:
        key, value = (
            re.sub(r"[\s_]+", "_", sanitized(written).strip().lower()),
            _sanitize(value),
        )
        if key in values and values[key] != value:
            old = values[key]
            values[key] = _Repeats(
                [*(old if isinstance(old, _Repeats) else [old]), value]
            )
        else:
            values[key] = value
    return values


def _sanitize(value: Json) -> Json:
    """Remove lone surrogates from decoded values: JSON escapes can hide them in ASCII."""
    if isinstance(value, str):
        return sanitized(value)
    return [_sanitize(item) for item in value] if type(value) is list else value


# AnswerForm: the fields of an answer, declared once.


LONGEST_ITEM = 100  # room for an action with its arguments, in characters
_NOTHING = frozenset({"", "none", "nothing", "n/a"})

SEVERAL_ACTIONS = "the answer contained several actions; give exactly one"
BROKEN_JSON = "the answer was not one complete JSON object"

Filled: TypeAlias = dict[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an answer, by default a text; ``about`` tells the model what to write.

    Other kinds: one of ``choices``, a text that matches a ``pattern``, true or false (``flag``), a
    list of any of these (``many``, of ``least`` to ``most`` items), or an object of texts
    (``parts``: name and what to write). ``length``: characters, 0: the form's.
    """

    label: str
    about: str = ""
    length: int = 0
    choices: Collection[str] | None = None
    pattern: str = ""
    flag: bool = False
    many: bool = False
    least: int = 0
    most: int = 0
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        return self.label.lower().replace(" ", "_")

    def schema(self, length: int) -> Json:
        """Return its JSON schema for about ``length`` characters, a quarter of it per list item."""
        length = self.length or length
        if self.flag:
            return {"type": "boolean"}
        characters = max(LONGEST_ITEM, length // 4) if self.many else length
        text: dict[str, Json] = {"type": "string", "maxLength": characters}
        if self.parts:
            return _object_schema({name: text for name, _ in self.parts})
        if self.choices is not None:
            text = {"type": "string", "enum": [*self.choices]}
        elif self.pattern:
            text = {"type": "string", "pattern": self.pattern}
        if not self.many:
            return text
        max_items = self.most or max(12, length // LONGEST_ITEM)
        return {
            "type": "array",
            "items": text,
            "minItems": self.least,
            "maxItems": max_items,
        }

    def value(self, values: Sequence[Json]) -> str | list[str]:
        if not self.many:
            return " ".join(map(one_line, values))
        entries: list[Json] = []
        for each in values:
            as_list = each if isinstance(each, list) else [each]
            entries += each.splitlines() if isinstance(each, str) else as_list
        nonempty = [text for text in map(str, entries) if text.strip()][:MOST_VALUES]
        lines = [one_line(strip_marker(text)) for text in nonempty]
        return [line for line in lines if line.lower().strip(".") not in _NOTHING]


class AnswerForm:
    r"""The fields of an answer, in the order they are written.

    >>> form = AnswerForm(Field("Thought", "why"), Field("Actions", "in order", many=True))
    >>> form.read("Thought: easy\nActions:\n1. Turn left.\n2. Stop.")
    {'thought': 'easy', 'actions': ['Turn left.', 'Stop.']}
    >>> form.read('{"thought": "easy", "actions": ["Stop."]}')
    {'thought': 'easy', 'actions': ['Stop.']}
    """

    def __init__(self, *fields: Field) -> None:
        self.fields = fields

    def request(self, constrained: bool) -> str:
        if constrained:
            listed = "; ".join(f'"{field.key}", {field.about}' for field in self.fields)
            return f"Answer with one JSON object: {listed}."
        lines = (
            f"{f.label}:\n1. {f.about}\n2. ..." if f.many else f"{f.label}: {f.about}"
            for f in self.fields
        )
        return "\n".join(["Answer in exactly this form:", *lines])

    def schema(self, length: int) -> Mapping[str, Json]:
        """Return the JSON schema of a constrained answer, about ``length`` characters per field."""
        return _object_schema(
            {field.key: field.schema(length) for field in self.fields}
        )

    def read(self, text: str) -> Filled | None:
        answer = fields(text, [field.key for field in self.fields])
        filled = {
            field.key: field.value(answer.all(field.key)) for field in self.fields
        }
        return filled if any(filled.values()) else None


def _object_schema(properties: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


# StrategyRecipe: an answer form as one text, whose last field is the action.
#
# Source: LangSuitE (Jia et al. 2024), section 4 and Appendix G: Act, ReAct, ReAct-EmMem.

ARGUMENT = "argument"  # JSON field with the text of actions that take free text
MOST_LISTED = 200  # actions in an enumeration; above, a pattern, which is far shorter
MESSAGE_LENGTH = 200  # minimum limit on the characters of a message to other actors
_SECTION_LINE = re.compile(r"( *)([A-Za-z]+): *(.*)")


@dataclass(frozen=True, slots=True)
class StrategyAnswer:
    """A decision or rejection, and the parts of the answer's sections by name."""

    outcome: Decision | Rejection
    parts: Mapping[str, str]


class StrategyRecipe(AnswerForm):
    r"""The form of an answer, written as one text that is shown verbatim to the model.

    Each section is a line ``Label: what to write``; indented lines below it are its parts; the last
    section is the action. The parser, the JSON schema and the turns of examples are derived from
    it. Raises ``UsageError`` for an invalid text.

        >>> recipe = StrategyRecipe("Thought: what to do next\nAction: exactly one action", "mine")
        >>> [section.key for section in recipe.sections]
        ['thought']
    """

    def __init__(self, text: str, name: str) -> None:
        parsed: list[Field] = []
        for line in text.strip("\n").splitlines():
            match = _SECTION_LINE.fullmatch(line.rstrip())
            if match is None or (match.group(1) and not parsed):
                raise UsageError(
                    f"recipe {name}: {line!r} does not read 'Label: what to write'"
                )
            indent, label, about = match.groups()
            if indent:
                parsed[-1] = replace(
                    parsed[-1], parts=(*parsed[-1].parts, (label.lower(), about))
                )
            else:
                parsed.append(Field(label, about))
        keys = [field.key for field in parsed]
        if not keys or keys[-1] not in ("action", "act") or len(set(keys)) < len(keys):
            raise UsageError(
                f"recipe {name}: the last section, and no other, must be 'Action:'"
            )
        super().__init__(*parsed)
        self.text, self.sections, self.action = (
            text.strip("\n"),
            self.fields[:-1],
            self.fields[-1],
        )

    def schema_for(self, space: ActionSpace, length: int) -> Mapping[str, Json]:
        """Return the schema that :meth:`decision` reads: the sections, ``action``, and ``argument``
        if some action takes free text.

        Stopping is one of the actions: if asked in a yes/no field of its own, the embedded model
        says yes at the first step (8 of 8 first prompts, against 0 of 6 this way).
        """
        if len(space) > MOST_LISTED or space.forms:
            action = replace(self.action, pattern=pattern(space))
        else:
            listed = dict.fromkeys([*map(str, space.listed), *space.open_verbs])
            action = replace(self.action, choices=listed)
        if not space.open_verbs:
            return AnswerForm(*self.sections, action).schema(length)
        argument = Field(ARGUMENT, length=max(MESSAGE_LENGTH, length))
        return AnswerForm(*self.sections, action, argument).schema(length)

    def decision(self, answer: str | Reply, legal: Legal) -> StrategyAnswer:
        """Parse labeled lines, or the JSON object of :meth:`schema_for`, to one legal action or a
        rejection. Text before the first label belongs to the first section."""
        reply = Reply.of(answer)
        if (unreadable := reply.unreadable()) is not None:
            return StrategyAnswer(unreadable, {})
        read = fields(reply.text, [*(field.key for field in self.fields), ARGUMENT])
        parts = {
            k: v
            for s in self.sections
            for k, v in _parts_of(read.all(s.key), s).items()
        }
        texts = [
            "; ".join(
                f"{name}: {one_line(words, LONGEST)}" for name, words in value.items()
            )
            if isinstance(value, dict)
            else str(value)[:LONGEST]
            for section in self.sections
            for value in read.all(section.key)
        ]
        if read.values and self.sections and not (read.is_json and any(texts)):
            texts.insert(0, read.before)
        thought = one_line(" ".join(texts))
        words = [text for text in read.all(self.action.key) if isinstance(text, str)]
        has_second_action = bool(words) and isinstance(
            legal.read_unlabeled(read.before), Action
        )
        outcome: Action | Refusal | None
        if len(words) > 1 or has_second_action:
            outcome = Refusal("several_actions", SEVERAL_ACTIONS)
        elif words:
            argument = read.line(ARGUMENT)
            completed = f"{words[0]}[{argument}]"
            outcome = legal.read(
                completed if argument and legal.takes_text(words[0]) else words[0]
            )
            if argument and isinstance(outcome, Refusal) and "[" not in words[0]:
                action = legal.read(completed)
                outcome = action if isinstance(action, Action) else outcome
        elif read.is_json:
            outcome = Refusal("no_action", "the answer has no field 'action'")
        elif reply.opens_json:
            outcome = Refusal("no_action", BROKEN_JSON)
        else:
            problem = "the answer has no line that begins with 'Action:'"
            outcome = legal.read_unlabeled(reply.text) or Refusal("no_action", problem)
        if isinstance(outcome, Action):
            return StrategyAnswer(Decision(outcome, thought), parts)
        return StrategyAnswer(
            reply.reject(outcome.kind, outcome.reason, thought), parts
        )


def _parts_of(values: Sequence[Json], section: Field) -> dict[str, str]:
    """Return the parts of a section: fields of an object, or ``name: words`` on separate lines or
    between semicolons."""
    names = [name for name, _ in section.parts]
    part_start = rf"(?:^|[;\n])[ \t>*#_\-]{{0,8}}({'|'.join(names)})[ \t*_]{{0,4}}[:=]"
    parts: dict[str, str] = {}
    for value in values if names else ():
        if isinstance(value, dict):
            pairs = [(name, value[name]) for name in names if name in value]
        else:
            body = str(value)
            part_labels = list(re.finditer(part_start, body, re.I))
            part_ends = [*(label.start() for label in part_labels[1:]), len(body)]
            pairs = [
                (label[1].lower(), body[label.end() : end].strip(" \t\r\n;*"))
                for label, end in zip(part_labels, part_ends, strict=False)
            ]
        for name, words in pairs:
            parts.setdefault(name, one_line(words, LONGEST))
    return parts


def pattern(space: ActionSpace) -> str:
    """Return a regular expression for the listed actions: each verb once, with the words for each
    argument. It also matches unlisted combinations, which the parser rejects."""
    slots: dict[tuple[str, int], list[dict[str, None]]] = {}
    for action in space.listed:
        words = action.arguments
        options = slots.setdefault((action.name, len(words)), [{} for _ in words])
        for option, word in zip(options, words, strict=True):
            option[re.sub(r"([\\.^$*+?()\[\]{}|/])", r"\\\1", word)] = None
    patterns = []
    for (verb, count), options in slots.items():
        arguments = ", ".join(f"({'|'.join(each)})" for each in options)
        patterns.append(rf"{verb}\[{arguments}\]" if count else verb)
    return (
        f"^({'|'.join(dict.fromkeys([*patterns, *space.forms, *space.open_verbs]))})$"
    )


# A choice: one of several names, alone (LGX), or with a thought and an option to stop (NavGPT,
# DiscussNav).

STOP_WORDS = (
    "stop",
    "finish",
    "finished",
)  # words that end the walk, in place of a name
_TOOL_NAME = (
    "action maker"  # the tool's name in NavGPT's prompts; the chosen name is its input
)
_NAME_FIELDS = ("action_input", "prediction", "action")  # fields that hold the name

Decoding = Literal["constrained", "free"]
_PICK_FIELDS = ("answer", "final_answer", "object", "choice", "direction")
"""Labels and JSON fields that models put before the name."""


async def ask(
    model: Model,
    messages: Sequence[Message],
    names: Sequence[str],
    decoding: Decoding,
    limit: int,
    temperature: float = 0.0,
    seed: int | None = None,
) -> Reply:
    """Ask a question whose answer is one of the names (see ``read_pick``).

    ``constrained`` restricts the model to the names; ``free`` accepts any text of up to ``limit``
    tokens. Both are parsed alike, because a model may ignore a constraint.
    """
    choices = tuple(names) if decoding == "constrained" else None
    sampling = Sampling(
        max_tokens=limit, temperature=temperature, seed=seed, choices=choices
    )
    return replies(await model.complete(messages, sampling), sampling)[0]


def read_pick(answer: str | Reply, names: Sequence[str]) -> str | Rejection:
    """Return the name in an answer: alone, or as the only one in its first line."""
    reply = Reply.of(answer)
    if (unreadable := reply.unreadable()) is not None:
        return unreadable
    read = fields(reply.text, _PICK_FIELDS)
    answers = [str(value) for name in _PICK_FIELDS for value in read.all(name)]
    picked = pick("\n".join(answers) or reply.text, names, anywhere=True)
    if isinstance(picked, str):
        return picked
    reason = "the answer names nothing that was listed"
    return reply.reject(
        picked.kind, reason if picked.kind == "unknown" else picked.reason
    )


@dataclass(frozen=True, slots=True)
class NamedAnswer:
    """The thought of an answer, and the chosen name, or None to stop."""

    thought: str
    choice: str | None


def read_choice(
    answer: str | Reply,
    legal: Collection[str],
    other_names: Collection[str] = (),
    missing_fields: str = "'Action Input:' and no 'Final Answer:'",
    kind: str = "an ID of this place",
) -> NamedAnswer | Rejection:
    """Parse ``{"thought", "arrived", "action"}`` or lines with these labels; ``Action Input`` and
    ``Prediction`` also label the action, which is ignored if ``arrived`` is true.

    ``legal`` are the names that can be chosen now; ``other_names`` that the agent has seen, the
    ``missing_fields`` and the ``kind`` of name are for reasons of rejections.
    """
    reply = Reply.of(answer)
    if (unreadable := reply.unreadable()) is not None:
        return unreadable
    read = fields(reply.text, ("thought", "arrived", "final_answer", *_NAME_FIELDS))
    thought = labeled = read.line("thought")
    if not (read.is_json and labeled):
        thought = one_line(f"{read.before if read.values else ''} {labeled}")
    truths = {"true": True, "false": False}
    arrivals = [
        truths.get(str(value).strip(" .!*").lower()) for value in read.all("arrived")
    ]
    if None in arrivals or len(set(arrivals)) > 1:
        return reply.reject(
            "no_action", '"arrived" must be true or false, once', thought
        )
    if True in arrivals:
        return NamedAnswer(thought, None)
    words, endings = (
        _choice_words(read, legal),
        [str(text) for text in read.all("final_answer")],
    )
    if len(words) + len(endings) > 1:
        return reply.reject("several_actions", SEVERAL_ACTIONS, thought)
    if endings:  # unless it takes itself back or continues to a place
        if isinstance(pick(endings[0], legal), str):
            reason = "'Final Answer:' ends the walk and names no place; give that or an action"
            return reply.reject("several_actions", reason, thought)
        if is_negated(endings[0].partition("\n")[0], "arrived"):
            return reply.reject("no_action", "the final answer negates itself", thought)
        return NamedAnswer(thought, None)
    names = [*legal, *(word for word in STOP_WORDS if word not in legal)]
    bare = "" if read.values or reply.opens_json else reply.text
    chosen = pick(words[0] if words else bare, names)
    if isinstance(chosen, str):
        stops = chosen in STOP_WORDS and chosen not in legal
        return NamedAnswer(thought, None if stops else chosen)
    if not words:
        is_broken_json = reply.opens_json and not read.is_json
        reason = (
            BROKEN_JSON if is_broken_json else f"the answer has no {missing_fields}"
        )
        return reply.reject("no_action", reason, thought)
    if chosen.kind == "empty":
        return reply.reject("empty", "the action named no ID", thought)
    if chosen.kind != "unknown":
        return reply.reject(chosen.kind, chosen.reason, thought)
    name = words[0].strip(AROUND)
    problem = (
        "cannot be reached from here in one move"
        if name in other_names
        else f"is not {kind}"
    )
    reason = f"{name[:80]!r} {problem}; choose one of: {', '.join(legal) or 'none'}"
    return reply.reject(
        "illegal" if name in other_names else "unknown", reason, thought
    )


def choice_schema(
    label: str, legal: Collection[str], thought_length: int
) -> Mapping[str, Json]:
    """Return the JSON schema that :func:`read_choice` accepts, with ``label`` for the action.

    The order follows the questions of NavGPT's principle. With one field for an ID or the word
    "finish", a small model finishes immediately: a plain word is more probable than any ID.
    """
    parts = [Field("Thought"), Field("Arrived", flag=True)]
    parts += [Field(label, choices=legal)] if legal else []
    return AnswerForm(*parts).schema(thought_length)


def _choice_words(answer: AnswerFields, legal: Collection[str]) -> list[str]:
    """Return the words for the name. Next to an input or a prediction, an action is the name of a
    tool, unless it is legal."""
    inputs, predictions, actions = (
        [str(value) for value in answer.all(key) if isinstance(value, str | int)]
        for key in _NAME_FIELDS
    )
    actions = [words for words in actions if normalize(words) != _TOOL_NAME]
    if inputs or predictions:
        actions = [words for words in actions if isinstance(pick(words, legal), str)]
    choices = [*inputs, *dict.fromkeys(predictions), *actions]
    return [
        words for words in choices if words.strip()
    ] or choices  # an empty field names nothing
