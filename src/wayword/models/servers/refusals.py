"""Refusals: the meaning of a server's error, and the lesson that it teaches.

    >>> refusal = read(400, {"error": "'stop' is not supported"}, ("stop", "temperature"))
    >>> refusal.kind, refusal.fields
    ('field unknown', ('stop',))
    >>> learn(refusal, Profile(), {"stop": ["."]})
    ({'without': ('stop',)}, 'without stop')

The wordings are data: ``models/refusals.toml``, a closed table. A lesson is learnt once and never
reversed.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from wayword.core.episode import Json
from wayword.core.secrets import redacted
from wayword.models.servers.profile import Profile, shipped

if TYPE_CHECKING:
    from wayword.models.servers.requests import Request

Kind = Literal[
    "field unknown",
    "value out of range",
    "prompt too long",
    "no credit",
    "wrong key",
    "wrong address",
    "overloaded",
    "no system role",
    "one choice only",
    "unknown",
]
TABLE = Path(__file__).parent.parent / "refusals.toml"

_MOST_TOKENS = 10**9  # of a window: a larger one is a server's error
_MOST_TEXT = 4000  # characters of an error that are read
_MOST_SHOWN = 300  # characters of an error that are shown


@dataclass(frozen=True, slots=True)
class ServerRefusal:
    """The meaning of an error.

    ``message`` is the server's, on one line. ``fields`` are the refused ones, whose values may be
    ``least`` to ``most``. ``window`` and ``prompt`` are token counts, 0 if unknown. ``teaches`` is
    an entry of the table of profiles. ``billed``: the request was processed, ``likely`` or up to
    the answer's ``limit``.
    """

    kind: Kind
    message: str
    remedy: str = ""
    fields: tuple[str, ...] = ()
    least: float = -math.inf
    most: float = math.inf
    window: int = 0
    prompt: int = 0
    teaches: str = ""
    billed: str = ""


def read(status: int, error: Json, sent: Sequence[str]) -> ServerRefusal:
    """Return the meaning of an error: ``error`` is the reply's JSON, or its text; ``sent`` are the
    names of the request's fields."""
    text = _flat(error)
    message = _message(error, text)
    table = _table()
    for rule in table["rules"]:
        if not re.fullmatch(rule.get("status", ".*"), str(status)):
            continue
        for pattern in rule.get("words", [""]):
            matches = list(re.finditer(pattern, text, re.IGNORECASE | re.DOTALL))
            named = [rule.get("field") or m.groupdict().get("field") for m in matches]
            # Named by the rule, found by its pattern, or mentioned in the text.
            fields = [name for name in sent if name in named] or _named(text, sent)
            # A rule on fields teaches nothing if no field of the request is named.
            if not matches or (rule["is"] in _ABOUT_FIELDS and not fields):
                continue
            groups = matches[0].groupdict()
            most = float(groups.get("most") or math.inf)
            # "below N" excludes N itself.
            if groups.get("below"):
                most = float(groups["below"]) - 1
            return ServerRefusal(
                kind=rule["is"],
                message=message,
                remedy=rule.get("remedy", table["remedies"][rule["is"]]),
                fields=tuple(fields),
                least=float(groups.get("least") or -math.inf),
                most=most,
                window=_number("window", text),
                prompt=_number("prompt", text),
                teaches=rule.get("teaches", ""),
                billed=rule.get("billed", ""),
            )
    return ServerRefusal("unknown", message)


_ABOUT_FIELDS = ("field unknown", "value out of range")


def remedy_of(refusal: ServerRefusal, extra: Mapping[str, Json]) -> str:
    """Return what to do about a refusal; ``{field}`` stands for the refused field.

    It names the setting with the refused value: an entry of ``model.extra`` (``extra`` has its
    entries), or a setting of agents.
    """
    setting = ""
    for field in refusal.fields[:1]:
        if field in extra:
            setting = f"model.extra.{field}"
        elif refusal.kind == "value out of range":
            setting = _table()["settings"].get(field, "")
    if not setting:
        return refusal.remedy
    return f"change --set {setting}, or {refusal.remedy}"


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def _flat(error: Json) -> str:
    """Return an error's values as ``name=value`` on one line, without thousands separators."""
    text = error if isinstance(error, str) else " ".join(_leaves(error))
    return re.sub(r"(?<=\d)[,_](?=\d{3}\b)", "", text[:_MOST_TEXT])


def _leaves(value: Json, name: str = "") -> Iterator[str]:
    """Yield the texts and numbers of a reply as ``name=value``, without echoes of the request."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in _table()["echoes"]:
                yield from _leaves(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, name)
    elif value not in (None, ""):
        yield f"{name}={value}"


def _message(error: Json, text: str) -> str:
    """Return the server's message on one line: the first two values with a usual name."""
    named = [leaf.partition("=") for leaf in _leaves(error)]
    values = [value for name, _, value in named if name in _table()["messages"]]
    line = " ".join("; ".join(values[:2]).split()) or " ".join(text.split())
    return redacted(line)[:_MOST_SHOWN].rstrip(".")


def _named(text: str, sent: Sequence[str]) -> list[str]:
    """Return the first field of the request that a text names."""
    names = _table()["names"]
    places: dict[str, int] = {}
    for name in sent:
        spelled = re.escape(name).replace("_", "[_ ]?")  # also ``reasoningEffort``
        pattern = names.get(name, rf"(?<![a-z0-9_]){spelled}(?![a-z0-9_])")
        if found := re.search(pattern, text, re.IGNORECASE):
            places[name] = found.start()
    # a schema's lengths are named after the field that holds the schema
    if "lengths" in places:
        return ["lengths"]
    return sorted(places, key=places.__getitem__)[:1]


