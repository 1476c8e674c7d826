"""Reading an answer: its sections, the parts of those, and one legal action or a rejection.

Free answers are labelled lines; constrained ones a JSON object. Model output is data: it is only
ever compared with what is legal, never run, opened or shown as markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wayword.agents.parts.answers import KEPT, LONGEST
from wayword.agents.parts.legal import Legal
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


@dataclass(frozen=True, slots=True)
class Section:
    """One labelled section. ``parts`` name what it is split into, none for plain text."""

    label: str
    about: str
    parts: tuple[tuple[str, str], ...] = ()
    """Name of a part (lower case), and what to write there."""

    @property
    def key(self) -> str:
        """Its name as a JSON field."""
        return self.label.lower()


@dataclass(frozen=True, slots=True)
class Recipe:
    """``form`` is the text as shown; ``sections`` those before the action."""

    form: str
    sections: tuple[Section, ...]
    action: Section


def read(form: str, name: str) -> Recipe:
    """A recipe from its text. Raises ``UsageError`` where the text is not of that form."""
    sections: list[Section] = []
    for line in form.strip("\n").splitlines():
        match = _LINE.fullmatch(line.rstrip())
        if match is None or (match.group(1) and not sections):
            raise UsageError(f"recipe {name}: {line!r} does not read 'Label: what to write'")
        indent, label, about = match.groups()
        if indent:
            last = sections.pop()
            part = (label.lower(), about)
            sections.append(Section(last.label, last.about, (*last.parts, part)))
        else:
            sections.append(Section(label, about))
    keys = [section.key for section in sections]
    if not keys or keys[-1] != "action" or len(set(keys)) < len(keys):
        raise UsageError(f"recipe {name}: the last section, and no other, must be 'Action:'")
    return Recipe(form.strip("\n"), tuple(sections[:-1]), sections[-1])


ARGUMENT = "argument"
"""JSON field: what is said, for actions that take free text."""

_EDGE = r"[ \t>*#_\-]{0,8}"
_BRACKETED = re.compile(r"[A-Za-z_ \-]{1,40}\[[^\[\]\n]{0,200}\]")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was understood: what came of it, and the parts of its sections by name."""

    outcome: Decision | Rejection
    parts: Mapping[str, str]


def read_free(text: str, recipe: Recipe, legal: Legal) -> Answer:
    """Read labelled lines. Text before the first label counts for the first section."""
    if not text.strip():
        return Answer(Rejection("empty", "the answer was empty"), {})
    if len(text) > LONGEST:
        reason = f"the answer ran to {len(text):,} characters; be brief"
        return Answer(Rejection("too_long", reason, text[:KEPT]), {})
    said, actions = _split(text, recipe)
    parts: dict[str, str] = {}
    for section in recipe.sections:
        if section.parts:
            parts |= _parts(said.get(section.key, ""), section)
    thought = _thought(said)
    if len(actions) > 1:
        reason = "the answer held several actions; give exactly one"
        return Answer(Rejection("several_actions", reason, text[:KEPT], thought), parts)
    words = actions[0] if actions else _unlabelled(text)
    if words is None:
        reason = "the answer held no line that begins with 'Action:'"
        return Answer(Rejection("no_action", reason, text[:KEPT], thought), parts)
    return Answer(_decided(words, legal, text, thought if actions else ""), parts)


def read_json(text: str, recipe: Recipe, legal: Legal) -> Answer:
    """Read the JSON object that :mod:`.schema` describes."""
    if not text.strip():
        return Answer(Rejection("empty", "the answer was empty"), {})
    try:
        value = json.loads(text[:LONGEST])
    except (ValueError, RecursionError):
        kind = "too_long" if len(text) > LONGEST else "no_action"
        return Answer(Rejection(kind, "the answer was not one whole JSON object", text[:KEPT]), {})
    if not isinstance(value, dict):
        return Answer(Rejection("no_action", "the answer was no JSON object", text[:KEPT]), {})
    said: dict[str, str] = {}
    parts: dict[str, str] = {}
    for section in recipe.sections:
        given = value.get(section.key, "")
        if isinstance(given, dict):
            own = {name: _line(given[name]) for name, _ in section.parts if name in given}
            parts |= own
            said[section.key] = "; ".join(f"{name}: {words}" for name, words in own.items())
        else:
            said[section.key] = _line(given)
    thought = _thought(said)
    words = _json_action(value, legal)
    if words is None:
        reason = "the answer held no field 'action'"
        return Answer(Rejection("no_action", reason, text[:KEPT], thought), parts)
    return Answer(_decided(words, legal, text, thought), parts)


def _json_action(value: Mapping[str, object], legal: Legal) -> str | None:
    """The action in words; an argument counts only where the verb takes one."""
    words = value.get("action")
    if not isinstance(words, str):
        return None
    argument = _line(value.get(ARGUMENT, ""))
    return f"{words}[{argument}]" if argument and legal.speaks(words) else words


def _decided(words: str, legal: Legal, text: str, thought: str) -> Decision | Rejection:
    found = legal.read(words)
    if isinstance(found, Action):
        return Decision(found, thought)
    return Rejection(found.kind, found.reason, text[:KEPT], thought)


