"""Match an answer's words with the legal options: one of several names, or one action.

    >>> pick("The coffee table.", ["table", "coffee table", "bed"])
    'coffee table'
    >>> pick("the table or the bed", ["table", "bed"]).kind
    'several_actions'
    >>> from wayword.core.action import STOP, Action, ActionSpace
    >>> legal = Legal(ActionSpace((Action("goto", ("b",)), STOP)))
    >>> [str(legal.read(words)) for words in (" GoTo [ B ] ", 'goto("b")', "goto b.")]
    ['goto[b]', 'goto[b]', 'goto[b]']
    >>> legal.read("goto[kitchen]").reason
    'goto[kitchen] is not possible here; for example: goto[b]'

Case, spaces, hyphens, quotes, brackets and punctuation are ignored. Anything that is not exactly
one legal option is refused, with a reason that lists legal ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from wayword.core.action import STOP, Action, ActionSpace, RejectionKind

LONGEST = 8_000  # maximum characters of an answer, without its reasoning
LONGEST_ACTION = 2_000  # maximum characters of an action, including a message
MOST_WORDS = 20  # maximum arguments that words are split into; no action has as many
EXAMPLES = 12  # maximum legal actions named in a refusal
MOST_LINES = 40  # lines of an answer that are searched for a second choice

AROUND = " \t\r\n`'\"*“”‘’"
"""Quotes, emphasis and white space to strip from a name or an action."""
MARKER = re.compile(r"^\s*(?:[-•]\s*|[*>]\s+|\d{1,3}\s*[.):](?!\d)\s*)")
"""A bullet or a number at the beginning of a line."""

_END_PUNCTUATION = ".,;:!"
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = re.compile(r"^(?:(?:the|a|an|my|your|to|towards?)\s+)+")
_LEAD_IN = re.compile(
    r"^(?:(?:(?:final|my|the|answer|choice|option|direction|viewpoint|prediction|object|place"
    r"|action|id|is|go|goto|move|head|walk|to|towards?)\b|[\s:=#*\"'`])+)",
    re.I,
)
_CALL = re.compile(r"[A-Za-z][\w ]{0,30}[\[(](.*)[\])]", re.DOTALL)
_HEAD_END = re.compile(
    r"[,.;:!?(\n]|\s[-–—]+\s|\b(?:because|since|as|is|which|so|here|now)\b", re.I
)
_NEGATION = re.compile(
    r"\b(?:not|never|no|neither|nor|none|cannot|avoid|except|without|don|\w+n t)\b"
)
_HEDGE = re.compile(r"\b(?:or|either|instead|rather|unless|maybe|perhaps)\b")
_CLAUSE = re.compile(r"[,.;:!?\n]|\b(?:but|because|since|so)\b")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason why words are not a legal option; ``kind`` is that of a ``Rejection``."""

    kind: RejectionKind
    reason: str


_SEVERAL = Refusal("several_actions", "several actions were named; give exactly one")


def strip_marker(line: str) -> str:
    """Return a line without its bullet or number."""
    return MARKER.sub("", line).strip()


# One of a closed list of names.


def pick(words: str, names: Collection[str], anywhere: bool = False) -> str | Refusal:
    """Return the one name given by the words.

    Case, articles, quotes and punctuation are ignored. The words, or one of their lines, are the
    name, or begin with it and then explain it. With ``anywhere``, the name may also be within a
    sentence on the first line; a name inside a longer one (``table`` in ``coffee table``) does not
    count. Two names, a negated name, and a name among other words are refused.
    """
    if len(words) > LONGEST:
        return Refusal(
            "too_long", f"the answer ran to more than {LONGEST:,} characters; be brief"
        )
    if not words.strip(AROUND):
        return Refusal("empty", "no option was named")
    by_key: dict[str, list[str]] = {}
    for each in names:
        if key := normalize(each):
            by_key.setdefault(key, []).append(each)
    if (exact := _match(words, names, by_key)) is not None:
        return exact
    lines = [strip_marker(line) or line for line in words.splitlines() if line.strip()][
        :MOST_LINES
    ]
    line_names = {
        name for line in lines if (name := _match(line, names, by_key)) is not None
    }
    first_line = remaining = normalize(lines[0][:LONGEST_ACTION]) if lines else ""
    mentioned = set(line_names)
    for key in sorted(
        by_key, key=len, reverse=True
    ):  # those inside longer ones are left out
        phrase = re.compile(rf"\b{re.escape(key)}\b")
        if phrase.search(remaining):
            mentioned.update(by_key[key])
            remaining = phrase.sub("|", remaining)
    if len(mentioned) > 1:
        return Refusal(
            "several_actions", f"{len(mentioned)} options were named; name exactly one"
        )
    if not mentioned:
        return Refusal("unknown", "no option that is possible here was named")
    name = mentioned.pop()
    if any(is_negated(line, normalize(name)) for line in lines):
        return Refusal(
            "no_action", "the answer says what not to choose; name what to choose"
        )
    head = _HEAD_END.split(lines[0], maxsplit=1)[0]
    if (
        line_names
        or anywhere
        or (_match(head, names, by_key) and not _HEDGE.search(first_line))
    ):
        return name
    return Refusal("unknown", "more than a name was given; write the name alone")


