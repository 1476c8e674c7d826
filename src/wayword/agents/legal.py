r"""Match an answer's words with the legal options: one of several names, or one action.

    >>> pick("The coffee table.", ["table", "coffee table", "bed"])
    'coffee table'
    >>> pick("the table or the bed", ["table", "bed"]).kind
    'several_actions'
    >>> from wayword.core.action import STOP, Action, ActionSpace
    >>> legal = Legal(ActionSpace((Action("goto", ("b",)), STOP)))
    >>> [str(legal.read(words)) for words in (" GoTo [ B ] ", 'goto("b") as b is near', "goto b.")]
    ['goto[b]', 'goto[b]', 'goto[b]']
    >>> legal.read("goto[kitchen]").reason
    'goto[kitchen] is not possible here; for example: goto[b]'

The grammar, the same in every world::

    answer  = lead option [tail]      a tail never changes the option: it is thought
    lead    = quotes, a bullet, a number, "Action:", "my choice is"
    option  = call | bare
    call    = verb "[" arguments "]"   also ( ), 【 】; it ends at its bracket
    bare    = verb words | name        it ends at a punctuation mark or a word such as "because"
    tail    = anything, but refused if it begins with another option ("b, then c"); after a bare
              option also with a question mark, a bare "no", or a hedge ("or", "maybe")

Case, spaces, hyphens, quotes and articles are ignored. Anything else is refused, with a reason that
lists legal options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from wayword.core.action import STOP, Action, ActionSpace, RejectionKind

LONGEST = 8_000  # maximum characters of an answer, without its reasoning
LONGEST_ACTION = 2_000  # maximum characters of an action, including a message
MOST_WORDS = 20  # maximum arguments that words are split into; no action has as many
EXAMPLES = 12  # maximum legal actions named in a refusal
MOST_LINES = 40  # lines of an answer that are searched for a second choice

AROUND = " \t\r\n\u00a0\u200b`'\"*“”‘’「」"
"""Quotes, emphasis and white space to strip from a name or an action."""
MARKER = re.compile(r"^\s*(?:[-•]\s*|[*>]\s+|\d{1,3}\s*[.):](?!\d)\s*)")
"""A bullet or a number at the beginning of a line."""

_END_PUNCTUATION = ".,;:!。，；！"
_CLOSING = {"[": "]", "(": ")", "（": "）", "【": "】", "［": "］"}
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = re.compile(r"^(?:(?:the|a|an|my|your|to|towards?)\s+)+")
_LEAD = re.compile(r"^(?:[\s`'\"*“”‘’「」>$#<({\[]|(?:next |my )?action\s*:)*", re.I)
"""Text before an action that is not part of it. Only a verb can follow."""
_NAME_LEAD = re.compile(
    r"^(?:(?:(?:final|my|the|answer|choice|option|direction|viewpoint|prediction|object|place"
    r"|action|id|is|go|goto|move|head|walk|to|towards?)(?![^\W_])|[\s:=#*\"'`_{])+)",
    re.I,
)
_NAME_CALL = re.compile(r"\W*(?:action )?[A-Za-z]\w*\s?[\[(]([^\])]*)[\])]", re.I)
_HEAD_END = re.compile(
    r"[,;:!?(#\"`*”」|<\n。，；！？（]|\.(?=\W|$)|\s[-–—/→]|->"
    r"|\b(?:because|since|as|is|which|so|here|now|and|then|or)\b",
    re.I,
)
"""The ends that a bare option can have."""
_JOINER = re.compile(
    r"(?:[\s,;.!/&+|)\]>`'\"*→。，；]|->|\d{1,2}[.)]\s"
    r"|\b(?:and|then|or|next|finally|afterwards?|maybe|perhaps)\b)*",
    re.I,
)
"""Text between the options of a list."""
_NEGATION = re.compile(
    r"\b(?:not|never|no|neither|nor|none|cannot|avoid|except|without|don|\w+n t)\b"
)
_HEDGE = re.compile(r"\W*\b(?:or|and|either|instead|rather|unless|maybe|perhaps)\b")
_TAKEN_BACK = re.compile(
    r"[\s'\"*`]*[?？]|\W*(?:no|not|never|nope)(?: \w+)?\W*(?:[.,;!\n]|$)", re.I
)
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


def normalize(text: str) -> str:
    """Return words in lower case, without punctuation and leading articles."""
    return _ARTICLES.sub("", " ".join(_WORD.findall(text.lower())))


def clauses(line: str) -> list[str]:
    """Return the normalized clauses of a line."""
    return list(filter(None, map(normalize, _CLAUSE.split(line.lower()))))


def is_negation(clause: str) -> bool:
    """True if a normalized clause has a word such as ``not`` or ``never``."""
    return _NEGATION.search(clause) is not None


def is_negated(line: str, name: str = "") -> bool:
    """True if a clause with the (normalized) name is negated, or is only a negation."""
    for clause in clauses(line):
        rest = re.sub(rf"\b{re.escape(name)}\b", " ", clause) if name else clause
        if is_negation(rest) and (rest != clause or len(rest.split()) <= 2):
            return True
    return False


def _bare_heads(line: str) -> Iterator[tuple[str, str]]:
    """Yield each beginning of a line that may be a bare option, longest first, and its tail."""
    ends = [match.start() for match in _HEAD_END.finditer(line[:LONGEST_ACTION])]
    for end in (len(line), *reversed(ends[:MOST_WORDS])):
        yield line[:end], line[end:]


def _objection(
    tail: str, begins_option: Callable[[str], bool], is_call: bool
) -> RejectionKind | None:
    """Return why the text after an option leaves open which one is meant; None for thought."""
    joiner = _JOINER.match(tail)
    if joiner is not None and begins_option(tail[joiner.end() :]):
        return "several_actions"
    if is_call:
        return None
    if _TAKEN_BACK.match(tail):
        return "no_action"
    return "unknown" if _HEDGE.match(tail.lower()) else None


# One of a closed list of names.


def pick(words: str, names: Collection[str], anywhere: bool = False) -> str | Refusal:
    """Return the one name given by the words.

    The words, or one of their lines, are the name, or begin with it. With ``anywhere``, the name
    may also be within a sentence on the first line; a name inside a longer one (``table`` in
    ``coffee table``) does not count.
    """
    if len(words) > LONGEST:
        reason = f"the answer ran to more than {LONGEST:,} characters; be brief"
        return Refusal("too_long", reason)
    lines = [strip_marker(line) or line for line in words.splitlines() if line.strip()]
    if not any(line.strip(AROUND) for line in lines):
        return Refusal("empty", "no option was named")
    by_key: dict[str, list[str]] = {}
    for each in names:
        if key := normalize(each):
            by_key.setdefault(key, []).append(each)

    def match(text: str) -> str | None:
        return _match_name(text, names, by_key)

    def begins_name(text: str) -> bool:
        return any(match(head) for head, _ in _bare_heads(text))

    if (exact := match(words)) is not None:
        return exact
    mentioned = {name for line in lines[:MOST_LINES] if (name := match(line))}
    is_line = bool(mentioned)
    first_line = words.strip().split("\n", 1)[0]
    # The number of an exit looks like that of a list: first with it, then without.
    heads = [*_bare_heads(first_line), *_bare_heads(lines[0])]
    call = _NAME_CALL.match(lines[0])
    if call is not None:
        heads.append((call[1], lines[0][call.end() :]))
    for number, (head, tail) in enumerate(heads, 1):
        if (name := match(head)) is not None:
            is_call = call is not None and number == len(heads)
            kind = _objection(tail, begins_name, is_call)
            if mentioned - {name}:
                kind = "several_actions"
            return name if kind is None else _refuse_name(kind)
    # The first line does not begin with a name.
    mentioned |= _mentioned(lines[0], by_key)
    if len(mentioned) != 1:
        return _refuse_name("several_actions" if mentioned else "unknown")
    (only,) = mentioned
    if any(is_negated(line, normalize(only)) for line in lines):
        return _refuse_name("no_action")
    return only if is_line or anywhere else _refuse_name("unknown")


def _mentioned(line: str, by_key: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the names within a line. A longer name hides the shorter ones in it."""
    rest = normalize(line[:LONGEST_ACTION])
    mentioned: set[str] = set()
    for key in sorted(by_key, key=len, reverse=True):
        phrase = re.compile(rf"\b{re.escape(key)}\b")
        if phrase.search(rest):
            mentioned.update(by_key[key])
            rest = phrase.sub("|", rest)
    return mentioned


