"""Walker: an indoor walk as one growing text of yes/no questions.

    wayword run walker --on houses --model regression:walker

The instruction is split into clauses by rules (:mod:`~wayword.agents.clauses`). At every viewpoint
the first question is whether the current clause is done here. If so, the same is asked of the next
clause; the walk stops after the last one. Then each neighbor has a line (its direction, the objects
there, the view behind it) that ends in a question: does the clause lead there? The agent goes to
the neighbor with the most probable yes. Each answer depends only on the lines just above it, so a
small model need not keep track of the instruction.

Each line ends in signs that compare it with the end of the clause: ``all`` or ``some`` of the
clause's words occur in the description of the ``place``, in the names of objects ``at`` or ``by``
it, or in what the agent ``sees`` in that direction. ``through``: the clause passes the object it
names. ``no steps`` (or more): steps since the clause began. ``turn``: the clause begins with a turn
in that direction. ``back`` and ``seen``: the neighbor is the last viewpoint, or an earlier one.

Text is only appended, so a model with a prefix cache reads every token once per episode, and the
last prompt of an episode is a complete training example. A view is described by the words of its
caption, without repeats and without those of the page's block ``skipped`` (articles, verbs of
seeing, walls, ceilings).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from wayword.agents import clauses
from wayword.agents.pages import Prompts
from wayword.agents.prompting import NotNegative, joined
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.geometry import Point, relative, sector, unit
from wayword.core.perceiver import Percept
from wayword.core.visible import single_line
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
"""Names of directions, each with its maximum angle from the heading (degrees, either side)."""

STEEP = 9.0  # elevation (degrees) from which a neighbor is up or down

# Metres from which a neighbor is far; also the limit of recorded objects
FAR_DISTANCE = 3.0

AT_RADIUS = 0.9  # metres within which an object is at a place
BY_RADIUS = 1.9  # metres within which it is by the place

# Maximum angle (degrees) from a named direction to the neighbor it means
TOLERANCE = 45.0

_WORD = re.compile(r"[a-z]+")
_NUMBER = re.compile(r"\s*_\d+$")  # recorded objects name a second chair ``chair _2``
_STEP_COUNTS = ("no steps", "one step", "two steps", "three steps", "many steps")


@dataclass(frozen=True)
class WalkerSettings:
    """Settings of the walker: limits of its descriptions.

    ``words`` of a neighbor's view and ``here`` of the current place; ``near`` are the
    objects at a place and by it. ``prompts``: a folder of texts that replace the
    shipped ones. Weights are trained for one wording: after changing any setting, train
    again.
    """

    words: NotNegative = 4
    here: NotNegative = 5
    near: NotNegative = 2
    prompts: str = ""


class Walker(Agent):
    """Walker: one growing text of yes/no questions: is the clause done, does it lead there?

    Training reads ``clauses``, and ``answers``: each decision's answer to the current question.
    """

    Settings = WalkerSettings
    families = frozenset({"indoor"})
    needs_model = True

    def __init__(self, settings: WalkerSettings, toolkit: Toolkit) -> None:
        if toolkit.perceiver is None:
            raise UsageError("walker needs descriptions of viewpoints; set a perceiver")
        self._settings = settings
        self._toolkit = toolkit
        self._perceiver = toolkit.perceiver
        self._prompts = Prompts(__file__, settings.prompts)
        self._skipped = frozenset(self._prompts["skipped"].split())
        self._unspecific_words = self._skipped | set(self._prompts["moves"].split())
        self._visited: list[str] = []
        self._steps = 0
        # The turn's last answer other than yes and no
        self._refused: Rejection | None = None
        self._picked_directions: dict[Action, str] = {}
        self.prompt = ""
        self.clauses: tuple[clauses.Clause, ...] = ()
        self.followed = 1
        self.answers: dict[Action, str] = {}

    async def begin(self, episode: Episode) -> None:
        """Split the instruction into clauses, and start the text."""
        self.clauses = clauses.clauses(single_line(episode.instruction))
        listed = [
            self._prompts.fill("clause", clause=clause.text) for clause in self.clauses
        ]
        begin = self._prompts.fill("begin", clauses="\n".join(listed))
        self.prompt = f"{self._prompts['task']}\n{begin}\n\n"
        clauses.note_clauses(self._toolkit.note, self.clauses)

    async def act(
        self,
        observation: IndoorObservation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Ask which clauses are done here; stop after the last one, else go to the
        likeliest neighbor.
        """
        percept = self._perceiver.perceive(observation.scene, observation.viewpoint)
        arrived = False
        self._refused = None
        # To the first clause not done here
        while not arrived and await self._ask_done(percept):
            arrived = self.followed == len(self.clauses)
            if not arrived:
                self.followed = self.followed + 1
                self._steps = 0
        clauses.note_followed(
            self._toolkit.note,
            self.followed,
            range(1, self.followed + arrived),
        )
        if arrived or not observation.neighbors:
            return Decision(STOP, fallback_for=self._refused)
        best = await self._pick_neighbor(observation, percept)
        return Decision(best, fallback_for=self._refused)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Append the direction that was taken to the text."""
        if isinstance(decision, Rejection):
            return
        direction = self._picked_directions.get(decision.action)
        if direction is not None:
            line = self._prompts.fill("go", direction=direction)
            self.prompt += f"\n{line}\n"
            self._steps += 1
            self._picked_directions = {}

    async def _yes_margin(self) -> float:
        """Return the margin by which the model answers yes to the prompt: above 0, it does."""
        margin, refused = await clauses.ask_yes(self._toolkit.model(), self.prompt)
        self._refused = refused or self._refused
        return margin

    async def _ask_done(self, percept: Percept) -> bool:
        """Append the question "is the clause done here?" and its answer; return True for yes.

        The question has a short description of the place with its objects and matching
        signs.
        """
        clause = self.clauses[self.followed - 1].text
        distances = [(distance, name) for name, _, distance in _sighted(percept)]
        objects, shared = self._objects_nearby(distances)
        words = self._shorten(
            content_words(percept.summary, self._skipped),
            self._settings.here,
        )
        place = self._overlap_sign("place", [percept.summary.partition(",")[0]])
        steps = _STEP_COUNTS[min(self._steps, len(_STEP_COUNTS) - 1)]
        signs = [steps]
        if clauses.goes_through(clause):
            signs.append("through")
        signs += [place, *shared]
        place_text = joined(words, *objects, gap="; ")
        slots = {
            "clause": clause,
            "here": place_text,
            "signs": joined(*signs, gap=", "),
        }
        self.prompt += self._prompts.fill("place", **slots)
        self.answers = clauses.done_answers(self.followed, len(self.clauses), STOP)
        done = await self._yes_margin() > 0
        # The answer stays in the prompt: the next questions of the walk continue it.
        self.prompt += f" {clauses.YES if done else clauses.NO}\n"
        return done

    async def _pick_neighbor(self, view: IndoorObservation, percept: Percept) -> Action:
        """Append a question for each neighbor, and return the move with the likeliest yes.

        From left to right, and remembers the place as visited.
        """
        # In a fixed order, since each question is part of the prompt of the next.
        neighbors = sorted(
            view.neighbors, key=lambda each: relative(each.heading, view.heading)
        )
        turn = clauses.turn_of(self.clauses[self.followed - 1].text)
        target = None  # the neighbor in the direction of the clause's first turn
        # The turn of a clause belongs to its first step alone.
        if turn is not None and not self._steps:
            angles = [
                abs(relative(each.heading, view.heading + turn)) for each in neighbors
            ]
            if min(angles) <= TOLERANCE:
                target = neighbors[angles.index(min(angles))]
        options = {
            Action("goto", (neighbor.viewpoint,)): neighbor for neighbor in neighbors
        }
        yes_margins: dict[Action, float] = {}

        def position(
            heading: float,
            distance: float,
        ) -> Point:  # metres to the east and north
            east, north = unit(heading)
            return distance * east, distance * north

        sighted = _sighted(percept)
        for action, neighbor in options.items():
            if yes_margins:
                self.prompt += "\n"
            caption = percept.sectors[
                sector(neighbor.heading, len(percept.sectors))
            ].caption
            end = position(neighbor.heading, neighbor.distance)
            around = [
                (math.dist(end, position(*place)), name) for name, *place in sighted
            ]
            objects, shared = self._objects_nearby(around)
            signs = [direction_text(neighbor, view.heading)]
            if neighbor is target:
                signs.append("turn")
            signs += shared
            signs.append(self._overlap_sign("sees", [caption]))
            if self._visited[-1:] == [neighbor.viewpoint]:
                signs.append("back")
            elif neighbor.viewpoint in self._visited:
                signs.append("seen")
            words = self._shorten(
                content_words(caption, self._skipped),
                self._settings.words,
            )
            slots = {
                "view": joined(*objects, words, gap="; "),
                "signs": joined(*signs, gap=", "),
            }
            self.prompt += self._prompts.fill("way", **slots)
            self.answers = {
                other: clauses.YES if other == action else clauses.NO
                for other in options
            }
            yes_margins[action] = await self._yes_margin()
        best = max(yes_margins, key=yes_margins.__getitem__)
        self._visited.append(view.viewpoint)
        self._picked_directions = {best: direction_text(options[best], view.heading)}
        return best

    def _objects_nearby(
        self,
        objects: Sequence[tuple[float, str]],
    ) -> tuple[list[str], list[str]]:
        """Return the objects at and by a place as texts, and signs that match the clause.

        ``objects`` are their distances to the place in metres, and their names.
        """
        texts = []
        shared = []
        for word, least, most in (
            ("at", -1.0, AT_RADIUS),
            ("by", AT_RADIUS, BY_RADIUS),
        ):
            distinct: dict[str, None] = {}
            for distance, name in sorted(objects):
                if least < distance <= most:
                    distinct[_NUMBER.sub("", name.lower())] = None
            names = list(distinct)
            shared.append(self._overlap_sign(word, names))
            # Those that share words with the clause first
            names.sort(
                key=lambda name: -len(clauses.plain_words(name) & self._goal_words)
            )
            listed = ", ".join(names[: self._settings.near])
            if listed:
                texts.append(f"{word} {listed}")
        return texts, shared

    def _shorten(self, words: Sequence[str], most: int) -> str:
        """Return at most ``most`` words, those named by the clause first."""
        goal = self._goal_words
        named_first = sorted(
            words, key=lambda word: not clauses.plain_words(word) & goal
        )
        chosen = named_first[:most]
        return " ".join(word for word in words if word in chosen)

    def _overlap_sign(self, label: str, texts: Sequence[str]) -> str:
        """Return ``at all`` or ``at some``: the share of the clause's words in the texts."""
        common = clauses.plain_words(" ".join(texts)) & self._goal_words
        if not common:
            return ""
        share = "all" if common == self._goal_words else "some"
        return f"{label} {share}"

    @property
    def _goal_words(self) -> frozenset[str]:
        """Return the words of the followed clause that name its goal."""
        return _goal_words_of(
            self.clauses[self.followed - 1].text,
            self._unspecific_words,
        )


