"""Partner: one of several equals, who finds, tells, claims and brings.

Partners share a search out by the order of their names: each begins with its own share of the
rooms, looks into all that opens there, and helps with the others' shares after that. What it finds
and has hands for it claims before it goes for it; what it has no hands for it tells the others. Of
two who claim a thing, the one who said so first has it: messages arrive before the next turn of
whoever they are for, so nobody acts on an old one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from wayword.agents.team.knowledge import Knowledge, Ledger, Wants
from wayword.agents.team.messages import (
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
from wayword.agents.team.role import Brief
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.errors import UsageError
from wayword.core.world import Feedback
from wayword.worlds.household import verbs as st
from wayword.worlds.household.observation import HouseholdObservation

VERBS = ("goto", "go_explore", "go_check", "go_grab", "go_put", "open", "put", "chat", "stop")
TRIES = 3
"""How often one thing is tried before it is given up."""
CLOSE = 1.4
"""Who stands this near to where things are brought is in the others' way; metres."""
WAIT = 20
"""Turns without a word after which one no longer waits for the others."""


class Partner:
    """One actor's script. It acts on its ``Knowledge`` alone.

    Of the world it asks two things: how many hands it has itself, and which object of the goals a
    name that it has seen or been told stands for.
    """

    def __init__(self, brief: Brief) -> None:
        self._actors = actors = brief.episode.actors
        self.me, self._toolkit = brief.actor, brief.toolkit
        self._number, self._team = actors.index(brief.actor), len(actors)
        self._talks = brief.talk and self._team > 1
        body = brief.world.house.actors[brief.actor].body
        missing = [verb for verb in VERBS if verb not in body.actions]
        if missing:
            raise UsageError(
                f"partners act by whole errands, and {brief.actor} knows no {missing[0]}; "
                "set dataset.actions=high"
            )
        self._hands = body.inventory_capacity
        world = brief.world
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
        ledger = Ledger(self.wants, self.knowledge)
        self._near = [o.name for o in observation.objects if o.distance < CLOSE]
        self._nearest = observation.objects[0].name if observation.objects else ""
        self._claim(ledger, [held.name for held in observation.holding])
        if self._cut_off:
            self._cut_off = False
            self._through_a_door()
        if self._talks and self._urgent:
            return self._speak()
        action = self._next(ledger, [held.name for held in observation.holding], space)
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

    def _claim(self, ledger: Ledger, holding: list[str]) -> None:
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

    def _next(self, ledger: Ledger, holding: list[str], space: ActionSpace) -> Action:
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

    def _bring(self, ledger: Ledger, holding: list[str]) -> Action | None:
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
        rooms = [a.arguments[0] for a in space.listed if a.name == "go_explore"]
        known = self.knowledge
        checks = [a.arguments[0] for a in space.listed if a.name == "go_check"]
        boxes = [name for name in checks if name in known.boxes]
        for room in self._order(rooms):
            explore = Action("go_explore", (room,))
            if room not in known.seen_rooms and (again or room not in known.searched):
                if explore not in self._no_way:
                    return explore
            elif room not in known.searched:
                box = self._unopened(room, boxes)
                if box:
                    return Action("go_check", (box,))
                known.searched.add(room)
                self._say(Searched(room))
        return None

    def _unopened(self, room: str, boxes: list[str]) -> str:
        """Something in a room that opens and that one has not looked into."""
        for box in boxes:
            at = self.knowledge.things.get(box)
            no_use = Action("go_check", (box,)) in self._no_way or self._failed[box] >= TRIES
            if at and at.room == room and box not in self.knowledge.looked and not no_use:
                return box
        return ""

    def _order(self, rooms: list[str]) -> Iterator[str]:
        """The room one is in, then one's own share, then the others', theirs from the end."""
        share = rooms[self._number :: self._team]
        if self._room not in self.knowledge.seen_rooms:
            yield self._room
        yield from share
        yield from (room for room in reversed(rooms) if room not in share)

    def _finish(self, ledger: Ledger) -> Action:
        """Stop; before that, where something is missing, look at the places it should be, and try
        again what no way led to: somebody may have been in it."""
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

    def _rest(self, ledger: Ledger) -> Action:
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
            room = self._elsewhere(goals)
            if room:
                return Action("go_explore", (room,))
        self._waited += 1
        if not self._talks or self._waited > WAIT:
            return STOP
        return Action("goto", (self._nearest,)) if self._nearest else STOP

    def _elsewhere(self, goals: set[str]) -> str:
        """Another room than this one and than those of the goals: of those one has looked around
        in, the one with most in it, as it is the widest."""
        rooms = Counter(at.room for at in self.knowledge.things.values() if at.own)
        options = self.knowledge.seen_rooms - {self._room}
        options = options - goals or options
        return max(sorted(options), key=lambda room: rooms[room], default="")

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
            self._refused(action, feedback)

    def _refused(self, action: Action, feedback: Feedback) -> None:
        verb, words, status = action.name, action.arguments, feedback.status
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