def normalize(text: str) -> str:
    """Return words in lower case, without punctuation and leading articles."""
    return _ARTICLES.sub("", " ".join(_WORD.findall(text.lower())))


def is_negated(line: str, name: str = "") -> bool:
    """True if a clause with the (normalized) name is negated, or is only a negation."""
    for clause in map(normalize, _CLAUSE.split(line.lower())):
        rest = re.sub(rf"\b{re.escape(name)}\b", " ", clause) if name else clause
        if _NEGATION.search(rest) and (rest != clause or len(rest.split()) <= 2):
            return True
    return False


def _match(
    words: str, names: Collection[str], by_key: Mapping[str, Sequence[str]]
) -> str | None:
    """Return the name if the words are just it: in quotes, in a call, after ``Direction`` etc."""
    bare = words.strip(AROUND + _END_PUNCTUATION)
    call = _CALL.fullmatch(bare)
    for form in (words, bare, _LEAD_IN.sub("", bare), call.group(1) if call else ""):
        form = form.strip(AROUND)
        if form in names:
            return form
        matches = by_key.get(normalize(form), []) if "\n" not in form else []
        if len(matches) == 1:
            return matches[0]
    return None


# One action of an action space.

_WRITTEN = re.compile(r"([a-z_]+)(?:\[([^\[\]\n]*)\])?")


def parse_exact(words: str, space: ActionSpace) -> Action | None:
    """Return the action if the words spell it exactly; None if they need the full parser."""
    match = _WRITTEN.fullmatch(words) if len(words) <= LONGEST_ACTION else None
    if match is None:
        return None
    verb, arguments = match.groups()
    action = Action(verb, tuple(arguments.split(", ")) if arguments else ())
    return action if verb not in space.open_verbs and space.knows(action) else None


# Possessive, and anchored at word starts: otherwise long words and blanks take quadratic time.
_BRACKETED = re.compile(r"([A-Za-z][A-Za-z_ \-]*+)\s*+(?:\[(.*)\]|\((.*)\))", re.DOTALL)
_INSIDE = r"\s?(?:\[[^\[\]]*\]|\([^()]*\))"
_CALLED = re.compile(rf"[A-Za-z][\w\-]*+{_INSIDE}")
_CALLED_WITHIN = re.compile(rf"(?<![\w\-])(?=[\w\-]*[A-Za-z])[\w\-]++{_INSIDE}")
_AND = r"(?i:and|then|or)\s+"
_ACTION_SEPARATOR = re.compile(
    rf"(?:[,;]\s*|[.!]\s+|\s+{_AND}|(?<=[\])])\s*|\n|\s*(?:->|→|/)\s*)(?:{_AND})*"
)
_TOWARDS = re.compile(r"^(?:(?:to|the|at|towards?)\s+)+", re.I)
_GLUE = re.compile(r"[\s,;]+(?:(?:in|on|into|onto|to|at|with|from|and|the)\s+){0,2}")


