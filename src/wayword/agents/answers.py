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
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, dropwhile, islice, takewhile
from random import Random
from typing import Any, Literal, TypeAlias

from wayword.agents.legal import (
    AROUND,
    MARKER,
    Legal,
    Refusal,
    clauses,
    ends_negated,
    in_order,
    is_negation,
    is_nothing,
    normalize,
    pick,
    row,
    strip_marker,
)
from wayword.agents.retractions import LONGEST, is_retracted
from wayword.core.action import Action, ActionSpace, Decision, Rejection, RejectionKind
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.core.model import Completion, Message, Model, Sampling
from wayword.core.visible import single_line
from wayword.models.parts.calling import object_schema
from wayword.models.parts.decoding import (
    cut,
    is_quoted,
    json_values,
    plain,
    split_thought,
    without_surrogates,
)
from wayword.models.parts.written_calls import FLAT_ARGUMENTS, as_objects

READ_ENDS = 2 * LONGEST
"""Characters read at each end of a raw text. A model that repeats itself up to its token limit
writes megabytes, and parsing them would block every episode of the run. Nothing is lost: the middle
is reasoning, or the answer is too long anyway."""
# Maximum objects, labels and values of a field; no real answer has more
MOST_VALUES = 100
REJECTED_LENGTH = 500  # characters of a rejected answer that are recorded
LONGEST_THOUGHT = 2_000  # characters of a thought that are kept
one_line = partial(single_line, most=LONGEST_THOUGHT)
"""A text without line breaks."""

# Reply: the answer itself, apart from the reasoning around it.

_UNFINISHED_WORD = re.compile(r"[^\s\])}\"'`.!?;,]*")
"""The broken last word, matched in the reversed text: a search from the front is quadratic."""
_CUT_OFF = row("length max_tokens model_length model_context_window_exceeded")
"""Finish reasons of backends for an answer that ended at its token limit."""
_WITHHELD = row(
    "content_filter safety recitation prohibited_content refusal sensitive blocklist spii"
)
"""Finish reasons of backends for an answer that a filter held back, which may then be empty."""
_TOKEN = re.compile(
    r"<[|｜][\w▁/ -]{1,40}[|｜]>|</?s>|<(?:bos|eos|pad|bot_end|end_code|(?:start|end)_of_turn)>"
    r"|\[/?INST\]|\n(?-i:PAUSE|Obs(?:e(?:r(?:v(?:a\w*)?)?)?)?)\s*\Z",
    re.I,
)
"""Special tokens of chat templates, which some servers leave in the text, and the beginning of the
turn at which a server stopped."""
_JSON_START = re.compile(r"\s*(?:\{|\[\s*(?:[\[{\"\]\d-]|$))")
"""The beginning of an object or a list; ``[stop]`` is an action in brackets."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer, cleaned for parsing.

    ``text`` may be fed back to the model. It is cut one character after ``LONGEST``, which marks it
    as too long. ``reasoning`` comes from ``<think>`` blocks and must not be fed back. ``cut_off``
    is the reason for a rejection if the answer ended at its token limit, else empty; then ``text``
    omits the incomplete last word. ``withheld``: a filter of the server held the answer back.
    """

    text: str
    reasoning: str = ""
    cut_off: str = ""
    withheld: bool = False

    @classmethod
    def of(cls, raw: str | Reply, stop: Sequence[str] = (), cut_off: str = "") -> Reply:
        """Return raw text as a reply, cut at the first of ``stop``: not every server honors it."""
        if isinstance(raw, Reply):
            return raw
        # Both ends are kept: the answer is at the end, a label may be at the beginning.
        if len(raw) > 2 * READ_ENDS:
            raw = raw[:READ_ENDS] + raw[-READ_ENDS:]
        text, reasoning = split_thought(without_surrogates(raw))
        text = as_objects(plain(text))
        # The first text between special tokens: those before it are the beginning of a turn.
        text = next(filter(str.strip, _TOKEN.split(text)), "")
        text, finish = cut(text, "", stop)
        if finish:
            cut_off = ""
        # Half a word might be read as another name.
        if cut_off and (unfinished := _UNFINISHED_WORD.match(text[::-1])):
            text = text[: len(text) - unfinished.end()]
        return cls(text[: LONGEST + 1], reasoning, cut_off)

    def reject(self, kind: RejectionKind, reason: str, thought: str = "") -> Rejection:
        """Return a rejection; for a cut-off answer its kind is always ``cut_off``."""
        if self.cut_off:
            kind = "cut_off"
            reason = self.cut_off
        return Rejection(kind, reason, self.text.strip()[:REJECTED_LENGTH], thought)

    def unreadable(self) -> Rejection | None:
        """Return the rejection of an empty or too long answer; None for others."""
        # Empty and too long answers fail before any parsing.
        if not self.text.strip():
            reason = "the answer was empty"
            if self.withheld:
                reason = "the server's content filter withheld the answer"
            elif self.reasoning:
                reason = "nothing followed the reasoning; answer after it"
            return self.reject("empty", reason)
        if len(self.text) > LONGEST:
            reason = f"the answer ran to more than {LONGEST:,} characters; be brief"
            return self.reject("too_long", reason)
        return None

    @property
    def opens_json(self) -> bool:
        """True if the text begins as a JSON object or list, complete or not."""
        return _JSON_START.match(self.text) is not None


