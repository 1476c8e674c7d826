"""Legal: from the words of an action to the one on the menu that they name.

    >>> from wayword.core.action import STOP, Action, ActionSpace
    >>> legal = Legal(ActionSpace((Action("goto", ("b",)), STOP)))
    >>> str(legal.read(" GoTo [ B ] "))
    'goto[b]'
    >>> legal.read("goto[kitchen]").reason
    'goto[kitchen] is not possible here; for example: goto[b]'

Case, spaces, hyphens, quotes and a full stop are forgiven; anything that is not exactly one legal
action is refused, with a reason that says what would be one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from wayword.core.action import STOP, Action, ActionSpace

LONGEST_ACTION = 2_000
"""Characters that an action may have, message included."""
SHOWN = 12
"""Legal actions that a refusal names at most."""

_ACTION = re.compile(r"([A-Za-z][A-Za-z_ \-]*?)\s*(?:\[(.*)\])?", re.DOTALL)
_BETWEEN = re.compile(r"[,;]\s*|\s+(?:and|then)\s+|(?<=\])\s*|\n")
_AROUND = " \t\r\n`'\"*“”‘’"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why words are no legal action; ``kind`` as in :class:`~wayword.core.action.Rejection`."""

    kind: str
    reason: str


class Legal:
    """The actions of one turn. ``earlier`` are those of earlier turns: they make reasons better."""

    def __init__(self, space: ActionSpace, earlier: Collection[Action] = ()) -> None:
        self._menu, self._earlier = space, earlier

    def read(self, words: str) -> Action | Refusal:
        """The one legal action that the words name, or why there is none."""
        words = words.strip(_AROUND).removesuffix(".").strip(_AROUND)
        if not words:
            return Refusal("empty", "no action was named")
        if len(words) > LONGEST_ACTION:
            return Refusal("too_long", f"the action ran to {len(words):,} characters")
        found = self._one(words)
        if isinstance(found, Refusal) and self._several(words):
            return Refusal("several_actions", "several actions were named; give exactly one")
        return found

    def speaks(self, verb: str) -> bool:
        """Whether a verb takes free text."""
        return _plain(verb) in self._menu.open_verbs

    def _one(self, words: str) -> Action | Refusal:
        if words in self._by_text:
            return self._by_text[words]
        match = _ACTION.fullmatch(words)
        if match is None:
            return self._misspelt(words) or Refusal(
                "no_action", f"{words[:60]!r} is not an action; {self._verbs_told}"
            )
        verb, inside = _plain(match.group(1)), (match.group(2) or "").strip(_AROUND)
        if verb in self._menu.open_verbs and inside:
            return Action(verb, (" ".join(inside.split()),))
        action = Action(verb, tuple(map(self._argument, inside.split(","))) if inside else ())
        if action in self._menu:
            return action
        return self._refused(action, words)

    def _argument(self, word: str) -> str:
        """The word as the menu writes it."""
        word = word.strip(_AROUND)
        known = self._arguments.get(_plain(word), [])
        return known[0] if len(known) == 1 and word not in known else word

    def _refused(self, action: Action, words: str) -> Refusal:
        verb = action.name
        if verb in self._menu.open_verbs and action != STOP:
            return Refusal("empty", f"{verb} needs words: {verb}[what you say]")
        if verb not in self._by_verb:
            strange = Refusal("unknown", f"there is no action {words[:60]!r}; {self._verbs_told}")
            return self._misspelt(words) or strange
        examples = _listed(map(str, self._by_verb[verb]))
        if action in self._earlier:
            reason = f"{action} was possible earlier and is not from here; possible: {examples}"
            return Refusal("illegal", reason)
        said = str(action)[:80]
        return Refusal("unknown", f"{said} is not possible here; for example: {examples}")

    def _misspelt(self, words: str) -> Refusal | None:
        """The refusal for words that begin with a verb and go on in a way of their own."""
        said = _plain(words)
        spoken = {verb: f"{verb}[what you say]" for verb in self._menu.open_verbs}
        forms = spoken | {verb: str(actions[0]) for verb, actions in self._by_verb.items()}
        for verb in sorted(forms, key=len, reverse=True):
            if said.startswith(verb) and not said[len(verb) :][:1].isalpha():
                return Refusal("no_action", f"write it like this: {forms[verb]}")
        return None

    def _several(self, words: str) -> bool:
        """Whether the words fall into two or more, each a legal action of its own."""
        pieces = [piece.strip(_AROUND) for piece in _BETWEEN.split(words[:500])]
        pieces = [piece for piece in pieces if piece]
        legal = [piece for piece in pieces if isinstance(self._one(piece), Action)]
        return len(legal) > 1

    @cached_property
    def _by_text(self) -> dict[str, Action]:
        return {str(action): action for action in self._menu.actions}

    @cached_property
    def _by_verb(self) -> dict[str, list[Action]]:
        found: dict[str, list[Action]] = {}
        for action in self._menu.actions:
            found.setdefault(action.name, []).append(action)
        return found

    @cached_property
    def _arguments(self) -> dict[str, list[str]]:
        """Arguments on the menu by their plain form."""
        found: dict[str, list[str]] = {}
        for word in dict.fromkeys(word for a in self._menu.actions for word in a.arguments):
            found.setdefault(_plain(word), []).append(word)
        return found

    @property
    def _verbs_told(self) -> str:
        verbs = dict.fromkeys((*self._by_verb, *self._menu.open_verbs))
        return f"the actions are: {', '.join(verbs) or 'none'}"


def _plain(word: str) -> str:
    """``" Pick-up "`` -> ``pick_up``."""
    return re.sub(r"[\s\-]+", "_", word.strip().lower())


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + more