class Legal:
    """Parser for the actions of one turn. ``earlier`` turns' actions make reasons more precise."""

    def __init__(self, space: ActionSpace, earlier: Collection[Action] = ()) -> None:
        self._space, self._earlier = space, earlier

    def read(self, words: str) -> Action | Refusal:
        """Return the one legal action named by the words, or a refusal.

        It must be on the first line; a message in brackets may span several.
        """
        words = words.strip(AROUND)
        if not words:
            return Refusal("empty", "no action was named")
        if len(words) > LONGEST_ACTION:
            return Refusal("too_long", f"the action ran to {len(words):,} characters")
        exact = parse_exact(words, self._space) or self._parse(_trim(words))
        if exact is not None:
            return exact
        first_line, *other_lines = words.splitlines()
        if "[" in first_line and "]" not in first_line and "]" in words:
            first_line, other_lines = words[: words.rindex("]") + 1], []
        result = self._read_line(_trim(first_line))
        later = {
            self._parse(_trim(strip_marker(line))) for line in other_lines[:MOST_LINES]
        }
        return (
            _SEVERAL
            if isinstance(result, Action) and later - {None, result}
            else result
        )

    def read_unlabeled(self, text: str) -> Action | Refusal | None:
        """Return the action of an unlabeled answer: the full text or one of its lines; None if no
        line is an action."""
        lines = [
            strip_marker(line) or line for line in text.splitlines() if line.strip()
        ]
        if len(lines) == 1:
            words = _trim(lines[0])
            result = self._read_line(words)
            is_short = (
                len(words.split()) <= 2 or _BRACKETED.fullmatch(words) is not None
            )
            is_clear = (
                isinstance(result, Action)
                or is_short
                or result.kind == "several_actions"
            )
            return result if is_clear else None
        actions = {self._parse(_trim(line)) for line in lines[:MOST_LINES]} - {None}
        return _SEVERAL if len(actions) > 1 else actions.pop() if actions else None

    def takes_text(self, verb: str) -> bool:
        return _snake(verb) in self._space.open_verbs

    def _read_line(self, words: str) -> Action | Refusal:
        if (parsed := self._parse(words)) is not None:
            return parsed
        # The words may be two or more legal actions.
        parts = [_trim(part) for part in _ACTION_SEPARATOR.split(words[:500])]
        if sum(self._parse(part) is not None for part in parts if part) > 1:
            return _SEVERAL
        verb, colon, text = words.partition(":")  # chat: hello
        verb, text = _snake(verb), " ".join(text.strip(AROUND).split())
        if colon and text and verb in self._space.open_verbs:
            return (
                Action(verb, (text,)) if self._parse(_trim(text)) is None else _SEVERAL
            )
        return self._read_explained(words) or self._refusal(words)

    def _read_explained(self, words: str) -> Action | None:
        """Return the action at the beginning if the rest neither names another nor negates it."""
        call = _CALLED.match(words)
        head = call.group() if call else _HEAD_END.split(words, maxsplit=1)[0]
        rest = words[len(head) :]
        plain = normalize(rest)
        if (
            not rest
            or is_negated(rest)
            or _HEDGE.search(plain)
            or _CALLED_WITHIN.search(rest)
        ):
            return None
        rest_words = f" {plain} ".replace(" go to ", " goto ").replace(" the ", " ")
        result = self._parse(_trim(head))
        bare_verbs = (verb for verb in self._verbs if Action(verb) in self._space)
        others = (str(other) for other in self._space.listed if other != result)
        named = (
            f" {normalize(other)} " in rest_words for other in (*bare_verbs, *others)
        )
        return None if any(named) else result

    def _parse(self, words: str) -> Action | None:
        """Parse a legal action: ``put[a, b]``, ``put(a, "b")``, ``put a in b``, ``stop``."""
        if words in self._by_text:
            return self._by_text[words]
        space, match = self._space, _BRACKETED.fullmatch(words)
        if match is not None:
            inner = match.group(2) or match.group(3) or ""
            if not _is_balanced(inner):
                return None
            verb, inner = (
                self._verb_of(match[1])[0] or _snake(match[1]),
                inner.strip(AROUND),
            )
            if verb in space.open_verbs and inner:
                return Action(verb, (" ".join(inner.split()),))
            action = Action(verb, self._arguments_of(inner))
            return action if action in space else None
        verb, rest = self._verb_of(words)
        if not verb:
            return None
        if not rest:
            return Action(verb) if Action(verb) in space else None
        pieces = [
            self._argument(piece) for piece in _GLUE.split(rest, MOST_WORDS) if piece
        ]
        candidates = Action(verb, (self._argument(rest),)), Action(verb, tuple(pieces))
        is_closed = (
            verb not in space.open_verbs
        )  # otherwise any words would be a message
        return next(
            (action for action in candidates if is_closed and action in space), None
        )

    def _verb_of(self, words: str) -> tuple[str, str]:
        """Return the longest verb at the beginning (``go to`` is ``goto``), and the rest."""
        for verb in sorted(self._verbs, key=len, reverse=True):
            spelling = r"[\s_\-]*".join(map(re.escape, verb.replace("_", "")))
            if match := re.match(rf"{spelling}(?![A-Za-z0-9_])[\s:=]*", words, re.I):
                return verb, _TOWARDS.sub("", words[match.end() :])
        return "", ""

    def _arguments_of(self, inside: str) -> tuple[str, ...]:
        return (
            tuple(map(self._argument, inside.split(",", MOST_WORDS))) if inside else ()
        )

    def _argument(self, word: str) -> str:
        word = word.strip(AROUND)
        matches = self._arguments_by_key.get(_snake(word), [])
        return matches[0] if len(matches) == 1 and word not in matches else word

    def _refusal(self, words: str) -> Refusal:
        match = _BRACKETED.fullmatch(words)
        inner = (match[2] or match[3] or "") if match else ""
        is_call, open_verbs = (
            match is not None and _is_balanced(inner),
            self._space.open_verbs,
        )
        verb, rest = self._verb_of(words)
        if match is not None and is_call:
            verb, rest = self._verb_of(match[1])[0] or _snake(match[1]), inner
        else:
            actions = self._actions_by_verb.get(
                verb, []
            )  # without arguments, or with free text
            is_bare = verb in open_verbs or not any(a.arguments for a in actions)
            if re.search(r"[^\w\s\-]", words) or (verb and rest and is_bare):
                return self._malformed(verb, words)
        verb = verb or _snake(words)
        action = Action(verb, self._arguments_of(rest.strip(AROUND)))
        if verb in open_verbs and action != STOP:
            return Refusal("empty", f"{verb} needs words: {verb}[what you say]")
        if verb not in self._actions_by_verb:
            if not is_call and len(words.split()) > 2:
                return self._malformed("", words)
            return Refusal(
                "unknown", f"there is no action {words[:60]!r}; {self._verbs_listed}"
            )
        options = [str(each) for each in self._actions_by_verb[verb]]
        remainder = (
            f" and {len(options) - EXAMPLES} more" if len(options) > EXAMPLES else ""
        )
        examples = ", ".join(options[:EXAMPLES]) + remainder
        if action in self._earlier:
            reason = f"{action} was possible earlier, but not from here; possible: {examples}"
            return Refusal("illegal", reason)
        reason = f"{str(action)[:80]} is not possible here; for example: {examples}"
        return Refusal("unknown", reason)

    def _malformed(self, verb: str, words: str) -> Refusal:
        if not verb:
            return Refusal(
                "no_action", f"{words[:60]!r} is not an action; {self._verbs_listed}"
            )
        example = self._actions_by_verb.get(verb, [f"{verb}[what you say]"])[0]
        return Refusal("no_action", f"write it like this: {example}")

    @cached_property
    def _by_text(self) -> dict[str, Action]:
        return {str(action): action for action in self._space.listed}

    @cached_property
    def _actions_by_verb(self) -> dict[str, list[Action]]:
        actions: dict[str, list[Action]] = {}
        for action in self._space.listed:
            actions.setdefault(action.name, []).append(action)
        return actions

    @cached_property
    def _verbs(self) -> list[str]:
        return list(dict.fromkeys((*self._actions_by_verb, *self._space.open_verbs)))

    @cached_property
    def _arguments_by_key(self) -> dict[str, list[str]]:
        arguments: dict[str, list[str]] = {}
        for word in dict.fromkeys(
            word for a in self._space.listed for word in a.arguments
        ):
            arguments.setdefault(_snake(word), []).append(word)
        return arguments

    @property
    def _verbs_listed(self) -> str:
        return f"the actions are: {', '.join(self._verbs) or 'none'}"


