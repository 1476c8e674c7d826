"""MapGPT: a map in words, and a plan carried from step to step (Chen et al. 2024).

    wayword run mapgpt --on houses --model openai:gpt-5-mini

Places are numbered in order of first sight. At each step the prompt shows the instruction, the
steps so far, a topological map (which place leads to which), the places not visited, the plan, and
the current place. The model answers with a thought, a revised plan, and one of the listed actions.

Deliberate differences from the paper: actions are named by places (``goto[place 3]``) instead of
letters, and the prompt always contains the perceiver's text, next to pictures if there are any.
With ``eyes=pictures``, pictures of everything around replace that text.
With ``--remember scene`` the map of a scene is kept from one episode to the next, with a note of
the objects near each visited place.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from textwrap import shorten
from typing import ClassVar, Literal

from wayword.agents.answers import StrategyRecipe, fields
from wayword.agents.legal import Legal
from wayword.agents.prompting import PromptAgent, PromptSettings, joined
from wayword.core.action import Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Json
from wayword.core.geometry import sector
from wayword.core.model import Message, system
from wayword.core.perceiver import need
from wayword.core.world import Feedback
from wayword.verbalize import generic, indoor
from wayword.worlds.indoor.world import IndoorObservation, ObjectsObservation

PICTURE_WIDTH = 60.0  # degrees across the picture of a neighbor
_shortened = partial(shorten, width=80, placeholder=" …")  # of descriptions and notes
MOST_DESCRIBED = 30  # unvisited places that are described, the latest ones
# Metres from a place within which objects are noted: the radius of success
NOTED_WITHIN = 3.0
MOST_NOTED = 60  # visited places with a note in the prompt, the latest ones
EXAMPLE = {
    "thought": "The kitchen is done; the stairs come next, and place 3 is at their foot.",
    "plan": "Go up by place 3; if there is no bedroom, come back and try place 5.",
    "action": "goto[place 3]",
}
OBJECT_EXAMPLE = {
    **EXAMPLE,
    "thought": "I have seen the kitchen; a bed is more likely upstairs, and place 3 leads there.",
}
"""Answers, in the prompt: for a route and for an object."""
_GOTO = re.compile(r"goto\[([^\]]*)\]")


class PlaceMap:
    """The part of a graph seen so far, as text; places are numbered in order of first sight.

    >>> known = PlaceMap()
    >>> known.arrive("hall", {"lobby": "a red sofa", "stairs": "stairs going up"})
    >>> known.arrive("lobby", {"hall": "", "lab": "a desk"})
    >>> print(known.text())
    place 0 (visited) leads to: 1, 2
    place 1 (here) leads to: 0, 3
    >>> known.unvisited()
    ['place 2, from place 0: stairs going up', 'place 3, from place 1: a desk']

    Source: MapGPT (Chen et al. 2024), section 3.2.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._neighbors: dict[str, tuple[str, ...]] = {}
        self._seen: dict[str, str] = {}
        self.notes: dict[str, str] = {}
        self._here = ""

    def name(self, viewpoint: str) -> str:
        """Return ``place N``; a place seen for the first time gets the next number."""
        return f"place {self._numbers.setdefault(viewpoint, len(self._numbers))}"

    def arrive(
        self,
        viewpoint: str,
        neighbors: Mapping[str, str],
        note: str = "",
    ) -> None:
        """Add a place with its neighbors, each with what is seen towards it, and a note."""
        here = self.name(viewpoint)
        if note:
            self.notes[viewpoint] = f"{here}: {note}"
        self._here = viewpoint
        self._neighbors[viewpoint] = tuple(neighbors)
        for neighbor, words in neighbors.items():
            self._seen.setdefault(
                neighbor,
                f"{self.name(neighbor)}, from {here}: {words}",
            )

    def text(self) -> str:
        """Return the map as text: each place with its neighbors."""
        lines = []
        for viewpoint, neighbors in self._neighbors.items():
            state = "here" if viewpoint == self._here else "visited"
            listed = ", ".join(str(self._numbers[neighbor]) for neighbor in neighbors)
            lines.append(
                f"{self.name(viewpoint)} ({state}) leads to: {listed or 'nowhere'}"
            )
        return "\n".join(lines)

    def unvisited(self) -> list[str]:
        """Return a line for each place that was seen but not visited, in order of first sight."""
        return [
            line
            for viewpoint, line in self._seen.items()
            if viewpoint not in self._neighbors
        ]


