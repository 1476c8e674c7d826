"""Errands: what a body that knows the house does to fetch, put, heat, cool, wash and slice.

Each is a generator of low-level actions, carried out by whoever asks for them:

    actions = Errands(world, "agent").take("apple|1")
    feedback = world.step("agent", next(actions))
    ...
    feedback = world.step("agent", actions.send(feedback))

They look at the world's true state and change nothing themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wayword.core.action import Action
from wayword.core.game import ActionPlan, PlanningFailed
from wayword.core.geometry import Point
from wayword.worlds.household import reasons
from wayword.worlds.household.goals import HouseholdReference, Trait
from wayword.worlds.household.house import Fail
from wayword.worlds.household.lattice import field
from wayword.worlds.household.reasons import ActorState, because
from wayword.worlds.household.route import Trip, route_to_put, true_box
from wayword.worlds.household.world import HouseholdWorld

# Which of several things to go for: the cheapest chain of stops, by steps on foot.


def cheapest(world: HouseholdWorld, actor: str, stops: Sequence[Sequence[str]]) -> list[str] | None:
    """One thing of each stop, so that visiting them in order takes the fewest steps.

    Shut doors count as open, and no thing is visited twice. None where a stop offers nothing that
    can be reached.
    """
    trip = Trip(world.house, world.house.actors[actor], open_doors=True)
    chains: list[tuple[float, list[str], NDArray[np.int32]]] = [(0.0, [], trip.steps)]
    for stop in stops:
        best: list[tuple[float, list[str], NDArray[np.int32]]] = []
        for thing in stop:
            places = _places(world, actor, trip, thing)
            options = [
                (cost + steps, [*chain, thing], place)
                for cost, chain, walked in chains
                if thing not in chain
                for steps, place in [_nearest(walked, places)]
                if math.isfinite(steps)
            ]
            if options:
                cost, chain, place = min(options, key=lambda option: option[0])
                last = stop is stops[-1] or place < 0
                best.append((cost, chain, trip.steps if last else field(trip.ways, place)))
        chains = best
    return min(chains, key=lambda chain: chain[0])[1] if chains else None


def _places(world: HouseholdWorld, actor: str, trip: Trip, thing: str) -> NDArray[np.intp] | None:
    """The places of the lattice within reach of a thing; None where it is in one's hands."""
    house, me = world.house, world.house.actors[actor]
    i = world.layout.index[thing]
    if house.holder(i) == me.number:
        return None
    west, south, east, north = true_box(house, i)
    dx = np.maximum(np.maximum(west - trip.grid.x, trip.grid.x - east), 0.0)
    dy = np.maximum(np.maximum(south - trip.grid.y, trip.grid.y - north), 0.0)
    return np.flatnonzero(dx * dx + dy * dy <= me.body.manipulation_distance**2)


def _nearest(walked: NDArray[np.int32], places: NDArray[np.intp] | None) -> tuple[float, int]:
    """Steps to the nearest of some places, and which it is."""
    if places is None:
        return 0.0, int(np.flatnonzero(walked == 0)[0])
    there = places[walked[places] >= 0]
    if not len(there):
        return math.inf, -1
    place = int(there[np.argmin(walked[there])])
    return float(walked[place]), place


PATIENCE = 8
"""How often a way is planned anew before a thing counts as out of reach."""
TOOLS: dict[Trait, str] = {
    ("temperature", "hot"): "heater",
    ("temperature", "cold"): "cooler",
    ("dirty", False): "cleaner",
    ("filled", True): "filler",
    ("cooked", True): "heater",
    ("heated", True): "heater",
    ("cooled", True): "cooler",
    ("cleaned", True): "cleaner",
}
"""Trait -> the affordance of what gives it to a thing."""


