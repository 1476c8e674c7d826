"""Matching an answer's words with what is legal now: one of some names, or one action.

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

Case, spaces, hyphens, quotes, brackets and punctuation are forgiven. Anything that is not exactly
one legal choice is refused, with a reason that says what would be one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from wayword.core.action import STOP, Action, ActionSpace, RejectionKind

LONGEST = 8_000
"""Characters of an answer that are read; reasoning does not count."""
LONGEST_ACTION = 2_000
"""Characters that an action may have, message included."""
MOST_WORDS = 20
"""Arguments into which words are split; no action has as many."""
SHOWN = 12
"""Legal actions that a refusal names at most."""
LOOKED_AT = 40
"""Lines of an answer in which another choice is looked for."""

AROUND = " \t\r\n`'\"*“”‘’"
"""Quotes, emphasis and white space that may stand around a name or an action."""
MARKER = re.compile(r"^\s*(?:[-•]\s*|[*>]\s+|\d{1,3}\s*[.):](?!\d)\s*)")
"""A bullet or a number at the beginning of a line."""

_END = ".,;:!"
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = re.compile(r"^(?:(?:the|a|an|my|your|to|towards?)\s+)+")
_LEAD = re.compile(
    r"^(?:(?:(?:final|my|the|answer|choice|option|direction|viewpoint|prediction|object|place"
    r"|action|id|is|go|goto|move|head|walk|to|towards?)\b|[\s:=#*\"'`])+)",
    re.IGNORECASE,
)
_CALL = re.compile(r"[A-Za-z][\w ]{0,30}[\[(](.*)[\])]", re.DOTALL)
_HEAD = re.compile(
    r"[,.;:!?(\n]|\s[-–—]+\s|\b(?:because|since|as|is|which|so|here|now)\b", re.IGNORECASE
)
_NEGATION = re.compile(
    r"\b(?:not|never|no|neither|nor|none|cannot|avoid|except|without|don|\w+n t)\b"
)
_HEDGE = re.compile(r"\b(?:or|either|instead|rather|unless|maybe|perhaps)\b")
_CLAUSE = re.compile(r"[,.;:!?\n]|\b(?:but|because|since|so)\b")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why words are no legal choice; ``kind`` as in :class:`~wayword.core.action.Rejection`."""

    kind: RejectionKind
    reason: str


def unmarked(line: str) -> str:
    """A line without its bullet or number."""
    return MARKER.sub("", line).strip()


# One of a closed list of names.


def pick(words: str, names: Collection[str], anywhere: bool = False) -> str | Refusal:
    """The one name that the words give.

    Case, articles, quotes and punctuation do not count. The words are a name, or a line of them is,
    or they begin with one and go on to explain it. With ``anywhere`` the first line may also name
    it as a phrase of a sentence; a name inside a longer one (``table`` in ``coffee table``) is not
    seen. Two names, a negated name, and a name among other words are refused.
    """
    if len(words) > LONGEST:
        return Refusal("too_long", f"the answer ran to more than {LONGEST:,} characters; be brief")
    if not words.strip(AROUND):
        return Refusal("empty", "nothing was named")
    by_plain = _by_plain(names)
    if (whole := _exact(words, names, by_plain)) is not None:
        return whole
    lines = [unmarked(line) or line for line in words.splitlines() if line.strip()][:LOOKED_AT]
    alone = {name for line in lines if (name := _exact(line, names, by_plain)) is not None}
    first = plain(lines[0][:LONGEST_ACTION]) if lines else ""
    held = _held(first, list(by_plain))
    named = alone | {name for key in held for name in by_plain[key]}
    if len(named) > 1:
        return Refusal("several_actions", f"{len(named)} things were named; name exactly one")
    if not named:
        return Refusal("unknown", "nothing was named that is possible here")
    name = named.pop()
    if any(negated(line, plain(name)) for line in lines):
        return Refusal("no_action", "the answer says what not to choose; name what to choose")
    head = _HEAD.split(lines[0], maxsplit=1)[0]
    if alone or anywhere or (_exact(head, names, by_plain) and not _HEDGE.search(first)):
        return name
    return Refusal("unknown", "more than a name was given; write the name alone")


