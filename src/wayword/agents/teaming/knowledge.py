"""Knowledge: what one actor has seen and been told, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from wayword.agents.teaming.speech import Leaving, Put, Saying, Searched, Seen, Taking
from wayword.core.episode import Json
from wayword.worlds.housework.observation import RoomsObservation


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
    in, ``searched`` those that somebody has looked through to the end. ``doors`` says which stand
    open, ``door_rooms`` what they join.
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

    def see(self, observation: RoomsObservation) -> None:
        """Take in a view."""
        for seen in observation.objects:
            known = self._note(seen.name, observation.room)
            if seen.container:
                known.preposition, known.place = seen.preposition, seen.container
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

    def look_around(self, room: str, names: Iterable[str]) -> None:
        """Take in what was seen in a room, by name alone."""
        self.seen_rooms.add(room)
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
        """Take in what somebody said."""
        for saying in sayings:
            if isinstance(saying, Seen):
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

    def _told(self, saying: Seen) -> None:
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