def replies(
    completion: Completion,
    sampling: Sampling,
    setting: str = "max_tokens",
) -> list[Reply]:
    """Return each sample of a completion. ``setting`` is the name of the token limit's setting."""
    limit = sampling.max_tokens
    usage = completion.usage
    is_single = len(completion.texts) == 1
    if is_single:  # a backend may grant more, for reasoning
        limit = max(limit, usage.completion)
    problem = f"the answer was cut off at {limit:,} tokens"
    advice = f"raise {setting}, or answer in fewer words"
    # Mostly thinking: a longer answer would not help.
    if is_single and usage.reasoning > usage.completion / 2:
        problem += f", {usage.reasoning:,} of them thought"
        advice = "raise model.thinking, or think less"
    # Backends may give fewer reasons than texts.
    finish_reasons = [*completion.finish, *("" for _ in completion.texts)]
    # A reason of its own per sample: one may be cut off, and the next one not.
    found = list[Reply]()
    for text, finish in zip(completion.texts, finish_reasons, strict=False):
        cut_off = f"{problem}; {advice}" if finish.lower() in _CUT_OFF else ""
        reply = Reply.of(text, sampling.stop, cut_off)
        found.append(replace(reply, withheld=finish.lower() in _WITHHELD))
    return found


# Fields: the named parts of an answer, from a JSON object or from labeled lines.


_LINE_START = r"(?:[^\w\s\"'<({\[.,:;!?]|[ \t_]){0,8}(?:\d{1,2}[.)][ \t*_]{0,4})?"
_DECORATION = r"[ \t*_]{0,4}"
_NUMBER = r"(?:#?\d{0,3}|\([\w/ ]{1,12}\))"  # "Action 1", "Action (final)"
_ADJECTIVES = (
    r"(?:(?:the|my|next|final|chosen|selected|recommended|best)[ \t_]{1,3}){0,2}"
)
_TABLE = re.compile(r"^[^|\n]*\|.*\n(?=.*--)[ \t|:-]+$(?:\n[^|\n]*\|.*)*", re.MULTILINE)
"""A table of Markdown: its head, the rule below it, and its rows."""
_CELL_END = re.compile(r"[ \t*`]*\|[ \t*`]*")
_GAP = r"[ \t]{0,8}"  # bounded: three adjacent runs of blanks would take cubic time
_OTHERS_TURNS = row("observation human user environment")
_ACTION_FIELDS = frozenset(row("action act action_input prediction"))
_LANGUAGES = (
    "json|jsonc|text|txt|python|py|plaintext|markdown|md|yaml|yml|xml|html|bash|shell|sh|zsh"
    "|console|code|tool_code|tool_call|action|output|javascript|js"
)
FENCE = re.compile(rf"(?:```|~~~)(?:{_LANGUAGES})?(?![\w])", re.I)
"""A fence with the languages that models write after it; another word may be the action."""


@dataclass(frozen=True, slots=True)
class AnswerFields:
    """Every value that an answer gives for each field, in order.

    ``before`` is the text before the first field; ``is_json`` is True if an object was found.
    """

    values: Mapping[str, list[Json]]
    before: str
    is_json: bool

    def all(self, *names: str) -> list[Json]:
        """Return the values of the named fields, in the order of the names."""
        return list(chain.from_iterable(self.values.get(name, ()) for name in names))

    def texts(self, *names: str) -> list[str]:
        """Return the values as texts, those of lists and objects in one line."""
        values = self.all(*names)
        return [v if isinstance(v, str) else as_argument(v) for v in values]

    def line(self, *names: str) -> str:
        """Return the values in one line, for a thought that quotes them."""
        values = [v for v in self.all(*names) if isinstance(v, str | int | float)]
        return one_line(" ".join(map(str, values)))