def _split(text: str, recipe: Recipe) -> tuple[dict[str, str], list[str]]:
    """Section key -> what stands in it, and every action that was given."""
    labels = "|".join(section.label for section in (*recipe.sections, recipe.action))
    label = re.compile(rf"^{_EDGE}({labels})[ \t*_]{{0,4}}\d{{0,3}}[ \t*_]{{0,4}}:", re.I | re.M)
    said: dict[str, str] = {}
    actions: list[str] = []
    places = list(label.finditer(text))
    before = text[: places[0].start()] if places else ""
    if before.strip() and recipe.sections:
        said[recipe.sections[0].key] = before.strip()
    for here, end in _spans(places, text):
        body = text[here.end() : end].strip(" \t\r\n*")
        key = here.group(1).lower()
        if key == recipe.action.key:
            actions.append(_first_line(body))
        else:
            said[key] = f"{said[key]}\n{body}" if said.get(key) else body
    return said, actions


def _first_line(body: str) -> str:
    """The line of the action; a message in brackets may go over several."""
    line = body.split("\n", 1)[0]
    if "[" in line and "]" not in line and "]" in body:
        return body[: body.rindex("]") + 1]
    return line


def _unlabelled(text: str) -> str | None:
    """An answer that is nothing but an action, without its label."""
    words = text.strip()
    bare = len(words.split()) <= 2 and "\n" not in words
    return words if bare or _BRACKETED.fullmatch(words) else None


def _parts(body: str, section: Section) -> dict[str, str]:
    """The parts of a section: ``name: words``, on lines of their own or between semicolons."""
    names = "|".join(name for name, _ in section.parts)
    edge = re.compile(rf"(?:^|[;\n]){_EDGE}({names})[ \t*_]{{0,4}}[:=]", re.IGNORECASE)
    found: dict[str, str] = {}
    places = list(edge.finditer(body))
    for here, end in _spans(places, body):
        words = body[here.end() : end].strip(" \t\r\n;*")
        found.setdefault(here.group(1).lower(), _line(words))
    return found


def _spans(places: Sequence[re.Match[str]], text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Each label, and where the next one begins."""
    ends = [*(place.start() for place in places[1:]), len(text)]
    return zip(places, ends[: len(places)], strict=True)


def _thought(said: Mapping[str, str]) -> str:
    return " ".join(" ".join(said.values()).split())[:2000]


def _line(value: object) -> str:
    return " ".join(str(value).split())[:500]


# A recipe as a JSON schema, so that a constrained model can only write an answer.

MOST_LISTED = 200
"""A list up to this long is an enumeration; a longer one a pattern, which is shorter by far."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Characters that a section, a part of one, and what is said to others may have."""

    section: int = 240
    part: int = 100
    argument: int = 200


def answer_schema(recipe: Recipe, space: ActionSpace, lengths: Lengths) -> Mapping[str, Json]:
    """The schema that :func:`.reading.read_json` reads: the recipe's sections, then ``action``.

    ``argument`` is there where some action takes free text; the other actions leave it empty.
    Stopping is an action like the rest: asked for it as a yes or no of its own, the embedded model
    says yes at the first step (8 of 8 first prompts, against 0 of 6 this way).
    """
    fields: dict[str, Json] = {s.key: _section(s, lengths) for s in recipe.sections}
    fields["action"] = _action(space)
    if space.open_verbs:
        fields[ARGUMENT] = {"type": "string", "maxLength": lengths.argument}
    return _object(fields)


def _section(section: Section, lengths: Lengths) -> Json:
    if not section.parts:
        return {"type": "string", "maxLength": lengths.section}
    return _object({n: {"type": "string", "maxLength": lengths.part} for n, _ in section.parts})


def _action(space: ActionSpace) -> Json:
    """An enumeration, or for long lists a pattern by verb and object."""
    if len(space) > MOST_LISTED:
        return {"type": "string", "pattern": pattern(space)}
    return {
        "type": "string",
        "enum": list(dict.fromkeys([*map(str, space.actions), *space.open_verbs])),
    }


def pattern(space: ActionSpace) -> str:
    """A regular expression for the listed actions: each verb once, with the words that go in each
    of its slots. It lets through pairs that are not listed; the reader judges those.

    >>> pattern(ActionSpace((Action("goto", ("a",)), Action("goto", ("b",)), Action("stop"))))
    '^(goto\\\\[(a|b)\\\\]|stop)$'
    """
    slots: dict[tuple[str, int], list[dict[str, None]]] = {}
    for action in space.actions:
        words = action.arguments
        options = slots.setdefault((action.name, len(words)), [{} for _ in words])
        for known, word in zip(options, words, strict=True):
            known[_escaped(word)] = None
    forms = []
    for (verb, count), options in slots.items():
        inside = ", ".join(f"({'|'.join(each)})" for each in options)
        forms.append(rf"{verb}\[{inside}\]" if count else verb)
    return f"^({'|'.join(dict.fromkeys([*forms, *space.open_verbs]))})$"


def _escaped(word: str) -> str:
    return re.sub(r"([\\.^$*+?()\[\]{}|/])", r"\\\1", word)


def _object(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }
