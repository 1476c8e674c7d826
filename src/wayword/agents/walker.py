"""Walker: an indoor walk as one growing text; the next neighbor is chosen by its letter.

    wayword run walker --on houses --model local:smollm2

The prompt holds the task and the instruction, then for every viewpoint a line for the place, a
short line for each neighbor (a letter, its direction, what lies there, whether it was visited), and
the choice. Text is only ever appended, so a model with a prefix cache reads every token once an
episode, and the last prompt of an episode is a complete training example. The model writes no
thoughts: the letters and ``stop`` are ranked by their log-probability.

The prompt is made for weights that are trained on it (``wayword train walker``). None are shipped
yet: see docs/training.md.

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

    words: int = 7
    here: int = 6
    near: int = 3
    prompts: str = ""

    def __post_init__(self) -> None:
        if min(self.words, self.here, self.near) < 0:
            raise UsageError("walker: words, here and near must be at least 0")


class Walker:
    """Walker: one growing text, a line a neighbor, a letter as the answer.

    ``answers`` maps each legal action to its option in the prompt; training reads it.
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
        self._asked = False
        self.prompt = ""
        self.answers: dict[Action, str] = {}

    async def begin(self, episode: Episode) -> None:
        """Write the task and the instruction."""
        instruction = " ".join(episode.instruction.split())
        begin = self._prompts.fill("begin", instruction=instruction)
        self.prompt = f"{self._prompts['task']}\n{begin}\n"
        self._visited, self._asked = [], False

    async def act(self, observation: IndoorObservation, space: ActionSpace) -> Decision | Rejection:
        if not self._asked:
            self._look(observation)
        options = list(self.answers.values())
        choice = await self._toolkit.model().choose(self.prompt, options)
        action = list(self.answers)[options.index(choice.best)]
        return Decision(action)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Append the choice to the prompt that asked for it."""
        if isinstance(decision, Decision):
            self.prompt += f" {self.answers[decision.action]}\n"
            self._asked = False

    def _look(self, seen: IndoorObservation) -> None:
        """Append the place and its neighbors, left to right; one behind comes first or last."""
        percept = self._perceiver.perceive(seen.scene, seen.viewpoint)
        around = sorted(seen.neighbors, key=lambda near: relative(near.heading, seen.heading))
        letters = [letter(number) for number in range(len(around))]
        lines, view = [], ""
        for name, near in zip(letters, around, strict=True):
            last, view = view, self._view(percept, near)
            words = self._prompts["same"] if view == last else view
            where, mark = direction(near, seen.heading), self._mark(near.viewpoint)
            slots = {"letter": name, "direction": where, "view": words, "mark": mark}
            lines.append(self._prompts.fill("way", **slots))
        here = self._place(percept)
        self.prompt += self._prompts.fill("place", here=here, ways="\n".join(lines))
        self.answers = {
            Action("goto", (near.viewpoint,)): name
            for name, near in zip(letters, around, strict=True)
        }
        self.answers[STOP] = "stop"
        self._visited.append(seen.viewpoint)
        self._asked = True

    def _view(self, percept: Percept, near: Neighbor) -> str:
        caption = percept.sectors[sector(near.heading, len(percept.sectors))].caption
        return " ".join(gist(caption, self._skipped)[: self._settings.words])

    def _place(self, percept: Percept) -> str:
        """The place in a few words, then the nearest things around it."""
        words = gist(percept.summary, self._skipped)[: self._settings.here]
        seen = [thing for part in percept.sectors for thing in part.sightings]
        seen.sort(key=lambda thing: FAR if thing.distance is None else thing.distance)
        names = list(dict.fromkeys(_NUMBER.sub("", thing.name.lower()) for thing in seen))
        names = names[: self._settings.near]
        return "; ".join(filter(None, [" ".join(words), ", ".join(names)]))

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