def plain(text: str) -> str:
    """Words in lower case, without punctuation and leading articles."""
    return _ARTICLES.sub("", " ".join(_WORD.findall(text.lower())))


def negated(line: str, name: str = "") -> bool:
    """Whether a clause that mentions the (plain) name is negated, or a clause is but a negation."""
    for clause in map(plain, _CLAUSE.split(line.lower())):
        rest = re.sub(rf"\b{re.escape(name)}\b", " ", clause) if name else clause
        if _NEGATION.search(rest) and (rest != clause or len(rest.split()) <= 2):
            return True
    return False


def _by_plain(names: Collection[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        if key := plain(name):
            found.setdefault(key, []).append(name)
    return found


def _exact(words: str, names: Collection[str], by_plain: Mapping[str, Sequence[str]]) -> str | None:
    """The name that the words are: in quotes, in a call, or after ``Direction`` and the like."""
    bare = words.strip(AROUND + _END)
    call = _CALL.fullmatch(bare)
    forms = [words, bare, _LEAD.sub("", bare), call.group(1) if call else ""]
    for form in (form.strip(AROUND) for form in forms):
        if form in names:
            return form
        same = by_plain.get(plain(form), []) if "\n" not in form else []
        if len(same) == 1:
            return same[0]
    return None


def _held(said: str, names: Sequence[str]) -> list[str]:
    """The names that occur as whole phrases, each once, those inside longer ones left out."""
    held: list[str] = []
    for name in sorted(names, key=len, reverse=True):
        found = re.compile(rf"\b{re.escape(name)}\b")
        if found.search(said):
            held.append(name)
            said = found.sub("|", said)
    return held


# One action of an action space.

_WRITTEN = re.compile(r"([a-z_]+)(?:\[([^\[\]\n]*)\])?")


def written_out(words: str, space: ActionSpace) -> Action | None:
    """The action that the words are, letter for letter; None where they need reading, which is
    slower, as it lists the choices."""
    match = _WRITTEN.fullmatch(words) if len(words) <= LONGEST_ACTION else None
    if match is None:
        return None
    verb, inside = match.groups()
    action = Action(verb, tuple(inside.split(", ")) if inside else ())
    return action if verb not in space.open_verbs and space.knows(action) else None


# Possessive, and begun only where a word begins: else long words and blanks take quadratic time.
_BRACKETED = re.compile(r"([A-Za-z][A-Za-z_ \-]*+)\s*+(?:\[(.*)\]|\((.*)\))", re.DOTALL)
_INSIDE = r"\s?(?:\[[^\[\]]*\]|\([^()]*\))"
_CALLED = re.compile(rf"[A-Za-z][\w\-]*+{_INSIDE}")
_CALLED_WITHIN = re.compile(rf"(?<![\w\-])(?=[\w\-]*[A-Za-z])[\w\-]++{_INSIDE}")
_AND = r"(?i:and|then|or)\s+"
_BETWEEN = re.compile(
    rf"(?:[,;]\s*|[.!]\s+|\s+{_AND}|(?<=[\])])\s*|\n|\s*(?:->|→|/)\s*)(?:{_AND})*"
)
_TOWARDS = re.compile(r"^(?:(?:to|the|at|towards?)\s+)+", re.IGNORECASE)
_JOINED = re.compile(r"[\s,;]+(?:(?:in|on|into|onto|to|at|with|from|and|the)\s+){0,2}")


class Legal:
    """The actions of one turn. ``earlier`` are those of earlier turns: they make reasons better."""

    def __init__(self, space: ActionSpace, earlier: Collection[Action] = ()) -> None:
        self._menu, self._earlier = space, earlier

    def read(self, words: str) -> Action | Refusal:
        """The one legal action that the words name, or why there is none.

        It stands on the first line; a message in brackets may go over several.
        """
        words = words.strip(AROUND)
        if not words:
            return Refusal("empty", "no action was named")
        if len(words) > LONGEST_ACTION:
            return Refusal("too_long", f"the action ran to {len(words):,} characters")
        if (exact := written_out(words, self._menu)) is not None:
            return exact
        if (whole := self._formal(_bare(words))) is not None:
            return whole
        first, *others = words.splitlines()
        if "[" in first and "]" not in first and "]" in words:
            first, others = words[: words.rindex("]") + 1], []
        found = self._line(_bare(first))
        later = {self._formal(_bare(unmarked(line))) for line in others[:LOOKED_AT]}
        if isinstance(found, Action) and later - {None, found}:
            return Refusal("several_actions", "several actions were named; give exactly one")
        return found

    def alone(self, text: str) -> Action | Refusal | None:
        """The action of an answer that does not label it: the whole answer is one, or one line is.

        None where no line is an action.
        """
        lines = [unmarked(line) or line for line in text.splitlines() if line.strip()]
        if len(lines) == 1:
            words = _bare(lines[0])
            found = self._line(words)
            short = len(words.split()) <= 2 or _BRACKETED.fullmatch(words) is not None
            clear = isinstance(found, Action) or short or found.kind == "several_actions"
            return found if clear else None
        actions = {self._formal(_bare(line)) for line in lines[:LOOKED_AT]} - {None}
        if len(actions) > 1:
            return Refusal("several_actions", "several actions were named; give exactly one")
        return actions.pop() if actions else None

    def speaks(self, verb: str) -> bool:
        """Whether a verb takes free text."""
        return _snake(verb) in self._menu.open_verbs

    def _line(self, words: str) -> Action | Refusal:
        if (formal := self._formal(words)) is not None:
            return formal
        # The words may fall into two or more, each a legal action of its own.
        pieces = [_bare(piece) for piece in _BETWEEN.split(words[:500])]
        if sum(self._formal(piece) is not None for piece in pieces if piece) > 1:
            return Refusal("several_actions", "several actions were named; give exactly one")
        if (spoken := self._spoken(words)) is not None:
            return spoken
        return self._explained(words) or self._refused(words)

    def _explained(self, words: str) -> Action | None:
        """An action that the words begin with; the rest names no other and takes nothing back."""
        called = _CALLED.match(words)
        head = called.group() if called else _HEAD.split(words, maxsplit=1)[0]
        rest = words[len(head) :]
        if not rest or negated(rest) or _HEDGE.search(plain(rest)) or _CALLED_WITHIN.search(rest):
            return None
        other = f" {plain(rest)} ".replace(" go to ", " goto ").replace(" the ", " ")
        found = self._formal(_bare(head))
        bare = (verb for verb in self._verbs if Action(verb) in self._menu)
        others = (str(one) for one in self._menu.listed if one != found)
        return None if any(f" {plain(one)} " in other for one in (*bare, *others)) else found

    def _formal(self, words: str) -> Action | None:
        """A legal action written out: ``put[a, b]``, ``put(a, "b")``, ``put a in b``, ``stop``."""
        if words in self._by_text:
            return self._by_text[words]
        menu, match = self._menu, _BRACKETED.fullmatch(words)
        if match is not None:
            inside = match.group(2) or match.group(3) or ""
            if not _balanced(inside):
                return None
            verb, inside = self._verb_of(match[1])[0] or _snake(match[1]), inside.strip(AROUND)
            if verb in menu.open_verbs and inside:
                return Action(verb, (" ".join(inside.split()),))
            action = Action(verb, self._arguments_of(inside))
            return action if action in menu else None
        verb, rest = self._verb_of(words)
        if not verb:
            return None
        if not rest:
            return Action(verb) if Action(verb) in menu else None
        pieces = [self._argument(piece) for piece in _JOINED.split(rest, MOST_WORDS) if piece]
        both = Action(verb, (self._argument(rest),)), Action(verb, tuple(pieces))
        closed = verb not in menu.open_verbs  # else any words would be a message
        return next((action for action in both if closed and action in menu), None)

    def _spoken(self, words: str) -> Action | Refusal | None:
        """``chat: hello`` for a verb that takes free text."""
        verb, colon, said = words.partition(":")
        verb, said = _snake(verb), " ".join(said.strip(AROUND).split())
        if not colon or not said or verb not in self._menu.open_verbs:
            return None
        if self._formal(_bare(said)) is not None:
            return Refusal("several_actions", "several actions were named; give exactly one")
        return Action(verb, (said,))

    def _verb_of(self, words: str) -> tuple[str, str]:
        """The longest verb that the words begin with (``go to`` is ``goto``), and what follows."""
        for verb in self._verbs:
            spelled = r"[\s_\-]*".join(map(re.escape, verb.replace("_", "")))
            if match := re.match(rf"{spelled}(?![A-Za-z0-9_])[\s:=]*", words, re.IGNORECASE):
                return verb, _TOWARDS.sub("", words[match.end() :])
        return "", ""

    def _arguments_of(self, inside: str) -> tuple[str, ...]:
        return tuple(map(self._argument, inside.split(",", MOST_WORDS))) if inside else ()

    def _argument(self, word: str) -> str:
        word = word.strip(AROUND)
        known = self._arguments.get(_snake(word), [])
        return known[0] if len(known) == 1 and word not in known else word

    def _refused(self, words: str) -> Refusal:
        match = _BRACKETED.fullmatch(words)
        called = match is not None and _balanced(match.group(2) or match.group(3) or "")
        verb, rest = self._verb_of(words)
        if match is not None and called:
            verb, rest = _snake(match.group(1)), match.group(2) or match.group(3) or ""
            verb = self._verb_of(match.group(1))[0] or verb
        else:
            actions = self._by_verb.get(verb, [])  # without arguments, or with free text
            bare = verb in self._menu.open_verbs or not any(a.arguments for a in actions)
            if re.search(r"[^\w\s\-]", words) or (verb and rest and bare):
                return self._misspelt(verb, words)
        verb = verb or _snake(words)
        action = Action(verb, self._arguments_of(rest.strip(AROUND)))
        if verb in self._menu.open_verbs and action != STOP:
            return Refusal("empty", f"{verb} needs words: {verb}[what you say]")
        if verb not in self._by_verb:
            if not called and len(words.split()) > 2:
                return self._misspelt("", words)
            return Refusal("unknown", f"there is no action {words[:60]!r}; {self._verbs_told}")
        examples = _listed(map(str, self._by_verb[verb]))
        if action in self._earlier:
            reason = f"{action} was possible earlier and is not from here; possible: {examples}"
            return Refusal("illegal", reason)
        reason = f"{str(action)[:80]} is not possible here; for example: {examples}"
        return Refusal("unknown", reason)

    def _misspelt(self, verb: str, words: str) -> Refusal:
        """The refusal for words that begin with a verb and go on in a way of their own."""
        if not verb:
            return Refusal("no_action", f"{words[:60]!r} is not an action; {self._verbs_told}")
        form = self._by_verb.get(verb, [f"{verb}[what you say]"])[0]
        return Refusal("no_action", f"write it like this: {form}")

    @cached_property
    def _by_text(self) -> dict[str, Action]:
        return {str(action): action for action in self._menu.listed}

    @cached_property
    def _by_verb(self) -> dict[str, list[Action]]:
        found: dict[str, list[Action]] = {}
        for action in self._menu.listed:
            found.setdefault(action.name, []).append(action)
        return found

    @cached_property
    def _verbs(self) -> list[str]:
        both = dict.fromkeys((*self._by_verb, *self._menu.open_verbs))
        return sorted(both, key=len, reverse=True)

    @cached_property
    def _arguments(self) -> dict[str, list[str]]:
        """Arguments on the menu by their plain form."""
        found: dict[str, list[str]] = {}
        for word in dict.fromkeys(word for a in self._menu.listed for word in a.arguments):
            found.setdefault(_snake(word), []).append(word)
        return found

    @property
    def _verbs_told(self) -> str:
        verbs = dict.fromkeys((*self._by_verb, *self._menu.open_verbs))
        return f"the actions are: {', '.join(verbs) or 'none'}"


def _bare(words: str) -> str:
    return words.strip(AROUND).rstrip(_END + " ").strip(AROUND)


def _balanced(inside: str) -> bool:
    """Whether brackets inside brackets belong to each other, so that the outer ones do too."""
    depth = 0
    for sign in inside:
        depth += (sign in "[(") - (sign in "])")
        if depth < 0:
            return False
    return depth == 0


def _snake(word: str) -> str:
    """``" Pick-up "`` -> ``pick_up``."""
    return re.sub(r"[\s\-]+", "_", word.strip().lower())


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + more
