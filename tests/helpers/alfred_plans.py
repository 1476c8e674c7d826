"""ALFRED's published plans, carried out sub-goal by sub-goal on the very things they name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from wayword.core.game import ActionPlan, Game, PlanningFailed
from wayword.datasets.sources.alfred import LATER_LABELS
from wayword.worlds.household.skills import Skills
from wayword.worlds.household.world import HouseholdWorld

TREATED = {
    "HeatObject": ("heated", "Microwave"),
    "CoolObject": ("cooled", "Fridge"),
    "CleanObject": ("cleaned", "SinkBasin"),
}


def picked_up(plan: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the things that a plan picks up; slices go by the id of what was sliced."""
    for step in plan["high_pddl"]:
        if step["planner_action"]["action"] == "PickupObject":
            yield "|".join(step["planner_action"]["objectId"].split("|")[:4])


def carry_out(world: HouseholdWorld, plan: Mapping[str, Any]) -> bool:
    """Whether every sub-goal of a plan could be carried out in a world that was reset."""
    crew = Crew(world)
    try:
        for step in plan["high_pddl"]:
            crew.do(step["planner_action"])
    except PlanningFailed:
        return False
    return True


class Crew:
    """Carries out one sub-goal after another."""

    def __init__(self, world: HouseholdWorld) -> None:
        self.world = world
        self.skills = Skills(world, "agent")
        self.held = ""
        self.objects = {o.id: o for o in world.scene.objects}

    def do(self, step: Mapping[str, Any]) -> None:
        """One ``planner_action``. Raises ``Stuck``."""
        skills = self.skills
        action = step["action"]
        if action == "PickupObject":
            self.held = self.named(step["objectId"], step["coordinateObjectId"])
            self.play(skills.take(self.held))
        elif action == "PutObject":
            to = self.named(
                step["receptacleObjectId"], step["coordinateReceptacleObjectId"]
            )
            self.play(skills.put(self.held, to))
        elif action == "SliceObject":
            apple = self.named(step["objectId"], step["coordinateObjectId"])
            self.play(skills.uncover(apple))
            self.play(skills.do("slice", apple))
        elif action == "ToggleObject":
            lamp = self.named(step["objectId"], step["coordinateObjectId"])
            self.play(skills.reach(lamp))
            self.play(skills.toggle(lamp, True))
        elif action in TREATED:
            done, label = TREATED[action]
            tool = next(name for name in self.objects if label in name.split("|"))
            self.play(skills.treat(self.held, (done, True), tool))
            self.play(skills.take(self.held))

    def named(self, name: str, coordinates: Any) -> str:
        """The object of that id, or else the nearest of its label to the place a plan gives."""
        for known in (name, "|".join(name.split("|")[:4])):
            if known in self.objects:
                return known
        label, (x, _, y, *_) = coordinates
        label = label.removesuffix("Sliced")
        alike = [
            n
            for n in self.objects
            if label in (n.partition("|")[0], n.rpartition("|")[2])
        ]
        likely = LATER_LABELS.get(label, ())
        alike = alike or [n for n in self.objects if n.partition("|")[0] in likely]
        if not alike:
            raise PlanningFailed(f"there is no {label}")
        return min(alike, key=lambda n: self._away(n, x / 4, y / 4))

    def play(self, doing: ActionPlan) -> None:
        """Carry out an skill's actions."""
        Game(self.world).actions("agent", doing)

    def _away(self, name: str, x: float, y: float) -> float:
        return math.dist((self.objects[name].x, self.objects[name].y), (x, y))
