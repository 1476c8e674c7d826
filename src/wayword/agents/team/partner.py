"""Partner: one of several equal actors that search for, report, claim and bring objects.

Partners divide the rooms among themselves by their order. Each searches its own share, including
all containers, then helps with the others' shares. It claims an object before fetching it, or only
reports it if its hands are full. The first claim counts: a message arrives before its recipient's
next turn, so no actor acts on outdated claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from wayword.agents.team import messages
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError
from wayword.core.world import Feedback
from wayword.worlds.household.goals import Held, Ids, Inside
from wayword.worlds.household.observation import HouseholdObservation

VERBS = (
    "goto",
    "go_explore",
    "go_check",
    "go_grab",
    "go_put",
    "open",
    "put",
    "chat",
    "stop",
)
MOST_TRIES = 3  # attempts to take or put one object, and rounds of retries or requests
IN_THE_WAY = 1.4  # metres from a goal within which a body blocks the others
MOST_SILENT_TURNS = 20  # turns without a message after which it stops waiting


@dataclass(frozen=True)
class Want:
    """``count`` of ``objects`` (ids) in or on one of ``places`` (ids); without places, in hands."""

    objects: frozenset[str]
    places: Ids
    count: int


@dataclass
class Whereabouts:
    """Last known place of an object: in or on ``place`` (empty: floor or unknown).

    ``room`` is where it was seen from. ``firsthand``: seen by the actor itself, not
    known from a message.
    """

    preposition: str = ""
    place: str = ""
    room: str = ""
    firsthand: bool = False


@dataclass
class Knowledge:
    """Knowledge of one actor from observations and messages. All actors use the same names.

    ``claims``: object -> the first actor that claimed it. ``destinations``: claimed object -> its
    goal place. ``placed``: object -> the goal place it is in. ``holders``: object -> the actor seen
    holding it. ``looked_into``: receptacles whose contents are known. ``viewed_rooms``: rooms seen.
    ``searched_rooms``: rooms that some actor has searched completely. ``door_open``: door -> True
    if open. ``door_rooms``: door -> the rooms it connects. ``closable``: receptacles with a door.
    """

    actor: str
    objects: dict[str, Whereabouts] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)
    destinations: dict[str, str] = field(default_factory=dict)
    placed: dict[str, str] = field(default_factory=dict)
    holders: dict[str, str] = field(default_factory=dict)
    looked_into: set[str] = field(default_factory=set)
    viewed_rooms: set[str] = field(default_factory=set)
    searched_rooms: set[str] = field(default_factory=set)
    door_open: dict[str, bool] = field(default_factory=dict)
    door_rooms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    closable: dict[str, None] = field(default_factory=dict)

    def see(self, observation: HouseholdObservation) -> None:
        """Record what is in view: places and states of objects, doors, and who holds what."""
        for item in observation.objects:
            entry = self._seen_entry(item.name, observation.room)
            if item.container:
                entry.preposition = item.preposition
                entry.place = item.container
            # An openable object is a container that may have to be searched.
            if not {"open", "closed"}.isdisjoint(item.attributes):
                self.closable[item.name] = None
            # From 1.5 m, the reach of a body, an open container shows its contents.
            if "open" in item.attributes and item.distance < 1.5:
                self.looked_into.add(item.name)
            # Seen in the room, so no one holds it.
            self.holders.pop(item.name, None)
            # Seen in another place, so it is no longer at its goal.
            if (
                item.container
                and self.placed.get(item.name, item.container) != item.container
            ):
                del self.placed[item.name]
        for door in observation.doors:
            self.door_open[door.name] = door.open
            self.door_rooms[door.name] = door.rooms
        for other in observation.others:
            self.holders |= dict.fromkeys(other.holding, other.name)
        self.holders |= {held.name: self.actor for held in observation.holding}

    def look_around(
        self,
        room: str,
        names: Iterable[str],
        closable: Iterable[str] = (),
    ) -> None:
        """Add objects seen in a room, by name; ``closable`` are those that open and close.

        Doors are among the names, and count as closed until one is seen open.
        """
        self.viewed_rooms.add(room)
        self.closable |= dict.fromkeys(
            name for name in closable if not name.startswith("door_")
        )
        for name in names:
            if name.startswith("door_"):
                self.door_open.setdefault(name, False)
            else:
                self._seen_entry(name, room).room = room

    def look_into(
        self,
        receptacle: str,
        details: JsonObject,
        room: str,
    ) -> None:
        """Record the contents of a receptacle: what is missing there is forgotten.

        ``details`` are those of the action's feedback; ``room`` is used for a
        receptacle that has none.
        """
        self.looked_into.add(receptacle)
        location = self.objects.get(receptacle)
        contents = list(details.get("contents", ()))
        for name in contents:
            entry = self._seen_entry(
                name,
                location.room if location and location.room else room,
            )
            entry.preposition = str(details.get("preposition", "in"))
            entry.place = receptacle
        # What was believed to be in it and is not must be elsewhere.
        for name, at in [*self.objects.items()]:
            if at.place == receptacle and name not in contents:
                self.forget(name)

    def hear(self, sender: str, sayings: Iterable[messages.PartnerSentence]) -> None:
        """Record the sentences of a message.

        What the actor has seen itself counts more than what a message says, and the
        first claim of an object counts, by any actor.
        """
        for saying in sayings:
            match saying:
                case messages.Location(name, preposition, place, room):
                    # What the actor has seen itself counts more.
                    if not self.is_firsthand(name):
                        self.objects[name] = Whereabouts(preposition, place, room)
                case messages.FetchClaim(name, place):
                    # The first claim of an object counts, by any actor.
                    if self.claims.setdefault(name, sender) == sender and place:
                        self.destinations[name] = place
                case messages.GivingUp(name) if self.claims.get(name) == sender:
                    del self.claims[name]
                case messages.Placed(name, preposition, place):
                    self.placed[name] = place
                    self.claims.pop(name, None)
                    self.holders.pop(name, None)
                    entry = self.objects.setdefault(name, Whereabouts())
                    entry.preposition = preposition
                    entry.place = place
                    entry.firsthand = entry.firsthand and sender == self.actor
                case messages.Searched(room):
                    self.searched_rooms.add(room)

    def forget(self, name: str) -> None:
        """Forget where an object is, also if it was at its goal."""
        self.objects.pop(name, None)
        self.placed.pop(name, None)

    def is_firsthand(self, name: str) -> bool:
        """True if the actor has seen the object itself."""
        at = self.objects.get(name)
        return at is not None and at.firsthand

    def _seen_entry(self, name: str, room: str) -> Whereabouts:
        """Return the entry of an object, marked as seen."""
        entry = self.objects.setdefault(name, Whereabouts(room=room))
        entry.firsthand = True
        return entry


class WantStatus:
    """Progress on the wants according to the knowledge; computed at every turn.

    ``want_of``: object that is placed, claimed or held -> index of its want. ``missing_counts``:
    objects still missing for each want. ``targets``: the place chosen for each want: the possible
    one with most objects placed or claimed for it, else the first known. ``find_object`` returns
    the id in the goals of an object's name, None if unknown.
    """

    def __init__(
        self,
        wants: Sequence[Want],
        find_object: Callable[[str], str | None],
        knowledge: Knowledge,
    ) -> None:
        self._wants = wants
        self._find_object = find_object
        self._knowledge = knowledge
        self.missing_counts = [want.count for want in wants]
        self.want_of: dict[str, int] = {}
        self.targets: list[str] = []
        # Placed objects show where a goal was started, claims where it will be. An object that was
        # claimed and placed counts twice.
        goes_to = {**knowledge.destinations, **knowledge.placed}
        names = (*knowledge.placed, *knowledge.destinations)
        for number, want in enumerate(wants):
            counts = Counter(
                goes_to[name] for name in names if number in self.serving(name)
            )
            # A possible place must be known, and be one that the goal accepts.
            options = {
                place
                for place in (*knowledge.objects, *counts)
                if find_object(place) in want.places
            }
            # Most objects first, then by name, so that all actors choose alike.
            self.targets.append(
                max(sorted(options), key=counts.__getitem__, default="")
            )
        # Placed objects serve first, then those that are claimed or held.
        for name, place in knowledge.placed.items():
            self.assign(
                name,
                [n for n in self.serving(name) if self.targets[n] == place],
            )
        for name in (*knowledge.claims, *knowledge.holders):
            if name not in self.want_of and name not in knowledge.placed:
                self.assign(name, self.serving(name))

    def serving(self, name: str) -> list[int]:
        """Return the numbers of the wants that an object can serve."""
        i = self._find_object(name)
        return [number for number, want in enumerate(self._wants) if i in want.objects]

    def unclaimed(self) -> list[str]:
        """Return known objects to claim, at most as many as are missing, firsthand ones first."""
        missing = list(self.missing_counts)
        names = []
        knowledge = self._knowledge
        # Stable: among equals, in the order in which they became known.
        firsthand_first = sorted(
            knowledge.objects, key=lambda name: not knowledge.is_firsthand(name)
        )
        taken = self.want_of.keys() | knowledge.holders.keys() | knowledge.placed.keys()
        for name in firsthand_first:
            if name in taken:
                continue
            want = _first_missing(self.serving(name), missing)
            if want is not None:
                missing[want] -= 1
                names.append(name)
        return names

    def destination(self, name: str) -> str:
        """Return the goal place of an object; empty if unknown, or if it must be held."""
        number = self.want_of.get(name)
        return "" if number is None else self.targets[number]

    def assign(self, name: str, candidates: Iterable[int]) -> None:
        """Assign an object to the first of some wants that still lacks one.

        Does nothing if none of them does.
        """
        want = _first_missing(candidates, self.missing_counts)
        if want is not None:
            self.missing_counts[want] -= 1
            self.want_of[name] = want


def _first_missing(candidates: Iterable[int], missing: Sequence[int]) -> int | None:
    """Return the first of some wants that still lacks objects; None if none does."""
    return next((number for number in candidates if missing[number] > 0), None)


class Partner:
    """Script of one actor that acts only on its :class:`Knowledge`.

    It reads two facts from the world: how many objects it can hold, and the ids of
    named objects. Raises ``UsageError`` if its body lacks one of ``VERBS``.
    """

    def __init__(self, brief: messages.RoleBrief) -> None:
        world = brief.world
        self._actors = brief.episode.actors
        self.actor = brief.actor
        # The index decides which rooms an actor searches first.
        self._index = self._actors.index(self.actor)
        self._team_size = len(self._actors)
        self._may_talk = brief.may_talk and self._team_size > 1
        body = world.house.actors[self.actor].body
        # Checked at the start, not at the first missing verb.
        missing = [verb for verb in VERBS if verb not in body.actions]
        if missing:
            raise UsageError(
                f"partners act by high-level skills, and {self.actor} has no {missing[0]}; "
                "set dataset.actions=high"
            )
        self._hand_count = body.inventory_capacity
        self._wants = list[Want]()
        unread_kinds = list[str]()
        # Goals with traits need cooking, which partners do not do.
        for goal in brief.reference.goals:
            if isinstance(goal, Inside) and not goal.traits:
                want = Want(frozenset(goal.objects), goal.receptacles, goal.parts)
                self._wants.append(want)
            elif isinstance(goal, Held):
                self._wants.append(Want(frozenset(goal.objects), (), goal.parts))
            else:
                unread_kinds.append(type(goal).__name__)
        self._find_object = partial(world.object_id, self.actor)
        self.knowledge = Knowledge(self.actor)
        self._unsent: list[messages.PartnerSentence] = []
        self._must_speak = False
        self._announced: set[str] = set()
        self._queue: list[Action] = []
        self._failures: Counter[str] = Counter()
        self._search_tries: set[tuple[str, Action]] = set()
        self._blocked: set[Action] = set()
        self._verified: set[str] = set()
        self._retries_left = MOST_TRIES
        self._requests_left = MOST_TRIES
        self._last_blocked = STOP
        self._needs_door = False
        self._moved_aside = False
        self._asked_to_move = False
        self._room = ""
        self._nearest = ""
        self._reply = ""
        self._nearby: list[str] = []
        self._silent_turns = 0
        if unread_kinds:
            brief.toolkit.note("goals_not_read", kinds=sorted(unread_kinds))

    def act(
        self,
        observation: HouseholdObservation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Return the next action: talk first, then bring, then search."""
        self._room = observation.room
        self.knowledge.see(observation)
        # Messages before actions: they may change what is to be done.
        for message in observation.messages:
            sayings = messages.parse_all(message.text)
            self.knowledge.hear(message.sender, sayings)
            if messages.MoveAside() in sayings:
                self._asked_to_move = True
            if messages.needs_reply(message.text):
                self._reply = messages.not_understood("partner", message.text)
            self._silent_turns = 0
        # An unclear message is answered at once, so that its sender does not wait.
        if self._may_talk and self._reply:
            text = self._reply
            self._reply = ""
            return Decision(Action("chat", (text,)))
        status = WantStatus(self._wants, self._find_object, self.knowledge)
        self._nearby = [o.name for o in observation.objects if o.distance < IN_THE_WAY]
        self._nearest = observation.objects[0].name if observation.objects else ""
        # In the order in which they were taken.
        holding = [held.name for held in observation.holding]
        # Claims are made before the turn is used, so that others see them early.
        self._claim(status, holding)
        if self._needs_door:
            self._needs_door = False
            # Open a closed door not tried yet, first in this room; else ask the others to move.
            closed = [
                door
                for door, is_open in self.knowledge.door_open.items()
                if not is_open and Action("goto", (door,)) not in self._blocked
            ]
            # Doors of this room first: they are the likely ones.
            rooms = self.knowledge.door_rooms
            closed.sort(
                key=lambda door: self._room not in rooms.get(door, (self._room,))
            )
            if closed:
                self._queue += [
                    Action("goto", (closed[0],)),
                    Action("open", (closed[0],)),
                ]
            elif (
                self._may_talk
                and self._last_blocked.name != "goto"
                and self._requests_left
            ):
                self._requests_left -= 1
                self._blocked.discard(self._last_blocked)
                self._say(messages.MoveAside(), urgent=True)
        # An urgent message goes before any action.
        if self._may_talk and self._must_speak:
            return self._speak()
        action = self._next_action(status, holding, space)
        # Nothing is left unsaid at the end.
        if action == STOP and self._must_speak:
            return self._speak()
        return Decision(action)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Record the result of an action in the knowledge, and report objects put at their goal."""
        if isinstance(decision, Rejection):
            return
        verb = decision.action.name
        words = decision.action.arguments
        details = feedback.details
        knowledge = self.knowledge
        if not feedback.ok:
            self._learn_from_failure(decision.action, feedback)
        elif verb == "go_explore":
            sighted = [name for name in details["seen"] if name not in self._actors]
            knowledge.look_around(
                words[0],
                sighted,
                details["closed"] + details["opened"],
            )
        elif verb == "go_check":
            knowledge.look_into(words[0], details, self._room)
        elif verb == "open" and words[0] in knowledge.door_open:
            knowledge.door_open[words[0]] = True
            # A new way is open, so everything blocked may be tried again.
            self._blocked.clear()
        elif verb in ("go_put", "put"):
            put = messages.Placed(
                details["object"],
                details["preposition"],
                details["receptacle"],
            )
            # Both partners learn of it from the same sentence.
            knowledge.hear(self.actor, [put])
            self._say(put)

    def _speak(self) -> Decision:
        """Return a chat with everything that is to be said, and empty the queue."""
        text = " ".join(map(str, self._unsent))
        self._unsent = []
        self._must_speak = False
        return Decision(Action("chat", (text,)))

    def _say(self, saying: messages.PartnerSentence, urgent: bool = False) -> None:
        """Queue a sentence for the next message; ``urgent`` sends it in this turn."""
        if self._may_talk:
            self._unsent.append(saying)
            self._must_speak = self._must_speak or urgent

    def _own_claims(self) -> list[str]:
        """Return the objects that this actor has announced to fetch."""
        return [
            name for name, who in self.knowledge.claims.items() if who == self.actor
        ]

    def _claim(self, status: WantStatus, holding: list[str]) -> None:
        """Claim as many objects as hands are free; report the others, each once."""
        knowledge = self.knowledge
        # Hands that are full or promised are not free.
        # An object that is claimed and held counts once.
        free_hands = self._hand_count - len({*holding, *self._own_claims()})

        def announce(name: str, urgent: bool) -> None:
            """Say where an object is, once, if the actor has seen it itself."""
            at = knowledge.objects.get(name)
            if at is not None and at.firsthand and name not in self._announced:
                self._announced.add(name)
                self._say(
                    messages.Location(name, at.preposition, at.place, at.room),
                    urgent,
                )

        # Places of goals first: the others need them to put objects down.
        for place in dict.fromkeys(filter(None, status.targets)):
            announce(place, urgent=False)
        for name in status.unclaimed():
            # After several failures the object is left to others.
            if self._failures[name] >= MOST_TRIES:
                continue
            if free_hands > 0:
                free_hands -= 1
                knowledge.claims[name] = self.actor
                status.assign(name, status.serving(name))
                self._say(
                    messages.FetchClaim(name, status.destination(name)),
                    urgent=True,
                )
            else:
                announce(name, urgent=True)

    def _next_action(
        self,
        status: WantStatus,
        holding: list[str],
        space: ActionSpace,
    ) -> Action:
        """Return the next action of fetching, bringing or searching; ``STOP`` at the end.

        In this order: a started sequence, a claimed object with a free hand, a held
        object if the hands are full or nothing is missing, the search, a held object.
        """
        # A started sequence is finished before anything else.
        if self._queue:
            return self._queue.pop(0)
        # With a free hand, fetch what was claimed.
        hands_full = len(holding) >= self._hand_count
        if not hands_full:
            for name in self._own_claims():
                # Held already, but not yet at its place
                if name in holding:
                    continue
                if self._failures[name] >= MOST_TRIES:
                    self._give_up(name)
                elif self.knowledge.is_firsthand(name):
                    grab = Action("go_grab", (name,))
                    # A blocked one stays claimed: the next claim comes first.
                    if grab not in self._blocked:
                        return grab
                elif action := self._look_for(name):
                    return action
                # Blocked ways are tried again later (``_finish``) and may lead to this object.
                elif not self._blocked:
                    self._give_up(name)
        # Objects that are neither placed, claimed nor held
        more_needed = any(status.missing_counts)
        # Called only where its action is returned, as it queues what follows that action.
        if hands_full or not more_needed:
            bring = self._bring(status, holding)
            if bring is not None:
                return bring
        # Goal places that only others have seen are looked for where others have searched.
        also_searched_rooms = bool(self._blocked) or self._has_unseen_goal(
            status, holding
        )
        if more_needed or also_searched_rooms:
            search = self._search(space, also_searched_rooms)
            if search is not None:
                return search
        return self._bring(status, holding) or self._finish(status)

    def _has_unseen_goal(self, status: WantStatus, holding: list[str]) -> bool:
        """True if the actor knows the goal place of a held object from messages at most."""
        for name in holding:
            number = status.want_of.get(name)
            # Objects that must only be held have no place.
            if number is None or not self._wants[number].places:
                continue
            if not self.knowledge.is_firsthand(status.targets[number]):
                return True
        return False

    def _bring(self, status: WantStatus, holding: list[str]) -> Action | None:
        """Return the next action that brings a held object to its place.

        The action must be carried out: what follows it is queued.
        """
        # The last object taken is put down first, as ``go_put`` takes it.
        for name in reversed(holding):
            place = status.destination(name)
            if not place or self._failures[f"put {name}"] >= MOST_TRIES:
                continue
            # For another one, the place is opened first, and "put" names the object.
            is_last = name == holding[-1]
            verb = "go_put" if is_last else "go_check"
            action: Action | None = Action(verb, (place,))
            if not self.knowledge.is_firsthand(place):
                action = self._look_for(place)
            elif action in self._blocked:
                action = None
            elif not is_last:
                self._queue.append(Action("put", (name, place)))
            if action is not None:
                return action
        return None

    def _look_for(self, name: str) -> Action | None:
        """Return an action towards an object known from messages: to its container or room.

        None once each has been tried.
        """
        at = self.knowledge.objects.get(name)
        if at is None:
            return None
        actions = [Action("go_explore", (at.room,))]
        # Only what the actor has seen itself can be walked to.
        if self.knowledge.is_firsthand(at.place):
            actions.insert(0, Action("go_check", (at.place,)))
        for action in actions:
            # Each way to look is tried once.
            if action in self._blocked or not action.arguments[0]:
                continue
            if (name, action) not in self._search_tries:
                self._search_tries.add((name, action))
                return action
        return None

    def _give_up(self, name: str) -> None:
        """Give up an object, and say so."""
        if self.knowledge.claims.get(name) == self.actor:
            del self.knowledge.claims[name]
            self._failures[name] = MOST_TRIES
            self._say(messages.GivingUp(name), urgent=True)

    def _search(self, space: ActionSpace, also_searched_rooms: bool) -> Action | None:
        """Return the next action of the search: look around a room, or into a container.

        Rooms that others have searched are skipped, unless ``also_searched_rooms``. None
        if everything has been searched.
        """
        knowledge = self.knowledge
        rooms = [
            action.arguments[0]
            for action in space.listed
            if action.name == "go_explore"
        ]
        closable = knowledge.closable
        checks = [
            action
            for action in space.listed
            if action.name == "go_check" and action.arguments[0] in closable
        ]
        # The current room, then the actor's own share, then the others', in reverse order.
        own_rooms = rooms[self._index :: self._team_size]
        rooms_in_order = []
        if self._room not in knowledge.viewed_rooms:
            rooms_in_order.append(self._room)
        rooms_in_order += own_rooms
        rooms_in_order += [room for room in reversed(rooms) if room not in own_rooms]
        for room in rooms_in_order:
            explore = Action("go_explore", (room,))
            is_searched = room in knowledge.searched_rooms
            must_view = also_searched_rooms or not is_searched
            if room not in knowledge.viewed_rooms and must_view:
                if explore not in self._blocked:
                    return explore
            elif not is_searched:
                for check in checks:
                    (receptacle,) = check.arguments
                    at = knowledge.objects.get(receptacle)
                    failed = (
                        check in self._blocked
                        or self._failures[receptacle] >= MOST_TRIES
                    )
                    is_done = failed or receptacle in knowledge.looked_into
                    if at and at.room == room and not is_done:
                        return check
                # All containers of the room are done, so it counts as searched.
                knowledge.searched_rooms.add(room)
                self._say(messages.Searched(room))
        return None

    def _finish(self, status: WantStatus) -> Action:
        """Return the next action when the search is over.

        Check goal places, retry blocked actions (another actor may have been in the
        way), then send queued sentences, keep out of the way and wait; stop when the
        task is done, or after ``MOST_SILENT_TURNS``.
        """
        # Goal places may hold objects that no one has reported.
        for missing, place in zip(status.missing_counts, status.targets, strict=True):
            if (
                missing
                and self.knowledge.is_firsthand(place)
                and place not in self._verified
            ):
                self._verified.add(place)
                return Action("go_check", (place,))
        # Someone may have been in the way.
        if self._blocked and self._retries_left:
            self._retries_left -= 1
            self._blocked.clear()
            self._search_tries.clear()
            return Action("go_explore", (self._room,))
        # Claims that cannot be fulfilled are given back.
        for name in self._own_claims():
            if name not in self.knowledge.holders:
                self._give_up(name)
        # Messages without a waiting reader are sent now, when there is nothing else to do.
        if self._may_talk and self._unsent:
            return self._speak().action
        knowledge = self.knowledge
        goal_rooms = {
            knowledge.objects[place].room
            for place in status.targets
            if place in knowledge.objects
        }
        near_goal = not set(status.targets).isdisjoint(self._nearby)
        at_goal = self._room in goal_rooms or near_goal
        was_asked = self._asked_to_move
        self._asked_to_move = False
        unplaced = (
            n for name, n in status.want_of.items() if name not in knowledge.placed
        )
        # Objects that must only be held need no further act.
        if not any(status.missing_counts) and not any(
            self._wants[n].places for n in unplaced
        ):
            return STOP
        # In the room of a goal, a body may block the others.
        if was_asked or (at_goal and not self._moved_aside):
            self._moved_aside = True
            # To a room without goals: the one with most objects, probably the largest.
            rooms = Counter(
                at.room for at in knowledge.objects.values() if at.firsthand
            )
            other_rooms = knowledge.viewed_rooms - {self._room}
            if other_rooms:
                options = sorted(other_rooms - goal_rooms or other_rooms)
                best = max(options, key=rooms.__getitem__)
                return Action("go_explore", (best,))
        # Waiting costs a turn, so it ends after some silence.
        self._silent_turns += 1
        if not self._may_talk or self._silent_turns > MOST_SILENT_TURNS:
            return STOP
        if not self._nearest:
            return STOP
        return Action("goto", (self._nearest,))

    def _learn_from_failure(self, action: Action, feedback: Feedback) -> None:
        """Plan a remedy: open a door, open the container, or leave the object to others."""
        verb = action.name
        words = action.arguments
        status = feedback.status
        # The rest of the sequence depended on the failed action.
        self._queue.clear()
        # Messages that cannot be sent are not tried again.
        if verb == "chat":
            self._may_talk = False
        elif status == "no_path":
            # A door or a body is in the way: the action is tried again after a change.
            self._last_blocked = action
            self._blocked.add(action)
            self._needs_door = True
            self._search_tries = {
                tried for tried in self._search_tries if tried[1] != action
            }
        elif verb == "open":
            self.knowledge.door_open[words[0]] = True
        else:
            # Counted per object: other objects may still be reached.
            self._failures[words[0]] += 1
            if status == "closed" and "receptacle" in feedback.details:
                self._queue.append(
                    Action("go_check", (feedback.details["receptacle"],))
                )
            elif status == "running":
                self._queue.append(Action("toggle_off", words[:1]))
            elif verb == "go_grab":
                self.knowledge.forget(words[0])
                self._give_up(words[0])
            elif status in ("full", "does_not_fit"):
                self._failures[f"put {feedback.details['object']}"] = MOST_TRIES