def direction_text(neighbor: Neighbor, heading: float) -> str:
    """Return the direction of a neighbor: ``slightly left``, ``behind``, ``ahead up far``.

    ``heading`` is the actor's absolute heading in degrees.
    """
    angle = relative(neighbor.heading, heading)
    side = "left" if angle < 0 else "right"
    turn = next(name for most, name in DIRECTION_NAMES if abs(angle) <= most)
    text = turn.format(side=side)
    if neighbor.elevation >= STEEP:
        text += " up"
    elif neighbor.elevation <= -STEEP:
        text += " down"
    if neighbor.distance >= FAR_DISTANCE:
        text += " far"
    return text


def _sighted(percept: Percept) -> list[tuple[str, float, float]]:
    """Return the objects with a distance: name, heading (degrees) and metres."""
    sighted: list[tuple[str, float, float]] = []
    for part in percept.sectors:
        sighted += [
            (sighting.name, sighting.heading, sighting.distance)
            for sighting in part.sightings
            if sighting.distance is not None
        ]
    return sighted


def content_words(sentence: str, skipped: Collection[str]) -> list[str]:
    """Return the content words of a sentence, each once, in order."""
    words: Iterable[str] = _WORD.findall(sentence.lower())
    return list(dict.fromkeys(word for word in words if word not in skipped))


@lru_cache(maxsize=64)
def _goal_words_of(clause: str, unspecific: frozenset[str]) -> frozenset[str]:
    """Return the content words of a clause's end, or of the full clause if that has none."""
    texts = (*clauses.clause_ends(clause), clause)
    return next(
        filter(None, (clauses.plain_words(text) - unspecific for text in texts)),
        frozenset(),
    )


agent = Walker