def _refuse_name(kind: RejectionKind) -> Refusal:
    reasons: dict[str, str] = {
        "several_actions": "several options were named; name exactly one",
        "no_action": "the answer says what not to choose; name what to choose",
        "unknown": "no option that is possible here was named alone",
    }
    return Refusal(kind, reasons[kind])


def _match_name(
    words: str, names: Collection[str], by_key: Mapping[str, Sequence[str]]
) -> str | None:
    """Return the name if the words are just it: in quotes, after ``Direction`` etc."""
    bare = words.strip(AROUND + _END_PUNCTUATION + "{}<>")
    for form in (words, bare, _NAME_LEAD.sub("", bare, 1)):
        form = form.strip(AROUND)
        if form in names:
            return form
        matches = by_key.get(normalize(form), []) if "\n" not in form else []
        if len(matches) == 1:
            return matches[0]
    return None


# One action of an action space.

_WRITTEN = re.compile(r"([a-z_]+)(?:\[([^\[\]\n]*)\])?")
# Possessive, and anchored at word starts: otherwise long words and blanks take quadratic time.
_UNKNOWN_CALL = re.compile(r"([A-Za-z][\w\-]*+)\s?(?=[\[(])")
_TOWARDS = re.compile(r"^(?:(?:to|the|at|towards?)\s+)+", re.I)
_GLUE = re.compile(
    r"[\s,;]+(?:(?:in/on|in|on|into|onto|to|at|with|from|and|the)\s+){0,2}"
)
_KEYWORD = re.compile(r"^[{\s'\"]*[A-Za-z_]{1,20}['\"]?\s*[=:]\s*")
_NAME_PART = re.compile(r"[\w.+-]+")
_LONGEST_NAME = 4  # words of an unlisted bare name such as ``dining table 2``


