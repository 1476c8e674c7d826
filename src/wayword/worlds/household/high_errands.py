"""Errands by high-level actions: a body that is not steered step by step looks before it acts.

The orders are those of ``errands``; the actions are ``go_explore``, ``go_check``, ``go_grab`` …,
which name things, so a thing must have been seen before anything is done about it.

Source: LangSuitE (Jia et al. 2024), Table 9.
"""

from __future__ import annotations

from wayword.core.action import Action
from wayword.core.game import ActionPlan, PlanningFailed
from wayword.core.geometry import Point
from wayword.worlds.household import reasons
from wayword.worlds.household import verbs as st
from wayword.worlds.household.errands import PATIENCE, TOOLS, Errands
from wayword.worlds.household.goals import Trait
from wayword.worlds.household.reasons import because

NEEDED = ("goto", "go_explore", "go_check", "go_grab", "go_put", "open")
"""Verbs that it takes to act so; the hands' other verbs only where the task wants them."""
TREATMENTS = {"heater": "heat", "cooler": "cool", "cleaner": "clean"}


class HighErrands(Errands):
    """What one actor can do about things, by high-level actions. Raises ``PlanningFailed``, also
    for a thing that is not seen from the middle of its room."""

    @because(reasons.finding)
    def know(self, thing: str) -> ActionPlan:
        """Have seen a thing: look into what it is shut in, then around its room."""
        i = self.number(thing)
        if self.me.known[i] or self.holds(thing):
            return
        for k in reversed(self.things.holders(i)):
            if k < self.things.objects and self.things.encloses[k]:
                yield from self.unlock(self.world.layout.ids[k])
        if not self.me.known[i]:
            yield from self.explore(self._room(i))
        if not self.me.known[i]:
            raise PlanningFailed(f"{thing} is not seen from the middle of its room")

    def explore(self, room: str) -> ActionPlan:
        """Look around in a room."""
        yield from self.walk(Action("go_explore", (room,)), room)

    def walk(self, action: Action, target: str) -> ActionPlan:
        """An action that walks to a target; shut doors on the way are opened first."""
        for _ in range(PATIENCE):
            feedback = yield action
            if feedback.ok:
                return
            doors = self.world.doors_to_open(self.actor, target)
            if feedback.status != st.NO_PATH or not doors:
                raise PlanningFailed(f"{action}: {feedback.status}")
            yield from self.pass_door(doors[0])
        raise PlanningFailed(f"{action}: no way")

    @because(reasons.passing)
    def pass_door(self, door: str) -> ActionPlan:
        """Open a door of the room that one is in."""
        if not self.me.known[self.number(door)]:
            yield from self.explore(self.me.room)
        if not self.me.known[self.number(door)]:
            raise PlanningFailed(f"{door} is not seen from the middle of the {self.me.room}")
        yield from self.do("goto", door)
        yield from self.do("open", door)

    @because(reasons.going)
    def reach(self, thing: str) -> ActionPlan:
        """Go where a thing (or what it is shut in) is in view and in reach."""
        house, me, i = self.world.house, self.me, self.number(thing)
        yield from self.know(thing)
        near = house.distance(me, i) <= me.body.manipulation_distance
        if house.holder(i) == me.number or (near and int(self.things.anchor[i]) in me.view.things):
            return
        yield from self.walk(Action("goto", (self._name(thing),)), thing)

    @because(reasons.opening)
    def unlock(self, receptacle: str) -> ActionPlan:
        """Look into a receptacle, which opens it where it is shut."""
        r = self.number(receptacle)
        yield from self.know(receptacle)
        shut = bool(self.things.encloses[r] and not self.things.open[r])
        if shut and self.things.on[r]:
            yield from self.reach(receptacle)
            yield from self.do("toggle_off", receptacle)
        yield from self.walk(Action("go_check", (self._name(receptacle),)), receptacle)
        if shut:
            self._opened.append(receptacle)

    @because(reasons.taking)
    def take(self, thing: str) -> ActionPlan:
        """Have a thing in the hands; what is in the way there is put down first."""
        if self.holds(thing):
            return
        while len(self.me.hands) >= self.me.body.inventory_capacity:
            yield from self.put_down(self.held()[0])
        yield from self.know(thing)
        for k in reversed(self.things.holders(self.number(thing))):
            if k < self.things.objects and self.things.encloses[k] and not self.things.open[k]:
                yield from self.unlock(self.world.layout.ids[k])
        yield from self.walk(Action("go_grab", (self._name(thing),)), thing)
        yield from self.shut_again()

    @because(reasons.putting)
    def put(self, thing: str, receptacle: str) -> ActionPlan:
        """Bring a thing into or onto a receptacle."""
        r = self.number(receptacle)
        if r == int(self.things.inside[self.number(thing)]):
            return
        if self.full(receptacle):
            yield from self.make_room(receptacle, thing)
        yield from self.take(thing)
        yield from self.know(receptacle)
        if self.things.on[r] and self.things.encloses[r] and not self.things.open[r]:
            yield from self.unlock(receptacle)
        if self.held()[-1] == thing:
            shut = bool(self.things.encloses[r] and not self.things.open[r])
            yield from self.walk(Action("go_put", (self._name(receptacle),)), receptacle)
            if shut:
                self._opened.append(receptacle)
        else:
            yield from self.unlock(receptacle)
            yield from self.do("put", thing, receptacle)
        yield from self.shut_again()

    def put_near(self, thing: str, receptacle: str, at: Point, within: float) -> ActionPlan:
        """Nobody can aim without single steps: it lands where it lands."""
        yield from self.put(thing, receptacle)

    @because(reasons.treating)
    def treat(self, thing: str, trait: Trait, tool: str) -> ActionPlan:
        """Heat, cool or wash a thing, and have it in the hands; by hand where there is no verb."""
        kind = TOOLS[trait]
        verb = TREATMENTS.get(kind, "")
        if verb not in self.me.body.actions:
            yield from super().treat(thing, trait, tool)
            return
        yield from self.take(thing)
        yield from self.know(tool)
        if kind != "cooler":
            yield from self.know(self.switch(tool))
        names = self._name(thing), self._name(tool)
        yield from self.walk(Action(verb, names), tool)
        if not self.has(thing, trait):
            raise PlanningFailed(f"{verb} {thing}: nothing came of it")

    def _room(self, i: int) -> str:
        return self.world.layout.room_at(float(self.things.x[i]), float(self.things.y[i]))

    def _name(self, thing: str) -> str:
        return self.world.name(self.actor, thing) or thing
