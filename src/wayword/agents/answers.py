r"""Reading a model's answer, whatever it is wrapped in, without ever guessing.

    >>> reply = Reply.of("<think>b or c?</think>Sure.\n```json\n{\"Action\": \"b\"}\n```")
    >>> reply.text, reply.reasoning
    ('Sure.\n```json\n{"Action": "b"}\n```', 'b or c?')
    >>> fields(reply.text, ["thought", "action"]).all("action")
    ['b']

Three steps, shared by all agents: :class:`Reply` (the text without reasoning and lone surrogates),
:func:`fields` (a JSON object or labelled lines), and a match with what is legal now
(:mod:`~wayword.agents.legal`): one of some names, or one action. An :class:`AnswerForm` declares
the fields once: what is asked for, the JSON schema of constrained answers and the reader follow
from it. A :class:`StrategyRecipe` is such a form as a text, which ends in an action. Model output
is data: it is only ever compared, never run, opened or shown as markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, TypeAlias

from wayword.agents.legal import (
    AROUND,
    LONGEST,
    MARKER,
    Legal,
    Refusal,
    negated,
    pick,
    plain,
    unmarked,
)
from wayword.core.action import Action, ActionSpace, Decision, Rejection, RejectionKind
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.core.model import Completion, Message, Model, Sampling

ENDS = 2 * LONGEST
"""Characters at each end of a raw text that are read. A model that repeats itself up to its token
limit writes megabytes, and every episode of the run waits while they are read; nothing is lost, as
the middle is reasoning or the answer is too long anyway."""
MOST_VALUES = 100
"""Objects, labels and values of one field that are read; more are no answer to any question."""
KEPT = 500
"""Characters of a rejected answer that are recorded."""
THOUGHT = 2_000
"""Characters of a thought that are kept."""

# Reply: the answer itself, apart from the reasoning around it.

_TAG = re.compile(r"<(/?)(?:\w{1,12}:)?(?:think|thinking|reasoning)>|\[(/?)THINK\]", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNFINISHED = re.compile(r"[^\s\])}\"'`.!?;,]*")
"""The broken word at the end, in the reversed text: a search from the front is quadratic."""
_CUT = frozenset({"length", "max_tokens", "model_length"})
"""How backends say that an answer ended at its token limit."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, ready to be read.

    ``text`` is what may be fed back to the model, with one character more than is read where the
    answer was longer; ``reasoning`` stood in ``<think>`` blocks and may not. ``cut_off`` is empty,
    or the reason to give where the answer ended at its token limit; the word that the limit broke
    off is then left out of ``text``.
    """

    text: str
    reasoning: str = ""
    cut_off: str = ""

    @classmethod
    def of(cls, said: str | Reply, stop: Sequence[str] = (), cut_off: str = "") -> Reply:
        """Raw text as a reply. It ends at the first of ``stop``, which not every server honours."""
        if isinstance(said, Reply):
            return said
        if len(said) > 2 * ENDS:
            said = said[:ENDS] + said[-ENDS:]
        text, reasoning = _split_reasoning(sanitized(said))
        ends = [end for end in map(text.find, stop) if end >= 0]
        if ends:
            text, cut_off = text[: min(ends)], ""
        if cut_off and (unfinished := _UNFINISHED.match(text[::-1])):
            text = text[: len(text) - unfinished.end()]
        return cls(text[: LONGEST + 1], reasoning, cut_off)

    def reject(self, kind: RejectionKind, reason: str, thought: str = "") -> Rejection:
        """Why the answer does not count; one that was cut off is ``cut_off`` whatever it lacks."""
        if self.cut_off:
            kind, reason = "cut_off", self.cut_off
        return Rejection(kind, reason, self.text.strip()[:KEPT], thought)

    def unreadable(self) -> Rejection | None:
        """The rejection of an answer with nothing in it, or far too much."""
        if len(self.text) > LONGEST and self.text.strip():
            reason = f"the answer ran to more than {LONGEST:,} characters; be brief"
            return self.reject("too_long", reason)
        after = "nothing followed the reasoning; answer after it"
        empty = after if self.reasoning else "the answer was empty"
        return None if self.text.strip() else self.reject("empty", empty)


def replies(completion: Completion, sampling: Sampling, setting: str = "max_tokens") -> list[Reply]:
    """Each sample of a completion. ``setting`` names what limits an answer's tokens."""
    limit, usage = sampling.max_tokens, completion.usage
    if len(completion.texts) == 1:  # a backend may grant more, for reasoning
        limit = max(limit, usage.completion)
    cut = f"the answer was cut off at {limit:,} tokens"
    out = f"raise {setting}, or answer in fewer words"
    if len(completion.texts) == 1 and usage.reasoning > usage.completion / 2:
        cut += f", {usage.reasoning:,} of them thought"
        out = "raise model.thinking, or think less"
    ends = [*completion.finish, *("" for _ in completion.texts)]
    return [
        Reply.of(text, sampling.stop, f"{cut}; {out}" if end.lower() in _CUT else "")
        for text, end in zip(completion.texts, ends, strict=False)
    ]