@dataclass(frozen=True)
class MapGPTSettings(PromptSettings):
    """Settings of MapGPT, in addition to those of all prompts.

    ``decoding``: ``constrained`` (a JSON answer with a legal action) or ``free`` (labeled lines;
    an answer without exactly one legal action is rejected). ``map``: show the map and the places
    not visited. ``plan``: ask for a plan and show it at the next step. Turning off either is an
    ablation. ``pictures``: show a picture towards every neighbor if the dataset has pictures;
    off by default with a small local model. ``max_tokens`` is 500 by default.
    """

    decoding: Literal["constrained", "free"] = "constrained"
    map: bool = True
    plan: bool = True
    pictures: bool = True


class MapGPT(PromptAgent):
    """MapGPT: follows an instruction by a map in words and a plan (Chen et al. 2024)."""

    Settings = MapGPTSettings
    families = frozenset({"indoor"})
    source_file = __file__
    has_eyes = True
    answer_tokens = 500
    small_model: ClassVar[Mapping[str, Json]] = {"pictures": False}

    def __init__(self, settings: MapGPTSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._perceiver = need(toolkit.perceiver, "perceive", "mapgpt")
        # Eyes show more: everything around.
        self._shows_pictures = (
            settings.pictures
            and "picture" in self._perceiver.capabilities
            and self._eyes is None
        )
        self._recipe = self._recipe_for("route")
        self._map = PlaceMap()
        self._earlier: set[Action] = set()
        self._plan = ""
        self._remembers = False

    def _recipe_for(self, goal: str) -> StrategyRecipe:
        """Return the form of an answer; its fields are the same for a route and for an object."""
        plans = self._settings.plan
        form = self._prompts.fill("answer", plans=plans, goal=goal)
        return StrategyRecipe(form, "mapgpt")

    def remember(self, earlier: MapGPT) -> None:
        """Take over the map of an earlier episode in the same scene."""
        self._map = copy.deepcopy(earlier._map)
        self._remembers = True

    async def act(
        self,
        observation: IndoorObservation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Ask the model for one of the numbered actions, and keep its plan for the next prompt."""
        actions = self._arrive(observation, space)
        messages = self._messages(observation, actions)
        options = ActionSpace(tuple(actions))
        schema = None
        if self._constrained:
            # At two characters per token, an answer of full length is within the token limit.
            length = 2 * self._budget.answer // len(self._recipe.fields)
            schema = self._recipe.schema_for(
                options,
                self._settings.thought_length or length,
            )
        (reply,) = await self._budget.ask(messages, schema, self._settings.temperature)
        outcome = self._recipe.decision(reply, Legal(options, self._earlier)).outcome
        # Names of earlier turns stay known, for the reasons of later rejections.
        self._earlier.update(actions)
        read = fields(reply.text, [field.key for field in self._recipe.fields])
        # An answer without a plan keeps the last one.
        self._plan = read.line("plan") or self._plan
        if isinstance(outcome, Rejection):
            return outcome
        return Decision(actions[outcome.action], outcome.thought)

    async def recall(
        self,
        observation: IndoorObservation,
        space: ActionSpace,
        decision: Decision | Rejection,
    ) -> None:
        """Add a recorded step to the map, so that it continues where the run stopped."""
        self._earlier.update(self._arrive(observation, space))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Add the result of a decision to the history."""
        self._steps.taken += 1
        if isinstance(decision, Rejection):
            text = f"no legal action, you stayed: {decision.reason}"
        else:
            text = f"{self._named(decision.action)}: {indoor.verbalizer.feedback(feedback)}"
        self._history.add(f"{self._steps.taken}. {text}")

    def _named(self, action: Action) -> Action:
        """Return a move with the place's name on the map."""
        if action.name != "goto":
            return action
        return Action("goto", (self._map.name(action.arguments[0]),))

    def _arrive(
        self,
        view: IndoorObservation,
        space: ActionSpace,
    ) -> dict[Action, Action]:
        """Add the place to the map. Return the legal actions by the names that the model reads.

        The map gets what the perceiver says of each neighbor's direction, and a note of
        the objects within ``NOTED_WITHIN`` metres of the place.
        """
        sectors = self._perceiver.perceive(view.scene, view.viewpoint).sectors
        seen = {}
        for neighbor in view.neighbors:
            part = sectors[sector(neighbor.heading, len(sectors))]
            objects = ", ".join(
                dict.fromkeys(sighting.name for sighting in part.sightings)
            )
            words = joined(part.caption.strip().rstrip("."), objects, gap="; near ")
            seen[neighbor.viewpoint] = _shortened(words)
        # Nearest first, since the note is cut at its end.
        near = sorted(
            (sighting.distance, sighting.name)
            for part in sectors
            for sighting in part.sightings
            if sighting.distance is not None and sighting.distance <= NOTED_WITHIN
        )
        note = _shortened(", ".join(dict.fromkeys(name for _, name in near)))
        self._map.arrive(view.viewpoint, seen, note)
        return {self._named(action): action for action in space.listed}

    def _messages(
        self,
        view: IndoorObservation,
        actions: Mapping[Action, Action],
    ) -> list[Message]:
        """Return the messages of a turn: system, history, map and options."""
        settings = self._settings
        goal = "route"
        example = EXAMPLE
        if isinstance(view, ObjectsObservation):
            goal = "object"
            example = OBJECT_EXAMPLE
        fixed = self._prompts.fill(
            "system",
            goal=goal,
            remembers=self._remembers,
            form=self._recipe_for(goal).request(self._constrained, **example),
            limit=self._steps.limit,
            needs_stop=self._steps.needs_stop,
            sight=self._sight,
        )
        unvisited_lines = self._map.unvisited()[-MOST_DESCRIBED:]
        if self._sight == "pictures":  # nothing is said of these places
            unvisited_lines = [line.removesuffix(": ") for line in unvisited_lines]
        unvisited = "\n".join(unvisited_lines) or "none"
        around = indoor.verbalizer.around(view, self._perceiver)
        around = _GOTO.sub(
            lambda match: f"goto[{self._map.name(match.group(1))}]", around
        )
        shows_notes = self._remembers and settings.map
        notes = [*self._map.notes.values()][-MOST_NOTED:] if shows_notes else []
        shown = view.neighbors if self._shows_pictures else ()
        names = enumerate((self._map.name(neighbor.viewpoint) for neighbor in shown), 1)
        # "image": a picture can be an object of the building
        images_text = "; ".join(f"image {number}: {name}" for number, name in names)
        looks_text, looks = self._pictures_around()

        def walk(steps: str) -> str:
            """Return the user's message with as many past steps as fit."""
            return self._prompts.fill(
                "user",
                instruction=self._episode.instruction,
                count=self._history.dropped,
                steps=steps,
                map=self._map.text() if settings.map else "",
                unvisited=unvisited,
                notes="\n".join(notes),
                plan=(self._plan or "none yet") if settings.plan else "",
                place=self._map.name(view.viewpoint),
                facing=generic.compass(round(view.heading)),
                around=around,
                actions=", ".join(map(str, actions)),
                left=self._steps.left(),
                images=images_text,
                looks=looks_text,
                sight=self._sight,
            )

        reserve = self._budget.answer
        reserve += self._budget.look_tokens(self._eyes)
        self._budget.fit(self._history, len(fixed) + len(walk("")), reserve)
        text = walk("\n".join(self._history.blocks))
        render = self._perceiver.picture
        place = (view.scene, view.viewpoint)
        images = tuple(
            render(*place, e.heading, PICTURE_WIDTH, e.elevation) for e in shown
        )
        return [system(fixed), Message("user", text, (*images, *looks))]


agent = MapGPT