def parse_exact(words: str, space: ActionSpace) -> Action | None:
    """Return the action if the words spell it exactly; None if they need the full parser."""
    match = _WRITTEN.fullmatch(words) if len(words) <= LONGEST_ACTION else None
    if match is None:
        return None
    verb, arguments = match.groups()
    action = Action(verb, tuple(arguments.split(", ")) if arguments else ())
    return action if verb not in space.open_verbs and space.knows(action) else None


@dataclass(frozen=True, slots=True)
class _Option:
    """An action at the beginning of a text, maybe an illegal one, and the text after it."""

    action: Action
    text: str
    tail: str
    is_call: bool

    @property
    def is_whole(self) -> bool:
        return not self.tail.strip(AROUND + _END_PUNCTUATION + ")]>}")


class Legal:
    """Parser for the actions of one turn. ``earlier`` turns' actions make reasons more precise."""

    def __init__(self, space: ActionSpace, earlier: Collection[Action] = ()) -> None:
        self._space = space
        self._earlier = earlier

    def read(self, words: str) -> Action | Refusal:
        """Return the one legal action that the words begin with, or a refusal."""
        words = words.strip(AROUND)
        if not words.split():
            return Refusal("empty", "no action was named")
        exact = parse_exact(words, self._space)
        if exact is not None:
            return exact
        option = self._option(words)
        length = len(words if option is None else option.text)
        if length > LONGEST_ACTION:
            return Refusal("too_long", f"the action ran to {length:,} characters")
        if option is None:
            return self._refusal(_trim(words.split("\n", 1)[0]))
        first_line, *other_lines = option.tail.splitlines() or [""]
        kind = _objection(first_line, self._begins_action, option.is_call)
        others = set(map(self._whole, other_lines[:MOST_LINES]))
        if kind == "several_actions" or others - {None, option.action}:
            return _SEVERAL
        if kind is not None:
            return self._malformed(option.action.name, words)
        if option.action not in self._space:
            return self._not_possible(option.action)
        return option.action

    def read_unlabeled(self, text: str) -> Action | Refusal | None:
        """Return the action of an answer without labels, from the first line that is one; None if
        there is none."""
        lines = [line for line in text.splitlines() if line.strip()][:MOST_LINES]
        for number, line in enumerate(lines):
            option = self._option(line)
            if option is not None and (number == 0 or option.is_call):
                return self.read("\n".join(lines[number:]))
            if self._whole(line) is not None:
                return self.read("\n".join(lines[number:]))
        is_short = len(lines) == 1 and len(text.split()) <= 2
        return self.read(text) if is_short else None

    def has_line(self, text: str) -> bool:
        """True if a line of the text is just an action."""
        return any(self._whole(line) for line in text.splitlines()[:MOST_LINES])

    def takes_text(self, verb: str) -> bool:
        return _snake(verb) in self._space.open_verbs

    # Options: the grammar's ``call`` and ``bare``.

    def _option(self, text: str) -> _Option | None:
        """Return the action that a text begins with; None if it begins otherwise."""
        text = strip_marker(text) or text
        text = _LEAD.sub("", text, 1)
        return self._call(text) or self._message(text) or self._bare(text)

    def _call(self, text: str) -> _Option | None:
        """Read ``put[mug_1, table_1]``; verbs and arguments may be unknown."""
        verb, rest = self._verb_of(text)
        unknown = _UNKNOWN_CALL.match(text)
        if rest[:1] not in _CLOSING and unknown is not None:
            verb = _snake(unknown[1])
            rest = text[unknown.end() :]
        end = _closing_bracket(rest)
        if not end:
            return None
        tail = rest[end:]
        written = text[: len(text) - len(tail)]
        inner = rest[1 : end - 1].strip(AROUND)
        action = self._by_text.get(written)
        if action is None and self.takes_text(verb) and inner:
            action = Action(verb, (" ".join(inner.split()),))
        if action is None:
            action = Action(verb, self._arguments_of(inner))
        # ``stop (I am there)`` is a bare action with a thought in brackets.
        is_thought = rest[0] in "(（" and Action(verb) in self._space
        if is_thought and action not in self._space:
            return None
        return _Option(action, written, tail, is_call=True)

    def _message(self, text: str) -> _Option | None:
        """Read ``chat: hello``. The message is the rest of the line."""
        line = text.split("\n", 1)[0]
        verb, colon, message = line.partition(":")
        message = " ".join(message.strip(AROUND).split())
        if not colon or not message or not self.takes_text(verb):
            return None
        verb = _snake(verb)
        second = self._call(message) or self._bare(message)
        if second is not None and second.is_whole:  # two actions, not a message
            return _Option(Action(verb), f"{verb}:", message, is_call=False)
        return _Option(Action(verb, (message,)), line, text[len(line) :], is_call=True)

    def _bare(self, text: str) -> _Option | None:
        """Read ``put mug 1 in table_1`` or ``stop``, with the longest legal beginning."""
        line, newline, others = text.partition("\n")
        heads = list(_bare_heads(line))
        # The longest with listed names, else the shortest: any words could be a name.
        for must_be_listed, each in ((True, heads), (False, heads[::-1])):
            for head, tail in each:
                words = head.strip(AROUND + _END_PUNCTUATION)
                action = self._parse_bare(words, must_be_listed)
                if action is not None:
                    rest = tail + newline + others
                    return _Option(action, head, rest, is_call=False)
        return None

    def _parse_bare(self, words: str, must_be_listed: bool) -> Action | None:
        verb, rest = self._verb_of(words)
        if verb and rest and self.takes_text(verb):  # any words would be a message
            return None
        pieces = [piece for piece in _GLUE.split(rest, MOST_WORDS) if piece]
        for candidate in ([rest] if rest else [], pieces):
            action = Action(verb, tuple(map(self._argument, candidate)))
            if self._space.knows(action):
                return action
            is_open = not must_be_listed and all(map(self._is_name, action.arguments))
            if is_open and action in self._space:
                return action
        return None

    @staticmethod
    def _is_name(word: str) -> bool:
        """True for one word, or a few with a number at their end: no sentence is a name."""
        *others, last = word.split() or [""]
        is_short = not others or (len(others) < _LONGEST_NAME and last.isdecimal())
        return is_short and all(map(_NAME_PART.fullmatch, (*others, last)))

    def _whole(self, line: str) -> Action | None:
        """Return the action that a line consists of; unlisted ones must be calls."""
        option = self._option(line)
        if option is None or not option.is_whole:
            return None
        is_named = option.is_call or self._space.knows(option.action)
        return option.action if is_named and option.action in self._space else None

    def _begins_action(self, text: str) -> bool:
        """True if a text begins with a call of a verb, or with a listed bare action."""
        option = self._option(text)
        if option is None:  # two verbs in a row, as in ``forward turn_left``
            verb, rest = self._verb_of(text)
            return verb != "" and self._verb_of(rest)[0] != ""
        if option.is_call:
            return option.action.name in self._verbs
        return self._space.knows(option.action)

    def _verb_of(self, words: str) -> tuple[str, str]:
        """Return the longest verb at the beginning (``go to`` is ``goto``), and the rest."""
        for verb, spelling in self._spellings:
            if match := spelling.match(words):
                return verb, _TOWARDS.sub("", words[match.end() :])
        return "", ""

    def _arguments_of(self, inside: str) -> tuple[str, ...]:
        if not inside:
            return ()
        return tuple(map(self._argument, inside.split(",", MOST_WORDS)))

    def _argument(self, word: str) -> str:
        """Return a listed argument as it is listed, without a keyword; others as written."""
        word = word.strip(AROUND)
        for form in (word, _TOWARDS.sub("", word), _KEYWORD.sub("", word, 1)):
            matches = self._arguments_by_key.get(_snake(form.strip(AROUND + "{}")), [])
            if word in matches:
                return word
            if len(matches) == 1:
                return matches[0]
        return word

    # Reasons for refusals.

    def _refusal(self, line: str) -> Refusal:
        """Return why a line begins with no action."""
        verb, rest = self._verb_of(line)
        actions = self._actions_by_verb.get(verb, [])
        is_bare = self.takes_text(verb) or not any(a.arguments for a in actions)
        if re.search(r"[^\w\s\-]", line) or (verb and rest and is_bare):
            return self._malformed(verb, line)
        action = Action(verb or _snake(line), self._arguments_of(rest.strip(AROUND)))
        if not verb and len(line.split()) > 2:
            return self._malformed("", line)
        return self._not_possible(action, line)

    def _not_possible(self, action: Action, written: str = "") -> Refusal:
        verb = action.name
        if self.takes_text(verb) and action != STOP:
            return Refusal("empty", f"{verb} needs words: {verb}[what you say]")
        if verb not in self._actions_by_verb:
            problem = f"there is no action {(written or str(action))[:60]!r}"
            return Refusal("unknown", f"{problem}; {self._verbs_listed}")
        options = [str(each) for each in self._actions_by_verb[verb]]
        examples = ", ".join(options[:EXAMPLES])
        if len(options) > EXAMPLES:
            examples += f" and {len(options) - EXAMPLES} more"
        if action in self._earlier:
            problem = f"{action} was possible earlier, but not from here"
            return Refusal("illegal", f"{problem}; possible: {examples}")
        problem = f"{str(action)[:80]} is not possible here"
        return Refusal("unknown", f"{problem}; for example: {examples}")

    def _malformed(self, verb: str, words: str) -> Refusal:
        if not verb:
            problem = f"{words[:60]!r} is not an action"
            return Refusal("no_action", f"{problem}; {self._verbs_listed}")
        example = self._actions_by_verb.get(verb, [f"{verb}[what you say]"])[0]
        return Refusal("no_action", f"write it like this: {example}")

    # Indexes of the action space, built at first use.

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
    def _spellings(self) -> list[tuple[str, re.Pattern[str]]]:
        """Verbs with their spellings, longest first: ``goto`` is also ``Go to`` and ``go-to:``."""
        spellings = []
        for verb in sorted(self._verbs, key=len, reverse=True):
            letters = r"[\s_\-]*".join(map(re.escape, verb.replace("_", "")))
            pattern = rf"{letters}(?![A-Za-z0-9_])[\s:=`'\"*]*"
            spellings.append((verb, re.compile(pattern, re.I)))
        return spellings

    @cached_property
    def _arguments_by_key(self) -> dict[str, list[str]]:
        arguments: dict[str, list[str]] = {}
        for action in self._space.listed:
            for word in action.arguments:
                words = arguments.setdefault(_snake(word), [])
                if word not in words:
                    words.append(word)
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
        action
        for action in space.listed
        if known.issuperset(_NAME_TOKEN.findall(" ".join(action.arguments)))
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
    return words.strip(AROUND + _END_PUNCTUATION)


def _closing_bracket(text: str) -> int:
    """Return the end of the bracket that a text begins with, counting its kind; 0 without one."""
    opening = text[:1]
    closing = _CLOSING.get(opening)
    depth = 0
    for position, sign in enumerate(text if closing else ""):
        depth += (sign == opening) - (sign == closing)
        if depth == 0:
            return position + 1
    return 0


def _snake(word: str) -> str:
    """Return a word in snake case: ``" Pick-up "`` -> ``pick_up``."""
    return re.sub(r"[\s\-]+", "_", word.strip().lower())
