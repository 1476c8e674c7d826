"""Chores: what an actor in a home is asked to do, and what it was told so far.

>>> words = "heat: warm" + chr(10) + "to: on"
>>> lexicon = Lexicon.read("coffee mug: mug cup", "desk: desk", words)
>>> chore = lexicon.chore("Put a warm coffee mug on the desk.")
>>> chore.things, chore.treatment, chore.places
(('mug', 'cup'), 'heat', ('desk',))

Requests are read by plain rules on words: what goes where, and what is done to it.
``prompts/things.txt`` and ``places.txt`` list everyday words with the types of things that
they may mean, the likeliest first, as counted in the requests of ALFRED's training split;
``words.txt`` lists the other words that the rules go by.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from wayword.core.action import Action
from wayword.core.world import Feedback
from wayword.worlds.household.observation import HouseholdObservation

CARRIERS = frozenset({"bowl", "box", "cup", "mug", "pan", "plate", "pot"})
"""Types of things that other things are put in, to be carried along."""
LAMPS = frozenset({"desk_lamp", "floor_lamp"})
KNIVES = ("knife", "butter_knife")
TOOLS = {"heat": "microwave", "cool": "fridge", "clean": "sink_basin"}
"""Verb -> the type of thing that does it."""
USUAL = ("counter_top", "dining_table", "side_table")
"""Where what was heated, cooled or washed goes, where the request does not tell."""
ROLES = ("with", "from", "by", "to")
LONGEST = 4
"""Words of the longest name."""
_PLURAL = frozenset({"key_chain", "tissue_box"})
"""One of them is called keys, or tissues."""
_WORD = re.compile(r"[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class AskedChore:
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


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a request: its words from ``at`` to before ``end``, the types it may mean, how it
    is led up to (one of ``ROLES`` or nothing), whether it stands for several, and for a place."""

    at: int
    end: int
    types: tuple[str, ...]
    role: str
    several: bool
    place: bool


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words that the rules know: name -> types, and kind of word -> words."""

    things: Mapping[str, tuple[str, ...]]
    places: Mapping[str, tuple[str, ...]]
    words: Mapping[str, tuple[str, ...]]

    @staticmethod
    @lru_cache(maxsize=8)
    def read(things: str, places: str, words: str) -> Lexicon:
        return Lexicon(*(_listed(text) for text in (things, places, words)))

    def chore(self, request: str) -> AskedChore:
        """The chore that a request names; its fields are empty where the rules find nothing."""
        told = _WORD.findall(request.lower())
        words = [_singular(word) for word in told]
        found = self._mentions(words, told)
        rest = {n for n in range(len(told)) if not any(m.at <= n < m.end for m in found)}
        free = {told[n] for n in rest} | {words[n] for n in rest}
        sliced = self._any("sliced", free)
        small = [each for each in found if not each.place]
        if sliced:  # the knife that one of them is cut with is not asked for
            small = [each for each in small if not set(each.types) & set(KNIVES)] or small
        thing, carrier = _carried(small)
        treatment = self._treatment([words[n] for n in sorted(rest)], found)
        lamps = [each for each in found if each.place and set(each.types) & LAMPS]
        places = _places([each for each in found if each not in lamps], treatment)
        things = thing.types if thing else ()
        if things[:2] == ("cup", "mug") and "coffee_machine" in places:
            things = ("mug", "cup")
        if lamps and not treatment and (not places or self._any("looking", free)):
            return AskedChore(things, lamps[-1].types, sliced=sliced, lit=True)
        two = bool(thing and not carrier and (thing.several or self._any("two", free)))
        carriers = carrier.types if carrier else ()
        return AskedChore(things, places, carriers, treatment, two, sliced)

    def _any(self, kind: str, words: set[str]) -> bool:
        return not words.isdisjoint(self.words.get(kind, ()))

    def _mentions(self, words: Sequence[str], told: Sequence[str]) -> list[Mention]:
        """Names, longest first; of two that stand side by side the first describes the second."""
        found: list[Mention] = []
        at = before = 0
        while at < len(words):
            ends = range(min(len(words), at + LONGEST), at, -1)
            names = ((" ".join(words[at:end]), end) for end in ends)
            longest = (each for each in names if each[0] in self.things or each[0] in self.places)
            name, end = next(longest, ("", at))
            if end == at:
                at += 1
                continue
            types = self.things.get(name) or self.places[name]
            several = told[end - 1] != words[end - 1] and types[0] not in _PLURAL
            role = self._role(words[before:at])
            if found and found[-1].end == at:
                role = found.pop().role
            found.append(Mention(at, end, types, role, several, name not in self.things))
            at = before = end
        return found

    def _role(self, gap: Sequence[str]) -> str:
        """How the words before a name lead up to it."""
        known = {word: role for role in reversed(ROLES) for word in self.words.get(role, ())}
        part = {*self.words.get("part", ()), *self.words.get("sliced", ()), ""}
        for number in range(len(gap) - 1, -1, -1):
            word, before = gap[number], gap[number - 1] if number else ""
            if word == "of" and before in part:
                continue
            if word in ("to", "of") and before in self.words.get("by", ()):
                return "by"
            if word in known:
                return known[word]
        return ""

    def _treatment(self, words: Sequence[str], found: Sequence[Mention]) -> str:
        """The verb that is named, or whose tool the thing goes into first, and then elsewhere."""
        known = {word: verb for verb in TOOLS for word in self.words.get(verb, ())}
        for word in words:
            if word in known:
                return known[word]
        to = [each for each in found if each.place and each.role in ("to", "")]
        for verb, tool in TOOLS.items():
            led = [each.types[0] for each in to if each.role == "to" or verb == "heat"]
            if tool in led and to[-1].types[0] != tool:
                return verb
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


def _places(found: Sequence[Mention], treatment: str) -> tuple[str, ...]:
    """Where the thing goes: what is last led up to by ``in`` or ``on``, the tool aside."""
    furniture = [each for each in found if each.place]
    tool = TOOLS.get(treatment, "")
    for role in ("to", "", "by", "from"):
        fitting = [m for m in furniture if m.role == role and m.types[0] != tool]
        if fitting:
            return fitting[-1].types
    return USUAL if treatment else furniture[-1].types if furniture else ()


def _listed(text: str) -> Mapping[str, tuple[str, ...]]:
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


# What was told: things, where they are, what was done. Only observations and what came of actions
# go in.


def kind(name: str) -> str:
    """The type of a thing: ``mug`` for ``mug_1``."""
    return name.rpartition("_")[0]


@dataclass(slots=True)
class Known:
    """A thing that was seen: its states, and what it was in (``within``) or on, as last seen."""

    states: frozenset[str] = frozenset()
    container: str = ""
    within: bool = False


@dataclass(slots=True)
class Belief:
    """What an actor was told so far; names are those that it was told."""

    things: dict[str, Known] = field(default_factory=dict)
    near: dict[str, float] = field(default_factory=dict)
    held: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    explored: set[str] = field(default_factory=set)
    checked: set[str] = field(default_factory=set)
    treated: set[str] = field(default_factory=set)
    failed: dict[Action, int] = field(default_factory=dict)
    tried: dict[Action, int] = field(default_factory=dict)
    full: set[str] = field(default_factory=set)

    def see(self, seen: HouseholdObservation) -> None:
        self.near = {thing.name: thing.distance for thing in seen.objects}
        for thing in seen.objects:
            known = self.things.setdefault(thing.name, Known())
            known.states = frozenset(thing.attributes)
            if thing.container:
                known.container, known.within = thing.container, thing.preposition == "in"
        self.held = tuple(thing.name for thing in seen.holding)
        self.inside = tuple(name for thing in seen.holding for name in thing.contents)
        for held in seen.holding:
            self.things[held.name] = Known(frozenset(held.attributes))

    def take(self, action: Action, feedback: Feedback) -> None:
        self.tried[action] = self.tried.get(action, 0) + 1
        if not feedback.ok:
            self.failed[action] = self.failed.get(action, 0) + 1
            if feedback.status == "full":
                self.full.add(action.arguments[-1])
            return
        told = feedback.details
        for name in told.get("seen", ()):
            self.things.setdefault(name, Known())
        for name in told.get("closed", ()):
            self.things[name].states = frozenset({"closed"})
        for name in told.get("contents", ()):
            known = self.things.setdefault(name, Known())
            known.container, known.within = action.arguments[0], told.get("preposition") == "in"
        # What failed once may be tried again.
        self.failed = {act: count for act, count in self.failed.items() if count > 1}
        if action.name == "go_grab":
            self.full.discard(self.things[action.arguments[0]].container)
        elif action.name == "go_explore":
            self.explored.add(action.arguments[0])
        elif action.name == "go_check":
            self.checked.add(action.arguments[0])
        elif action.name == "go_put" and self.held:
            self.things[self.held[-1]].container = action.arguments[0]
        elif action.name in TOOLS:
            self.treated.add(action.arguments[0])

    def of(self, types: Sequence[str]) -> list[str]:
        """The known things of these types, the likeliest type first."""
        return [name for each in types for name in self.things if kind(name) == each]

    def best(self, types: Sequence[str]) -> list[str]:
        """The known things of the likeliest of these types that there is; before a room was
        explored, of the first alone."""
        found = self.of(types if self.explored else types[:1])
        return [name for name in found if kind(name) == kind(found[0])]
