"""Skills of a body that knows the house: fetch, put, heat, cool, wash, slice.

Each is a generator of actions, carried out by the caller:

    actions = Skills(world, "agent").take("apple|1")
    feedback = world.step("agent", next(actions))
    feedback = world.step("agent", actions.send(feedback))

They read the world's true state and change nothing themselves.

Source: LangSuitE (Jia et al. 2024), Table 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from wayword.core.action import Action
from wayword.core.game import ActionPlan, PlanningFailed
from wayword.core.geometry import Point
from wayword.worlds.household.entities import Entities
from wayword.worlds.household.goals import HouseholdReference, Trait
from wayword.worlds.household.house import Actor, Fail
from wayword.worlds.household.route import Trip, route_to_put, step_counts, true_box
from wayword.worlds.household.scene import TEMPERATURES
from wayword.worlds.household.world import HouseholdWorld

_Chain = tuple[float, list[str], NDArray[np.int32]]
"""Cost in steps, the objects chosen, and the steps from where the chain ends."""


def cheapest(
    world: HouseholdWorld,
    actor: str,
    stops: Sequence[Sequence[str]],
) -> list[str] | None:
    """Return one object per stop, chosen to visit the stops in order in the fewest steps.

    None is visited twice, and closed doors count as open. None if a stop has no
    reachable object. Ids of objects throughout.
    """
    house = world.house
    me = world.house.actors[actor]
    trip = Trip(house, me, open_doors=True)
    # One chain per last object is kept: no cheaper way leads through a costlier one.
    chains: list[_Chain] = [(0.0, [], trip.steps)]
    for stop in stops:
        extended: list[_Chain] = []
        for obj in stop:
            # The cheapest chain to this object: from each chain so far to the nearest position
            # within its reach. A held object is reached where the chain ends.
            i = world.layout.index[obj]
            options = []
            is_held = house.holder(i) == me.number
            is_near = trip.near(true_box(house, i), me.body.manipulation_distance)
            near = is_near.nonzero()[0]
            for cost, chain, steps in chains:
                places = near[steps[near] >= 0]
                if is_held:
                    places = (steps == 0).nonzero()[0]
                # A chain never visits an object twice, as two orders may name the same
                # kind.
                if obj not in chain and len(places):
                    place = int(places[np.argmin(steps[places])])
                    total = cost + float(steps[place])
                    options.append((total, [*chain, obj], place))
            if options:
                cost, chain, place = min(options, key=lambda option: option[0])
                onward = trip.steps  # not used after the last stop
                if stop is not stops[-1]:
                    onward = step_counts(trip.neighbors, place)
                extended.append((cost, chain, onward))
        # Without an option for this stop, all chains end here.
        chains = extended
    if not chains:
        return None
    return min(chains, key=lambda chain: chain[0])[1]


# Chosen without measurement.
MAX_REPLANS = 8
"""Plans of a route that others block or doors close, before the object is out of reach."""
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
"""Trait -> the affordance of the tool that produces it."""
REQUIRED_HIGH_LEVEL = (
    "goto",
    "go_explore",
    "go_check",
    "go_grab",
    "go_put",
    "open",
)
"""Verbs needed by high-level skills; other manipulation verbs only if the task needs them."""
TREATMENTS = {
    "heater": "heat",
    "cooler": "cool",
    "cleaner": "clean",
}
STOP_THOUGHT = "All that was asked for is done, so I stop."
ANSWER_THOUGHT = "I have seen enough to answer."
REASONS = {
    "reach": "I go to {}.",
    "open_door": "{} is closed and on my way, so I open it.",
    "close_again": "I opened {} on the way, so I close it again.",
    "make_room": "{} is full, so something has to come out of it.",
    "put_down": "I put {} down first, as my hands are needed.",
}
"""Skill -> its reason, if that does not depend on the state of its object."""

Skill = TypeVar("Skill", bound=Callable[..., ActionPlan])


def with_reason(skill: Skill) -> Skill:
    """Decorate a skill with a reason, which is worded at its start and kept until its end."""

    # The name of the skill is the key of its reason.
    @wraps(skill)
    def run_with_reason(
        skills: Skills,
        *args: Any,
        **options: Any,
    ) -> ActionPlan:
        """Run a skill with its reason on the list."""
        # The reason is worded now: when the skill has done its work, it would no longer
        # be true.
        skills.reasons.append(skills.reason(skill.__name__, *args, *options.values()))
        try:
            yield from skill(skills, *args, **options)
        finally:
            skills.reasons.pop()

    return cast(Skill, run_with_reason)


class Skills:
    """Skills of one actor with objects, by their ids in the scene.

    ``tidy``: close receptacles that were opened to reach an object. ``reasons``: those
    of the running skills, outermost first. Each skill is a generator: send it the
    feedback of every action that it yields. Skills raise ``PlanningFailed``.
    """

    def __init__(
        self,
        world: HouseholdWorld,
        actor: str,
        tidy: bool = False,
    ) -> None:
        self.world = world
        self.actor = actor
        self.tidy = tidy
        self.reasons: list[str] = []
        self._opened: list[str] = []

    @property
    def entities(self) -> Entities:
        """State of the objects, doors and bodies."""
        return self.world.house.entities

    @property
    def me(self) -> Actor:
        """The body, with its view and memory."""
        return self.world.house.actors[self.actor]

    def number(self, obj: str) -> int:
        """Return the index of an object in the arrays of the house."""
        return self.world.layout.index[obj]

    def has_trait(self, obj: str, trait: Trait) -> bool:
        """True if an object has a state; temperatures are words, other states truth values."""
        name, value = trait
        state = getattr(self.entities, name)[self.number(obj)]
        if name == "temperature":
            state = TEMPERATURES[state]
        return bool(state == value)

    def holds(self, obj: str) -> bool:
        """True if the object is held directly, not inside another object."""
        return self.number(obj) in self.me.hands

    def within(self, obj: str, receptacle: str) -> bool:
        """True if an object is in or on a receptacle, directly or inside other objects."""
        return self.number(receptacle) in self.entities.holders(self.number(obj))

    def takes(self, receptacle: str, obj: str) -> bool:
        """True if a receptacle takes objects of that type, full or not; never itself."""
        r = self.number(receptacle)
        fits = self.entities.fits(self.number(obj), r)
        return bool(self.entities.specs[r].receptacle) and fits and receptacle != obj

    def is_closed(self, receptacle: str) -> bool:
        """True if a receptacle encloses its contents and is closed."""
        return self.entities.closed(self.number(receptacle))

    def has_seen(self, obj: str) -> bool:
        """True if the actor has seen an object, or holds it."""
        return bool(self.me.discovered[self.number(obj)]) or self.holds(obj)

    def name_of(self, obj: str) -> str:
        """Return an object's name if the actor has seen it, else its type: ``the mug``."""
        # The name that the prompt uses, or else no name at all: a thought must not give
        # away objects that the actor has not seen.
        name = None
        if self.has_seen(obj):
            name = self.world.name(self.actor, obj)
        return name or f"the {self.entities.type(self.number(obj)).replace('_', ' ')}"

    def reason(
        self,
        skill: str,
        obj: str,
        *arguments: Any,
    ) -> str:
        """Return the reason for a skill as a sentence; empty if nothing is left to do."""
        # Reasons that only fill in the name come from the table.
        name = self.name_of(obj)
        if skill in REASONS:
            return REASONS[skill].format(name)
        # Here the words depend on what the actor knows and on the state of the object.
        match skill, arguments:
            case "find", _ if self.has_seen(obj):
                return ""
            case "find", _:
                return f"I have not seen {name} yet, so I look for it."
            case "look_at", _ if self.has_seen(obj):
                return f"I look at {name}, as the answer depends on it."
            case "look_at", _:  # not named: its existence may be the question
                return "I have not seen enough to answer yet, so I look on."
            case "unlock", _:
                return f"{name} is closed, so I open it." if self.is_closed(obj) else ""
            case "take", _:
                return "" if self.holds(obj) else f"I need {name} in my hands."
            case (("put" | "put_near"), (receptacle, *_)):
                where = self.entities.specs[self.number(receptacle)].receptacle or "on"
                return f"{name} should be {where} {self.name_of(receptacle)}."
            case "slice", (knife,):
                return f"{name} is not sliced yet, so I use {self.name_of(knife)}."
            case "treat", ((trait, value), tool):
                state = {"temperature": value, "dirty": "clean"}.get(trait, trait)
                return f"{name} is not {state} yet, so I use {self.name_of(tool)}."
            case "toggle", (on,):
                return f"{name} should be {'on' if on else 'off'}."
            case "open_or_close", (opened,):
                return f"{name} should be {'open' if opened else 'closed'}."
        raise ValueError(f"no reason for {skill}")

    @property
    def thought(self) -> str:
        """The outermost and innermost reasons as text: why, and what is being done.

        Without reasons, a statement that all is done.
        """
        # The first says why, the last says what is being done; those between are steps
        # on the way.
        distinct = list(dict.fromkeys(filter(None, self.reasons)))
        sentences = []
        for sentence in dict.fromkeys(distinct[:1] + distinct[-1:]):
            if sentence.startswith("the "):  # an object without a name
                sentence = "T" + sentence[1:]
            sentences.append(sentence)
        return " ".join(sentences) or STOP_THOUGHT

    def action(self, verb: str, *objects: str) -> Action:
        """Return an action on objects, with the actor's names for them."""
        # What the actor has no name for keeps its id, which only fails visibly.
        names = [self.world.name(self.actor, obj) or obj for obj in objects]
        return Action(verb, tuple(names))

    def do(self, verb: str, *objects: str) -> ActionPlan:
        """Do one action. Raises ``PlanningFailed`` if it fails."""
        feedback = yield self.action(verb, *objects)
        if not feedback.ok:
            raise PlanningFailed(f"{verb} {', '.join(objects)}: {feedback.status}")

    def is_at_hand(
        self,
        obj: str,
        within: float = math.inf,
    ) -> bool:
        """True if an object (or its receptacle) is visible, within reach and ``within`` metres.

        Held objects always are.
        """
        house = self.world.house
        me = self.me
        i = self.number(obj)
        # What is held is at hand, also inside another held object.
        if house.holder(i) == me.number:
            return True
        reach = min(within, me.body.manipulation_distance)
        is_visible = int(self.entities.anchor[i]) in me.view.entities
        return is_visible and house.distance(me, i) <= reach

    @with_reason
    def reach(
        self,
        obj: str,
        within: float = math.inf,
    ) -> ActionPlan:
        """Go through doors to a position where an object (or its receptacle) is at hand."""
        # Replanned after each failure: others may block a step, and doors may close.
        for _ in range(MAX_REPLANS):
            if self.is_at_hand(obj, within):
                return
            doors = self.world.doors_to_open(self.actor, obj)
            # A closed door may itself be the goal; then the walk ends in front of it.
            if doors and doors[0] != obj:
                yield from self.open_door(doors[0])
                continue
            for action in self.world.route(self.actor, obj, within) or ():
                feedback = yield action
                # The rest of the route would start from the wrong place.
                if not feedback.ok:
                    break
        raise PlanningFailed(f"{obj} is out of reach")

    @with_reason
    def open_door(self, door: str) -> ActionPlan:
        """Go to a closed door on the path, and open it."""
        yield from self.reach(door)
        yield from self.do("open", door)

    def enclosing(self, obj: str) -> list[str]:
        """Return the receptacles that enclose an object, outermost first."""
        # From the outside in: the outer box has to be opened first.
        holders = reversed(self.entities.holders(self.number(obj)))
        inside = (
            k
            for k in holders
            if k < self.entities.object_count and self.entities.encloses[k]
        )
        return [self.world.layout.ids[k] for k in inside]

    def uncover(self, obj: str, within: float = math.inf) -> ActionPlan:
        """Go to within ``within`` metres of an object, opening its enclosing receptacles."""
        # Boxes first, since what they enclose cannot be seen.
        for box in self.enclosing(obj):
            yield from self.unlock(box)
        yield from self.reach(obj, within)

    @with_reason
    def look_at(self, obj: str) -> ActionPlan:
        """Look into an openable receptacle; make sure any other object has been seen."""
        i = self.number(obj)
        # Something that encloses is looked into; anything else only has to be seen
        # once.
        if self.entities.encloses[i]:
            yield from self.unlock(obj)
        elif not self.me.discovered[i]:
            yield from self.uncover(obj)

    @with_reason
    def unlock(self, receptacle: str) -> ActionPlan:
        """Go to a receptacle and open it if it is closed."""
        yield from self.reach(receptacle)
        if self.is_closed(receptacle):
            # A running appliance stays locked.
            if self.entities.on[self.number(receptacle)]:
                yield from self.do("toggle_off", receptacle)
            yield from self.do("open", receptacle)
            self._opened.append(receptacle)

    def close_opened(self) -> ActionPlan:
        """Close the opened receptacles if ``tidy``."""
        # In reverse: the inner box before the outer one.
        while self._opened:
            receptacle = self._opened.pop()
            if self.tidy and self.entities.open[self.number(receptacle)]:
                yield from self.close_again(receptacle)

    @with_reason
    def close_again(self, receptacle: str) -> ActionPlan:
        """Go back to a receptacle that was opened, and close it."""
        yield from self.reach(receptacle)
        yield from self.do("close", receptacle)

    @with_reason
    def take(self, obj: str) -> ActionPlan:
        """Pick up an object unless already held; empty full hands first."""
        if self.holds(obj):
            return
        # The object held longest goes first: plans take things in the order in which
        # they need them.
        while len(self.me.hands) >= self.me.body.inventory_capacity:
            yield from self.put_down(self.world.layout.ids[self.me.hands[0]])
        yield from self._grab(obj)
        yield from self.close_opened()

    def _grab(self, obj: str) -> ActionPlan:
        """Pick up an object with a free hand."""
        yield from self.uncover(obj)
        yield from self.do("pick_up", obj)

    @with_reason
    def put(self, obj: str, receptacle: str) -> ActionPlan:
        """Put an object in or on a receptacle, after making room in it."""
        # Already there, directly: nothing to do.
        if self.number(receptacle) == int(self.entities.inside[self.number(obj)]):
            return
        # Before taking: a hand is needed to empty the receptacle.
        if self.entities.full(self.number(receptacle)):
            yield from self.make_room(receptacle, obj)
        yield from self.take(obj)
        yield from self._put_held(obj, receptacle)
        yield from self.close_opened()

    def _put_held(self, obj: str, receptacle: str) -> ActionPlan:
        """Put a held object in or on a receptacle."""
        # The receptacle may be enclosed itself, and closed itself.
        yield from self.uncover(receptacle)
        yield from self.unlock(receptacle)
        yield from self.do("put", obj, receptacle)

    @with_reason
    def put_near(
        self,
        obj: str,
        receptacle: str,
        point: Point,
        tolerance: float,
    ) -> ActionPlan:
        """Bring an object into or onto a receptacle, within ``tolerance`` metres of a point."""
        yield from self.take(obj)
        yield from self.uncover(receptacle)
        yield from self.unlock(receptacle)
        i = self.number(obj)
        r = self.number(receptacle)
        # Planned once everything is open and in hand, as both change what can be
        # reached.
        try:
            verbs = route_to_put(
                self.world.house,
                self.me,
                i,
                r,
                point,
                tolerance,
            )
        except Fail as failure:
            problem = (
                f"{obj} cannot be put near its target on {receptacle} from any pose"
            )
            raise PlanningFailed(problem) from failure
        for verb in verbs:
            yield from self.do(verb)
        yield from self.do("put", obj, receptacle)
        yield from self.close_opened()

    @with_reason
    def make_room(self, receptacle: str, obj: str) -> ActionPlan:
        """Take one object out of a full receptacle."""
        # The first in scene order, so that plans repeat exactly.
        first = self.entities.contents(self.number(receptacle))[0]
        yield from self.put_down(
            self.world.layout.ids[first],
            excluded=(receptacle, obj),
        )

    @with_reason
    def put_down(
        self,
        obj: str,
        excluded: Iterable[str] = (),
    ) -> ActionPlan:
        """Put an object on the nearest surface that takes it, or on the floor."""
        # Fixed surfaces only: a plate may be needed elsewhere.
        surfaces = [
            spec.id
            for spec in self.entities.specs
            if spec.receptacle == "on"
            and "pickupable" not in spec.affordances
            and spec.id not in (*excluded, obj)
            and self.takes(spec.id, obj)
            and not self.entities.full(self.number(spec.id))
        ]
        # Taken first: the nearest surface depends on where the body stands then.
        yield from self.take(obj)
        house = self.world.house
        me = self.me
        surface = min(
            surfaces, key=lambda r: house.distance(me, self.number(r)), default=None
        )
        # Without a surface, the floor takes everything.
        if surface is None:
            yield from self.do("drop", obj)
        else:
            yield from self.put(obj, surface)

    @with_reason
    def slice(self, obj: str, knife: str) -> ActionPlan:
        """Slice an object where it is, and put the knife next to it."""
        # An object is sliced where it lies, never in the hand.
        if self.holds(obj):
            yield from self.put_down(obj)
        yield from self.take(knife)
        yield from self.uncover(obj)
        yield from self.do("slice", obj)
        # The knife stays with the slices if there is room, so that it is found again.
        holders = self.entities.holders(self.number(obj))
        if holders and not self.entities.full(holders[0]):
            surface = self.world.layout.ids[holders[0]]
            if self.takes(surface, knife):
                yield from self.put(knife, surface)
                return
        yield from self.put_down(knife)

    @with_reason
    def treat(
        self,
        obj: str,
        trait: Trait,
        tool: str,
    ) -> ActionPlan:
        """Heat, cool, wash or fill an object with a suitable tool, and leave it there."""
        # Putting it in may be enough: a running tap fills at once.
        yield from self.put(obj, tool)
        t = self.number(tool)
        if not self.has_trait(obj, trait) and self.entities.has_affordance(t, "cooler"):
            # Contents present from the start cool when it is closed.
            yield from self.unlock(tool)
        # Closing may be enough: a fridge cools, a running microwave heats.
        if not self.has_trait(obj, trait) and self.entities.is_ajar(t):
            yield from self.reach(tool)
            yield from self.do("close", tool)
        # Whatever is still missing needs the switch.
        if not self.has_trait(obj, trait):
            switch = self.switch(tool)
            yield from self.reach(switch)
            # Off and on again: work starts when it is switched on.
            if self.entities.on[self.number(switch)]:
                yield from self.do("toggle_off", switch)
            yield from self.do("toggle_on", switch)
            yield from self.do("toggle_off", switch)

    def switch(self, tool: str) -> str:
        """Return the object that switches a tool: the tool itself, or a control."""
        t = self.number(tool)
        # Its own switch first; a knob only if it has none.
        if self.entities.has_affordance(t, "toggleable"):
            return tool
        switches = self.entities.switches.get(t, ())
        if not switches:
            raise PlanningFailed(f"{tool} has no switch")
        return self.world.layout.ids[switches[0]]

    @with_reason
    def toggle(self, obj: str, on: bool) -> ActionPlan:
        """Switch an object on or off unless it is already."""
        # Nothing to do if it is so already.
        if bool(self.entities.on[self.number(obj)]) != on:
            yield from self.uncover(obj)
            yield from self.do("toggle_on" if on else "toggle_off", obj)

    @with_reason
    def open_or_close(self, obj: str, opened: bool) -> ActionPlan:
        """Open or close an object unless it is already."""
        if bool(self.entities.open[self.number(obj)]) != opened:
            yield from self.uncover(obj)
            yield from self.do("open" if opened else "close", obj)