class Errands(ActorState):
    """What one actor can do about things, by their ids in the scene.

    ``tidy`` shuts again what was opened to get at something. Errands raise ``PlanningFailed``.
    """

    def __init__(self, world: HouseholdWorld, actor: str, tidy: bool = False) -> None:
        super().__init__(world, actor)
        self.tidy = tidy
        self._opened: list[str] = []

    def do(self, verb: str, *things: str) -> ActionPlan:
        """One action."""
        names = [self.world.name(self.actor, thing) or thing for thing in things]
        feedback = yield Action(verb, tuple(names))
        if not feedback.ok:
            raise PlanningFailed(f"{verb} {', '.join(things)}: {feedback.status}")

    @because(reasons.going)
    def reach(self, thing: str) -> ActionPlan:
        """Go where a thing (or what it is shut in) is in view and in reach, through shut doors."""
        house, me, i = self.world.house, self.me, self.number(thing)
        for _ in range(PATIENCE):
            anchor = int(self.things.anchor[i])
            near = house.distance(me, i) <= me.body.manipulation_distance
            if house.holder(i) == me.number or (near and anchor in me.view.things):
                return
            doors = self.world.doors_to_open(self.actor, thing)
            if doors and doors[0] != thing:
                yield from self.open_door(doors[0])
                continue
            for action in self.world.route(self.actor, thing) or ():
                feedback = yield action
                if not feedback.ok:
                    break
        raise PlanningFailed(f"{thing} cannot be reached")

    @because(reasons.passing)
    def open_door(self, door: str) -> ActionPlan:
        """Go to a shut door on the way, and open it."""
        yield from self.reach(door)
        yield from self.do("open", door)

    def uncover(self, thing: str) -> ActionPlan:
        """Go to a thing and open what it is shut in."""
        holders = self.things.holders(self.number(thing))
        for k in reversed(holders):
            if k < self.things.objects and self.things.encloses[k]:
                yield from self.unlock(self.world.layout.ids[k])
        yield from self.reach(thing)

    @because(reasons.looking)
    def look_at(self, thing: str) -> ActionPlan:
        """Look into what opens, and have seen anything else."""
        i = self.number(thing)
        if self.things.encloses[i]:
            yield from self.unlock(thing)
        elif not self.me.known[i]:
            yield from self.uncover(thing)

    @because(reasons.opening)
    def unlock(self, receptacle: str) -> ActionPlan:
        """Go to a receptacle and open it where it is shut."""
        r = self.number(receptacle)
        yield from self.reach(receptacle)
        if not self.things.encloses[r] or self.things.open[r]:
            return
        if self.things.on[r]:
            yield from self.do("toggle_off", receptacle)
        yield from self.do("open", receptacle)
        self._opened.append(receptacle)

    def shut_again(self) -> ActionPlan:
        """Shut what was opened, where one is tidy."""
        while self._opened:
            receptacle = self._opened.pop()
            if self.tidy and self.things.open[self.number(receptacle)]:
                yield from self.close_again(receptacle)

    @because(reasons.closing)
    def close_again(self, receptacle: str) -> ActionPlan:
        """Go back to what was opened on the way, and shut it."""
        yield from self.reach(receptacle)
        yield from self.do("close", receptacle)

    @because(reasons.taking)
    def take(self, thing: str) -> ActionPlan:
        """Have a thing in the hands; what is in the way there is put down first."""
        if self.holds(thing):
            return
        while len(self.me.hands) >= self.me.body.inventory_capacity:
            yield from self.put_down(self.held()[0])
        yield from self.uncover(thing)
        yield from self.do("pick_up", thing)
        yield from self.shut_again()

    @because(reasons.putting)
    def put(self, thing: str, receptacle: str) -> ActionPlan:
        """Bring a thing into or onto a receptacle."""
        if self.number(receptacle) == int(self.things.inside[self.number(thing)]):
            return
        if self.full(receptacle):
            yield from self.make_room(receptacle, thing)
        yield from self.take(thing)
        yield from self.uncover(receptacle)
        yield from self.unlock(receptacle)
        yield from self.do("put", thing, receptacle)
        yield from self.shut_again()

    @because(lambda errands, thing, receptacle, *rest: reasons.putting(errands, thing, receptacle))
    def put_near(self, thing: str, receptacle: str, at: Point, within: float) -> ActionPlan:
        """Bring a thing into or onto a receptacle, to lie within a distance of a point there."""
        yield from self.take(thing)
        yield from self.uncover(receptacle)
        yield from self.unlock(receptacle)
        i, r = self.number(thing), self.number(receptacle)
        try:
            verbs = route_to_put(self.world.house, self.me, i, r, at, within)
        except Fail as failure:
            raise PlanningFailed(
                f"nowhere does {thing} land near its place on {receptacle}"
            ) from failure
        for verb in verbs:
            yield from self.do(verb)
        yield from self.do("put", thing, receptacle)
        yield from self.shut_again()

    @because(reasons.clearing)
    def make_room(self, receptacle: str, thing: str) -> ActionPlan:
        """Take something out of a full receptacle."""
        inside = [self.world.layout.ids[k] for k in self.things.contents(self.number(receptacle))]
        yield from self.put_down(inside[0], but=(receptacle, thing))

    @because(reasons.unloading)
    def put_down(self, thing: str, but: Iterable[str] = ()) -> ActionPlan:
        """Lay a thing on the nearest surface that takes it, or on the floor."""
        not_there = {*but, thing}
        ids = self.world.layout.ids[: self.things.objects]
        surfaces = [
            r
            for r in ids
            if self.things.specs[self.number(r)].receptacle == "on"
            and "pickupable" not in self.things.specs[self.number(r)].affordances
            and r not in not_there
            and self.takes(r, thing)
            and not self.full(r)
        ]
        yield from self.take(thing)
        where = min(surfaces, key=self._away, default=None)
        if where is None:
            yield from self.do("drop", thing)
        else:
            yield from self.put(thing, where)

    @because(reasons.slicing)
    def slice(self, thing: str, knife: str) -> ActionPlan:
        """Slice a thing where it is, and lay the knife beside it."""
        if self.holds(thing):
            yield from self.put_down(thing)
        yield from self.take(knife)
        yield from self.uncover(thing)
        yield from self.do("slice", thing)
        under = self.things.holders(self.number(thing))
        beside = self.world.layout.ids[under[0]] if under else ""
        if beside and self.takes(beside, knife) and not self.full(beside):
            yield from self.put(knife, beside)
        else:
            yield from self.put_down(knife)

    @because(reasons.treating)
    def treat(self, thing: str, trait: Trait, tool: str) -> ActionPlan:
        """Heat, cool, wash or fill a thing with a tool that does so, and have it there."""
        yield from self.put(thing, tool)
        t = self.number(tool)
        if not self.has(thing, trait) and self.things.does(t, "cooler"):
            yield from self.unlock(tool)  # what was in there from the first is cooled by shutting
        if not self.has(thing, trait) and self.things.encloses[t] and self.things.open[t]:
            yield from self.reach(tool)
            yield from self.do("close", tool)
        if not self.has(thing, trait):
            switch = self.switch(tool)
            yield from self.reach(switch)
            if self.things.on[self.number(switch)]:
                yield from self.do("toggle_off", switch)
            yield from self.do("toggle_on", switch)
            yield from self.do("toggle_off", switch)

    def switch(self, tool: str) -> str:
        """What switches a tool: itself, or a control."""
        t = self.number(tool)
        if self.things.does(t, "toggleable"):
            return tool
        switches = self.things.switches.get(t, ())
        if not switches:
            raise PlanningFailed(f"nothing switches {tool}")
        return self.world.layout.ids[switches[0]]

    @because(reasons.switching)
    def turn(self, thing: str, on: bool) -> ActionPlan:
        """Switch a thing on or off."""
        if bool(self.things.on[self.number(thing)]) != on:
            yield from self.uncover(thing)
            yield from self.do("toggle_on" if on else "toggle_off", thing)

    @because(reasons.swinging)
    def swing(self, thing: str, opens: bool) -> ActionPlan:
        """Open or shut a thing."""
        if bool(self.things.open[self.number(thing)]) != opens:
            yield from self.uncover(thing)
            yield from self.do("open" if opens else "close", thing)

    def _away(self, thing: str) -> float:
        return self.world.house.distance(self.me, self.number(thing))


