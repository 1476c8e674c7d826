"""Walker: an indoor walk as one growing text of questions that are answered by yes or no.

    wayword run walker --on houses --model local:walker

The instruction is cut into clauses by plain rules (:mod:`~wayword.agents.clauses`), and the
text says which one is followed. At every viewpoint the first question is whether the clause is done
here; if it is, the next clause is asked about, and behind the last one the walk stops. Then each
neighbor has a line of its own (its direction, what stands where it leads, what lies behind it)
that ends in a question mark: does the clause lead there? The neighbor with the most probable yes is
taken. So each answer depends on the lines just above it, and a small model need not keep its place
in the instruction over a whole walk.

Each line ends in what it shares with the clause's end. ``all`` or ``some`` of the words that this
names stand in the first words for the ``place``, in the names of objects ``at`` it or ``by`` it, or
in what one ``sees`` that way. The clause goes ``through`` what it names, and not merely there; it
has been followed for ``no steps``, or more; ``turn`` says that it begins with a turn that way;
``back`` and ``seen``, that one has been there. An untrained model reads the same signs.

Text is only ever appended, so a model with a prefix cache reads every token once an episode, and
the last prompt of an episode is a complete training example. The model writes no thoughts: yes and
no are ranked by their log-probability.

A view is described by the content words of its caption, each once, without the words of
``walker/prompts/skipped.txt`` (articles, verbs of seeing, walls, ceilings).
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
    ask_yes,
    clause_ends,
    clauses,
    done_answers,
    goes_through,
    note_clauses,
    note_followed,
    plain_words,
    turn_of,
)
from wayword.agents.prompting import NotNegative, Prompts, joined
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.geometry import Point, relative, sector, unit
from wayword.core.perceiver import Percept
from wayword.core.world import Feedback
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation

DIRECTION_NAMES = (
    (25.0, "ahead"),
    (65.0, "slightly {side}"),
    (115.0, "{side}"),
    (155.0, "sharp {side}"),
    (180.0, "behind"),
)
"""Names of directions, each up to this angle from the heading, degrees to either side."""

STEEP = 9.0
"""Degrees of elevation from which a neighbor is up or down; steps between rooms stay below."""

FAR_DISTANCE = 3.0  # metres from which a neighbor is far; recorded objects end there, too

AT_RADIUS, BY_RADIUS = 0.9, 1.9  # metres within which an object stands at a place, or by it

TOLERANCE = 45.0
"""Degrees: a neighbor lies in a named direction if it is the nearest to it and within these."""

_WORD = re.compile(r"[a-z]+")
_NUMBER = re.compile(r"\s*_\d+$")  # recorded objects name a second chair ``chair _2``
_STEP_COUNTS = ("no steps", "one step", "two steps", "three steps", "many steps")


@dataclass(frozen=True, slots=True)
class WalkerSettings:
    """Limits of the description: words of a neighbor's view (``words``) and of the
    place (``here``), and objects at a place and by it (``near``).

    ``prompts``: a folder of texts to use instead of the shipped ones. Weights are trained for one
    wording: to change any of these, train again.
    """

    words: NotNegative = 4
    here: NotNegative = 5
    near: NotNegative = 2
    prompts: str = ""


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
        self._skipped = frozenset(self._prompts["skipped"].split())
        self._unspecific_words = self._skipped | set(self._prompts["moves"].split())
        self._visited: list[str] = []
        self._steps = 0
        self._refused: Rejection | None = None  # the turn's latest answer that was no yes or no
        self._picked_directions: dict[Action, str] = {}
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
        self._visited, self._steps, self._picked_directions = [], 0, {}
        note_clauses(self._toolkit.note, self.clauses)

    async def act(self, observation: IndoorObservation, space: ActionSpace) -> Decision | Rejection:
        percept = self._perceiver.perceive(observation.scene, observation.viewpoint)
        arrived, self._refused = False, None
        while not arrived and await self._ask_done(percept):  # to the first clause not done here
            arrived = self.followed == len(self.clauses)
            if not arrived:
                self.followed, self._steps = self.followed + 1, 0
        note_followed(self._toolkit.note, self.followed, range(1, self.followed + arrived))
        if arrived or not observation.neighbors:
            return Decision(STOP, fallback_for=self._refused)
        best = await self._pick_neighbor(observation, percept)
        return Decision(best, fallback_for=self._refused)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        if isinstance(decision, Decision) and decision.action in self._picked_directions:
            direction_text = self._picked_directions[decision.action]
            self.prompt += "\n" + self._prompts.fill("go", direction=direction_text) + "\n"
            self._steps += 1
            self._picked_directions = {}

    async def _yes_margin(self) -> float:
        """The log-probability of yes less that of no, as an answer to the text as it stands."""
        margin, refused = await ask_yes(self._toolkit.model(), self.prompt)
        self._refused = refused or self._refused
        return margin

    async def _ask_done(self, percept: Percept) -> bool:
        """Append the place in a few words, with the objects at it and by it and what agrees with
        the clause, and the answer whether the clause is done here."""
        clause = self.clauses[self.followed - 1].text
        distances = [
            (sighting.distance, sighting.name)
            for part in percept.sectors
            for sighting in part.sightings
            if sighting.distance is not None
        ]
        objects, shared = self._objects_nearby(distances)
        words = self._shorten(content_words(percept.summary, self._skipped), self._settings.here)
        place = self._overlap_sign("place", [percept.summary.partition(",")[0]])
        steps = _STEP_COUNTS[min(self._steps, len(_STEP_COUNTS) - 1)]
        signs = [steps, "through" * goes_through(clause), place, *shared]
        place_text = joined(words, *objects, gap="; ")
        slots = {"clause": clause, "here": place_text, "signs": joined(*signs, gap=", ")}
        self.prompt += self._prompts.fill("place", **slots)
        self.answers = done_answers(self.followed, len(self.clauses), STOP)
        done = await self._yes_margin() > 0
        self.prompt += f" {YES if done else NO}\n"
        return done

    async def _pick_neighbor(self, view: IndoorObservation, percept: Percept) -> Action:
        """Append the neighbors, left to right, each asked about; one behind is first or last."""
        neighbors = sorted(view.neighbors, key=lambda each: relative(each.heading, view.heading))
        turn = turn_of(self.clauses[self.followed - 1].text)
        target = None  # the neighbor in the direction of the turn that the clause begins with
        if turn is not None and not self._steps:
            angles = [abs(relative(each.heading, view.heading + turn)) for each in neighbors]
            target = neighbors[angles.index(min(angles))] if min(angles) <= TOLERANCE else None
        options = {Action("goto", (neighbor.viewpoint,)): neighbor for neighbor in neighbors}
        yes_margins: dict[Action, float] = {}
        for action, neighbor in options.items():
            self.prompt += "\n" if yes_margins else ""
            self.prompt += self._neighbor_line(view, percept, neighbor, neighbor is target)
            self.answers = {other: YES if other == action else NO for other in options}
            yes_margins[action] = await self._yes_margin()
        best = max(yes_margins, key=yes_margins.__getitem__)
        self._visited.append(view.viewpoint)
        self._picked_directions = {best: direction_text(options[best], view.heading)}
        return best

    def _neighbor_line(
        self, observation: IndoorObservation, percept: Percept, neighbor: Neighbor, is_target: bool
    ) -> str:
        caption = percept.sectors[sector(neighbor.heading, len(percept.sectors))].caption
        objects, shared = self._objects_nearby(_objects_near(percept, neighbor))
        is_back = neighbor.viewpoint == self._visited[-1] if self._visited else False
        visit_sign = "back" if is_back else "seen" * (neighbor.viewpoint in self._visited)
        signs = [direction_text(neighbor, observation.heading), "turn" * is_target, *shared]
        signs += [self._overlap_sign("sees", [caption]), visit_sign]
        words = self._shorten(content_words(caption, self._skipped), self._settings.words)
        view = joined(*objects, words, gap="; ")
        return self._prompts.fill("way", view=view, signs=joined(*signs, gap=", "))

    def _objects_nearby(self, objects: Sequence[tuple[float, str]]) -> tuple[list[str], list[str]]:
        """The objects (metres, name) at a place and by it, and what they share with the clause."""
        texts, shared = [], []
        for word, least, most in (("at", -1.0, AT_RADIUS), ("by", AT_RADIUS, BY_RADIUS)):
            nearby = sorted(one for one in objects if least < one[0] <= most)
            names = list(dict.fromkeys(_NUMBER.sub("", name.lower()) for _, name in nearby))
            shared.append(self._overlap_sign(word, names))
            names.sort(key=lambda name: -len(plain_words(name) & self._goal_words))
            listed = ", ".join(names[: self._settings.near])
            texts.append(f"{word} {listed}" if listed else "")
        return texts, shared

    def _shorten(self, words: Sequence[str], most: int) -> str:
        """The first words, but those that the clause names before others."""
        named_words = [word for word in words if plain_words(word) & self._goal_words]
        chosen = set([*named_words, *(word for word in words if word not in named_words)][:most])
        return " ".join(word for word in words if word in chosen)

    def _overlap_sign(self, label: str, texts: Sequence[str]) -> str:
        """``at all`` or ``at some``: how much of what the clause names stands in the texts."""
        common = plain_words(" ".join(texts)) & self._goal_words
        return f"{label} {'all' if common == self._goal_words else 'some'}" if common else ""

    @property
    def _goal_words(self) -> frozenset[str]:
        return _goal_words_of(self.clauses[self.followed - 1].text, self._unspecific_words)


def _objects_near(percept: Percept, neighbor: Neighbor) -> list[tuple[float, str]]:
    """Objects in sight with their distance (metres, on the floor) from where a neighbor lies."""

    def position(heading: float, distance: float) -> Point:  # metres to the east and north
        east, north = unit(heading)
        return distance * east, distance * north

    end = position(neighbor.heading, neighbor.distance)
    return [
        (math.dist(end, position(sighting.heading, sighting.distance)), sighting.name)
        for part in percept.sectors
        for sighting in part.sightings
        if sighting.distance is not None
    ]


def direction_text(neighbor: Neighbor, heading: float) -> str:
    """The direction of a neighbor: ``slightly left``, ``behind``, ``ahead up far``.

    ``heading``: the direction the actor faces, degrees, absolute.
    """
    angle = relative(neighbor.heading, heading)
    side = "left" if angle < 0 else "right"
    turn = next(name for most, name in DIRECTION_NAMES if abs(angle) <= most)
    elevation = neighbor.elevation
    slope = " up" if elevation >= STEEP else " down" if elevation <= -STEEP else ""
    return turn.format(side=side) + slope + (" far" if neighbor.distance >= FAR_DISTANCE else "")


def content_words(sentence: str, skipped: Collection[str]) -> list[str]:
    """The content words of a sentence, each once, in order.

    >>> content_words("A hallway with a bench leads to a hallway.", {"a", "with", "to"})
    ['hallway', 'bench', 'leads']
    """
    words: Iterable[str] = _WORD.findall(sentence.lower())
    return list(dict.fromkeys(word for word in words if word not in skipped))


@lru_cache(maxsize=64)
def _goal_words_of(clause: str, unspecific: frozenset[str]) -> frozenset[str]:
    """The content words of a clause's end; of the whole clause where that has none."""
    texts = (*clause_ends(clause), clause)
    return next(filter(None, (plain_words(text) - unspecific for text in texts)), frozenset())


agent = Walker
