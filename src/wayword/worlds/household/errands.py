"""Errands: what a body that knows the house does to fetch, put, heat, cool, wash and slice.

Each is a generator of actions, carried out by whoever asks for them:

    actions = Errands(world, "agent").take("apple|1")
    feedback = world.step("agent", next(actions))
    ...
    feedback = world.step("agent", actions.send(feedback))

They look at the world's true state and change nothing themselves. :class:`Errands` takes low-level
actions, :class:`HighErrands` those of a body that is not steered step by step.

Source: LangSuitE (Jia et al. 2024), Table 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from wayword.core.action import Action
from wayword.core.game import ActionPlan, PlanningFailed
from wayword.core.geometry import Point
from wayword.worlds.household import verbs as st
from wayword.worlds.household.goals import HouseholdReference, Trait
from wayword.worlds.household.house import Actor, Fail
from wayword.worlds.household.route import Trip, field, route_to_put, true_box
from wayword.worlds.household.scene import TEMPERATURES
from wayword.worlds.household.things import Things
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
    return np.flatnonzero(trip.near(true_box(house, i), me.body.manipulation_distance))


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
HIGH_NEEDED = ("goto", "go_explore", "go_check", "go_grab", "go_put", "open")
"""Verbs that high-level errands take; the hands' other verbs only where the task wants them."""
TREATMENTS = {"heater": "heat", "cooler": "cool", "cleaner": "clean"}

# Why an errand is run: fixed sentences from the state of the plan, not what a model would think.

STOPPING = "All that was asked for is done, so I stop."
ANSWERING = "I have seen enough to answer."


def _treating(at: Errands, thing: str, trait: Trait, tool: str) -> str:
    name, value = trait
    state = value if name == "temperature" else "clean" if name == "dirty" else name
    return f"{at.called(thing)} is not {state} yet, so I use {at.called(tool)}."


def _putting(at: Errands, thing: str, receptacle: str, *rest: object) -> str:
    where = at.things.specs[at.number(receptacle)].receptacle or "on"
    return f"{at.called(thing)} should be {where} {at.called(receptacle)}."


def _opening(at: Errands, receptacle: str) -> str:
    return f"{at.called(receptacle)} is closed, so I open it." if at.shut(receptacle) else ""


def _looking(at: Errands, thing: str) -> str:
    """What was not seen is not named: whether there is one may be the question."""
    if at.seen(thing):
        return f"I look at {at.called(thing)}, as the answer depends on it."
    return "I have not seen enough to answer yet, so I look on."


REASONS: Mapping[str, Callable[..., str]] = {
    "reach": lambda at, thing: f"I go to {at.called(thing)}.",
    "know": lambda at, thing: (
        "" if at.seen(thing) else f"I have not seen {at.called(thing)} yet, so I look for it."
    ),
    "open_door": lambda at, door: f"{at.called(door)} is closed and on my way, so I open it.",
    "look_at": _looking,
    "unlock": _opening,
    "close_again": lambda at, receptacle: (
        f"I opened {at.called(receptacle)} on the way, so I close it again."
    ),
    "take": lambda at, thing: "" if at.holds(thing) else f"I need {at.called(thing)} in my hands.",
    "put": _putting,
    "put_near": _putting,
    "make_room": lambda at, receptacle, thing: (
        f"{at.called(receptacle)} is full, so something has to come out of it."
    ),
    "put_down": lambda at, thing, **but: (
        f"I put {at.called(thing)} down first, as my hands are needed."
    ),
    "slice": lambda at, thing, knife: (
        f"{at.called(thing)} is not sliced yet, so I use {at.called(knife)}."
    ),
    "treat": _treating,
    "turn": lambda at, thing, on: f"{at.called(thing)} should be {'on' if on else 'off'}.",
    "swing": lambda at, thing, opens: (
        f"{at.called(thing)} should be {'open' if opens else 'closed'}."
    ),
}
"""Errand -> why it is run, empty where there is nothing to do."""

Errand = TypeVar("Errand", bound=Callable[..., ActionPlan])


