"""What an actor may do in a house, listed by what it knows, and only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

from wayword.core.action import STOP, Action, ActionSpace, ListedLater
from wayword.worlds.household.house import Actor, House
from wayword.worlds.household.verbs import SPEECH, VERBS, Body, Slot, Verb, well_formed


@dataclass(frozen=True, slots=True)
class HouseholdActions(ActionSpace):
    """What an actor in a house may do, and the ``body`` that does it.

    ``rooms`` are the rooms of the house by name. ``fixed_names`` says that everything had its name
    from the start, instead of one given at first sight.
    """

    body: Body = field(kw_only=True)
    rooms: tuple[str, ...] = field(kw_only=True)
    fixed_names: bool = field(kw_only=True)


def household_actions(house: House, me: Actor, open_verbs: tuple[str, ...]) -> HouseholdActions:
    """The action space of an actor now."""
    known = KnownActions(house, me)
    return HouseholdActions(
        ListedLater(known.listed), open_verbs, known.accepts, known.knows,
        body=me.body, rooms=known.rooms, fixed_names=house.named,
    )  # fmt: skip


class KnownActions:
    """The closed choices of an actor.

    *Listed* is what can be done by what the actor knows: each verb with the things it has seen
    that show the affordance, in the order of first sight; hands reach only what is in view and
    near. What it cannot know may still fail: a way may be barred, a box may have been emptied.
    *Accepted* is every well-formed action: the verb is one of the body's, and it has as many words
    as it takes. The world answers it, with a failure where it must.
    """

    def __init__(self, house: House, me: Actor) -> None:
        self._house, self._me = house, me
        self._verbs = useful(me.body.actions, house.pointless)
        self._count, self._hands = len(me.names.order), tuple(me.hands)

    def accepts(self, action: Action) -> bool:
        """Whether the action is well-formed."""
        return (
            action.name in self._verbs
            and action.name not in SPEECH
            and well_formed(action.name, action.arguments)
            and (action.name != STOP.name or self._me.body.answers or not action.arguments)
        )

    def knows(self, action: Action) -> bool:
        """Whether it is, and its words are names of things and rooms as they are written here."""
        names, rooms = self._me.names.thing, self.rooms
        return self.accepts(action) and all(
            word in names or word in rooms for word in action.arguments
        )

    @property
    def rooms(self) -> tuple[str, ...]:
        """The rooms of the house by name."""
        return self._house.layout.rooms

    def listed(self) -> list[Action]:
        """The choices, verb by verb."""
        things, me, hands = self._house.things, self._me, self._hands
        known = [i for i in me.names.order[: self._count] if me.known[i]]
        people = [i for i in me.view.things if i >= things.first_actor]
        possible = Possible(self._house, me, hands)
        options: dict[Slot, Sequence[int]] = {
            "held": hands,
            "place": [i for i in (*known, *people) if i not in hands],
            "receptacle": [i for i in known if things.receives(i)],
        }
        able: dict[str, list[int]] = {}
        for i in known:
            for affordance in things.affordances(i):
                able.setdefault(affordance, []).append(i)
        found: list[Action] = []
        for name in self._verbs:
            if name not in SPEECH:
                verb = VERBS[name]
                options["object"] = options["tool"] = able.get(verb.needs, ())
                found += self._of(verb, options, possible.checks.get(name))
        return found

    def _of(
        self, verb: Verb, options: Mapping[Slot, Sequence[int]], check: Callable[..., bool] | None
    ) -> list[Action]:
        if verb.name == STOP.name:
            return [STOP]
        if verb.slots == ("room",):
            return [Action(verb.name, (room,)) for room in self.rooms]
        names = self._me.names.of
        return [
            Action(verb.name, tuple([names[i] for i in each]))
            for each in product(*(options[slot] for slot in verb.slots))
            if check is None or check(*each)
        ]


@lru_cache(maxsize=256)
def useful(verbs: tuple[str, ...], pointless: frozenset[str]) -> tuple[str, ...]:
    """The verbs without those that there is nothing for."""
    return tuple(verb for verb in verbs if verb not in pointless)


class Possible:
    """Whether an act is possible as far as an actor knows, by the numbers of the things."""

    def __init__(self, house: House, me: Actor, hands: tuple[int, ...]) -> None:
        self._house, self._things, self._me, self._hands = house, house.things, me, hands
        self._near: dict[int, bool] = {}
        self.checks: Mapping[str, Callable[..., bool]] = {
            "pick_up": lambda i: self._free() and i not in hands and self._reaches(i),
            "put": lambda i, r: (
                self._reaches(r) and not self._things.closed(r) and self._goes(i, r)
            ),
            "open": self._opens,
            "close": lambda i: self._reaches(i) and bool(self._things.open[i]),
            "toggle_on": self._starts,
            "toggle_off": lambda i: self._reaches(i) and bool(self._things.on[i]),
            "slice": self._cuts,
            "heat": self._treats,
            "cool": self._goes,
            "clean": self._treats,
            "go_check": lambda r: r not in hands,
            "go_grab": lambda i: self._free() and i not in hands,
            "go_put": lambda r: bool(hands) and self._goes(hands[-1], r),
        }

    def _free(self) -> bool:
        return len(self._hands) < self._me.body.inventory_capacity

    def _reaches(self, i: int) -> bool:
        """Whether a thing is in view, or in the hands, and near enough to touch."""
        if i not in self._near:
            house, me = self._house, self._me
            there = i in me.view.things or house.holder(i) == me.number
            self._near[i] = there and house.distance(me, i) <= me.body.manipulation_distance
        return self._near[i]

    def _goes(self, i: int, r: int) -> bool:
        """Whether a held thing may lie there, and there is room as far as one sees."""
        things = self._things
        full = things.specs[r].capacity and self._reaches(r) and things.full(r)
        return things.fits(i, r) and not full and i != r and i not in things.holders(r)

    def _opens(self, i: int) -> bool:
        running = self._things.on[i] and self._things.encloses[i]
        return self._reaches(i) and not self._things.open[i] and not running

    def _starts(self, i: int) -> bool:
        return self._reaches(i) and not self._things.on[i] and not self._things.ajar(i)

    def _cuts(self, i: int) -> bool:
        knife = any(self._things.does(k, "slicer") for k in self._hands)
        return knife and self._reaches(i) and not self._things.sliced[i]

    def _treats(self, i: int, tool: int) -> bool:
        """Whether a thing fits an appliance whose switch one has seen."""
        switches = [tool] if self._things.does(tool, "toggleable") else []
        switches += self._things.switches.get(tool, ())
        return self._goes(i, tool) and any(self._me.known[k] for k in switches)
