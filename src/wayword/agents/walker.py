"""Walker: an indoor walk as one growing text that says which clause of the instruction it follows.

    wayword run walker --on houses --model local:walker

The prompt holds the task and the instruction's clauses, numbered, cut by plain rules
(:mod:`~wayword.agents.parts.clauses`). At every viewpoint it is asked twice. First, after a line
for the place: which clause is followed from here, or ``stop``; that clause is written down again.
Then, after a short line for each neighbor (a letter, its direction, what lies there, whether it was
visited): which neighbor, by its letter. So each question can be answered from the lines just above
it, and a small model need not keep its place in the instruction over a whole walk.

Text is only ever appended, so a model with a prefix cache reads every token once an episode, and
the last prompt of an episode is a complete training example. The model writes no thoughts: the
options are ranked by their log-probability.

The prompt is made for weights that are trained on it (``wayword train walker``, ``local:walker``).

A view is described by the content words of its caption, each once: articles, verbs of seeing and
what every picture shows (walls, ceilings) are left out; ``prompts/walker/skipped.txt`` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_uppercase
from typing import ClassVar

from wayword.agents.parts.asking import Prompts
from wayword.agents.parts.clauses import NUMBERS, Clause, clauses, marked, options
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.geometry import relative, sector
from wayword.core.perceiver import Percept
from wayword.core.world import Feedback
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation

TURNS = (
    (15.0, "ahead"),
    (40.0, "slightly {side}"),
    (70.0, "half {side}"),
    (110.0, "{side}"),
    (155.0, "sharp {side}"),
    (180.0, "behind"),
)
"""Names of directions, each up to this angle from the heading, degrees to either side."""

STEEP = 9.0
"""Degrees of elevation from which a neighbor is up or down; steps between rooms stay below."""

FAR = 3.0
"""Metres from which a neighbor is called far; recorded objects end at the same distance."""

CLOSE = 2.0
"""Metres within which a thing is told as close."""

SEARCHED = 12
"""Words of a view that are compared with the clause; fewer are written."""

MOST_SHARED = 4
"""Signs behind a neighbor's letter at most: one for each word that the clause has, too."""

_WORD = re.compile(r"[a-z]+")
_NUMBER = re.compile(r"\s*_\d+$")
"""Recorded objects name a second chair ``chair _2``."""


@dataclass(frozen=True, slots=True)
class WalkerSettings:
    """How much is described. ``words``: at most so many words a neighbor; ``here``: of the place.

    ``near``: at most so many names of things within three metres. ``prompts``: a folder of texts to
    use instead of the shipped ones. Weights are trained for one wording: to change any of these,
    train again.
    """

    words: int = 5
    here: int = 5
    near: int = 3
    prompts: str = ""

    def __post_init__(self) -> None:
        if min(self.words, self.here, self.near) < 0:
            raise UsageError("walker: words, here and near must be at least 0")