def reasoned(errand: Errand) -> Errand:
    """An errand with its reason, which is worded when the errand begins and kept while it lasts."""
    reason = REASONS[errand.__name__]

    @wraps(errand)
    def explained(errands: Errands, *args: Any, **named: Any) -> ActionPlan:
        errands.reasons.append(reason(errands, *args, **named))
        try:
            yield from errand(errands, *args, **named)
        finally:
            errands.reasons.pop()

    return cast(Errand, explained)


class Errands:
    """What one actor can do about things, by their ids in the scene.

        >>> from wayword.datasets.household import Household
        >>> homes = Household("generated_train", None, Household.Settings(homes=1, episodes=1))
        >>> shown = homes.demonstration(homes.tasks[0])
        >>> len(shown.thoughts) == len(shown.actions)
        True
        >>> shown.thoughts[-1]
        'All that was asked for is done, so I stop.'

    ``tidy`` shuts again what was opened to get at something. ``reasons`` are those of the errands
    under way, the outermost first. Errands raise ``PlanningFailed``.
    """

    def __init__(self, world: HouseholdWorld, actor: str, tidy: bool = False) -> None:
        self.world, self.actor, self.tidy = world, actor, tidy
        self.reasons: list[str] = []
        self._opened: list[str] = []

    @property
    def things(self) -> Things:
        """The true state."""
        return self.world.house.things

    @property
    def me(self) -> Actor:
        """The body."""
        return self.world.house.actors[self.actor]

    def number(self, thing: str) -> int:
        """A thing's number in the arrays."""
        return self.world.layout.index[thing]

    def has(self, thing: str, trait: Trait) -> bool:
        """True if a thing has a trait now."""
        name, value = trait
        found = getattr(self.things, name)[self.number(thing)]
        return bool(TEMPERATURES[found] == value if name == "temperature" else found == value)

    def holds(self, thing: str) -> bool:
        """True if the thing itself is in the hands."""
        return self.number(thing) in self.me.hands

    def within(self, thing: str, receptacle: str) -> bool:
        """True if a thing is in or on a receptacle, however deep."""
        return self.number(receptacle) in self.things.holders(self.number(thing))

    def takes(self, receptacle: str, thing: str) -> bool:
        """True if a receptacle takes things of that type, full or not."""
        r = self.number(receptacle)
        fits = self.things.fits(self.number(thing), r)
        return bool(self.things.specs[r].receptacle) and fits and receptacle != thing

    def full(self, receptacle: str) -> bool:
        """True if nothing more fits into a receptacle."""
        return self.things.full(self.number(receptacle))

    def shut(self, receptacle: str) -> bool:
        """True if it is closed around its contents."""
        return self.things.closed(self.number(receptacle))

    def seen(self, thing: str) -> bool:
        """True if the actor has seen a thing, or holds it."""
        return bool(self.me.known[self.number(thing)]) or self.holds(thing)

    def called(self, thing: str) -> str:
        """A thing's name where the actor has seen it, else its type: ``the mug``."""
        name = self.world.name(self.actor, thing) if self.seen(thing) else None
        return name or f"the {self.things.type(self.number(thing)).replace('_', ' ')}"

    @property
    def thought(self) -> str:
        """The outermost and the innermost of the reasons; without any, that all is done."""
        each = list(dict.fromkeys(reason for reason in self.reasons if reason))
        both = each if len(each) < 3 else (each[0], each[-1])
        return " ".join("T" + s[1:] if s.startswith("the ") else s for s in both) or STOPPING

    def action(self, verb: str, *things: str) -> Action:
        """An action on things by the names that the actor has for them."""
        return Action(verb, tuple(self.world.name(self.actor, each) or each for each in things))

    def do(self, verb: str, *things: str) -> ActionPlan:
        """One action."""
        feedback = yield self.action(verb, *things)
        if not feedback.ok:
            raise PlanningFailed(f"{verb} {', '.join(things)}: {feedback.status}")

    def at_hand(self, thing: str) -> bool:
        """True if a thing (or what it is shut in) is in view and in reach."""
        house, me, i = self.world.house, self.me, self.number(thing)
        near = house.distance(me, i) <= me.body.manipulation_distance
        return house.holder(i) == me.number or (
            near and int(self.things.anchor[i]) in me.view.things
        )

    @reasoned
    def reach(self, thing: str) -> ActionPlan:
        """Go where a thing (or what it is shut in) is in view and in reach, through shut doors."""
        for _ in range(PATIENCE):
            if self.at_hand(thing):
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

    @reasoned
    def open_door(self, door: str) -> ActionPlan:
        """Go to a shut door on the way, and open it."""
        yield from self.reach(door)
        yield from self.do("open", door)

    def boxes(self, thing: str) -> list[str]:
        """The receptacles that enclose a thing, the outermost first."""
        holders = reversed(self.things.holders(self.number(thing)))
        inside = (k for k in holders if k < self.things.objects and self.things.encloses[k])
        return [self.world.layout.ids[k] for k in inside]

    def uncover(self, thing: str) -> ActionPlan:
        """Go to a thing and open what it is shut in."""
        for box in self.boxes(thing):
            yield from self.unlock(box)
        yield from self.reach(thing)

    @reasoned
    def look_at(self, thing: str) -> ActionPlan:
        """Look into what opens, and have seen anything else."""
        i = self.number(thing)
        if self.things.encloses[i]:
            yield from self.unlock(thing)
        elif not self.me.known[i]:
            yield from self.uncover(thing)

    @reasoned
    def unlock(self, receptacle: str) -> ActionPlan:
        """Go to a receptacle and open it where it is shut."""
        yield from self.reach(receptacle)
        if self.shut(receptacle):
            if self.things.on[self.number(receptacle)]:
                yield from self.do("toggle_off", receptacle)
            yield from self.do("open", receptacle)
            self._opened.append(receptacle)

    def shut_again(self) -> ActionPlan:
        """Shut what was opened, where one is tidy."""
        while self._opened:
            receptacle = self._opened.pop()
            if self.tidy and self.things.open[self.number(receptacle)]:
                yield from self.close_again(receptacle)

    @reasoned
    def close_again(self, receptacle: str) -> ActionPlan:
        """Go back to what was opened on the way, and shut it."""
        yield from self.reach(receptacle)
        yield from self.do("close", receptacle)

    @reasoned
    def take(self, thing: str) -> ActionPlan:
        """Have a thing in the hands; what is in the way there is put down first."""
        if self.holds(thing):
            return
        while len(self.me.hands) >= self.me.body.inventory_capacity:
            yield from self.put_down(self.world.layout.ids[self.me.hands[0]])
        yield from self._grab(thing)
        yield from self.shut_again()

    def _grab(self, thing: str) -> ActionPlan:
        """Go to a thing and pick it up with a free hand."""
        yield from self.uncover(thing)
        yield from self.do("pick_up", thing)

    @reasoned
    def put(self, thing: str, receptacle: str) -> ActionPlan:
        """Bring a thing into or onto a receptacle."""
        if self.number(receptacle) == int(self.things.inside[self.number(thing)]):
            return
        if self.full(receptacle):
            yield from self.make_room(receptacle, thing)
        yield from self.take(thing)
        yield from self._lay(thing, receptacle)
        yield from self.shut_again()

    def _lay(self, thing: str, receptacle: str) -> ActionPlan:
        """Go to a receptacle and put a held thing into or onto it."""
        yield from self.uncover(receptacle)
        yield from self.unlock(receptacle)
        yield from self.do("put", thing, receptacle)

    @reasoned
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

    @reasoned
    def make_room(self, receptacle: str, thing: str) -> ActionPlan:
        """Take something out of a full receptacle."""
        first = self.things.contents(self.number(receptacle))[0]
        yield from self.put_down(self.world.layout.ids[first], but=(receptacle, thing))

    @reasoned
    def put_down(self, thing: str, but: Iterable[str] = ()) -> ActionPlan:
        """Lay a thing on the nearest surface that takes it, or on the floor."""
        not_there = {*but, thing}
        surfaces = [
            spec.id
            for spec in self.things.specs
            if spec.receptacle == "on"
            and "pickupable" not in spec.affordances
            and spec.id not in not_there
            and self.takes(spec.id, thing)
            and not self.full(spec.id)
        ]
        yield from self.take(thing)
        house, me = self.world.house, self.me
        where = min(surfaces, key=lambda r: house.distance(me, self.number(r)), default=None)
        if where is None:
            yield from self.do("drop", thing)
        else:
            yield from self.put(thing, where)

    @reasoned
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

    @reasoned
    def treat(self, thing: str, trait: Trait, tool: str) -> ActionPlan:
        """Heat, cool, wash or fill a thing with a tool that does so, and have it there."""
        yield from self.put(thing, tool)
        if not self.has(thing, trait) and self.things.does(self.number(tool), "cooler"):
            yield from self.unlock(tool)  # what was in there from the first is cooled by shutting
        if not self.has(thing, trait) and self.things.ajar(self.number(tool)):
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

    @reasoned
    def turn(self, thing: str, on: bool) -> ActionPlan:
        """Switch a thing on or off."""
        if bool(self.things.on[self.number(thing)]) != on:
            yield from self.uncover(thing)
            yield from self.do("toggle_on" if on else "toggle_off", thing)

    @reasoned
    def swing(self, thing: str, opens: bool) -> ActionPlan:
        """Open or shut a thing."""
        if bool(self.things.open[self.number(thing)]) != opens:
            yield from self.uncover(thing)
            yield from self.do("open" if opens else "close", thing)