def fields(
    text: str, names: Collection[str], keys: Collection[str] = ()
) -> AnswerFields:
    """Return the fields of an answer, from all its JSON objects and labeled lines.

    ``names`` are lower case; ``action_input`` also matches ``Action Input``, ``**ACTION INPUT:**``
    and ``<action_input>``. ``keys`` are read from objects alone. Objects may be in prose or in a
    fence; a repeated object counts once. An observation that the model invents after an action ends
    the answer.
    """
    # Longer texts are rejected anyway.
    text = _TABLE.sub(partial(_as_lines, names), text[:LONGEST])
    values: dict[str, list[Json]] = {}
    outside = []  # the text between the objects
    end = 0
    # Objects first; what is outside of them may hold labeled lines.
    found = json_values(text, "{", lambda value: value.keys() & names, _DECODER)
    for value, start, object_end in found:
        # What follows a turn of others, the model invents.
        if values.keys() & _ACTION_FIELDS and _label_pattern(()).search(
            text, end, start
        ):
            break
        is_argument = value.is_argument and _IN_CALL.search(
            text[max(0, start - 9) : start]
        )
        if is_quoted(text, start) or is_argument:
            continue
        outside.append(text[end:start])
        end = object_end
        for name, given in value.pairs:
            is_asked = name in names or name in keys
            # A repeated object adds nothing.
            if is_asked and given not in values.get(name, ()):
                values.setdefault(name, []).append(given)
    rest = FENCE.sub("", "\n".join([*outside, text[end:]]))
    found_labels = islice(_label_pattern(tuple(names)).finditer(rest), MOST_VALUES)
    # "I will not use <action>stop</action> yet" names a tag that is not meant.
    labels = [
        label
        for label in found_labels
        if label[0][0] != "<" or not ends_negated(rest[: label.start()])
    ]
    label_ends = [*(label.start() for label in labels[1:]), len(rest)]
    for label, end in zip(labels, label_ends, strict=False):
        written = label[label.lastindex or 0]
        name = _WORD_GAP.sub("_", written.lower())
        if name not in names:
            # A label that is not asked for ends the answer once an action was given.
            if values.keys() & _ACTION_FIELDS:
                break
            continue
        # Up to the next label, or to the closing tag.
        body = rest[label.end() : end].split(f"</{written}>")[0]
        body = body.strip(" \t\r\n*")
        # What is left of a list of objects once they are read
        if not body.strip(" \t\r\n[],"):
            body = ""
        if values.get(name) == [""]:  # a label that only announced this one
            values[name] = []
        # An empty body counts only if there is no other.
        if body or not values.get(name):
            values.setdefault(name, []).append(body)
    before = [*outside, rest][0]
    if labels:
        before = rest[: labels[0].start()]
    values = {name: each[:MOST_VALUES] for name, each in values.items()}
    return AnswerFields(values, FENCE.sub("", before).strip(), bool(outside))


def _as_lines(names: Collection[str], table: re.Match[str]) -> str:
    """Return a table with a column of one of the names as lines with labels, any other as it is."""
    lines = table[0].splitlines()
    # The second line is the rule below the head.
    head, _, *rows = (_CELL_END.split(line.strip(" \t|*`")) for line in lines)
    columns = {_WORD_GAP.sub("_", cell.lower()) for cell in head}
    if not rows or columns.isdisjoint(names):
        return table[0]
    labeled: list[str] = []
    for cells in rows:
        # A row may have fewer cells than the head.
        labeled += map(": ".join, zip(head, cells, strict=False))
    return "\n".join(labeled)


@lru_cache(maxsize=64)
def _label_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Match ``Action:``, ``**Action 1:**``, ``- action :``, ``<action>``, and headings without a
    colon; also those of others' turns, which are not the model's to write after an action."""
    # Longest first, so that ``action_input`` is not read as ``action``.
    longest_first = sorted({*names, *_OTHERS_TURNS}, key=len, reverse=True)
    spelled = [re.escape(name).replace("_", r"[ \t_]{1,3}") for name in longest_first]
    name = f"({'|'.join(spelled)})"
    with_colon = (
        rf"{_LINE_START}{_ADJECTIVES}{name}{_DECORATION}{_NUMBER}{_DECORATION}"
        # The head of a table of several columns is no label.
        r"(?:[:：=→]|\|(?![^\n]*\|[^\n]*\w)|->|[-–—]\s)"
    )
    in_brackets = rf"[ \t]{{0,8}}[\[【]{name}[\]】][ \t]{{0,8}}[:：]?"
    heading_start = rf"[ \t>]{{0,8}}(?:#{{1,6}}{_GAP}|\*\*|__)"
    heading = rf"{heading_start}{name}{_GAP}\d{{0,3}}(?:\*\*|__)?{_GAP}$"
    return re.compile(
        rf"^(?:{with_colon}|{heading}|{in_brackets})|<{name}(?:\s[^<>]{{0,80}})?>",
        re.IGNORECASE | re.MULTILINE,
    )


def items(text: str) -> list[str]:
    """Return the entries of a JSON list, else of a numbered or bulleted one.

    Lines before the list are skipped; the first line without a marker ends it.
    """
    text = text[:LONGEST]
    # A JSON list wins over lines.
    for value, _, _ in json_values(
        text, "[", lambda found: found and all(isinstance(item, str) for item in found)
    ):
        return list(value)
    lines = text.splitlines()
    # The list begins at its first marker.
    from_first = dropwhile(lambda line: not MARKER.match(line), lines)
    return [strip_marker(line) for line in takewhile(MARKER.match, from_first)]


class _Object(dict[str, Any]):
    """A decoded JSON object; ``pairs`` keep the values of repeated keys."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        self.pairs: list[tuple[str, Any]] = []
        named = [(_as_key(key), value) for key, value in pairs]
        first = next(iter(named), ("", None))
        # Arguments around the answer itself
        is_around = len(named) == 1 and first[0] in ARGUMENT_FIELDS
        if is_around and isinstance(first[1], _Object):
            named = first[1].pairs
        keys = [name for name, _ in named]
        self.is_call = any(key in ARGUMENT_FIELDS for key in keys)
        # In the brackets of a call: ``goto({"input": "pot_1"})``
        self.is_argument = all(key in ARGUMENT_FIELDS for key in keys)
        # A call inside an action is the action itself.
        for name, value in named:
            if name in _CALLED and isinstance(value, _Object) and value.is_call:
                self.pairs += value.pairs  # {"action": {"name": …, "arguments": …}}
            else:
                if self.is_call and name in _CALLED:
                    name = "action"
                self.pairs.append((name, value))
        super().__init__()
        for name, value in self.pairs:
            # An argument with two values is a list of them, which is no one object.
            if self.setdefault(name, value) != value:
                self[name] = [self[name], value]
        self.is_call = any(key in ARGUMENT_FIELDS for key in self)


