"""What a partner knows: the goals, what it has seen and heard, and what is still missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from wayword.agents.team.messages import KnownSpot, Leaving, Put, Saying, Searched, Taking
from wayword.core.episode import Json
from wayword.worlds.household.goals import GoalCondition, Held, Ids, Inside
from wayword.worlds.household.observation import HouseholdObservation

# Wants: the goals as an actor reads them: which things count, where they go, how many.

Recognise = Callable[[str], str | None]
"""The name of a thing one has seen or been told of -> which object of the goals it is."""


@dataclass(frozen=True, slots=True)
class Want:
    """``count`` of ``things`` (ids) in or on one of ``places`` (ids), or in hands for no places."""

    things: frozenset[str]
    places: Ids
    count: int


class Wants:
    """What is wanted, asked by the names that things go by.

    ``foreign`` lists the kinds of goals that are not read: all but things in places and in hands.
    """

    def __init__(self, goals: tuple[GoalCondition, ...], recognise: Recognise) -> None:
        self._recognise = recognise
        self.wants: list[Want] = []
        self.foreign: list[str] = []
        for goal in goals:
            if isinstance(goal, Inside) and not goal.traits:
                self.wants.append(Want(frozenset(goal.things), goal.receptacles, goal.parts))
            elif isinstance(goal, Held):
                self.wants.append(Want(frozenset(goal.things), (), goal.parts))
            else:
                self.foreign.append(type(goal).__name__)

    def of(self, name: str) -> list[int]:
        """The wants that a thing would serve, by number."""
        thing = self._recognise(name)
        return [n for n, want in enumerate(self.wants) if thing in want.things]

    def places(self, name: str) -> list[int]:
        """The wants that a thing is a place for, by number."""
        thing = self._recognise(name)
        return [n for n, want in enumerate(self.wants) if thing in want.places]


# Knowledge: what one actor has seen and been told, and nothing else.


@dataclass(slots=True)
class Whereabouts:
    """Where a thing was last. ``place`` is what it is in or on, empty for the floor or unknown;
    ``room`` is where it was seen from. ``own`` says that one has seen it oneself."""

    preposition: str = ""
    place: str = ""
    room: str = ""
    own: bool = False


@dataclass(slots=True)
class Knowledge:
    """What an actor knows. Names are those that all of them use.

    ``claims`` says who fetches a thing: of two who would, the one who said so first; ``headed``
    where to. ``placed`` says what lies where it should; ``held`` who was seen with what.
    ``looked`` are the receptacles it has looked into, ``seen_rooms`` the rooms it has looked around
    in, ``searched`` those that an actor has searched completely. ``doors`` says which stand
    open, ``door_rooms`` what they join. ``boxes`` are receptacles seen to open and shut.
    """

    me: str
    things: dict[str, Whereabouts] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)
    headed: dict[str, str] = field(default_factory=dict)
    placed: dict[str, str] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    looked: set[str] = field(default_factory=set)
    seen_rooms: set[str] = field(default_factory=set)
    searched: set[str] = field(default_factory=set)
    doors: dict[str, bool] = field(default_factory=dict)
    door_rooms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    boxes: dict[str, None] = field(default_factory=dict)

    def see(self, observation: HouseholdObservation) -> None:
        """Take in a view."""
        for seen in observation.objects:
            known = self._note(seen.name, observation.room)
            if seen.container:
                known.preposition, known.place = seen.preposition, seen.container
            if not {"open", "closed"}.isdisjoint(seen.attributes):
                self.boxes[seen.name] = None
            if "open" in seen.attributes and seen.distance < 1.5:
                self.looked.add(seen.name)
            self.held.pop(seen.name, None)
            if seen.container and self.placed.get(seen.name, seen.container) != seen.container:
                del self.placed[seen.name]
        for door in observation.doors:
            self.doors[door.name] = door.open
            self.door_rooms[door.name] = door.rooms
        for other in observation.others:
            self.held |= dict.fromkeys(other.holding, other.name)
        self.held |= {held.name: self.me for held in observation.holding}

    def look_around(self, room: str, names: Iterable[str], boxes: Iterable[str] = ()) -> None:
        """Take in what was seen in a room, by name alone; ``boxes`` of it open and shut."""
        self.seen_rooms.add(room)
        self.boxes |= dict.fromkeys(name for name in boxes if not name.startswith("door_"))
        for name in names:
            if name.startswith("door_"):
                self.doors.setdefault(name, False)
            else:
                self._note(name, room).room = room

    def look_into(self, receptacle: str, details: Mapping[str, Json], room: str) -> None:
        """Take in what is in or on a receptacle, and that nothing else is."""
        self.looked.add(receptacle)
        where = self.things.get(receptacle)
        room = where.room if where and where.room else room
        contents = list(details.get("contents", ()))
        for name in contents:
            known = self._note(name, room)
            known.preposition = str(details.get("preposition", "in"))
            known.place = receptacle
        gone = [n for n, w in self.things.items() if w.place == receptacle and n not in contents]
        for name in gone:
            self.forget(name)

    def hear(self, sender: str, sayings: Iterable[Saying]) -> None:
        """Update from another actor's message."""
        for saying in sayings:
            if isinstance(saying, KnownSpot):
                self._told(saying)
            elif isinstance(saying, Taking):
                if self.claims.setdefault(saying.thing, sender) == sender and saying.place:
                    self.headed[saying.thing] = saying.place
            elif isinstance(saying, Leaving):
                if self.claims.get(saying.thing) == sender:
                    del self.claims[saying.thing]
            elif isinstance(saying, Put):
                self._arrived(sender, saying)
            elif isinstance(saying, Searched):
                self.searched.add(saying.room)

    def forget(self, name: str) -> None:
        """A thing is not where it was."""
        self.things.pop(name, None)
        self.placed.pop(name, None)

    def _note(self, name: str, room: str) -> Whereabouts:
        """What is known of a thing that one sees oneself now."""
        known = self.things.setdefault(name, Whereabouts(room=room))
        known.own = True
        return known

    def _told(self, saying: KnownSpot) -> None:
        known = self.things.get(saying.thing)
        if known is None or not known.own:
            self.things[saying.thing] = Whereabouts(saying.preposition, saying.place, saying.room)

    def _arrived(self, sender: str, saying: Put) -> None:
        self.placed[saying.thing] = saying.place
        self.claims.pop(saying.thing, None)
        self.held.pop(saying.thing, None)
        known = self.things.setdefault(saying.thing, Whereabouts())
        known.preposition, known.place = saying.preposition, saying.place
        if sender != self.me:
            known.own = False


