"""Requests for housework, read by plain rules on words: what goes where, and what is done to it.

>>> from wayword.agents.parts.asking import Prompts
>>> chore = read("Put a warm coffee mug on the desk.", "coffee mug: mug cup", "desk: desk")
>>> chore.things, chore.treatment, chore.places
(('mug', 'cup'), 'heat', ('desk',))

``prompts/homes/things.txt`` and ``places.txt`` list everyday words with the types of things that
they may mean, the likeliest first. They were made from the requests of ALFRED's training split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

CARRIERS = frozenset({"bowl", "box", "cup", "mug", "pan", "plate", "pot"})
"""Types of things that other things are put in, to be carried along."""
LAMPS = frozenset({"desk_lamp", "floor_lamp"})
KNIVES = ("knife", "butter_knife")
TOOLS = {"heat": "microwave", "cool": "fridge", "clean": "sink_basin"}
"""Verb -> the type of thing that does it."""
TREATED = {
    "heat": "heat heated heating warm warmed warming hot cook cooked cooking microwaved boiled".split(),
    "cool": "cool cooled cooling chill chilled chilling cold refrigerated refrigerate frozen".split(),
    "clean": (
        "clean cleaned cleaning wash washed washing rinse rinsed rinsing wet soaked filled fill water"
    ).split(),
}
_SLICED = frozenset("slice sliced slicing cut cutting piece chopped chop chunk".split())
_TWO = frozenset("two 2 both pair couple another".split())
_LOOKING = frozenset("examine examining look looking inspect turn turning read see view lit".split())
_TO = frozenset("in on into onto to inside at upon atop within top back inner away".split())
_FROM = frozenset("from off out".split())
_BY = frozenset(
    "near next beside by under below above behind between using against underneath left right "
    "front across close towards of side".split()
)
_WITH = frozenset("with containing holding contains".split())
_WHOLE = frozenset("top back inside seat edge middle corner end center rear tank lid".split())
"""Nouns of parts: on the ``top of`` a thing is on the thing."""
_PLURAL = frozenset({"key_chain", "tissue_box"})
"""One of them is called keys, or tissues."""
LONGEST = 4
"""Words of the longest name."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a request: its first word's number, the types it may mean, how it is led up to
    (``to``, ``from``, ``by``, ``with`` or nothing), and whether it stands for several."""

    at: int
    end: int
    types: tuple[str, ...]
    role: str
    several: bool
    place: bool


@dataclass(frozen=True, slots=True)
class Chore:
    """What a request asks for, as far as rules tell. Types are in order of likelihood.

    ``things`` go in or on one of ``places``; with ``carriers``, in or on one of these first.
    ``treatment`` is ``heat``, ``cool``, ``clean`` or nothing. ``two``: so many of them; ``sliced``:
    cut before; ``lit``: looked at under a lamp, in ``places``.
    """

    things: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    carriers: tuple[str, ...] = ()
    treatment: str = ""
    two: bool = False
    sliced: bool = False
    lit: bool = False


@lru_cache(maxsize=256)
def read(request: str, things: str, places: str) -> Chore:
    """The chore that a request names; its fields are empty where the rules find nothing.

    ``things`` and ``places``: the two lists of names, a line each.
    """
    words = [_singular(word) for word in re.findall(r"[a-z]+|\d+", request.lower())]
    told = re.findall(r"[a-z]+|\d+", request.lower())
    found = list(_mentions(words, told, _names(things), _names(places)))
    free = {word for n, word in enumerate(told) if not any(m.at <= n < m.end for m in found)}
    free |= {_singular(word) for word in free}
    small = [each for each in found if not each.place]
    sliced = bool(free & _SLICED)
    if sliced and len(small) > 1:
        small = [each for each in small if not set(each.types) & set(KNIVES)] or small
    treatment = _treatment(words, found)
    thing, carrier = _carried(small)
    lamps = [each for each in found if each.place and set(each.types) & LAMPS]
    goals = _places([each for each in found if each not in lamps], treatment)
    lit = bool(lamps) and not treatment and (not goals or bool(free & _LOOKING))
    return Chore(
        thing.types if thing else (),
        lamps[-1].types if lit else goals,
        carrier.types if carrier and not lit else (),
        "" if lit else treatment,
        bool(thing and not lit and not carrier and (thing.several or free & _TWO)),
        sliced,
        lit,
    )


def _mentions(
    words: Sequence[str],
    told: Sequence[str],
    things: Mapping[str, tuple[str, ...]],
    places: Mapping[str, tuple[str, ...]],
) -> Iterator[Mention]:
    """Names, longest first; of two that stand side by side the first describes the second."""
    found, at, before = [], 0, 0
    while at < len(words):
        for end in range(min(len(words), at + LONGEST), at, -1):
            name = " ".join(words[at:end])
            if name in things or name in places:
                role = _role(words[before:at])
                types = things.get(name) or places[name]
                several = told[end - 1] != words[end - 1] and types[0] not in _PLURAL
                if found and found[-1].end == at:
                    role = found.pop().role
                found.append(Mention(at, end, types, role, several, name not in things))
                at = before = end
                break
        else:
            at += 1
    yield from found


def _role(gap: Sequence[str]) -> str:
    """How the words before a name lead up to it."""
    for number in range(len(gap) - 1, -1, -1):
        word, before = gap[number], gap[number - 1] if number else ""
        if word == "of" and (before in _WHOLE or before in _SLICED or not before):
            continue
        if word in ("to", "of") and before in _BY:
            return "by"
        for role, known in (("with", _WITH), ("from", _FROM), ("by", _BY), ("to", _TO)):
            if word in known:
                return role
    return ""


def _carried(small: Sequence[Mention]) -> tuple[Mention | None, Mention | None]:
    """The thing that is asked for, and what it is put in to be carried along."""
    if not small:
        return None, None
    first = small[0]
    for one in small[1:]:
        if one.types == first.types:
            continue
        if one.role in ("with", "") and set(first.types) & CARRIERS:
            return one, first
        if one.role in ("to", "") and set(one.types) & CARRIERS:
            return first, one
    return first, None


def _treatment(words: Sequence[str], found: Sequence[Mention]) -> str:
    inside = {n for each in found for n in range(each.at, each.end)}
    told = [word for n, word in enumerate(words) if n not in inside]
    known = {word: verb for verb, forms in TREATED.items() for word in forms}
    named = next((known[word] for word in told if word in known), "")
    return named or next((v for v, tool in TOOLS.items() if _passed(tool, found)), "")


def _passed(tool: str, found: Sequence[Mention]) -> bool:
    """Whether the thing goes into a tool first, and then elsewhere."""
    to = [each for each in found if each.place and each.role in ("to", "")]
    led = [each for each in to if each.role == "to" or tool == "microwave"]
    return any(each.types[0] == tool for each in led) and to[-1].types[0] != tool


def _places(found: Sequence[Mention], treatment: str) -> tuple[str, ...]:
    """Where the thing goes: what is last led up to by ``in`` or ``on``, the tool aside."""
    furniture = [each for each in found if each.place]
    tool = TOOLS.get(treatment, "")
    for role in ("to", "", "by", "from"):
        fitting = [m for m in furniture if m.role == role and m.types[0] != tool]
        if fitting:
            return fitting[-1].types
    return furniture[-1].types if furniture else ()


@lru_cache(maxsize=16)
def _names(text: str) -> Mapping[str, tuple[str, ...]]:
    lines = (line.partition(":") for line in text.splitlines() if line.strip())
    return {name.strip(): tuple(types.split()) for name, _, types in lines}


def _singular(word: str) -> str:
    if word.endswith(("ss", "us", "is")) or len(word) < 4:
        return word
    for ending, instead in (("lves", "lf"), ("ives", "ife"), ("oaves", "oaf"), ("ies", "y")):
        if word.endswith(ending):
            return word.removesuffix(ending) + instead
    if word.endswith(("oes", "ches", "shes", "sses", "xes")):
        return word[:-2]
    return word.removesuffix("s")