class Walker:
    """Walker: one growing text that says which clause it follows; letters for neighbors.

    ``answers`` maps each decision that is asked for to its option in the prompt, ``clauses`` are
    the instruction's; training reads both.
    """

    Settings: ClassVar[type[WalkerSettings]] = WalkerSettings
    families: ClassVar[frozenset[str]] = frozenset({"indoor"})
    needs_model: ClassVar[bool] = True

    def __init__(self, settings: WalkerSettings, toolkit: Toolkit) -> None:
        if toolkit.perceiver is None:
            raise UsageError("walker: this dataset has no perceiver to describe its viewpoints")
        self._settings, self._toolkit, self._perceiver = settings, toolkit, toolkit.perceiver
        self._prompts = Prompts("walker", settings.prompts)
        self._visited: list[str] = []
        self._written = ""
        self.prompt = ""
        self.clauses: tuple[Clause, ...] = ()
        self.followed = 1
        self.answers: dict[Action, str] = {}

    async def begin(self, episode: Episode) -> None:
        """Write the task and the instruction's clauses."""
        instruction = " ".join(episode.instruction.split())
        self.clauses, self.followed = clauses(instruction, within=True), 1
        told = [
            self._prompts.fill("clause", number=NUMBERS[place], clause=clause.text)
            for place, clause in enumerate(self.clauses)
        ]
        begin = self._prompts.fill("begin", clauses="\n".join(told))
        self.prompt = f"{self._prompts['task']}\n{begin}\n"
        self._visited, self._written = [], ""

    async def act(self, observation: IndoorObservation, space: ActionSpace) -> Decision | Rejection:
        if observation.viewpoint != self._written:
            percept = self._perceiver.perceive(observation.scene, observation.viewpoint)
            if not await self._follow(observation, percept):
                return Decision(STOP)
            self._look(observation, percept)
        return Decision(await self._asked())

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Append the choice to the prompt that asked for it."""
        if isinstance(decision, Decision) and decision.action in self.answers:
            self.prompt += f" {self.answers[decision.action]}\n"
            self._written = ""

    async def _asked(self) -> Action:
        options = list(self.answers.values())
        choice = await self._toolkit.model().choose(self.prompt, options)
        return list(self.answers)[options.index(choice.best)]

    async def _follow(self, seen: IndoorObservation, percept: Percept) -> bool:
        """Append the place, and the clause that is followed from here; False to stop here."""
        self.prompt += self._prompts.fill("place", here=self._marked(self._place(percept)))
        self.answers = {**options(self.followed, len(self.clauses)), STOP: "stop"}
        chosen = await self._asked()
        if chosen == STOP:
            return False
        self.followed = int(chosen.arguments[0])
        number, clause = NUMBERS[self.followed - 1], self.clauses[self.followed - 1].text
        self.prompt += " " + self._prompts.fill("clause", number=number, clause=clause) + "\n"
        return True

    def _look(self, seen: IndoorObservation, percept: Percept) -> None:
        """Append the neighbors, left to right; one behind comes first or last."""
        around = sorted(seen.neighbors, key=lambda near: relative(near.heading, seen.heading))
        letters = [letter(number) for number in range(len(around))]
        lines = []
        for name, near in zip(letters, around, strict=True):
            where, mark = direction(near, seen.heading), self._mark(near.viewpoint)
            view = self._view(percept, near)
            alike = self._marked(" ".join(view[:SEARCHED])).count("*")
            slots = {"letter": name, "shared": "*" * min(MOST_SHARED, alike), "direction": where}
            slots["view"] = " ".join(view[: self._settings.words])
            lines.append(self._prompts.fill("way", **slots, mark=mark))
        self.prompt += self._prompts.fill("ways", ways="\n".join(lines))
        self.answers = {
            Action("goto", (near.viewpoint,)): name
            for name, near in zip(letters, around, strict=True)
        }
        self._visited.append(seen.viewpoint)
        self._written = seen.viewpoint

    def _view(self, percept: Percept, near: Neighbor) -> list[str]:
        caption = percept.sectors[sector(near.heading, len(percept.sectors))].caption
        return gist(caption, self._skipped)

    def _place(self, percept: Percept) -> str:
        """The place in a few words, then the things around it: those close by, then the others."""
        words = gist(percept.summary, self._skipped)[: self._settings.here]
        seen = [thing for part in percept.sectors for thing in part.sightings]
        seen.sort(key=lambda thing: FAR if thing.distance is None else thing.distance)
        names: dict[str, bool] = {}
        for thing in seen:
            close = thing.distance is not None and thing.distance <= CLOSE
            names.setdefault(_NUMBER.sub("", thing.name.lower()), close)
        told = list(names)[: self._settings.near]
        by = ", ".join(name for name in told if names[name])
        near = ", ".join(name for name in told if not names[name])
        parts = [" ".join(words), by and f"close {by}", near and f"near {near}"]
        return "; ".join(filter(None, parts))

    def _marked(self, words: str) -> str:
        """The words, with a sign behind those that the clause followed at present has, too."""
        return marked(words, self.clauses[self.followed - 1].text, self._dull)

    @property
    def _dull(self) -> frozenset[str]:
        return self._skipped | _words(self._prompts["moves"])

    def _mark(self, viewpoint: str) -> str:
        if viewpoint not in self._visited:
            return ""
        return " (back)" if viewpoint == self._visited[-1] else " (seen)"

    @property
    def _skipped(self) -> frozenset[str]:
        return _words(self._prompts["skipped"])


def letter(number: int) -> str:
    """The name of an option: A to Z, then AA, AB and so on."""
    more, last = divmod(number, len(ascii_uppercase))
    return (letter(more - 1) if more else "") + ascii_uppercase[last]


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


agent = Walker