# Ledger: which of the things known serve which want, and what is still missing.


class Ledger:
    """What is known, set against what is wanted; made anew each turn.

    ``serves`` gives the want of each thing that lies where it should, is claimed or is held.
    ``left`` counts what each want still lacks.
    """

    def __init__(self, wants: Wants, known: Knowledge) -> None:
        self._wants, self._known = wants, known
        self.left = [want.count for want in wants.wants]
        self.serves: dict[str, int] = {}
        self.targets = [self._target(n) for n in range(len(self.left))]
        for thing, place in known.placed.items():
            fits = [n for n in wants.of(thing) if self.targets[n] == place]
            self._count(thing, fits)
        for thing in (*known.claims, *known.held):
            if thing not in self.serves and thing not in known.placed:
                self._count(thing, wants.of(thing))

    def open_things(self) -> list[str]:
        """Known things that are still wanted and nobody's; those one has seen oneself first.

        Those beyond what is lacking are left out.
        """
        left = list(self.left)
        found = []
        things = self._known.things
        for thing in sorted(things, key=lambda t: not things[t].own):
            if thing in self.serves or thing in self._known.held or thing in self._known.placed:
                continue
            serves = next((n for n in self._wants.of(thing) if left[n] > 0), None)
            if serves is not None:
                left[serves] -= 1
                found.append(thing)
        return found

    def allot(self, thing: str) -> str:
        """Put a claimed thing down to the first want that lacks it; where it goes, if known."""
        self._count(thing, self._wants.of(thing))
        return self.goes_to(thing)

    def goes_to(self, thing: str) -> str:
        """The place that a thing goes to; empty for hands, or where it is not known yet."""
        number = self.serves.get(thing)
        return "" if number is None else self.targets[number]

    def homeless(self, holding: list[str]) -> list[str]:
        """What is in the hands and goes to a place that one has not seen oneself."""
        things = self._known.things
        return [
            thing
            for thing in holding
            if thing in self.serves
            and self._wants.wants[self.serves[thing]].places
            and not ((at := things.get(self.goes_to(thing))) and at.own)
        ]

    def missing(self) -> int:
        """How many things are wanted and not even claimed."""
        return sum(self.left)

    def done(self) -> bool:
        """Whether all that is wanted lies where it should, or is in hands where it should be."""
        wants = self._wants.wants
        far = [t for t, n in self.serves.items() if t not in self._known.placed and wants[n].places]
        return not self.missing() and not far

    def _count(self, thing: str, fits: list[int]) -> None:
        serves = next((n for n in fits if self.left[n] > 0), None)
        if serves is not None:
            self.left[serves] -= 1
            self.serves[thing] = serves

    def _target(self, number: int) -> str:
        """Of the places that would do, the one that has or gets most; else the first known."""
        known = self._known
        things = [t for t in (*known.placed, *known.headed) if number in self._wants.of(t)]
        towards = Counter(known.placed.get(t) or known.headed.get(t, "") for t in things)
        places = [place for place in known.things if number in self._wants.places(place)]
        heard = [place for place in towards if number in self._wants.places(place)]
        return max(sorted({*places, *heard}), key=lambda p: towards[p], default="")