# Orders: sub-tasks on particular things, in the order in which they are done.
#
# Where a task says what is to be done and in which order (TEACh's), its reference carries the
# plan; the expert carries it out, and who tells others what to do reads it out.

Deed = Literal["bring", "slice", "on", "off", "open", "close"]


@dataclass(frozen=True, slots=True)
class Order:
    """``Order("bring", "mug|1", "sink_basin|1")``: ids of the scene.

    ``other`` is where a thing is brought, or the knife that it is sliced with.
    """

    deed: Deed
    thing: str
    other: str = ""


@dataclass(frozen=True, slots=True)
class PlannedReference(HouseholdReference):
    """Goals, and orders that bring them about; ``worker`` is the actor who does it all, and
    ``helpers`` those that it may share the work with. Their actions count for path-weighted
    metrics."""

    plan: tuple[Order, ...] = ()
    worker: str = "agent"
    helpers: tuple[str, ...] = ()


def carry_out(errands: Errands, plan: Sequence[Order]) -> ActionPlan:
    """Every low-level action of a plan. Raises ``PlanningFailed``."""
    for order in plan:
        if order.deed == "bring":
            yield from errands.put(order.thing, order.other)
        elif order.deed == "slice":
            yield from errands.slice(order.thing, order.other)
        elif order.deed in ("on", "off"):
            yield from errands.turn(order.thing, order.deed == "on")
        else:
            yield from errands.swing(order.thing, order.deed == "open")