def sanitized(text: str) -> str:
    """The text without lone surrogates, which no request and no file can hold."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _split_reasoning(text: str) -> tuple[str, str]:
    """The answer, and what stood in reasoning tags.

    A block that is never closed goes on to the end; one that is never opened began in the prompt.
    Tags inside a JSON answer are part of its strings.
    """
    if text.lstrip().startswith("{"):
        return text, ""
    said, reasoned = list[str](), list[str]()
    depth = end = 0
    for tag in _TAG.finditer(text):
        piece, end = text[end : tag.start()], tag.end()
        closing = "/" in tag.groups()
        if depth:
            reasoned.append(piece)
        elif closing:
            reasoned += [*said, piece]
            said = []
        else:
            said.append(piece)
        depth = max(0, depth - 1 if closing else depth + 1)
    (reasoned if depth else said).append(text[end:])
    return ("".join(said).strip(), "\n".join(reasoned).strip()) if end else (text, "")


# Fields: the named parts of an answer, from a JSON object or from labelled lines.

_EDGE = r"[ \t>*#_\-•]{0,8}(?:\d{1,2}[.)][ \t*_]{0,4})?"
_FENCE = re.compile(r"(?:```|~~~)(?:json|text|txt|python|plaintext|markdown|yaml)?(?![\w])", re.I)


@dataclass(frozen=True, slots=True)
class AnswerFields:
    """What an answer gives for each field, every value in order.

    ``before`` is the text before the first field; ``is_json`` says whether an object was found.
    """

    given: Mapping[str, list[Json]] = field(default_factory=dict)
    before: str = ""
    is_json: bool = False

    def all(self, name: str) -> list[Json]:
        return self.given.get(name, [])

    def line(self, *names: str) -> str:
        """The text of some fields on one line, each value that is text or a number."""
        values = (value for name in names for value in self.all(name))
        return one_line(" ".join(str(v) for v in values if isinstance(v, str | int | float)))


def fields(text: str, names: Collection[str]) -> AnswerFields:
    """The fields of an answer: of every JSON object in it that has some, and of labelled lines.

    ``names`` are lower case; ``action_input`` is also found as ``Action Input`` or ``**ACTION
    INPUT:**``. An object may stand in prose or in a fence; one said twice counts once.
    """
    text = text[:LONGEST]
    found = list(islice(_objects(text, set(names)), MOST_VALUES))
    given: dict[str, list[Json]] = {}
    rest = text
    for _, start, end in reversed(found):
        rest = f"{rest[:start]}\n{rest[end:]}"
    for number, (value, _, _) in enumerate(found):
        if value in (earlier for earlier, _, _ in found[:number]):
            continue
        for name in names:
            if name in value:
                more = value[name]
                given.setdefault(name, []).extend(more if isinstance(more, _Twice) else [more])
    rest = _FENCE.sub("", rest)
    marks = list(islice(_labels(names).finditer(rest), MOST_VALUES))
    ends = [*(mark.start() for mark in marks[1:]), len(rest)]
    for mark, end in zip(marks, ends, strict=False):
        name = re.sub(r"[\s_]+", "_", next(group for group in mark.groups() if group).lower())
        body = rest[mark.end() : end].strip(" \t\r\n*")
        if body or name not in given:
            given.setdefault(name, []).append(body)
    first = found[0][1] if found and not marks else None
    before = text[:first] if first is not None else rest[: marks[0].start()] if marks else rest
    given = {name: values[:MOST_VALUES] for name, values in given.items()}
    return AnswerFields(given, _FENCE.sub("", before).strip(), bool(found))


def one_line(value: object, most: int = THOUGHT) -> str:
    """A value as text without line breaks."""
    return " ".join(str(value).split())[:most]


def items(text: str) -> list[str]:
    """The entries of a JSON list, else of a numbered or bulleted one.

    Lines before the list are skipped; the first line after it ends it.
    """
    decoder = json.JSONDecoder(strict=False)
    for start in [match.start() for match in re.finditer(r"\[", text[:LONGEST])][:50]:
        try:
            value, _ = decoder.raw_decode(text[:LONGEST], start)
        except ValueError:
            continue
        except RecursionError:  # takes milliseconds, and the next bracket raises it again
            break
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return [sanitized(item) for item in value]
    found: list[str] = []
    for line in text[:LONGEST].splitlines():
        if MARKER.match(line):
            found.append(unmarked(line))
        elif found:
            break
    return found


class _Twice(list[Any]):
    """The values of a key that an object holds several times with different values."""


def _objects(text: str, names: set[str]) -> Iterator[tuple[dict[str, Json], int, int]]:
    """Each outermost JSON object with one of the fields, and where it begins and ends.

    Objects inside one that has none of the fields are decoded again, so that nested brackets would
    take quadratic time: the search ends when four times the longest answer has been decoded.
    """
    left = 4 * LONGEST
    decoder = json.JSONDecoder(object_pairs_hook=_pairs, strict=False)
    start = text.find("{")
    while start >= 0 and left > 0:
        after = start + 1
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            value, end = None, error.pos
        except ValueError:  # a number of thousands of digits
            value, end = None, len(text)
        except RecursionError:  # a thousand open brackets are no answer, and take milliseconds
            return
        left -= max(32, end - start)  # an attempt costs as much as some characters
        if isinstance(value, dict) and names & value.keys():
            yield value, start, end
            after = end
        start = text.find("{", after)


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for given, value in pairs:
        key, value = re.sub(r"[\s_]+", "_", sanitized(given).strip().lower()), _clean(value)
        if key in found and found[key] != value:
            before = found[key]
            found[key] = _Twice([*(before if isinstance(before, _Twice) else [before]), value])
        else:
            found[key] = value
    return found


def _clean(value: Json) -> Json:
    """Escapes in JSON can hide lone surrogates in plain ASCII."""
    if isinstance(value, str):
        return sanitized(value)
    return [_clean(item) for item in value] if type(value) is list else value


def _labels(names: Collection[str]) -> re.Pattern[str]:
    """``Action:``, ``**Action 1:**``, ``- action :``; without a colon a heading or bold line."""
    ordered = sorted(names, key=len, reverse=True)
    label = "|".join(re.escape(name).replace("_", r"[ \t_]{1,3}") for name in ordered)
    mark = r"[ \t*_]{0,4}"
    with_colon = rf"{_EDGE}({label}){mark}\d{{0,3}}{mark}[:：]"
    gap = r"[ \t]{0,8}"  # bounded, as three runs of blanks side by side are cubic
    heading = rf"[ \t>]{{0,8}}(?:#{{1,6}}{gap}|\*\*|__)({label}){gap}\d{{0,3}}(?:\*\*|__)?{gap}$"
    return re.compile(rf"^(?:{with_colon}|{heading})", re.IGNORECASE | re.MULTILINE)


# AnswerForm: the fields of an answer, declared once.

ITEM = 100
"""Characters that an item of a list may have at least: an action with its places and objects."""
_NOTHING = frozenset({"", "none", "nothing", "n/a"})

Filled: TypeAlias = dict[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an answer, a text unless another kind is declared.

    ``about`` says what to write. It may be one of ``choices``, a text that a ``pattern`` matches,
    true or false (``flag``), a list (``many``, of at least ``least`` items), or an object of texts
    (``parts``: a name in lower case, and what to write). ``length``: characters, 0 for the form's.
    """

    label: str
    about: str = ""
    length: int = 0
    choices: Collection[str] | None = None
    pattern: str = ""
    flag: bool = False
    many: bool = False
    least: int = 0
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        return self.label.lower().replace(" ", "_")

    def schema(self, length: int) -> Json:
        """Its JSON schema with about ``length`` characters in all; an item may have a quarter."""
        length = self.length or length
        text: dict[str, Json] = {"type": "string", "maxLength": length}
        if self.flag:
            return {"type": "boolean"}
        if self.choices is not None:
            return {"type": "string", "enum": [*self.choices]}
        if self.pattern:
            return {"type": "string", "pattern": self.pattern}
        if self.parts:
            return _object({name: text for name, _ in self.parts})
        if self.many:
            item = {"type": "string", "maxLength": max(ITEM, length // 4)}
            most = max(12, length // ITEM)
            return {"type": "array", "items": item, "minItems": self.least, "maxItems": most}
        return text

    def shaped(self, values: Sequence[Json]) -> str | list[str]:
        """The values that an answer gives for it, as a text or a list."""
        if not self.many:
            return " ".join(one_line(value) for value in values)
        entries: list[Json] = []
        for value in values:
            listed = value if isinstance(value, list) else [value]
            entries += value.splitlines() if isinstance(value, str) else listed
        written = [text for text in map(str, entries) if text.strip()][:MOST_VALUES]
        plain = map(one_line, map(unmarked, written))
        return [entry for entry in plain if entry.lower().strip(".") not in _NOTHING]


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

    def asked(self, constrained: bool) -> str:
        if constrained:
            told = "; ".join(f'"{field.key}", {field.about}' for field in self.fields)
            return f"Answer with one JSON object: {told}."
        lines = (
            f"{f.label}:\n1. {f.about}\n2. ..." if f.many else f"{f.label}: {f.about}"
            for f in self.fields
        )
        return "Answer in exactly this form:\n" + "\n".join(lines)

    def schema(self, length: int) -> Mapping[str, Json]:
        """The JSON schema of a constrained answer, each field of about ``length`` characters."""
        return _object({field.key: field.schema(length) for field in self.fields})

    def read(self, text: str) -> Filled | None:
        """The fields of an answer, those it lacks left empty; None where it has none of them."""
        found = fields(text, [field.key for field in self.fields])
        filled = {field.key: field.shaped(found.all(field.key)) for field in self.fields}
        return filled if any(filled.values()) else None


def _object(properties: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


# StrategyRecipe: an answer form as one text, whose last field is the action.
#
# Source: LangSuitE (Jia et al. 2024), section 4 and Appendix G: Act, ReAct, ReAct-EmMem.

ARGUMENT = "argument"
"""JSON field: what is said, for actions that take free text."""
MOST_LISTED = 200
"""A list up to this long is an enumeration; a longer one a pattern, which is shorter by far."""
MESSAGE = 200
"""Characters that a message to others may have at least."""
_LINE = re.compile(r"( *)([A-Za-z]+): *(.*)")


@dataclass(frozen=True, slots=True)
class StrategyAnswer:
    """What was understood: what came of it, and the parts of its sections by name."""

    outcome: Decision | Rejection
    parts: Mapping[str, str]


class StrategyRecipe(AnswerForm):
    r"""What an answer is made of, as one text that is shown to the model as it stands.

    A line a section, ``Label: what to write``; indented lines below one are its parts; the last
    section is the action. How free answers are read, the JSON schema of constrained ones and the
    turns of examples follow from it. Raises ``UsageError`` for a text of another form.

        >>> recipe = StrategyRecipe("Thought: what to do next\nAction: exactly one action", "mine")
        >>> [section.key for section in recipe.sections]
        ['thought']
    """

    def __init__(self, text: str, name: str) -> None:
        found: list[Field] = []
        for line in text.strip("\n").splitlines():
            match = _LINE.fullmatch(line.rstrip())
            if match is None or (match.group(1) and not found):
                raise UsageError(f"recipe {name}: {line!r} does not read 'Label: what to write'")
            indent, label, about = match.groups()
            if indent:
                found[-1] = replace(found[-1], parts=(*found[-1].parts, (label.lower(), about)))
            else:
                found.append(Field(label, about))
        keys = [field.key for field in found]
        if not keys or keys[-1] != "action" or len(set(keys)) < len(keys):
            raise UsageError(f"recipe {name}: the last section, and no other, must be 'Action:'")
        super().__init__(*found)
        self.text, self.sections, self.action = text.strip("\n"), self.fields[:-1], self.fields[-1]

    def schema_for(self, space: ActionSpace, length: int) -> Mapping[str, Json]:
        """The schema that :meth:`decision` reads: the sections, then ``action``.

        ``argument`` is there where some action takes free text; other actions leave it empty.
        Stopping is an action like the rest: asked for it as a yes or no of its own, the embedded
        model says yes at the first step (8 of 8 first prompts, against 0 of 6 this way).
        """
        if len(space) > MOST_LISTED or space.forms:
            action = replace(self.action, pattern=pattern(space))
        else:
            listed = dict.fromkeys([*map(str, space.listed), *space.open_verbs])
            action = replace(self.action, choices=listed)
        spoken = [Field(ARGUMENT, length=max(MESSAGE, length))] if space.open_verbs else []
        return AnswerForm(*self.sections, action, *spoken).schema(length)

    def decision(self, said: str | Reply, legal: Legal) -> StrategyAnswer:
        """Read labelled lines, or the JSON object of :meth:`schema_for`: one legal action, or a
        rejection. Text before the first label counts for the first section."""
        reply = Reply.of(said)
        if (unreadable := reply.unreadable()) is not None:
            return StrategyAnswer(unreadable, {})
        found = fields(reply.text, [*(field.key for field in self.fields), ARGUMENT])
        parts = {k: v for s in self.sections for k, v in _parts(found.all(s.key), s).items()}
        told = [_told(value) for s in self.sections for value in found.all(s.key)]
        if found.given and self.sections and not (found.is_json and any(told)):
            told.insert(0, found.before)
        thought = one_line(" ".join(told))
        words = [text for text in found.all(self.action.key) if isinstance(text, str)]
        doubled = bool(words) and isinstance(legal.alone(found.before), Action)
        outcome: Action | Refusal | None
        if len(words) > 1 or doubled:
            outcome = Refusal(
                "several_actions", "the answer held several actions; give exactly one"
            )
        elif words:
            outcome = _labelled(words[0], found.line(ARGUMENT), legal)
        elif found.is_json:
            outcome = Refusal("no_action", "the answer held no field 'action'")
        elif reply.text.lstrip()[:1] in "[{":
            outcome = Refusal("no_action", "the answer was not one whole JSON object")
        else:
            lacking = "the answer held no line that begins with 'Action:'"
            outcome = legal.alone(reply.text) or Refusal("no_action", lacking)
        if isinstance(outcome, Action):
            return StrategyAnswer(Decision(outcome, thought), parts)
        return StrategyAnswer(reply.reject(outcome.kind, outcome.reason, thought), parts)


def _labelled(words: str, argument: str, legal: Legal) -> Action | Refusal:
    """The action of its own field. An argument beside it counts where the action needs one."""
    if argument and legal.speaks(words):
        return legal.read(f"{words}[{argument}]")
    outcome = legal.read(words)
    if argument and isinstance(outcome, Refusal) and "[" not in words:
        completed = legal.read(f"{words}[{argument}]")
        return completed if isinstance(completed, Action) else outcome
    return outcome


def _parts(values: Sequence[Json], section: Field) -> dict[str, str]:
    """The parts of a section: the fields of an object, or ``name: words`` on lines of their own or
    between semicolons."""
    names = [name for name, _ in section.parts]
    edge = rf"(?:^|[;\n])[ \t>*#_\-]{{0,8}}({'|'.join(names)})[ \t*_]{{0,4}}[:=]"
    found: dict[str, str] = {}
    for value in values if names else ():
        if isinstance(value, dict):
            told = [(name, value[name]) for name in names if name in value]
        else:
            marks = list(re.finditer(edge, body := str(value), re.IGNORECASE))
            ends = [*(mark.start() for mark in marks[1:]), len(body)]
            pairs = zip(marks, ends, strict=False)
            told = [(m[1].lower(), body[m.end() : end].strip(" \t\r\n;*")) for m, end in pairs]
        for name, words in told:
            found.setdefault(name, one_line(words, LONGEST))
    return found


def _told(value: Json) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {one_line(words, LONGEST)}" for name, words in value.items())
    return one_line(value, LONGEST) if not isinstance(value, str) else value


def pattern(space: ActionSpace) -> str:
    r"""A regular expression for the listed actions: each verb once, with the words that go in each
    of its slots. It lets through pairs that are not listed; the reader judges those.

    >>> pattern(ActionSpace((Action("goto", ("a",)), Action("goto", ("b",)), Action("stop"))))
    '^(goto\\[(a|b)\\]|stop)$'
    """
    slots: dict[tuple[str, int], list[dict[str, None]]] = {}
    for action in space.listed:
        words = action.arguments
        options = slots.setdefault((action.name, len(words)), [{} for _ in words])
        for known, word in zip(options, words, strict=True):
            known[re.sub(r"([\\.^$*+?()\[\]{}|/])", r"\\\1", word)] = None
    forms = []
    for (verb, count), options in slots.items():
        inside = ", ".join(f"({'|'.join(each)})" for each in options)
        forms.append(rf"{verb}\[{inside}\]" if count else verb)
    return f"^({'|'.join(dict.fromkeys([*forms, *space.forms, *space.open_verbs]))})$"


# A choice: one of some names, alone (LGX), or with a thought and the end of the walk (NavGPT,
# DiscussNav).

END_WORDS = ("stop", "finish", "finished")
"""Words that end the walk where a name is asked for."""
_TOOL = "action maker"
"""What NavGPT's prompts call the action; the name is its input."""
_NAMED = ("action_input", "prediction", "action")
"""Fields that hold the name."""

Decoding = Literal["constrained", "free"]
PICKED = ("answer", "final_answer", "object", "choice", "direction")
"""Labels and JSON fields that models put before the name."""


async def ask(
    model: Model, messages: Sequence[Message], names: Sequence[str], how: Decoding, most: int
) -> Reply:
    """Put one question, the answer one of the names: see ``read_pick``.

    ``constrained`` lets the model write nothing else; ``free`` takes what it writes in at most
    ``most`` tokens. Both are read alike: a model may not hold to a constraint.
    """
    if how == "constrained":
        sampling = Sampling(max_tokens=most, choices=tuple(names))
    else:
        sampling = Sampling(max_tokens=most)
    answer = await model.complete(messages, sampling)
    return replies(answer, sampling)[0]


def read_pick(said: str | Reply, names: Sequence[str]) -> str | Rejection:
    """The name that an answer gives: alone, or as the only one in its first line.

    >>> read_pick("The coffee table.", ["table", "coffee table", "bed"])
    'coffee table'
    >>> read_pick("the table or the bed", ["table", "coffee table", "bed"]).kind
    'several_actions'
    """
    reply = Reply.of(said)
    if (unreadable := reply.unreadable()) is not None:
        return unreadable
    found = fields(reply.text, PICKED)
    given = [str(value) for name in PICKED for value in found.all(name)]
    picked = pick("\n".join(given) or reply.text, names, anywhere=True)
    if isinstance(picked, str):
        return picked
    reason = "the answer names nothing that was listed"
    return reply.reject(picked.kind, reason if picked.kind == "unknown" else picked.reason)


@dataclass(frozen=True, slots=True)
class NamedAnswer:
    """What was understood: the thought, and the chosen name, or None to stop."""

    thought: str
    choice: str | None


@dataclass(frozen=True, slots=True)
class AskedFields:
    """How reasons call what was asked for: the ``fields`` of an answer, and one ``name`` of it."""

    fields: str = "'Action Input:' and no 'Final Answer:'"
    name: str = "an ID of this place"


def read_choice(
    said: str | Reply,
    legal: Collection[str],
    known: Collection[str] = (),
    asked: AskedFields = AskedFields(),
) -> NamedAnswer | Rejection:
    r"""Read ``{"thought", "arrived", "action"}`` or such lines, ``Action Input`` and ``Prediction``
    being other words for the action; once it has arrived, an action is not read.

    ``legal`` are the names one can choose now; ``known`` those that exist elsewhere as far as the
    agent has seen, which makes the reason more helpful.

    >>> read_choice("I see it.\n**Action Input:** b.", ["b", "c"])
    NamedAnswer(thought='I see it.', choice='b')
    >>> read_choice('{"thought": "there", "arrived": true}', ["b", "c"])
    NamedAnswer(thought='there', choice=None)
    """
    reply = Reply.of(said)
    if (unreadable := reply.unreadable()) is not None:
        return unreadable
    found = fields(reply.text, ("thought", "arrived", "final_answer", *_NAMED))
    thought = own = found.line("thought")
    if not (found.is_json and own):
        thought = one_line(f"{found.before if found.given else ''} {own}")
    truths = {"true": True, "false": False}
    arrived = [truths.get(str(value).strip(" .!*").lower()) for value in found.all("arrived")]
    if None in arrived or len(set(arrived)) > 1:
        return reply.reject("no_action", '"arrived" must be true or false, once', thought)
    if True in arrived:
        return NamedAnswer(thought, None)
    words, ended = _named(found, legal), [str(text) for text in found.all("final_answer")]
    if len(words) + len(ended) > 1:
        reason = "the answer held several actions; give exactly one"
        return reply.reject("several_actions", reason, thought)
    if ended:  # unless it takes itself back or goes on to a place
        if isinstance(pick(ended[0], legal), str):
            reason = "'Final Answer:' ends the walk and names no place; give it or an action"
            return reply.reject("several_actions", reason, thought)
        if negated(ended[0].partition("\n")[0], "arrived"):
            return reply.reject("no_action", "the final answer says that it is none", thought)
        return NamedAnswer(thought, None)
    names = [*legal, *(word for word in END_WORDS if word not in legal)]
    bare = "" if found.given or reply.text.lstrip()[:1] in "[{" else reply.text
    chosen = pick(words[0] if words else bare, names)
    if isinstance(chosen, str):
        return NamedAnswer(thought, None if chosen in END_WORDS and chosen not in legal else chosen)
    if not words:
        reason = f"the answer held no {asked.fields}"
        if reply.text.lstrip()[:1] in "[{" and not found.is_json:
            reason = "the answer was not one whole JSON object"
        return reply.reject("no_action", reason, thought)
    if chosen.kind == "empty":
        return reply.reject("empty", "the action named no ID", thought)
    if chosen.kind != "unknown":
        return reply.reject(chosen.kind, chosen.reason, thought)
    name = words[0].strip(AROUND)
    why = "cannot be reached from here in one move" if name in known else f"is not {asked.name}"
    reason = f"{name[:80]!r} {why}; choose one of: {', '.join(legal) or 'none'}"
    return reply.reject("illegal" if name in known else "unknown", reason, thought)


def choice_schema(name: str, legal: Collection[str], thought_length: int) -> Mapping[str, Json]:
    """The JSON schema that :func:`read_choice` accepts, the action called ``name``.

    The order is that of the two questions of NavGPT's principle: have I arrived, and if not,
    which viewpoint is next. Asked for an ID or the word "finish" in one field, a small model
    finishes at once, whatever it thought: a plain word is likelier than any ID.
    """
    named = [Field(name, choices=legal)] if legal else []
    return AnswerForm(Field("Thought"), Field("Arrived", flag=True), *named).schema(thought_length)


def _named(found: AnswerFields, legal: Collection[str]) -> list[str]:
    """The words for the name. Beside an input or a prediction an action is a tool's name, unless
    it names what is legal."""
    inputs, predictions, actions = (
        [str(value) for value in found.all(name) if isinstance(value, str | int)] for name in _NAMED
    )
    actions = [words for words in actions if plain(words) != _TOOL]
    if inputs or predictions:
        actions = [words for words in actions if isinstance(pick(words, legal), str)]
    named = [*inputs, *dict.fromkeys(predictions), *actions]
    return [words for words in named if words.strip()] or named  # a field left empty names nothing