def _as_key(key: str) -> str:
    """Return a key in lower case with underscores: ``Next Action`` and ``nextAction`` are one."""
    return _WORD_GAP.sub("_", key.strip()).lower()


_WORD_GAP = re.compile(r"[\s_]+|(?<=[a-z])(?=[A-Z])")
_CALLED = row(
    "action action_name name tool tool_name function function_call recipient_name"
)
_KINDS = row("type id")
"""Keys of a call that say nothing about it."""
_VERB_KEYS = row("type action_type verb name action")
"""Keys of the verb in an action that is an object."""
ARGUMENT_FIELDS = row(
    "action_args action_arguments action_input args argument arguments input kwargs parameter"
    " parameters params tool_input"
)
"""Names of a call's verb and of its arguments in the forms of tool calls. LangChain's form has the
action's name and its input on two lines."""
_DECODER = json.JSONDecoder(object_pairs_hook=_Object, strict=False)
_IN_CALL = re.compile(r"\w\s?[(\[]\s*\Z")


# AnswerForm: the fields of an answer, declared once.


LONGEST_ITEM = 100  # room for an action with its arguments, in characters
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
        """Name of the field in JSON: the label in lower case, with underscores."""
        return self.label.lower().replace(" ", "_")

    @property
    def blank(self) -> Json:
        """A value that shows its JSON type."""
        if self.parts:
            return {name: "..." for name, _ in self.parts}
        if self.flag:
            return False
        if self.many:
            return ["...", "..."]
        return "..."

    @property
    def described(self) -> str:
        """What to write, on one line."""
        if not self.parts:
            return self.about
        return "; ".join(f"{name}: {about}" for name, about in self.parts)

    def schema(self, length: int) -> Json:
        """Return its JSON schema for about ``length`` characters, a quarter of it per list item."""
        length = self.length or length
        # A flag has no length.
        if self.flag:
            return {"type": "boolean"}
        characters = length
        # A quarter per item, but room for one action.
        if self.many:
            characters = max(LONGEST_ITEM, length // 4)
        text: dict[str, Json] = {"type": "string", "maxLength": characters}
        if self.parts:
            return object_schema({name: text for name, _ in self.parts})
        if self.choices is not None:
            text = {"type": "string", "enum": [*self.choices]}
        elif self.pattern:
            text = {"type": "string", "pattern": self.pattern}
        if not self.many:
            return text
        # As many items as fit the length, at least a dozen.
        max_items = self.most or max(12, length // LONGEST_ITEM)
        return {
            "type": "array",
            "items": text,
            "minItems": self.least,
            "maxItems": max_items,
        }

    def value(self, values: Sequence[Json]) -> str | list[str]:
        """Return the value of a field from what the answer gives for it: one line, or a
        list of lines."""
        # A single value is one line.
        if not self.many:
            return " ".join(map(one_line, values))
        entries: list[Json] = []
        for each in values:
            if isinstance(each, str):
                entries += each.splitlines()
            elif isinstance(each, list):
                entries += each
            else:
                entries.append(each)
        # Empty entries and those that say "none" are left out.
        nonempty = filter(str.strip, map(str, entries))
        lines = map(one_line, map(strip_marker, islice(nonempty, MOST_VALUES)))
        return [line for line in lines if not is_nothing(line)]


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

    def request(self, constrained: bool, argument: str = "", **examples: Json) -> str:
        """Ask for an answer of this form, as a JSON object or as labeled lines.

        The JSON object is shown with ``examples`` of fields, by key. ``argument`` describes the
        field of that name, for actions that take free text.
        """
        # A JSON object is shown as an example, then described field by field.
        if constrained:
            example = {
                field.key: examples.get(field.key, field.blank) for field in self.fields
            }
            lines = [f"{field.key}: {field.described}" for field in self.fields]
            if argument:
                example[ARGUMENT] = ""
                lines.append(f"{ARGUMENT}: {argument}")
            shown = json.dumps(example, ensure_ascii=False)
            head = "ANSWER with one JSON object, for example"
            return "\n".join([head, shown, *lines])
        lines = ["ANSWER in exactly this form:"]
        for field in self.fields:
            if field.many:
                lines.append(f"{field.label}:\n1. {field.about}\n2. ...")
            else:
                lines.append(f"{field.label}: {field.about}")
        return "\n".join(lines)

    def schema(self, length: int) -> Mapping[str, Json]:
        """Return the JSON schema of a constrained answer, about ``length`` characters per field."""
        return object_schema({field.key: field.schema(length) for field in self.fields})

    def read(self, text: str) -> Filled | None:
        """Return the filled fields of an answer; None if it fills none."""
        # One of several fields is enough: what is missing is empty, and for the caller to judge.
        answer = fields(text, [field.key for field in self.fields])
        filled = {
            field.key: field.value(answer.all(field.key)) for field in self.fields
        }
        return filled if any(filled.values()) else None


# StrategyRecipe: an answer form as one text, whose last field is the action.
#
# Source: LangSuitE (Jia et al. 2024), section 4 and Appendix G: Act, ReAct, ReAct-EmMem.

ARGUMENT = "argument"  # JSON field with the text of actions that take free text
MOST_LISTED = 200  # actions in an enumeration; above, a pattern, which is far shorter
# Brackets around an argument that are opened; no real answer has more
DEEPEST_ARGUMENT = 5
MESSAGE_LENGTH = 200  # minimum limit on the characters of a message to other actors
ACTION_NAMES = row(
    "next_action actions action_type command final_answer answer act call tool_calls"
)
"""Names of the action that models use in place of the requested one."""
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
            # A line that is no section would be silently lost, so it is an error.
            match = _SECTION_LINE.fullmatch(line.rstrip())
            if match is None or (match.group(1) and not parsed):
                raise UsageError(
                    f"recipe {name}: {line!r} does not read 'Label: what to write'"
                )
            indent, label, about = match.groups()
            # Indented lines are parts of the section above.
            if indent:
                parsed[-1] = replace(
                    parsed[-1],
                    parts=(*parsed[-1].parts, (label.lower(), about)),
                )
            else:
                parsed.append(Field(label, about))
        keys = [field.key for field in parsed]
        # The action comes last, since a thought after it would be too late.
        ends_in_action = keys[-1:] in (["action"], ["act"])
        if not ends_in_action or len(set(keys)) < len(keys):
            raise UsageError(
                f"recipe {name}: the last section, and no other, must be 'Action:'"
            )
        super().__init__(*parsed)
        self.text = text.strip("\n")
        self.sections = self.fields[:-1]
        self.action = self.fields[-1]

    def schema_for(self, space: ActionSpace, length: int) -> Mapping[str, Json]:
        """Return the schema that :meth:`decision` reads: the sections, ``action``, and ``argument``
        if some action takes free text.

        Stopping is one of the actions: if asked in a yes/no field of its own, the embedded model
        says yes at the first step (8 of 8 first prompts, against 0 of 6 this way).
        """
        # Long menus become a pattern, and so do free positions.
        if len(space) > MOST_LISTED or space.forms:
            action = replace(self.action, pattern=pattern(space))
        else:
            listed = dict.fromkeys([*map(str, space.listed), *space.open_verbs])
            action = replace(self.action, choices=listed)
        parts = [*self.sections, action]
        # An argument is needed only if some action takes text.
        if space.open_verbs:
            parts.append(Field(ARGUMENT, length=max(MESSAGE_LENGTH, length)))
        return AnswerForm(*parts).schema(length)

    def decision(self, answer: str | Reply, legal: Legal) -> StrategyAnswer:
        """Parse labeled lines, or the JSON object of :meth:`schema_for`, to one legal action or a
        rejection. Text before the first label belongs to the first section."""
        reply = Reply.of(answer)
        if (unreadable := reply.unreadable()) is not None:
            return StrategyAnswer(unreadable, {})
        # All labels are read at once, since their order is the model's.
        keys = {field.key for field in self.fields}
        names = {*ARGUMENT_FIELDS, *keys, *ACTION_NAMES}
        read = fields(reply.text, names, FLAT_ARGUMENTS)
        parts: dict[str, str] = {}
        texts: list[str] = []
        for section in self.sections:
            values = read.all(section.key)
            parts |= _parts_of(values, section)
            texts += map(_as_text, values)
        # Text before the first label is a thought that was not labeled.
        if read.values and self.sections and not (read.is_json and any(texts)):
            texts.insert(0, read.before)
        thought = one_line(" ".join(texts))
        outcome = self._action(reply, read, legal)
        if isinstance(outcome, Action):
            return StrategyAnswer(Decision(outcome, thought), parts)
        rejection = reply.reject(outcome.kind, outcome.reason, thought)
        return StrategyAnswer(rejection, parts)

    def _action(
        self,
        reply: Reply,
        read: AnswerFields,
        legal: Legal,
    ) -> Action | Refusal:
        """Return the one action that an answer names, or the reason why there is none."""
        action_names = (self.action.key, *ACTION_NAMES)
        # A name whose value is null gives none, and one that is empty gives way to another.
        values = [[v for v in read.all(n) if v is not None] for n in action_names]
        stated = ([v for v in given if not is_nothing(v)] for given in values)
        given = next(filter(None, chain(stated, values)), [])
        acts_before = given and any(map(legal.whole, read.before.splitlines()))
        if not read.values:
            given = _only_list(reply)
        words = _actions_as_text([legal.as_call(each) or each for each in given])
        arguments = read.all(*ARGUMENT_FIELDS)
        calls = [each for each in arguments if isinstance(each, dict)]
        if len(words) > 1 or len(calls) > 1 or acts_before:
            return Refusal("several_actions", SEVERAL_ACTIONS)
        # The argument may be a field of its own.
        if words:
            argument = as_argument(arguments or read.all(*FLAT_ARGUMENTS))
            if argument and legal.takes_text(words[0]):
                return legal.read(f"{words[0]}[{argument}]")
            result = legal.read(words[0])
            is_refused = (
                isinstance(result, Refusal) and result.kind != "several_actions"
            )
            # The verb alone was refused, so the argument belongs to it; it may have its own label.
            if is_refused and "[" not in words[0]:
                labels = fields(reply.text, FLAT_ARGUMENTS).all(*FLAT_ARGUMENTS)
                argument = argument or as_argument(labels)
                verb = words[0].split("\n", 1)[0]
                completed = legal.read(f"{verb}[{argument}]")
                if argument and isinstance(completed, Action):
                    return completed
            return result
        if (only := self._only_object(reply, legal)) is not None:
            return only
        # No action was found: the reason depends on the form of the answer.
        if read.is_json:
            return Refusal("no_action", "the answer has no field 'action'")
        if reply.opens_json:
            return Refusal("no_action", BROKEN_JSON)
        within_line = reply.text.split(f"{self.action.label}:")
        if len(within_line) == 2:  # "Thought: near. Action: goto[mug_1]"
            only = legal.whole(within_line[1])
            if only is not None:
                return only
        problem = "the answer has no line that begins with 'Action:'"
        return legal.read_unlabeled(reply.text) or Refusal("no_action", problem)

    def _only_object(self, reply: Reply, legal: Legal) -> Action | None:
        """Return the action of an answer that is ``{"goto": "a"}``, or that ends with a call which
        is a name alone, as ``{"name": "stop"}``; also next to a thought."""
        whole = FENCE.sub("", reply.text).strip()
        objects = [*json_values(whole, "{", bool, _DECODER)]
        if len(objects) != 1 or not whole.endswith("}"):
            return None
        [(found, start, _)] = objects
        others = {*_KINDS, *(section.key for section in self.sections)}
        named = {k: v for k, v in found.items() if k not in others}
        if len(named) != 1:
            return None
        [(key, value)] = named.items()
        is_call = key in _CALLED[1:]
        # An object within a sentence is mentioned, not meant.
        before = whole[:start]
        if before and not (is_call and before.endswith("\n")):
            return None
        outcomes = map(legal.read, _actions_as_text([value if is_call else named]))
        only = next((each for each in outcomes if isinstance(each, Action)), None)
        if only is None or is_call:
            return only
        # {"stop": false} and {"stop": "not yet"} do not stop, and {"plan": "stop"} is a plan.
        is_verb = key.replace("_", "") == only.name.replace("_", "")
        is_bare = value is True or value in ("", [], {})
        return only if is_verb and bool(only.arguments) != is_bare else None


def _only_list(reply: Reply) -> list[Json]:
    """Return the list of texts that an answer is, as ``["goto", "pot_1"]``, if it is one."""
    whole = FENCE.sub("", reply.text).strip()
    if whole[:1] == "[" and whole[-1:] == "]":
        with suppress(ValueError, RecursionError):
            listed = _DECODER.decode(whole)
            if all(isinstance(each, str) for each in listed):
                return [listed]
    return []


def _actions_as_text(values: Sequence[Json]) -> list[str]:
    """Return the actions of a field; ``["goto[a]"]`` and ``{"goto": "a"}`` hold one each."""
    texts = []
    for value in chain.from_iterable(map(_members, values)):
        if isinstance(value, dict) and value:
            # {"goto": "a"}, or {"type": "goto", "object": "a"} in any order
            arguments = {**value}
            if isinstance(value, _Object) and value.is_call:
                arguments = {k: v for k, v in value.items() if k not in _KINDS}
            verbs = [key for key in _VERB_KEYS if key in arguments]
            verb = next(map(arguments.pop, verbs), None)
            if verb is None and len(value) == 1:
                [verb] = value
                # {"stop": false} does not stop.
                if value[verb] is False:
                    verb = f"not {verb}"
            value = f"{verb}[{as_argument(arguments)}]" if verb else str(value)
        if isinstance(value, str):
            texts.append(value)
    return texts


def _members(value: Json) -> list[Json]:
    """Return the values of a list, the objects in a text of JSON, or the value alone."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[{")):
        objects = [found for found, _, _ in json_values(value, "{", bool, _DECODER)]
        if objects:
            return objects
    return value if isinstance(value, list) else [value]


def _as_text(value: Json) -> str:
    """Return a value of any kind as a short text."""
    if not isinstance(value, dict):
        return str(value)[:LONGEST]
    return "; ".join(f"{name}: {single_line(v, LONGEST)}" for name, v in value.items())


def as_argument(value: Json, depth: int = DEEPEST_ARGUMENT) -> str:
    """Return the text of an argument: an object's or a list's values, empty for ``N/A``."""
    if isinstance(value, dict):
        value = in_order(value.items())
    if isinstance(value, list):
        if not depth:
            return ""
        inner = [as_argument(entry, depth - 1) for entry in value[:MOST_VALUES]]
        return ", ".join(filter(None, inner))
    return "" if is_nothing(value) else one_line(value)


def _parts_of(values: Sequence[Json], section: Field) -> dict[str, str]:
    """Return the parts of a section: fields of an object, or ``name: words`` on separate lines or
    between semicolons."""
    # Labels are found at the beginning of lines and after semicolons.
    names = [name for name, _ in section.parts]
    parts: dict[str, str] = {}
    label = rf"(?i)(?:^|[;\n])[ \t>*#_\-]{{0,8}}({'|'.join(names)})[ \t*_]{{0,4}}[:=]"
    for value in values:
        given = value
        if not isinstance(given, dict):
            _, *pieces = re.split(label, str(value))
            pairs = zip(pieces[::2], pieces[1::2], strict=True)
            given = {name.lower(): text.strip(" \t\r\n;*") for name, text in pairs}
        for name in names:
            if name in given:
                parts.setdefault(name, single_line(given[name], LONGEST))
    return parts


_escaped = partial(re.compile(r"([\\.^$*+?()\[\]{}|/])").sub, r"\\\1")
"""A word whose signs with a meaning in expressions are escaped."""


def pattern(space: ActionSpace) -> str:
    """Return a regular expression for the listed actions: each verb once, with the words for each
    argument. It also matches unlisted combinations, which the parser rejects."""
    # The arguments of each verb, by their number.
    rows: dict[tuple[str, int], list[Sequence[str]]] = {}
    for action in space.listed:
        words = action.arguments
        rows.setdefault((action.name, len(words)), []).append(words)
    patterns = []
    for (verb, count), listed in rows.items():
        # Each word of a position once: a set would not keep the order.
        columns = map(dict.fromkeys, zip(*listed, strict=True))
        arguments = ", ".join(f"({'|'.join(map(_escaped, each))})" for each in columns)
        if count:
            verb = rf"{verb}\[{arguments}\]"
        patterns.append(verb)
    alternatives = dict.fromkeys([*patterns, *space.forms, *space.open_verbs])
    return f"^({'|'.join(alternatives)})$"


# A choice: one of several names, alone (LGX), or with a thought and an option to stop (NavGPT,
# DiscussNav).

# Words that end the walk, in place of a name
STOP_WORDS = row("stop finish finished")

Decoding = Literal["constrained", "free"]
_PICK_FIELDS = row("answer final_answer object choice direction")
"""Labels and JSON fields that models put before the name."""


async def ask(
    model: Model,
    messages: Sequence[Message],
    names: Sequence[str],
    decoding: Decoding,
    limit: int,
    temperature: float = 0.0,
    rng: Random | None = None,
) -> Reply:
    """Ask a question whose answer is one of the names (see ``read_pick``).

    ``constrained`` restricts the model to the names; ``free`` accepts any text of up to ``limit``
    tokens. Both are parsed alike, because a model may ignore a constraint. ``rng`` draws the seed.
    """
    sampling = Sampling(max_tokens=limit, temperature=temperature)
    # No draw at temperature 0: each draw would shift the agent's random choices.
    if rng is not None and temperature:
        sampling = replace(sampling, seed=rng.getrandbits(31))
    if decoding == "constrained":
        sampling = replace(sampling, choices=tuple(names))
    return replies(await model.complete(messages, sampling), sampling)[0]


def read_pick(answer: str | Reply, names: Sequence[str]) -> str | Rejection:
    """Return the name in an answer: alone, or as the only one in its first line."""
    reply = Reply.of(answer)
    if (unreadable := reply.unreadable()) is not None:
        return unreadable
    read = fields(reply.text, _PICK_FIELDS)
    answers = map(str, read.all(*_PICK_FIELDS))
    picked = pick("\n".join(answers) or reply.text, names, anywhere=True)
    if isinstance(picked, str):
        return picked
    reason = picked.reason
    # "Possible here" is said of moves; a choice may be of anything.
    if picked.kind == "unknown":
        reason = "the answer names nothing that was listed"
    return reply.reject(picked.kind, reason)


_VERDICTS = {
    **dict.fromkeys(row("true yes 1"), True),
    **dict.fromkeys((*row("false no 0 none"), "not yet"), False),
}


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
    any_ending: bool = False,
) -> NamedAnswer | Rejection:
    """Parse ``{"thought", "arrived", "action"}`` or lines with these labels; ``Action Input`` and
    ``Prediction`` also label the action, which is ignored if ``arrived`` is true.

    ``legal`` are the names that can be chosen now; ``other_names`` that the agent has seen, the
    ``missing_fields`` and the ``kind`` of name are for reasons of rejections. A final answer must
    say that the agent has arrived, unless ``any_ending``.
    """
    reply = Reply.of(answer)
    if (unreadable := reply.unreadable()) is not None:
        return unreadable
    # Every label that models use for the name.
    names = {
        *row("thought arrived final_answer prediction action"),
        *ARGUMENT_FIELDS,
    }
    read = fields(reply.text, names)
    thought = read.line("thought")
    if read.values and not (read.is_json and thought):
        thought = one_line(f"{read.before} {thought}")

    reject = partial(reply.reject, thought=thought)
    # "Arrived" decides alone, if it is clear: "**True.**", 1, "no".
    arrived = {
        _VERDICTS.get(str(value).strip(" .!*").lower()) for value in read.all("arrived")
    }
    if len(arrived) > 1 or None in arrived:
        return reject("no_action", '"arrived" must be true or false, once')
    if True in arrived:
        return NamedAnswer(thought, None)
    words = _choice_words(read, legal)
    endings = _stated(read.all("final_answer"))
    # An action and an ending, or two actions, are contradictory.
    if len(_stated(words)) + len(endings) > 1:
        return reject("several_actions", SEVERAL_ACTIONS)
    if endings:
        objection = _unfinished(endings[0], legal)
        if objection and not any_ending:
            return reject(*objection)
        return NamedAnswer(thought, None)
    # Stop words are options unless they are names of places.
    options = [*legal, *(word for word in STOP_WORDS if word not in legal)]
    is_bare = not read.values and not reply.opens_json
    picked = pick([*words, reply.text][0], options)
    if isinstance(picked, str) and (words or is_bare):
        return NamedAnswer(thought, picked if picked in legal else None)
    # No name at all: the advice depends on the form.
    if not words:
        problem = f"the answer has no {missing_fields}"
        if reply.opens_json and not read.is_json:
            problem = BROKEN_JSON
        return reject("no_action", problem)
    # "None" as an action names nothing.
    if is_nothing(words[0]):
        return reject("empty", "the action named no ID")
    if isinstance(picked, Refusal) and picked.kind != "unknown":
        return reject(picked.kind, picked.reason)
    name = words[0].strip(AROUND)
    advice = f"choose one of: {', '.join(legal) or 'none'}"
    if name in other_names:
        problem = "cannot be reached from here in one move"
        return reject("illegal", f"{name[:80]!r} {problem}; {advice}")
    return reject("unknown", f"{name[:80]!r} is not {kind}; {advice}")


_PROGRESS = re.compile(
    r"\b(?:(finish(?:ed)?|stop(?:ped|ping)?|done|arrived|reached|completed?|accomplished|yes|success\w*"
    r"|there(?! (?:is|are))|here|at (?:the |my |our )?(?:goal|destination|target|end))"
    r"|keep|continue|continuing|go|going|walk|walking|head|heading|move|moving|turn|turning"
    r"|proceed|proceeding|reach|arrive|further|still)\b"
)
"""Words that say that the agent has arrived (the group) or goes on: the first ones count."""
_AHEAD = re.compile(r"\b(?:reach|arrive)\b")
"""Words of the way there whose negation ends no walk, unlike that of "moving"."""
_NOT_YET = re.compile(
    r"\b(?:yet|almost|nearly|soon|about to|until|when|once|if|unless|before|after)\b"
)

_FAILED = re.compile(
    r"\b(?:unable|fail\w*|impossible|wrong|lost|too (?:early|soon|late)|incomplete|unfinished)\b"
)


def _unfinished(text: str, legal: Collection[str]) -> tuple[RejectionKind, str] | None:
    """Return why a final answer does not end the walk: it must say, in its first words or in all
    its clauses, that the agent has arrived."""
    form = "write 'Final Answer: Finished!' only after you have arrived"
    if isinstance(pick(text, legal), str):
        reason = (
            "'Final Answer:' ends the walk and names no place; give that or an action"
        )
        return "several_actions", reason
    line = text.split("\n", 1)[0]
    says_arrived = False
    # Clause by clause, since one may take back another.
    for number, clause in enumerate(clauses(line)):
        progress = _PROGRESS.search(clause)
        if progress is None:
            continue
        is_positive = progress[1] is not None
        if _FAILED.search(clause) or (is_positive and _NOT_YET.search(clause)):
            is_positive = False
        elif is_negation(clause):  # "not there" goes on, "not moving" does not
            is_positive = not is_positive and not _AHEAD.search(clause)
        if not is_positive:
            return "no_action", f"the final answer does not end the walk; {form}"
        says_arrived = True
        # A short first clause, "Finished!", is enough.
        if number == 0 and len(clause.split()) <= 2:
            break
    if says_arrived and "?" not in line and not is_retracted(text):
        return None
    return "no_action", f"the final answer does not say that you have arrived; {form}"


def choice_schema(
    label: str,
    legal: Collection[str],
    thought_length: int,
) -> Mapping[str, Json]:
    """Return the JSON schema that :func:`read_choice` accepts, with ``label`` for the action.

    The order follows the questions of NavGPT's principle. With one field for an ID or the word
    "finish", a small model finishes immediately: a plain word is more probable than any ID.
    """
    # Without a legal name, only the question of arrival remains.
    parts = [Field("Thought"), Field("Arrived", flag=True)]
    if legal:
        parts.append(Field(label, choices=legal))
    return AnswerForm(*parts).schema(thought_length)


def _choice_words(answer: AnswerFields, legal: Collection[str]) -> list[str]:
    """Return the words for the name. Next to an input or a prediction, an action is the name of a
    tool, unless it is legal."""
    inputs = answer.texts(*ARGUMENT_FIELDS)
    predictions = answer.texts("prediction")
    # The tool's name in NavGPT's prompts: the chosen name is its input.
    actions = [w for w in answer.texts("action") if normalize(w) != "action maker"]
    if _stated([*inputs, *predictions]):
        actions = [words for words in actions if isinstance(pick(words, legal), str)]
    choices = [*inputs, *dict.fromkeys(predictions), *actions]
    # An empty field names nothing; it counts only if there is no other.
    return _stated(choices) or choices[:1]


def _stated(values: Iterable[Json]) -> list[str]:
    """Return the texts of fields that say something."""
    return [str(value) for value in values if not is_nothing(value)]
