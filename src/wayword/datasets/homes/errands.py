"""Errands: what a body that knows the house does to fetch, put, heat, cool, wash and slice.

Each is a generator of low-level actions, carried out by whoever asks for them:

    actions = Errands(world, "agent").take("apple|1")
    feedback = world.step("agent", next(actions))
    ...
    feedback = world.step("agent", actions.send(feedback))

They look at the world's true state and change nothing themselves.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable

from wayword.core.action import Action
from wayword.core.world import Feedback
from wayword.datasets.homes.goals import Trait
from wayword.worlds.housework.geometry import Point
from wayword.worlds.housework.house import Actor, Fail
from wayword.worlds.housework.landing import route_to_put
from wayword.worlds.housework.scene import TEMPERATURES
from wayword.worlds.housework.things import Things
from wayword.worlds.rooms import RoomsWorld

Doing = Generator[Action, Feedback, None]

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


class Stuck(Exception):
    """Why an errand cannot be done."""


class Errands:
    """What one actor can do about things, by their ids in the scene.

    ``tidy`` shuts again what was opened to get at something. Errands raise ``Stuck``.
    """

    def __init__(self, world: RoomsWorld, actor: str, tidy: bool = False) -> None:
        self.world, self.actor, self.tidy = world, actor, tidy
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
        """Whether a thing has a trait now."""
        name, value = trait
        found = getattr(self.things, name)[self.number(thing)]
        return bool(TEMPERATURES[found] == value if name == "temperature" else found == value)

    def holds(self, thing: str) -> bool:
        """Whether the thing itself is in the hands."""
        return self.number(thing) in self.me.hands

    def held(self) -> list[str]:
        """What is in the hands."""
        return [self.world.layout.ids[i] for i in self.me.hands]

    def within(self, thing: str, receptacle: str) -> bool:
        """Whether a thing is in or on a receptacle, however deep."""
        return self.number(receptacle) in self.things.holders(self.number(thing))

    def takes(self, receptacle: str, thing: str) -> bool:
        """Whether a receptacle takes things of that type, full or not."""
        spec = self.things.specs[self.number(receptacle)]
        kind = self.things.type(self.number(thing))
        fits = not spec.accepts or kind in spec.accepts
        return bool(spec.receptacle) and fits and receptacle != thing

    def full(self, receptacle: str) -> bool:
        """Whether nothing more fits into a receptacle."""
        r = self.number(receptacle)
        bound = self.things.specs[r].capacity
        return bool(bound) and len(self.things.contents(r)) >= bound

    def do(self, verb: str, *things: str) -> Doing:
        """One action."""
        names = [self.world.name(self.actor, thing) or thing for thing in things]
        feedback = yield Action(verb, tuple(names))
        if not feedback.ok:
            raise Stuck(f"{verb} {', '.join(things)}: {feedback.status}")

    def reach(self, thing: str) -> Doing:
        """Go where a thing (or what it is shut in) is in view and in reach, through shut doors."""
        house, me, i = self.world.house, self.me, self.number(thing)
        for _ in range(PATIENCE):
            anchor = int(self.things.anchor[i])
            near = house.distance(me, i) <= me.body.manipulation_distance
            if house.holder(i) == me.number or (near and anchor in me.view.things):
                return
            doors = self.world.doors_to_open(self.actor, thing)
            if doors and doors[0] != thing:
                yield from self.reach(doors[0])
                yield from self.do("open", doors[0])
                continue
            for action in self.world.route(self.actor, thing) or ():
                feedback = yield action
                if not feedback.ok:
                    break
        raise Stuck(f"{thing} cannot be reached")

    def uncover(self, thing: str) -> Doing:
        """Go to a thing and open what it is shut in."""
        holders = self.things.holders(self.number(thing))
        for k in reversed(holders):
            if k < self.things.objects and self.things.encloses[k]:
                yield from self.unlock(self.world.layout.ids[k])
        yield from self.reach(thing)

    def unlock(self, receptacle: str) -> Doing:
        """Go to a receptacle and open it where it is shut."""
        r = self.number(receptacle)
        yield from self.reach(receptacle)
        if not self.things.encloses[r] or self.things.open[r]:
            return
        if self.things.on[r]:
            yield from self.do("toggle_off", receptacle)
        yield from self.do("open", receptacle)
        self._opened.append(receptacle)

    def shut_again(self) -> Doing:
        """Shut what was opened, where one is tidy."""
        while self._opened:
            receptacle = self._opened.pop()
            if self.tidy and self.things.open[self.number(receptacle)]:
                yield from self.reach(receptacle)
                yield from self.do("close", receptacle)

    def take(self, thing: str) -> Doing:
        """Have a thing in the hands; what is in the way there is put down first."""
        if self.holds(thing):
            return
        while len(self.me.hands) >= self.me.body.inventory_capacity:
            yield from self.put_down(self.held()[0])
        yield from self.uncover(thing)
        yield from self.do("pick_up", thing)
        yield from self.shut_again()

    def put(self, thing: str, receptacle: str) -> Doing:
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

    def put_near(self, thing: str, receptacle: str, at: Point, within: float) -> Doing:
        """Bring a thing into or onto a receptacle, to lie within a distance of a point there."""
        yield from self.take(thing)
        yield from self.uncover(receptacle)
        yield from self.unlock(receptacle)
        i, r = self.number(thing), self.number(receptacle)
        try:
            verbs = route_to_put(self.world.house, self.me, i, r, at, within)
        except Fail as failure:
            raise Stuck(f"nowhere does {thing} land near its place on {receptacle}") from failure
        for verb in verbs:
            yield from self.do(verb)
        yield from self.do("put", thing, receptacle)
        yield from self.shut_again()

    def make_room(self, receptacle: str, thing: str) -> Doing:
        """Take something out of a full receptacle."""
        inside = [self.world.layout.ids[k] for k in self.things.contents(self.number(receptacle))]
        yield from self.put_down(inside[0], but=(receptacle, thing))

    def put_down(self, thing: str, but: Iterable[str] = ()) -> Doing:
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

    def slice(self, thing: str, knife: str) -> Doing:
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

    def treat(self, thing: str, trait: Trait, tool: str) -> Doing:
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
            raise Stuck(f"nothing switches {tool}")
        return self.world.layout.ids[switches[0]]

    def turn(self, thing: str, on: bool) -> Doing:
        """Switch a thing on or off."""
        if bool(self.things.on[self.number(thing)]) != on:
            yield from self.uncover(thing)
            yield from self.do("toggle_on" if on else "toggle_off", thing)

    def swing(self, thing: str, opens: bool) -> Doing:
        """Open or shut a thing."""
        if bool(self.things.open[self.number(thing)]) != opens:
            yield from self.uncover(thing)
            yield from self.do("open" if opens else "close", thing)

    def _away(self, thing: str) -> float:
        return self.world.house.distance(self.me, self.number(thing))
