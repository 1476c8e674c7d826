"""What a person types -> an action: a number, the action's own words, or the beginnings of them.

>>> from wayword.core.action import STOP, Action, Menu
>>> menu = Menu((Action("turn_left"), Action("goto", ("fridge_1",)), STOP), ("chat",))
>>> [str(read(words, menu)) for words in ("1", "go fr", "tl", "chat Where are you?")]
['turn_left', 'goto[fridge_1]', 'turn_left', 'chat[Where are you?]']
>>> read("go mi", menu)
'no goto of mi here; there are: fridge_1'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from wayword.core.action import Action, Menu

NAMED = 12
"""Choices that an answer names at most."""

_TYPED = re.compile(r"([^\s\[]+)\s*(\[?)\s*(.*?)\s*\]?", re.DOTALL)


def read(words: str, menu: Menu) -> Action | str:
    """The action that the words name, or a line that says why there is none."""
    words = " ".join(words.split())
    if words.isdecimal():
        number, last = int(words), len(menu.actions)
        if 1 <= number <= last:
            return menu.actions[number - 1]
        return f"there is no number {number}; they go from 1 to {last}"
    match = _TYPED.fullmatch(words)
    if match is None:
        return "type a number or an action; ? lists them, quit leaves"
    typed, bracket, rest = match.groups()
    known = list(dict.fromkeys((*(a.name for a in menu.actions), *menu.open_verbs)))
    verbs = _meant(typed, known)
    if len(verbs) > 1 and rest:
        found_in = [_closed(verb, rest, False, menu) for verb in verbs]
        actions = [found for found in found_in if isinstance(found, Action)]
        if len(actions) == 1:
            return actions[0]
    if len(verbs) != 1:
        found = f"which one: {_listed(verbs)}?" if verbs else f"there are: {_listed(known)}"
        return found if verbs else f"no action is called {typed}; {found}"
    if rest and verbs[0] in menu.open_verbs:
        return Action(verbs[0], (rest,))
    return _closed(verbs[0], rest, bool(bracket), menu)


def listing(menu: Menu, most: int | None = None, verb: str = "") -> list[str]:
    """The numbered actions, a line a verb; at most so many of each, of one verb where it is named.

    Verbs without arguments share a line; those that take any words come last.
    """
    bare: list[str] = []
    groups: dict[str, list[str]] = {}
    for number, action in enumerate(menu.actions, 1):
        if verb and not action.name.startswith(verb):
            continue
        if action.arguments:
            groups.setdefault(action.name, []).append(f"{number} {', '.join(action.arguments)}")
        else:
            bare.append(f"{number} {action.name}")
    lines = ["   ".join(bare)] if bare else []
    for name, choices in groups.items():
        more = len(choices) - (most or len(choices))
        rest = f"   … {more} more: ? {name}" if more > 0 else ""
        lines.append(f"{name + ':':<11} {'   '.join(choices[:most])}{rest}")
    spoken = [f"{name} …" for name in menu.open_verbs if not verb or name.startswith(verb)]
    return [*lines, f"with words: {', '.join(spoken)}"] if spoken else lines


def _closed(verb: str, rest: str, bracket: bool, menu: Menu) -> Action | str:
    there = [action for action in menu.actions if action.name == verb]
    exact = Action(verb, tuple(word.strip() for word in rest.split(",")) if rest else ())
    if exact in there or (bracket and exact in menu):
        return exact
    if verb in menu.open_verbs and not there:
        return f"{verb} needs words: {verb} what you say"
    if rest and not any(action.arguments for action in there):
        return f"{verb} stands alone"
    typed = re.split(r"[,\s]+", rest) if rest else []
    fits = [action for action in there if _begins(action.arguments, typed)]
    if len(fits) == 1:
        return fits[0]
    choices = [", ".join(action.arguments) for action in fits or there]
    if not rest or fits:
        return f"{verb} which one: {_listed(choices)}?"
    return f"no {verb} of {rest} here; there are: {_listed(choices)}"


def _begins(arguments: Sequence[str], typed: Sequence[str]) -> bool:
    if len(arguments) == 1 and len(typed) > 1:
        typed = ["_".join(typed)]  # living room -> living_room
    pairs = zip(arguments, typed, strict=False)
    return len(typed) <= len(arguments) and all(a.lower().startswith(t.lower()) for a, t in pairs)


def _meant(typed: str, known: Iterable[str]) -> list[str]:
    """The verb of that name, else those that begin so, else those with these initials."""
    word, known = typed.lower().replace("-", "_"), list(known)
    if word in known:
        return [word]
    begins = [name for name in known if name.startswith(word)]
    return begins or [n for n in known if "".join(part[:1] for part in n.split("_")) == word]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
