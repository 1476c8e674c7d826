"""Walker: an indoor walk as one growing text of questions that are answered by yes or no.

    wayword run walker --on houses --model local:walker

The instruction is cut into clauses by plain rules (:mod:`~wayword.agents.clauses`), and the
text says which one is followed. At every viewpoint a line tells the place, and the first question
is whether the clause is done here; if it is, the next clause is asked about, and behind the last
one the walk stops. Then each neighbor has a line of its own (its direction, what stands where it
leads, what lies behind it) that ends in a question mark: does the clause lead there? The neighbor
with the most probable yes is taken. So each answer hangs on the lines just above it, and a
small model need not keep its place in the instruction over a whole walk.

Each line ends in what it shares with the clause's end. ``all`` or ``some`` of the words that this
names stand in the first words for the ``place``, in the names of things ``at`` it or ``by`` it, or
in what one ``sees`` that way. The clause goes ``through`` what it names, and not merely there; it
has been followed for ``no steps``, or more; ``turn`` says that it begins with a turn that way;
``back`` and ``seen``, that one has been there. These are plain rules on words, and an untrained
model reads the same ones.

Text is only ever appended, so a model with a prefix cache reads every token once an episode, and
the last prompt of an episode is a complete training example. The model writes no thoughts: yes and
no are ranked by their log-probability.

A view is described by the content words of its caption, each once: articles, verbs of seeing and
what every picture shows (walls, ceilings) are left out; ``walker/prompts/skipped.txt`` lists them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from wayword.agents.clauses import (
    NO,
    YES,
    Clause,
    clauses,
    goes_through,
    if_done,
    last_parts,
    note_clauses,
    note_followed,
    plain_words,
    turn_of,
)
from wayword.agents.prompting import Prompts
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.geometry import Point, relative, sector, unit
from wayword.core.perceiver import Percept
from wayword.core.world import Feedback
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation

TURNS = (
    (25.0, "ahead"),
    (65.0, "slightly {side}"),
    (115.0, "{side}"),
    (155.0, "sharp {side}"),
    (180.0, "behind"),
)
"""Names of directions, each up to this angle from the heading, degrees to either side."""

STEEP = 9.0
"""Degrees of elevation from which a neighbor is up or down; steps between rooms stay below."""

FAR = 3.0
"""Metres from which a neighbor is called far; recorded objects end at the same distance."""

AT, BY = 0.9, 1.9
"""Metres within which a thing stands at a place, or by it."""

AGREES = 45.0
"""A neighbor lies in a told direction if it is the nearest to it, within so many degrees."""

_WORD = re.compile(r"[a-z]+")
_NUMBER = re.compile(r"\s*_\d+$")
"""Recorded objects name a second chair ``chair _2``."""
_STEPS = ("no steps", "one step", "two steps", "three steps", "many steps")


@dataclass(frozen=True, slots=True)
class WalkerSettings:
    """How much is described: at most so many words of a neighbor's view (``words``) and of the
    place (``here``), and so many things at a place and by it (``near``).

    ``prompts``: a folder of texts to use instead of the shipped ones. Weights are trained for one
    wording: to change any of these, train again.
    """

    words: int = 4
    here: int = 5
    near: int = 2
    prompts: str = ""

    def __post_init__(self) -> None:
        if min(self.words, self.here, self.near) < 0:
            raise UsageError("walker: words, here and near must be at least 0")


class Walker(Agent):
    """Walker: one growing text of yes or no: is the clause done, does it lead there?

    ``answers`` maps each decision to its answer to the question that is asked, ``clauses`` are
    the instruction's; training reads both.
    """

    Settings: ClassVar[type[WalkerSettings]] = WalkerSettings
    families: ClassVar[frozenset[str]] = frozenset({"indoor"})
    needs_model: ClassVar[bool] = True

    def __init__(self, settings: WalkerSettings, toolkit: Toolkit) -> None:
        if toolkit.perceiver is None:
            raise UsageError("walker: this dataset has no perceiver to describe its viewpoints")
        self._settings, self._toolkit, self._perceiver = settings, toolkit, toolkit.perceiver
        self._prompts = Prompts(__file__, settings.prompts)
        self._visited: list[str] = []
        self._steps = 0
        self._picked: dict[Action, str] = {}
        self.prompt = ""
        self.clauses: tuple[Clause, ...] = ()
        self.followed = 1
        self.answers: dict[Action, str] = {}

    async def begin(self, episode: Episode) -> None:
        instruction = " ".join(episode.instruction.split())
        self.clauses, self.followed = clauses(instruction), 1
        listed = [self._prompts.fill("clause", clause=clause.text) for clause in self.clauses]
        begin = self._prompts.fill("begin", clauses="\n".join(listed))
        self.prompt = f"{self._prompts['task']}\n{begin}\n\n"
        self._visited, self._steps, self._picked = [], 0, {}
        note_clauses(self._toolkit.note, self.clauses)

    async def act(self, observation: IndoorObservation, space: ActionSpace) -> Decision | Rejection:
        percept = self._perceiver.perceive(observation.scene, observation.viewpoint)
        arrived = False
        while not arrived and await self._done(percept):  # on to the first clause not done here
            arrived = self.followed == len(self.clauses)
            if not arrived:
                self.followed, self._steps = self.followed + 1, 0
        before = range(1, self.followed + arrived)
        note_followed(self._toolkit.note, self.followed, before)
        if arrived or not observation.neighbors:
            return Decision(STOP)
        return Decision(await self._pick(observation, percept))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        if isinstance(decision, Decision) and decision.action in self._picked:
            direction = self._picked[decision.action]
            self.prompt += "\n" + self._prompts.fill("go", direction=direction) + "\n"
            self._steps += 1
            self._picked = {}

    async def _yes(self) -> float:
        """The log-probability of yes less that of no, as an answer to the text as it stands."""
        choice = await self._toolkit.model().choose(self.prompt, [NO, YES])
        return choice.logprobs[1] - choice.logprobs[0]

    async def _done(self, percept: Percept) -> bool:
        """Append the place, and whether the clause is done here."""
        here, signs = self._place(percept)
        clause = self.clauses[self.followed - 1].text
        self.prompt += self._prompts.fill("place", clause=clause, here=here, signs=signs)
        self.answers = if_done(self.followed, len(self.clauses), STOP)
        done = await self._yes() > 0
        self.prompt += f" {YES if done else NO}\n"
        return done

    async def _pick(self, seen: IndoorObservation, percept: Percept) -> Action:
        """Append the neighbors, left to right, each asked about; one behind is first or last."""
        around = sorted(seen.neighbors, key=lambda near: relative(near.heading, seen.heading))
        told = turn_of(self.clauses[self.followed - 1].text)
        turned = None  # the neighbor in the direction that the clause begins with, while it begins
        if told is not None and not self._steps:
            away = [abs(relative(near.heading, seen.heading + told)) for near in around]
            turned = around[away.index(min(away))] if min(away) <= AGREES else None
        ways = {Action("goto", (near.viewpoint,)): near for near in around}
        likely: dict[Action, float] = {}
        for action, near in ways.items():
            self.prompt += "\n" if likely else ""
            self.prompt += self._way(seen, percept, near, near is turned)
            self.answers = {other: YES if other == action else NO for other in ways}
            likely[action] = await self._yes()
        best = max(likely, key=likely.__getitem__)
        self._visited.append(seen.viewpoint)
        self._picked = {best: direction(ways[best], seen.heading)}
        return best

    def _way(self, seen: IndoorObservation, percept: Percept, near: Neighbor, turned: bool) -> str:
        caption = percept.sectors[sector(near.heading, len(percept.sectors))].caption
        words = gist(caption, self._skipped)
        things, shared = self._standing(_around(percept, near))
        back = near.viewpoint == self._visited[-1] if self._visited else False
        mark = "back" if back else "seen" * (near.viewpoint in self._visited)
        signs = [direction(near, seen.heading), "turn" * turned, *shared]
        signs += [self._shared("sees", [caption]), mark]
        told = [*things, self._first(words, self._settings.words)]
        return self._prompts.fill("way", view=_listed("; ", told), signs=_listed(", ", signs))

    def _place(self, percept: Percept) -> tuple[str, str]:
        """The place in a few words with the things at it and by it; what agrees with the clause."""
        seen = [thing for part in percept.sectors for thing in part.sightings]
        near = [(thing.distance, thing.name) for thing in seen if thing.distance is not None]
        things, shared = self._standing(near)
        steps = _STEPS[min(self._steps, len(_STEPS) - 1)]
        first = percept.summary.partition(",")[0]
        words = self._first(gist(percept.summary, self._skipped), self._settings.here)
        through = goes_through(self.clauses[self.followed - 1].text)
        signs = [steps, "through" * through, self._shared("place", [first]), *shared]
        return _listed("; ", [words, *things]), _listed(", ", signs)

    def _standing(self, things: Sequence[tuple[float, str]]) -> tuple[list[str], list[str]]:
        """The things (metres, name) at a place and by it, and what they share with the clause."""
        told, shared = [], []
        for word, least, most in (("at", -1.0, AT), ("by", AT, BY)):
            there = sorted(thing for thing in things if least < thing[0] <= most)
            names = list(dict.fromkeys(_NUMBER.sub("", name.lower()) for _, name in there))
            shared.append(self._shared(word, names))
            names.sort(key=lambda name: -len(plain_words(name) & self._sought))
            listed = ", ".join(names[: self._settings.near])
            told.append(f"{word} {listed}" if listed else "")
        return told, shared

    def _first(self, words: Sequence[str], most: int) -> str:
        """The first words, but those that the clause names before others."""
        named = [word for word in words if plain_words(word) & self._sought]
        kept = set([*named, *(word for word in words if word not in named)][:most])
        return " ".join(word for word in words if word in kept)

    def _shared(self, what: str, texts: Sequence[str]) -> str:
        """``at all`` or ``at some``: how much of what the clause names stands in the texts."""
        found = plain_words(" ".join(texts)) & self._sought
        return f"{what} {'all' if found == self._sought else 'some'}" if found else ""

    @property
    def _sought(self) -> frozenset[str]:
        """What the last part of the clause names."""
        moves = _words(self._prompts["moves"])
        return _named(self.clauses[self.followed - 1].text, self._skipped | moves)

    @property
    def _skipped(self) -> frozenset[str]:
        return _words(self._prompts["skipped"])


def _listed(joint: str, parts: Iterable[str]) -> str:
    return joint.join(filter(None, parts))


def _around(percept: Percept, near: Neighbor) -> list[tuple[float, str]]:
    """Things in sight with their distance (metres, on the floor) from where a neighbor lies."""

    def spot(heading: float, distance: float) -> Point:  # metres to the east and north
        east, north = unit(heading)
        return distance * east, distance * north

    there = spot(near.heading, near.distance)
    return [
        (math.dist(there, spot(thing.heading, thing.distance)), thing.name)
        for part in percept.sectors
        for thing in part.sightings
        if thing.distance is not None
    ]


def direction(near: Neighbor, heading: float) -> str:
    """Where a neighbor lies: ``slightly left``, ``behind``, ``ahead up far``.

    ``heading``: the direction the actor faces, degrees, absolute.
    """
    angle = relative(near.heading, heading)
    side = "left" if angle < 0 else "right"
    turn = next(name for most, name in TURNS if abs(angle) <= most)
    steep = " up" if near.elevation >= STEEP else " down" if near.elevation <= -STEEP else ""
    return turn.format(side=side) + steep + (" far" if near.distance >= FAR else "")


def gist(sentence: str, skipped: Collection[str]) -> list[str]:
    """The content words of a sentence, each once, in order.

    >>> gist("A hallway with a bench leads to a hallway.", {"a", "with", "to"})
    ['hallway', 'bench', 'leads']
    """
    words: Iterable[str] = _WORD.findall(sentence.lower())
    return list(dict.fromkeys(word for word in words if word not in skipped))


@lru_cache(maxsize=8)
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@lru_cache(maxsize=64)
def _named(clause: str, dull: frozenset[str]) -> frozenset[str]:
    """The content words of a clause's end; of the whole where that has none."""
    texts = (*last_parts(clause), clause)
    return next((found for text in texts if (found := plain_words(text) - dull)), frozenset())


agent = Walker