# The options of a constrained answer.

_NAME_FORM = (
    "[A-Za-z0-9_ -]{1,40}"  # matches any argument, including names not seen yet
)
_NAME_TOKEN = re.compile(r"[\w-]+")


def offered(space: ActionSpace, text: str, most: int) -> ActionSpace:
    r"""Return the space for a constrained answer: it lists actions whose arguments occur in
    ``text`` (at most ``most``, the shortest ones); the others are covered by patterns.

    A schema that listed all objects seen so far would give the model a memory beyond its prompt.

    >>> space = ActionSpace((Action("goto", ("mug_1",)), Action("goto", ("cup_2",)), STOP))
    >>> shown = offered(space, "Before you: mug_1.", 10)
    >>> [str(action) for action in shown.listed], shown.forms
    (['goto[mug_1]', 'stop'], ('goto\\[[A-Za-z0-9_ -]{1,40}\\]',))
    """
    known = set(_NAME_TOKEN.findall(text))
    in_view = [
        a
        for a in space.listed
        if known.issuperset(_NAME_TOKEN.findall(" ".join(a.arguments)))
    ]
    listed = set(sorted(in_view, key=lambda action: len(str(action)))[:most])
    hidden = {(a.name, len(a.arguments)): None for a in space.listed if a not in listed}
    forms = [
        rf"{verb}\[{', '.join([_NAME_FORM] * count)}\]" if count else verb
        for verb, count in hidden
    ]
    shown = tuple(action for action in space.listed if action in listed)
    return replace(space, listed=shown, forms=(*space.forms, *forms))


def _trim(words: str) -> str:
    return words.strip(AROUND).rstrip(_END_PUNCTUATION + " ").strip(AROUND)


def _is_balanced(text: str) -> bool:
    depths = [*accumulate((sign in "[(") - (sign in "])") for sign in text)] or [0]
    return min(depths) >= 0 and depths[-1] == 0


def _snake(word: str) -> str:
    """Return a word in snake case: ``" Pick-up "`` -> ``pick_up``."""
    return re.sub(r"[\s\-]+", "_", word.strip().lower())
