"""Partner: one of several equals, who finds, tells, claims and brings.

Partners share a search out by the order of their names: each begins with its own share of the
rooms, looks into all that opens there, and helps with the others' shares after that. What it finds
and has hands for it claims before it goes for it; what it has no hands for it tells the others. Of
two who claim a thing, the one who said so first has it: messages arrive before the next turn of
whoever they are for, so nobody acts on an old one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from wayword.agents.team.messages import (
    Brief,
    KnownSpot,
    Leaving,
    MakeWay,
    Put,
    Saying,
    Searched,
    Taking,
    is_unread,
    not_understood,
    parse_all,
)
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.core.world import Feedback
from wayword.worlds.household import verbs as st
from wayword.worlds.household.goals import GoalCondition, Held, Ids, Inside
from wayword.worlds.household.observation import HouseholdObservation

VERBS = ("goto", "go_explore", "go_check", "go_grab", "go_put", "open", "put", "chat", "stop")
TRIES = 3
"""How often one thing is tried before it is given up."""
CLOSE = 1.4
"""Who stands this near to where things are brought is in the others' way; metres."""
WAIT = 20
"""Turns without a word after which one no longer waits for the others."""


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
    """What one actor has seen and been told, and nothing else. Names are those that all use.

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
        contents = list(details.get("contents", ()))
        for name in contents:
            known = self._note(name, where.room if where and where.room else room)
            known.preposition = str(details.get("preposition", "in"))
            known.place = receptacle
        for name in [n for n, at in self.things.items() if at.place == receptacle]:
            if name not in contents:
                self.forget(name)

    def hear(self, sender: str, sayings: Iterable[Saying]) -> None:
        for saying in sayings:
            if isinstance(saying, KnownSpot):
                known = self.things.get(saying.thing)
                if known is None or not known.own:
                    spot = Whereabouts(saying.preposition, saying.place, saying.room)
                    self.things[saying.thing] = spot
            elif isinstance(saying, Taking):
                if self.claims.setdefault(saying.thing, sender) == sender and saying.place:
                    self.headed[saying.thing] = saying.place
            elif isinstance(saying, Leaving):
                if self.claims.get(saying.thing) == sender:
                    del self.claims[saying.thing]
            elif isinstance(saying, Put):
                self.placed[saying.thing] = saying.place
                self.claims.pop(saying.thing, None)
                self.held.pop(saying.thing, None)
                known = self.things.setdefault(saying.thing, Whereabouts())
                known.preposition, known.place = saying.preposition, saying.place
                known.own = known.own and sender == self.me
            elif isinstance(saying, Searched):
                self.searched.add(saying.room)

    def forget(self, name: str) -> None:
        self.things.pop(name, None)
        self.placed.pop(name, None)

    def _note(self, name: str, room: str) -> Whereabouts:
        """What is known of a thing that one sees oneself now."""
        known = self.things.setdefault(name, Whereabouts(room=room))
        known.own = True
        return known


class WantStatus:
    """What is known, set against what is wanted; computed again each turn.

    ``serves`` gives the want of each thing that lies where it should, is claimed or is held.
    ``left`` counts what each want still lacks.
    """

    def __init__(self, wants: Wants, known: Knowledge) -> None:
        self._wants, self._known = wants, known
        self.left = [want.count for want in wants.wants]
        self.serves: dict[str, int] = {}
        self.targets = [self._target(n) for n in range(len(self.left))]
        for thing, place in known.placed.items():
            self._count(thing, [n for n in wants.of(thing) if self.targets[n] == place])
        for thing in (*known.claims, *known.held):
            if thing not in self.serves and thing not in known.placed:
                self._count(thing, wants.of(thing))

    def open_things(self) -> list[str]:
        """As many known things as are wanted still and claimed by no one, those seen oneself
        first."""
        left, found, things = list(self.left), [], self._known.things
        for thing in sorted(things, key=lambda t: not things[t].own):
            if thing in self.serves or thing in self._known.held or thing in self._known.placed:
                continue
            serves = next((n for n in self._wants.of(thing) if left[n] > 0), None)
            if serves is not None:
                left[serves] -= 1
                found.append(thing)
        return found

    def allot(self, thing: str) -> str:
        """Assign a claimed thing to the first want that lacks it; where it goes, if known."""
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


class Partner:
    """One actor's script. It acts on its ``Knowledge`` alone.

    Of the world it asks two things: how many hands it has itself, and which object of the goals a
    name that it has seen or been told stands for.
    """

    def __init__(self, brief: Brief) -> None:
        world, self._actors = brief.world, brief.episode.actors
        self.me, self._toolkit = brief.actor, brief.toolkit
        self._number, self._team = self._actors.index(self.me), len(self._actors)
        self._talks = brief.talk and self._team > 1
        body = world.house.actors[self.me].body
        missing = [verb for verb in VERBS if verb not in body.actions]
        if missing:
            raise UsageError(
                f"partners act by whole errands, and {self.me} knows no {missing[0]}; "
                "set dataset.actions=high"
            )
        self._hands = body.inventory_capacity
        self.wants = Wants(brief.reference.goals, lambda name: world.object_id(self.me, name))
        self.knowledge = Knowledge(self.me)
        self._unsaid: list[Saying] = []
        self._urgent = False
        self._told_of: set[str] = set()
        self._queue: list[Action] = []
        self._failed: Counter[str] = Counter()
        self._sought: set[tuple[str, Action]] = set()
        self._no_way: set[Action] = set()
        self._verified: set[str] = set()
        self._patience = self._asks = TRIES
        self._lost_way = STOP
        self._cut_off = self._aside = False
        self._room = ""
        self._near: list[str] = []
        self._nearest = ""
        self._in_the_way = False
        self._waited, self._reply = 0, ""
        if self.wants.foreign:
            brief.toolkit.note("goals_not_read", kinds=sorted(self.wants.foreign))

    def act(self, observation: HouseholdObservation, space: ActionSpace) -> Decision | Rejection:
        self._room = observation.room
        self.knowledge.see(observation)
        for message in observation.messages:
            sayings = parse_all(message.text)
            self.knowledge.hear(message.sender, sayings)
            self._in_the_way = self._in_the_way or MakeWay() in sayings
            if is_unread(message.text):
                self._reply = not_understood("partner", message.text)
            self._waited = 0
        if self._talks and self._reply:
            text, self._reply = self._reply, ""
            return Decision(Action("chat", (text,)))
        ledger = WantStatus(self.wants, self.knowledge)
        self._near = [o.name for o in observation.objects if o.distance < CLOSE]
        self._nearest = observation.objects[0].name if observation.objects else ""
        holding = [held.name for held in observation.holding]
        self._claim(ledger, holding)
        if self._cut_off:
            self._cut_off = False
            self._through_a_door()
        if self._talks and self._urgent:
            return self._speak()
        action = self._next(ledger, holding, space)
        if action == STOP and self._urgent:
            return self._speak()
        return Decision(action)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        if isinstance(decision, Rejection):
            return
        verb, words = decision.action.name, decision.action.arguments
        if not feedback.ok:
            self._came_to_nothing(decision.action, feedback)
        elif verb == "go_explore":
            seen = [name for name in feedback.details["seen"] if name not in self._actors]
            boxes = feedback.details["closed"] + feedback.details["opened"]
            self.knowledge.look_around(words[0], seen, boxes)
        elif verb == "go_check":
            self.knowledge.look_into(words[0], feedback.details, self._room)
        elif verb == "open" and words[0] in self.knowledge.doors:
            self.knowledge.doors[words[0]] = True
            self._no_way.clear()
        elif verb in ("go_put", "put"):
            details = feedback.details
            put = Put(details["object"], details["preposition"], details["receptacle"])
            self.knowledge.hear(self.me, [put])
            self._say(put)

    def _speak(self) -> Decision:
        text, self._unsaid, self._urgent = " ".join(map(str, self._unsaid)), [], False
        return Decision(Action("chat", (text,)))

    def _say(self, saying: Saying, urgent: bool = False) -> None:
        """Say it with the next message; at once where it is urgent."""
        if self._talks:
            self._unsaid.append(saying)
            self._urgent = self._urgent or urgent

    def _claim(self, ledger: WantStatus, holding: list[str]) -> None:
        """Take on what one has hands for; tell of the rest, each thing once."""
        known = self.knowledge
        mine = [t for t, who in known.claims.items() if who == self.me and t not in holding]
        free = self._hands - len(holding) - len(mine)
        for place in dict.fromkeys(ledger.targets):
            if place and known.things[place].own and place not in self._told_of:
                self._tell(place, urgent=False)
        for thing in ledger.open_things():
            if self._failed[thing] >= TRIES:
                continue
            if free > 0:
                free -= 1
                known.claims[thing] = self.me
                self._say(Taking(thing, ledger.allot(thing)), urgent=True)
            elif known.things[thing].own and thing not in self._told_of:
                self._tell(thing, urgent=True)

    def _tell(self, thing: str, urgent: bool) -> None:
        at = self.knowledge.things[thing]
        self._told_of.add(thing)
        self._say(KnownSpot(thing, at.preposition, at.place, at.room), urgent)

    def _next(self, ledger: WantStatus, holding: list[str], space: ActionSpace) -> Action:
        if self._queue:
            return self._queue.pop(0)
        if len(holding) < self._hands:
            for thing in [t for t, who in self.knowledge.claims.items() if who == self.me]:
                action = None if thing in holding else self._fetch(thing)
                if action is not None:
                    return action
        bring = self._bring(ledger, holding)
        if bring is not None and (len(holding) >= self._hands or not ledger.missing()):
            return bring
        homeless = bool(ledger.homeless(holding))
        if ledger.missing() or homeless or self._no_way:
            search = self._search(space, again=homeless or bool(self._no_way))
            if search is not None:
                return search
        return bring or self._finish(ledger)

    def _bring(self, ledger: WantStatus, holding: list[str]) -> Action | None:
        """The next action to put down something one has for a place; None for nothing such."""
        for thing in reversed(holding):
            place = ledger.goes_to(thing)
            if not place or self._failed[f"put {thing}"] >= TRIES:
                continue
            last = thing == holding[-1]
            action: Action | None = Action("go_put" if last else "go_check", (place,))
            if not self._own(place):
                action = self._look_for(place)
            elif action in self._no_way:
                action = None
            elif not last:
                self._queue.append(Action("put", (thing, place)))
            if action is not None:
                return action
        return None

    def _fetch(self, thing: str) -> Action | None:
        """The next action to get a thing one has claimed; None where nothing can be done now."""
        grab = Action("go_grab", (thing,))
        if self._failed[thing] >= TRIES:
            self._give_up(thing)
            return None
        if self._own(thing):
            return None if grab in self._no_way else grab
        action = self._look_for(thing)
        if action is None and not self._no_way:
            self._give_up(thing)
        return action

    def _look_for(self, thing: str) -> Action | None:
        """Towards something one has only been told of: into what it is in, or into its room."""
        at = self.knowledge.things.get(thing)
        if at is None:
            return None
        check, explore = Action("go_check", (at.place,)), Action("go_explore", (at.room,))
        for action in (check if at.place and self._own(at.place) else None, explore):
            if action is None or action in self._no_way or not action.arguments[0]:
                continue
            if (thing, action) not in self._sought:
                self._sought.add((thing, action))
                return action
        return None

    def _give_up(self, thing: str) -> None:
        """Leave the thing to another partner."""
        if self.knowledge.claims.get(thing) == self.me:
            del self.knowledge.claims[thing]
            self._failed[thing] = TRIES
            self._say(Leaving(thing), urgent=True)

    def _search(self, space: ActionSpace, again: bool) -> Action | None:
        """The next room to look around in, or what opens there to look into; rooms that no way has
        led to yet come last. ``again`` also looks around where others have searched already."""
        known = self.knowledge
        rooms = [a.arguments[0] for a in space.listed if a.name == "go_explore"]
        checks = [a for a in space.listed if a.name == "go_check" and a.arguments[0] in known.boxes]
        # The room one is in, then one's own share, then the others', theirs from the end.
        share = rooms[self._number :: self._team]
        order = [] if self._room in known.seen_rooms else [self._room]
        order += [*share, *(room for room in reversed(rooms) if room not in share)]
        for room in order:
            explore = Action("go_explore", (room,))
            if room not in known.seen_rooms and (again or room not in known.searched):
                if explore not in self._no_way:
                    return explore
            elif room not in known.searched:
                for check in checks:
                    (box,) = check.arguments
                    at = known.things.get(box)
                    tried = check in self._no_way or self._failed[box] >= TRIES
                    if at and at.room == room and box not in known.looked and not tried:
                        return check
                known.searched.add(room)
                self._say(Searched(room))
        return None

    def _finish(self, ledger: WantStatus) -> Action:
        """Stop; before that, where something is missing, look at the places it should be, and try
        again what no way led to: someone may have stood in it."""
        for number, count in enumerate(ledger.left):
            place = ledger.targets[number]
            if count and place and self._own(place) and place not in self._verified:
                self._verified.add(place)
                return Action("go_check", (place,))
        if self._no_way and self._patience:
            self._patience -= 1
            self._no_way.clear()
            self._sought.clear()
            return Action("go_explore", (self._room,))
        for thing in [t for t, who in self.knowledge.claims.items() if who == self.me]:
            if thing not in self.knowledge.held:
                self._give_up(thing)
        return self._rest(ledger)

    def _rest(self, ledger: WantStatus) -> Action:
        """Nothing is left to do: say what is done, keep out of the way, and wait for the others,
        who may ask for help or to be let past; stop when they are done, or silent for long."""
        if self._talks and self._unsaid:
            return self._speak().action
        goals = {at.room for place in ledger.targets if (at := self.knowledge.things.get(place))}
        standing = self._room in goals or not set(ledger.targets).isdisjoint(self._near)
        asked, self._in_the_way = self._in_the_way, False
        if ledger.done():
            return STOP
        if asked or (standing and not self._aside):
            self._aside = True
            # To another room than those of the goals: the one with most in it, as it is the widest.
            rooms = Counter(at.room for at in self.knowledge.things.values() if at.own)
            others = self.knowledge.seen_rooms - {self._room}
            if others:
                best = max(sorted(others - goals or others), key=lambda room: rooms[room])
                return Action("go_explore", (best,))
        self._waited += 1
        if not self._talks or self._waited > WAIT:
            return STOP
        return Action("goto", (self._nearest,)) if self._nearest else STOP

    def _came_to_nothing(self, action: Action, feedback: Feedback) -> None:
        """Learn from a failure; go round by another door, or open what a thing is shut in."""
        verb, words, status = action.name, action.arguments, feedback.status
        self._queue.clear()
        if verb == "chat":
            self._talks = False
        elif status == st.NO_PATH:
            self._lost_way = action
            self._no_way.add(action)
            self._cut_off = True
            self._sought = {tried for tried in self._sought if tried[1] != action}
        elif verb == "open":
            self.knowledge.doors[words[0]] = True
        else:
            self._failed[words[0]] += 1
            if status == st.CLOSED and "receptacle" in feedback.details:
                self._queue.append(Action("go_check", (feedback.details["receptacle"],)))
            elif status == st.RUNNING:
                self._queue.append(Action("toggle_off", words[:1]))
            elif verb == "go_grab":
                self.knowledge.forget(words[0])
                self._give_up(words[0])
            elif status in (st.FULL, st.DOES_NOT_FIT):
                self._failed[f"put {feedback.details['object']}"] = TRIES

    def _through_a_door(self) -> None:
        """Go and open a shut door, one not tried before, those of the room one is in first."""
        doors = self.knowledge.doors
        shut = [door for door, is_open in doors.items() if not is_open]
        shut = [door for door in shut if Action("goto", (door,)) not in self._no_way]
        rooms = self.knowledge.door_rooms
        shut.sort(key=lambda door: self._room not in rooms.get(door, (self._room,)))
        if shut:
            self._queue += [Action("goto", (shut[0],)), Action("open", (shut[0],))]
        elif self._talks and self._lost_way.name != "goto" and self._asks:
            self._asks -= 1
            self._no_way.discard(self._lost_way)
            self._say(MakeWay(), urgent=True)

    def _own(self, name: str) -> bool:
        at = self.knowledge.things.get(name)
        return at is not None and at.own
