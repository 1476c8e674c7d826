"""Reading an answer: its sections, the parts of those, and one legal action or a rejection.

Free answers are labelled lines; constrained ones a JSON object. Model output is data: it is only
ever compared with what is legal, never run, opened or shown as markup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wayword.agents.answers import AnswerFields, AnswerForm, Field, Reply, fields, one_line
from wayword.agents.legal import LONGEST, Legal, Refusal
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.episode import Json
from wayword.core.errors import UsageError

# Recipe: what an answer is made of.
#
#     >>> given = read("Thought: what to do next\nAction: exactly one action", "example")
#     >>> [section.key for section in given.sections]
#     ['thought']
#
# A recipe is one text, which is shown to the model as it stands: a line for each section, ``Label:
# what to write``; indented lines below one are its parts. The last section is the action. The text
# is all there is to a strategy: how free answers are read, the JSON schema of constrained ones and
# the turns of examples all follow from it.
#
# Source: LangSuitE (Jia et al. 2024), section 4 and Appendix G: Act, ReAct, ReAct-EmMem.

_LINE = re.compile(r"( *)([A-Za-z]+): *(.*)")


class StrategyRecipe(AnswerForm):
    """``text`` is the recipe as shown; ``sections`` are the fields before the ``action``."""

    def __init__(self, text: str, *fields: Field) -> None:
        super().__init__(*fields)
        self.text, self.sections, self.action = text, fields[:-1], fields[-1]


def read(text: str, name: str) -> StrategyRecipe:
    """A recipe from its text. Raises ``UsageError`` where the text is not of that form."""
    fields: list[Field] = []
    for line in text.strip("\n").splitlines():
        match = _LINE.fullmatch(line.rstrip())
        if match is None or (match.group(1) and not fields):
            raise UsageError(f"recipe {name}: {line!r} does not read 'Label: what to write'")
        indent, label, about = match.groups()
        if indent:
            last = fields.pop()
            fields.append(replace(last, parts=(*last.parts, (label.lower(), about))))
        else:
            fields.append(Field(label, about))
    keys = [field.key for field in fields]
    if not keys or keys[-1] != "action" or len(set(keys)) < len(keys):
        raise UsageError(f"recipe {name}: the last section, and no other, must be 'Action:'")
    return StrategyRecipe(text.strip("\n"), *fields)


ARGUMENT = "argument"
"""JSON field: what is said, for actions that take free text."""

_EDGE = r"[ \t>*#_\-]{0,8}"


@dataclass(frozen=True, slots=True)
class StrategyAnswer:
    """What was understood: what came of it, and the parts of its sections by name."""

    outcome: Decision | Rejection
    parts: Mapping[str, str]


def read_answer(said: str | Reply, recipe: StrategyRecipe, legal: Legal) -> StrategyAnswer:
    """Read labelled lines or the JSON object that :func:`answer_schema` describes.

    Text before the first label counts for the first section.
    """
    reply = Reply.of(said)
    if (unreadable := reply.unreadable()) is not None:
        return StrategyAnswer(unreadable, {})
    keys = [section.key for section in (*recipe.sections, recipe.action)]
    found = fields(reply.text, (*keys, ARGUMENT))
    parts = {k: v for s in recipe.sections for k, v in _parts(found.all(s.key), s).items()}
    thought = _thought(found, recipe)
    words = [text for text in found.all(recipe.action.key) if isinstance(text, str)]
    doubled = bool(words) and isinstance(legal.alone(found.before), Action)
    if len(words) > 1 or doubled:
        reason = "the answer held several actions; give exactly one"
        return StrategyAnswer(reply.reject("several_actions", reason, thought), parts)
    outcome = _labelled(words[0], found, legal) if words else _alone(reply, found, legal)
    if isinstance(outcome, Action):
        return StrategyAnswer(Decision(outcome, thought), parts)
    return StrategyAnswer(reply.reject(outcome.kind, outcome.reason, thought), parts)


def _labelled(words: str, found: AnswerFields, legal: Legal) -> Action | Refusal:
    """The action of its own field. An argument beside it counts where the action needs one."""
    argument = found.line(ARGUMENT)
    if argument and legal.speaks(words):
        return legal.read(f"{words}[{argument}]")
    outcome = legal.read(words)
    if argument and isinstance(outcome, Refusal) and "[" not in words:
        completed = legal.read(f"{words}[{argument}]")
        return completed if isinstance(completed, Action) else outcome
    return outcome


def _alone(reply: Reply, found: AnswerFields, legal: Legal) -> Action | Refusal:
    """The action of an answer that does not label it."""
    if found.is_json:
        return Refusal("no_action", "the answer held no field 'action'")
    if reply.text.lstrip()[:1] in "[{":
        return Refusal("no_action", "the answer was not one whole JSON object")
    alone = legal.alone(reply.text)
    reason = "the answer held no line that begins with 'Action:'"
    return alone if alone is not None else Refusal("no_action", reason)


def _parts(values: Sequence[Json], section: Field) -> dict[str, str]:
    """The parts of a section: the fields of an object, or ``name: words`` on lines of their own or
    between semicolons."""
    found: dict[str, str] = {}
    for value in values:
        if isinstance(value, dict):
            told = {name: value[name] for name, _ in section.parts if name in value}
        else:
            told = _split(str(value), section)
        for name, words in told.items():
            found.setdefault(name, one_line(words, LONGEST))
    return found


def _split(body: str, section: Field) -> dict[str, str]:
    if not section.parts:
        return {}
    names = "|".join(name for name, _ in section.parts)
    edge = re.compile(rf"(?:^|[;\n]){_EDGE}({names})[ \t*_]{{0,4}}[:=]", re.IGNORECASE)
    places = list(edge.finditer(body))
    ends = [*(place.start() for place in places[1:]), len(body)]
    found: dict[str, str] = {}
    for here, end in zip(places, ends, strict=False):
        found.setdefault(here.group(1).lower(), body[here.end() : end].strip(" \t\r\n;*"))
    return found


def _thought(found: AnswerFields, recipe: StrategyRecipe) -> str:
    """The sections on one line; without any of them, what stands before the action."""
    told = [_told(value) for s in recipe.sections for value in found.all(s.key)]
    if found.given and recipe.sections and not (found.is_json and any(told)):
        told.insert(0, found.before)
    return one_line(" ".join(told))


def _told(value: Json) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {one_line(words, LONGEST)}" for name, words in value.items())
    return one_line(value, LONGEST) if not isinstance(value, str) else value


# A recipe as a JSON schema, so that a constrained model can only write an answer.

MOST_LISTED = 200
"""A list up to this long is an enumeration; a longer one a pattern, which is shorter by far."""
MESSAGE = 200
"""Characters that a message to others may have at least."""


def answer_schema(recipe: StrategyRecipe, space: ActionSpace, length: int) -> Mapping[str, Json]:
    """The schema that :func:`read_answer` reads: the recipe's sections, then ``action``.

    ``argument`` is there where some action takes free text; the other actions leave it empty.
    Stopping is an action like the rest: asked for it as a yes or no of its own, the embedded model
    says yes at the first step (8 of 8 first prompts, against 0 of 6 this way).
    """
    if len(space) > MOST_LISTED or space.forms:
        action = replace(recipe.action, pattern=pattern(space))
    else:
        listed = dict.fromkeys([*map(str, space.listed), *space.open_verbs])
        action = replace(recipe.action, choices=listed)
    spoken = [Field(ARGUMENT, length=max(MESSAGE, length))] if space.open_verbs else []
    return AnswerForm(*recipe.sections, action, *spoken).schema(length)


def pattern(space: ActionSpace) -> str:
    """A regular expression for the listed actions: each verb once, with the words that go in each
    of its slots. It lets through pairs that are not listed; the reader judges those.

    >>> pattern(ActionSpace((Action("goto", ("a",)), Action("goto", ("b",)), Action("stop"))))
    '^(goto\\\\[(a|b)\\\\]|stop)$'
    """
    slots: dict[tuple[str, int], list[dict[str, None]]] = {}
    for action in space.listed:
        words = action.arguments
        options = slots.setdefault((action.name, len(words)), [{} for _ in words])
        for known, word in zip(options, words, strict=True):
            known[_escaped(word)] = None
    forms = []
    for (verb, count), options in slots.items():
        inside = ", ".join(f"({'|'.join(each)})" for each in options)
        forms.append(rf"{verb}\[{inside}\]" if count else verb)
    return f"^({'|'.join(dict.fromkeys([*forms, *space.forms, *space.open_verbs]))})$"


def _escaped(word: str) -> str:
    return re.sub(r"([\\.^$*+?()\[\]{}|/])", r"\\\1", word)
