"""Frontier exploration in which a language model chooses by the objects near each frontier.

After each full turn the prompt lists the reachable frontiers with their distance and the objects
detected near them, also in earlier turns, and the frontiers visited in vain; the model names the
one that leads to the target. Everything else is as in ``frontier``.

With ``--remember scene`` the costmap and the detected objects are kept from one episode to the
next: the agent first goes where it has seen an object of the target's name, and starts a new map
once the remembered one has no frontier left.

Source: ESC (Zhou et al. 2023) and L3MVN (Yu et al. 2023). Their scores, by rules and by a masked
language model, are replaced by a question or by the log-probabilities of the frontiers' numbers.
"""

from __future__ import annotations

import copy
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from wayword.agents.answers import ask, read_pick
from wayword.agents.pages import Prompts
from wayword.agents.prompting import Temperature
from wayword.agents.search.costmap import Costmap
from wayword.agents.search.frontier import Frontier, FrontierAgent, FrontierSettings
from wayword.agents.search.lgx import ListingSettings
from wayword.agents.search.searcher import NextPoint
from wayword.core.action import Rejection
from wayword.core.agent import Toolkit
from wayword.core.errors import UsageError
from wayword.core.geometry import Point, absolute, bearing, displaced, sector
from wayword.core.model import Image, Message
from wayword.core.sight import Mode
from wayword.core.trajectory import ASKED
from wayword.core.visible import with_article
from wayword.verbalize.generic import COMPASS
from wayword.worlds.objectnav.observation import View

SAME_FRONTIER = 1.5  # metres between viewing points of frontiers that can be one
SAME_OBJECT = 0.8  # metres within which detections with the same name are one object
MOST_OBJECTS = 6  # objects listed near a frontier, nearest first
MOST_FRONTIERS = 10  # frontiers listed, nearest first
MOST_VISITS = 8  # latest frontiers visited in vain that are listed
Metres = Annotated[float, Ge(0.0)]


@dataclass(frozen=True)
class FrontierLLMSettings(FrontierSettings, ListingSettings):
    """Settings of ``frontier``, with LGX's ``scene`` and ``scene_quality`` for the detector that
    lists objects.

    ``near``: maximum distance (metres) of the objects listed with a frontier. ``decoding``: the
    model writes a number (``constrained`` or ``free``), or ``choose`` ranks the numbers by
    log-probability minus ``distance_cost`` per metre. A free answer that is not a number of the
    list is rejected, and the nearest frontier is chosen. ``prompts``: a folder of texts that
    replace the shipped ones.
    """

    near: Metres = 3.0
    decoding: Literal["constrained", "free", "choose"] = "constrained"
    distance_cost: Metres = 0.2
    max_tokens: Annotated[int, Ge(1)] = 200
    temperature: Temperature = 0.0
    prompts: str = ""


@cache
def _rooms() -> Mapping[str, frozenset[str]]:
    """Return the objects that tell a room, by room."""
    text = files(__package__).joinpath("rooms.toml").read_text(encoding="utf-8")
    return {room: frozenset(names) for room, names in tomllib.loads(text).items()}


def likely_room(names: Sequence[str]) -> str:
    """Return the room that objects tell, empty if they tell none.

    >>> likely_room(["bread", "toaster", "counter top"]), likely_room(["book"])
    ('probably a kitchen', '')
    """
    votes = {room: len(words & set(names)) for room, words in _rooms().items()}
    best = max(votes, key=votes.__getitem__)
    if not votes[best]:
        return ""
    return f"probably {with_article(best)}"