class HighLevelSkills(Skills):
    """Skills made of high-level actions.

    These name objects, so an object must be seen before it is used: one that is not
    visible from the middle of its room raises ``PlanningFailed``.
    """

    @with_reason
    def find(self, obj: str) -> ActionPlan:
        """Search for an unseen object: look into its receptacle, then around its room."""
        i = self.number(obj)
        if self.has_seen(obj):
            return
        # Enclosing boxes first, since their rooms are known.
        for box in self.enclosing(obj):
            yield from self.unlock(box)
        # Still unseen: one look from the middle of the room shows what can be seen at
        # all.
        if not self.me.discovered[i]:
            room = self.world.layout.room_at(*self.entities.point(i))
            yield from self._walk(Action("go_explore", (room,)), room)
        if not self.me.discovered[i]:
            raise PlanningFailed(f"{obj} is not visible from the middle of its room")

    def _walk(self, action: Action, target: str) -> ActionPlan:
        """Repeat an action that walks to a target, opening closed doors on the path first."""
        # Each failure may reveal one more closed door.
        for _ in range(MAX_REPLANS):
            feedback = yield action
            if feedback.ok:
                return
            doors = self.world.doors_to_open(self.actor, target)
            # Only a closed door can be helped; another failure repeats itself.
            if feedback.status != "no_path" or not doors:
                raise PlanningFailed(f"{action}: {feedback.status}")
            yield from self.open_door(doors[0])
        raise PlanningFailed(f"{action}: no path")

    @with_reason
    def open_door(self, door: str) -> ActionPlan:
        """Open a door of the current room."""
        # Skills name doors, so a door must have been seen.
        if not self.me.discovered[self.number(door)]:
            yield from self._walk(Action("go_explore", (self.me.room,)), self.me.room)
        if not self.me.discovered[self.number(door)]:
            raise PlanningFailed(
                f"{door} is not visible from the middle of the {self.me.room}"
            )
        yield from self.do("goto", door)
        yield from self.do("open", door)

    @with_reason
    def reach(
        self,
        obj: str,
        within: float = math.inf,
    ) -> ActionPlan:
        """Go to an object (or its receptacle); get closer with single steps, if the body can."""
        yield from self.find(obj)
        if not self.is_at_hand(obj):
            yield from self._walk(self.action("goto", obj), obj)
        # A skill stops anywhere within reach; a tighter limit needs single steps.
        if not self.is_at_hand(obj, within) and "move_ahead" in self.me.body.actions:
            yield from Skills.reach(self, obj, within)

    @with_reason
    def unlock(self, receptacle: str) -> ActionPlan:
        """Look into a receptacle, which opens it if closed."""
        yield from self.find(receptacle)
        was_closed = self.is_closed(receptacle)
        # A running appliance has to be switched off before it opens.
        if was_closed and self.entities.on[self.number(receptacle)]:
            yield from self.reach(receptacle)
            yield from self.do("toggle_off", receptacle)
        yield from self._walk(self.action("go_check", receptacle), receptacle)
        if was_closed:
            self._opened.append(receptacle)

    def _grab(self, obj: str) -> ActionPlan:
        """Pick up an object with a free hand, by the skill ``go_grab``."""
        # Grabbing looks into nothing: closed boxes are opened before.
        yield from self.find(obj)
        for box in self.enclosing(obj):
            if self.is_closed(box):
                yield from self.unlock(box)
        yield from self._walk(self.action("go_grab", obj), obj)

    def _put_held(self, obj: str, receptacle: str) -> ActionPlan:
        """Put a held object, by the skill ``go_put`` if it was taken last."""
        yield from self.find(receptacle)
        if self.is_closed(receptacle) and self.entities.on[self.number(receptacle)]:
            yield from self.unlock(receptacle)
        # ``go_put`` puts what was taken last. Anything else needs the low-level verb.
        if self.me.hands[-1] == self.number(obj):
            was_closed = self.is_closed(receptacle)
            yield from self._walk(self.action("go_put", receptacle), receptacle)
            if was_closed:
                self._opened.append(receptacle)
        else:
            yield from self.unlock(receptacle)
            yield from self.do("put", obj, receptacle)

    def put_near(
        self,
        obj: str,
        receptacle: str,
        point: Point,
        tolerance: float,
    ) -> ActionPlan:
        """Put an object without aiming, as aiming needs single steps."""
        yield from self.put(obj, receptacle)

    @with_reason
    def treat(
        self,
        obj: str,
        trait: Trait,
        tool: str,
    ) -> ActionPlan:
        """Heat, cool or wash an object and hold it; by low-level actions if the verb is absent."""
        kind = TOOLS[trait]
        verb = TREATMENTS.get(kind, "")
        # A verb that the body lacks is replaced by the motions it stands for.
        if verb not in self.me.body.actions:
            yield from super().treat(obj, trait, tool)
            return
        yield from self.take(obj)
        yield from self.find(tool)
        # The skill requires that the actor has seen the switch.
        if kind != "cooler":
            yield from self.find(self.switch(tool))
        yield from self._walk(self.action(verb, obj, tool), tool)
        # A skill can succeed without the wanted effect, as on an object that cannot be
        # heated.
        if not self.has_trait(obj, trait):
            raise PlanningFailed(f"{verb} {obj} had no effect")


OrderKind = Literal["bring", "slice", "on", "off", "open", "close"]


@dataclass(frozen=True, slots=True)
class Order:
    """A sub-task on an object of the scene: ``Order("bring", "mug|1", "sink_basin|1")``.

    ``other`` is the destination of the object, or the knife to slice it with.
    """

    kind: OrderKind
    object: str
    other: str = ""


@dataclass(frozen=True, slots=True)
class PlannedReference(HouseholdReference):
    """Goals, and the sub-tasks that reach them in order, as in TEACh. ``worker`` is the actor who
    carries out the plan, alone or with ``helpers``; path-weighted metrics count their actions."""

    plan: tuple[Order, ...] = ()
    worker: str = "agent"
    helpers: tuple[str, ...] = ()