class HighErrands(Errands):
    """Errands by high-level actions, which name things: a thing must have been seen before anything
    is done about it. Raises ``PlanningFailed``, also for a thing that is not seen from the middle
    of its room."""

    @reasoned
    def know(self, thing: str) -> ActionPlan:
        """Have seen a thing: look into what it is shut in, then around its room."""
        i = self.number(thing)
        if self.seen(thing):
            return
        for box in self.boxes(thing):
            yield from self.unlock(box)
        if not self.me.known[i]:
            room = self.world.layout.room_at(float(self.things.x[i]), float(self.things.y[i]))
            yield from self.explore(room)
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
            yield from self.open_door(doors[0])
        raise PlanningFailed(f"{action}: no way")

    @reasoned
    def open_door(self, door: str) -> ActionPlan:
        """Open a door of the room that one is in."""
        if not self.me.known[self.number(door)]:
            yield from self.explore(self.me.room)
        if not self.me.known[self.number(door)]:
            raise PlanningFailed(f"{door} is not seen from the middle of the {self.me.room}")
        yield from self.do("goto", door)
        yield from self.do("open", door)

    @reasoned
    def reach(self, thing: str) -> ActionPlan:
        """Go where a thing (or what it is shut in) is in view and in reach."""
        yield from self.know(thing)
        if not self.at_hand(thing):
            yield from self.walk(self.action("goto", thing), thing)

    @reasoned
    def unlock(self, receptacle: str) -> ActionPlan:
        """Look into a receptacle, which opens it where it is shut."""
        yield from self.know(receptacle)
        shut = self.shut(receptacle)
        if shut and self.things.on[self.number(receptacle)]:
            yield from self.reach(receptacle)
            yield from self.do("toggle_off", receptacle)
        yield from self.walk(self.action("go_check", receptacle), receptacle)
        if shut:
            self._opened.append(receptacle)

    def _grab(self, thing: str) -> ActionPlan:
        yield from self.know(thing)
        for box in self.boxes(thing):
            if self.shut(box):
                yield from self.unlock(box)
        yield from self.walk(self.action("go_grab", thing), thing)

    def _lay(self, thing: str, receptacle: str) -> ActionPlan:
        yield from self.know(receptacle)
        if self.shut(receptacle) and self.things.on[self.number(receptacle)]:
            yield from self.unlock(receptacle)
        if self.me.hands[-1] == self.number(thing):
            shut = self.shut(receptacle)
            yield from self.walk(self.action("go_put", receptacle), receptacle)
            if shut:
                self._opened.append(receptacle)
        else:
            yield from self.unlock(receptacle)
            yield from self.do("put", thing, receptacle)

    def put_near(self, thing: str, receptacle: str, at: Point, within: float) -> ActionPlan:
        """Nobody can aim without single steps: it lands where it lands."""
        yield from self.put(thing, receptacle)

    @reasoned
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
        yield from self.walk(self.action(verb, thing, tool), tool)
        if not self.has(thing, trait):
            raise PlanningFailed(f"{verb} {thing}: nothing came of it")


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