def _number(name: str, text: str) -> int:
    """Return the number of tokens that an error states under a name; 0 if it states none."""
    for pattern in _table()["numbers"][name]:
        for match in re.finditer(pattern, text, re.IGNORECASE):
            is_other = _OTHER_COUNT.search(text[: match.start(1)])
            if not is_other and not _OTHER_UNIT.match(text, match.end(1)):
                return int(match[1])
    return 0


_OTHER_COUNT = re.compile(r"\bby $|message size \d+ exceeds limit $", re.I)
"""Words before a number that does not count tokens, or says by how many a limit was exceeded."""
_OTHER_UNIT = re.compile(r"\s?(?:[km]\b|[km]?i?b\b|bytes|char(?:s|acters)?\b)", re.I)
"""Units of numbers that are no tokens, or thousands of them."""


def window(described: Json, model: str) -> int:
    """Return the context length in a server's description of its models, 0 if it has none."""
    entries = [described]
    if isinstance(described, Mapping):
        listed = described.get("data") or described.get("models")
        if isinstance(listed, list):
            entries = [
                e for e in listed if model in map(e.get, ("id", "name", "model"))
            ] or listed
    # llama.cpp lists its one model by its file
    text = " ".join(_leaves(entries)) if len(entries) == 1 else ""
    size = _number("described", text)
    return size if size < _MOST_TOKENS else 0


Lesson = tuple[Mapping[str, Any], str]
"""Changed traits of a profile, and the change in words."""


def learn(
    refusal: ServerRefusal, profile: Profile, body: Mapping[str, Json]
) -> Lesson | None:
    """Return the lesson of a refusal; None if a changed request would be refused as well.
    ``body`` is the request."""
    match refusal.kind:
        case "field unknown" if refusal.teaches:
            # such models refuse the other traits' fields as well, one at a time
            changes = {**shipped()["hosted"], **shipped()[refusal.teaches]}
            changes["thinking"] = profile.thinking or changes["thinking"]
            del changes["like"]
            return changes, "treated as a reasoning model"
        case "field unknown":
            return _left_out(refusal.fields, profile)
        case "value out of range":
            return _in_range(refusal, profile, body)
        case "prompt too long" if refusal.window:
            window = min(refusal.window, profile.window or refusal.window)
            return {"window": window}, f"the window has {window:,} tokens"
    lesson: Lesson | None = _table()["lessons"].get(refusal.kind)
    return lesson


def learn_tools(
    refusal: ServerRefusal, profile: Profile, request: Request
) -> Lesson | None:
    """Return the lesson of a refusal of tool calls; None if the request has none, or the refusal is
    about something else."""
    if not request.calls or request.worded:
        return None
    # A chat template without a system role has no place for tools either.
    if refusal.kind == "no system role" or "tools" in refusal.fields:
        return {"tools": False}, "tool calls are requested in words"
    if refusal.kind != "field unknown":
        return None
    if "tool_choice" in refusal.fields:
        without = (*profile.without, "tool_choice")
        return {"without": without}, "without tool_choice: it may answer with a text"
    # A field that is neither in the body nor of a schema is one that the server itself added to a
    # message, which goes back to it as it came.
    if {*refusal.fields}.isdisjoint({*request.body, "lengths"}):
        names = ", ".join(refusal.fields)
        return {"verbatim": False}, f"messages go back without {names}"
    return None


def _left_out(names: Sequence[str], profile: Profile) -> Lesson:
    """Return the changes to a profile after a server refused fields, and what they change, in
    words."""
    changes: dict[str, Any] = {}
    for name in names:
        if name in _table()["constraints"]:
            weaker = "json_object" if profile.schema == "json_schema" else "none"
            return {"schema": weaker}, f"JSON is requested by {weaker}"
        without = (*changes.get("without", profile.without), name)
        changes |= _table()["left_out"].get(name, {"without": without})
    words = f"without {', '.join(names)}".replace("lengths", "lengths in schemas")
    if "limit" in changes:
        words = f"{changes['limit']} replaces {names[0]}"
    return changes, words


def _in_range(
    refusal: ServerRefusal, profile: Profile, body: Mapping[str, Json]
) -> Lesson | None:
    """Return the lesson of a value that is too large or too small: the nearest allowed one; without
    one, the field is left out, except for limits of the answer, as it may then cost anything."""
    name = refusal.fields[0]
    if body.get(name) is True:  # its number is in a field of its own
        name = f"top_{name}"
    sent = body.get(name)
    amount = len(sent) if isinstance(sent, list) else sent
    if not isinstance(amount, int | float):
        return _left_out([name], profile)
    trait = _table()["at_most"].get(name)
    if 0 < refusal.most < amount:
        most = {**profile.most, name: refusal.most}
        changes = {trait: int(refusal.most)} if trait else {"most": most}
        return changes, f"{name} is at most {refusal.most:,g}"
    if amount < refusal.least:
        least = {**profile.least, name: refusal.least}
        return {"least": least}, f"{name} is at least {refusal.least:g}"
    is_unread = math.isinf(refusal.most) and math.isinf(refusal.least)
    if trait == "output" or not (is_unread or amount == refusal.least):
        return None
    return _left_out([name], profile)