class FrontierLLM(FrontierAgent):
    """Asks a language model which frontier leads to the target, as ESC and L3MVN do.

    wayword run frontier_llm --on apartments --model openai:gpt-5-mini
    wayword run frontier_llm --on apartments --model local:smollm2 --set decoding=choose
    """

    Settings = FrontierLLMSettings
    needs_model = True
    has_eyes = True

    def __init__(self, settings: FrontierLLMSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._eyes = toolkit.eyes and toolkit.eyes.turning()
        self._sight: Mode = "words"
        if self._eyes is not None:
            self._sight = self._eyes.settings.eyes
            if settings.decoding == "choose":
                raise UsageError(
                    f"frontier_llm: eyes={self._sight} needs decoding=constrained or free; "
                    "ranked words have no pictures"
                )
        self._prompts = Prompts(__file__, settings.prompts, "frontier_llm.jinja")
        self._objects: list[tuple[str, Point]] = []
        self._visits: dict[str, None] = {}
        self._recalled: list[tuple[str, Point]] = []

    def remember(self, earlier: FrontierLLM) -> None:
        """Take over map and objects of an earlier episode in the same scene."""
        self.earlier_map = copy.deepcopy(earlier.costmap)
        self._objects = list(earlier._objects)
        self._recalled = list(earlier._objects)

    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        """Add the objects in view to memory, and choose among the frontiers.

        With a remembered scene, first the objects of the target's name, as if they were
        frontiers.
        """
        for view in views:
            for seen in self.detectors[1].detect(view):
                if seen.distance is not None:
                    heading = absolute(view.heading + seen.bearing)
                    point = displaced((view.x, view.y), heading, seen.distance)
                    self._keep(seen.name, point)
        # Objects of the target's name from earlier episodes are tried first.
        while self._recalled:
            name, point = self._recalled.pop(0)
            if f" {self.target}".endswith(f" {name}"):
                return NextPoint(point, f"I have seen a {name} there.")
        chosen = await super().choose(views)
        # The remembered map has no frontier left: the scene may have changed.
        if chosen is None and self.earlier_map is not None:
            self.earlier_map = None
            self.costmap = Costmap(self.view.x, self.view.y, self.settings.radius)
            for view in views:
                self.costmap.add(view)
            chosen = await super().choose(views)
        return chosen

    def _keep(self, name: str, point: Point) -> None:
        """Keep an object, unless it is one of the same name that was seen nearby."""
        for other, at in self._objects:
            if other == name and math.dist(point, at) <= SAME_OBJECT:
                return
        self._objects.append((name, point))

    def _near(self, point: Point) -> list[str]:
        """Return the kinds of objects seen near a point, nearest first."""
        by_distance = sorted((math.dist(point, at), name) for name, at in self._objects)
        names = [name for away, name in by_distance if away <= self.settings.near]
        return list(dict.fromkeys(names))

    def _merged(self, options: Sequence[Frontier]) -> list[Frontier]:
        """Return the frontiers, nearest first, without those that a model cannot tell apart.

        Two are one if they are seen from almost the same point, near the same objects;
        the nearer one stands for both.
        """
        merged: list[Frontier] = []
        for option in sorted(options):
            near = set(self._near(option.point)[:MOST_OBJECTS])
            for index, other in enumerate(merged):
                is_close = math.dist(other.point, option.point) <= SAME_FRONTIER
                if is_close and near == set(self._near(other.point)[:MOST_OBJECTS]):
                    merged[index] = replace(other, width=other.width + option.width)
                    break
            else:
                merged.append(option)
        return merged

    async def pick(self, options: Sequence[Frontier]) -> NextPoint:
        """Ask the model for one of the frontiers; the nearest if its answer is rejected.

        A single frontier needs no question. The latest choices are listed in later
        prompts.
        """
        listed = self._merged(options)[:MOST_FRONTIERS]
        lines = [
            f"{number}. {self._frontier_text(frontier)}"
            for number, frontier in enumerate(listed, 1)
        ]
        numbers = [str(number) for number in range(1, len(listed) + 1)]
        labels, images = self._pictures()
        visits = list(self._visits)[-MOST_VISITS:]
        if self._sight == "pictures":
            visits = []  # they name objects
        text = self._prompts.fill(
            "frontiers",
            sight=self._sight,
            images=labels,
            target=self.target,
            near=f"{self.settings.near:g}",
            frontiers="\n".join(lines),
            visits="\n".join(visits),
            left=self.actions_left(),
        )
        rejection = None
        picked = numbers[0]
        if len(listed) > 1:
            metres = [frontier.metres for frontier in listed]
            answer = await self._ask(Message("user", text, images), numbers, metres)
            if isinstance(answer, Rejection):
                rejection = answer
                answer = rejection.said[:200]  # characters: a note, the call has all
            else:
                picked = answer
            valid = rejection is None
            self.toolkit.note(ASKED, valid=valid, answer=answer, listed=lines)
        point = listed[numbers.index(picked)].point
        near = self._objects_text(point)
        # A place that is visited again is one of the latest.
        self._visits.pop(f"- {near}", None)
        self._visits[f"- {near}"] = None
        thought = f"Frontier {picked} of {len(listed)}, near: {near}"
        return NextPoint(point, thought, rejection)

    def _frontier_text(self, frontier: Frontier) -> str:
        """Return a frontier in words: distance, direction on the map, width, and what is near."""
        to = COMPASS[sector(bearing((self.view.x, self.view.y), frontier.middle))]
        parts = [f"{frontier.metres:.1f} m to the {to}", f"{frontier.width:.1f} m wide"]
        if self._sight != "pictures":
            parts.append(likely_room(self._near(frontier.point)))
            parts.append(f"near: {self._objects_text(frontier.point)}")
        return ", ".join(filter(None, parts))

    def _objects_text(self, point: Point) -> str:
        """Return the objects seen near a point, the nearest ones."""
        return ", ".join(self._near(point)[:MOST_OBJECTS]) or "nothing yet"

    def _pictures(self) -> tuple[str, tuple[Image, ...]]:
        """Return the labels of the pictures around, each with its direction on the map,
        and the pictures.

        Nothing if the prompt describes in words.
        """
        if self._eyes is None:
            return "", ()
        seen = self._eyes.look()
        headings = [view.heading for view in self._eyes.views()]
        labels = [
            f"image {number}: {label}, {COMPASS[sector(heading)]}"
            for number, ((label, _), heading) in enumerate(
                zip(seen, headings, strict=True), 1
            )
        ]
        return "; ".join(labels), tuple(image for _, image in seen)

    async def _ask(
        self,
        question: Message,
        numbers: Sequence[str],
        metres: Sequence[float],
    ) -> str | Rejection:
        """Return the number that the model picks, or the rejected answer.

        With ``decoding=choose``, the number with the highest log-probability, less
        ``distance_cost`` for each metre of route.
        """
        settings = self.settings
        model = self.toolkit.model()
        if settings.decoding == "choose":
            options = [f" {number}" for number in numbers]
            ranked = await model.choose(f"{question.text}\nAnswer:", options)
            cost = settings.distance_cost * np.array(metres)
            scores = np.array(ranked.logprobs) - cost
            return numbers[int(np.argmax(scores))]
        limits = settings.max_tokens, settings.temperature, self.toolkit.rng
        reply = await ask(model, [question], numbers, settings.decoding, *limits)
        return read_pick(reply, numbers)


agent = FrontierLLM
