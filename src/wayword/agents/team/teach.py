"""Commander and follower: the commander knows task and house, the follower obeys its commands.

Source: TEACh (Padmakumar et al. 2022), section 3.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

from wayword.agents.team import messages
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.errors import UsageError
from wayword.core.world import Feedback
from wayword.worlds.household.entities import Entities
from wayword.worlds.household.observation import HouseholdObservation
from wayword.worlds.household.skills import Order, PlannedReference

MOST_ATTEMPTS = 3  # attempts at a command before the next one is given
IDLE_TURN = Action("turn_left")
Talk = Generator[messages.Utterance, messages.Utterance, None]


class Commander:
    """Script of a commander, which gives a follower one command at a time.

    The commands are those of the reference's plan, with the true places of objects: a
    commander knows the house. It first has doors on the way opened, answers questions
    about objects, and repeats a failed command up to ``MOST_ATTEMPTS`` times. Of
    several followers, the one that holds a command's object gets it. Raises
    ``UsageError`` without a plan.
    """

    def __init__(self, brief: messages.RoleBrief) -> None:
        if not isinstance(brief.reference, PlannedReference):
            raise UsageError(f"episode {brief.episode.id} has no plan for a commander")
        self._brief = brief
        self._world = brief.world
        self._reference = brief.reference
        self._followers = (brief.reference.worker, *brief.reference.helpers)
        self._follower = self._followers[0]
        self._dialog = self._script()
        self._is_waiting = False
        # Door -> the room that locates it in commands
        self._door_rooms: dict[str, str] = {}

    def act(
        self,
        observation: HouseholdObservation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Send the next sentence once the last one was answered; turn on the spot until then."""
        # Only the follower that has the command can answer it.
        texts = [m.text for m in observation.messages if m.sender == self._follower]
        heard = next(
            (parsed for parsed in map(messages.parse, texts) if parsed is not None),
            None,
        )
        unread = [text for text in texts if not messages.is_reply(text)]
        if heard is None and unread and self._brief.may_talk:
            return Decision(
                Action("chat", (messages.not_understood("commander", unread[-1]),))
            )
        # Without an answer yet, a turn on the spot passes the time and disturbs no other actor.
        if self._is_waiting and heard is None:
            return Decision(IDLE_TURN)
        try:
            if self._is_waiting and heard:
                message = self._dialog.send(heard)
            else:
                message = next(self._dialog)
        except StopIteration:
            return Decision(STOP)
        # The last message needs no answer.
        self._is_waiting = not isinstance(message, messages.AllDone)
        text = str(message)
        # Everyone hears a message, so among several it names whom it is for.
        if self._is_waiting and len(self._followers) > 1:
            text = f"{self._follower}: {text}"
        return Decision(Action("chat", (text,)))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Do nothing: results arrive as messages."""

    def _script(self) -> Talk:
        """Yield what the commander says, and receive each answer; at the end, that all is done."""
        if not self._brief.may_talk:
            return
        for number, order in enumerate(self._reference.plan):
            for attempt in range(MOST_ATTEMPTS):
                # The follower that holds the order's object, else the next one in turn.
                turn = (number + attempt) % len(self._followers)
                self._follower = self._followers[turn]
                # An object in a hand can only be used by the actor that holds it.
                objects = {self._index(i) for i in (order.object, order.other) if i}
                for name in self._followers:
                    hands = self._world.house.actors[name].hands
                    if not objects.isdisjoint(hands):
                        self._follower = name
                        break
                for command in self._commands(order):
                    if (yield from self._give_in_vain(command)):
                        break
                else:
                    break
        yield messages.AllDone()

    def _give_in_vain(
        self,
        command: messages.Command,
    ) -> Generator[messages.Utterance, messages.Utterance, bool]:
        """Give a command and answer questions about it. Return True if it failed.

        A failure is noted with the follower's reason.
        """
        message: messages.Utterance = command
        while not isinstance(
            heard := (yield message),
            messages.Done | messages.Trouble,
        ):
            # A question of another kind gets the command again.
            message = command
            if isinstance(heard, messages.WhereQuestion):
                i = self._world.object_id(self._brief.actor, heard.object)
                place = ""
                room = ""
                if i:
                    place, room = self._locate(i)
                message = messages.WhereAnswer(heard.object, place, room)
        if isinstance(heard, messages.Done):
            return False
        self._brief.toolkit.note("trouble", command=str(command), reason=heard.reason)
        return True

    def _commands(self, order: Order) -> Iterator[messages.Command]:
        """Yield the commands of an order, each computed from the current state.

        An order whose result already holds has none.
        """
        yield from self._doors(order.object)
        if order.kind == "bring":
            yield from self._bring(order.object, order.other)
        elif order.kind == "slice":
            if not self._has_state("sliced", order.object):
                yield from self._slice(order.object, order.other)
        elif order.kind in ("on", "off"):
            if self._has_state("on", order.object) != (order.kind == "on"):
                if order.kind == "on":
                    verb: messages.Verb = "switch on"
                else:
                    verb = "switch off"
                yield self._command(verb, order.object)
        elif self._has_state("open", order.object) != (order.kind == "open"):
            verb = "open" if order.kind == "open" else "close"
            yield self._command(verb, order.object)

    def _bring(self, i: str, place: str) -> Iterator[messages.Command]:
        """Yield the commands that bring an object to a place."""
        objects = self._objects
        index = self._index(place)
        # It is there already.
        if int(objects.inside[self._index(i)]) == index:
            return
        yield from self._doors(place)
        enclosing = [k for k in objects.holders(index) if k < objects.first_actor]
        for k in reversed(enclosing):  # closed containers of the place, outermost first
            if objects.encloses[k] and not objects.open[k]:
                yield self._command("open", self._world.layout.ids[k])
        where, room = self._locate(i)
        _, to_room = self._locate(place)
        yield messages.Command(
            "bring",
            self._name(i),
            where,
            room,
            self._name(place),
            to_room,
        )

    def _slice(self, i: str, knife: str) -> Iterator[messages.Command]:
        """Yield the commands that slice an object and put the knife back."""
        # Where the object lies, the knife is put down afterwards: a hand must be free again.
        support = int(self._objects.inside[self._index(i)])
        if not self._holds(knife):
            yield from self._doors(knife)
            yield self._command("take", knife)
        yield from self._doors(i)
        yield self._command("slice", i)
        if support >= 0 and self._holds(knife):
            yield from self._bring(knife, self._world.layout.ids[support])

    def _doors(self, target: str) -> Iterator[messages.Command]:
        """Yield commands to open the closed doors on the way, nearest first."""
        if not self._holds(target):
            for door in self._world.doors_to_open(self._follower, target) or ():
                if door != target:
                    yield self._command("open", door)

    def _command(self, verb: messages.Verb, i: str) -> messages.Command:
        """Return a command with the object's name and location."""
        return messages.Command(verb, self._name(i), *self._locate(i))

    def _locate(self, i: str) -> tuple[str, str]:
        """Return the place of an object and its room, as commands and answers name them.

        The place is its outermost closed container, else what it is in or on; empty on
        the floor, or if an actor holds it. A door is located in a reachable room, if
        possible always in the same one.
        """
        layout = self._world.layout
        objects = self._objects
        rooms = next((door.rooms for door in layout.scene.doors if door.id == i), None)
        if rooms is not None:
            # The room of the last time first, so that a door keeps its description.
            candidates = [room for room in (self._door_rooms.get(i), *rooms) if room]
            reachable = [
                room
                for room in candidates
                if self._world.route(self._follower, room) is not None
            ]
            self._door_rooms[i] = [*reachable, *candidates, ""][0]
            return "", self._door_rooms[i]
        number = self._index(i)
        holders = objects.holders(number)
        furniture = [k for k in holders if k < objects.first_actor]
        room = layout.room_at(*objects.point(number))
        # The last holder is the outermost one: an actor, if one carries the object.
        is_held = holders[-1:] and holders[-1] >= objects.first_actor
        if not furniture or is_held:
            return "", room
        support = furniture[-1]
        for holder in furniture:  # the outermost closed container comes last
            if objects.encloses[holder]:
                support = holder
        return self._name(layout.ids[support]), room

    @property
    def _objects(self) -> Entities:
        """State of the objects."""
        return self._world.house.entities

    def _index(self, i: str) -> int:
        """Return the index of an object in the arrays of the house."""
        return self._world.layout.index[i]

    def _name(self, i: str) -> str:
        """Return the commander's name for an object."""
        return self._world.name(self._brief.actor, i) or i

    def _has_state(self, state: str, i: str) -> bool:
        """True if an object has a state."""
        return bool(getattr(self._objects, state)[self._index(i)])

    def _holds(self, i: str) -> bool:
        """True if the follower holds an object."""
        return self._index(i) in self._world.house.actors[self._follower].hands


MOST_WAITING_TURNS = 40  # maximum turns to wait for an answer

Attempt = Generator[Action, Feedback, str]  # returns the reason for a failure, or ""


class Follower:
    """Script of a follower, which carries out commands by high-level actions.

    It looks for an object in the place named by the command, then in the rest of that room, then
    asks. From its brief it uses only ``actor`` and ``may_talk``: neither goals nor world.
    """

    def __init__(self, brief: messages.RoleBrief) -> None:
        self._actor = brief.actor
        self._may_talk = brief.may_talk
        self._seen: HouseholdObservation
        self._has_started = False
        self._messages: list[messages.Utterance] = []
        self._unread: list[str] = []
        self._room_of: dict[str, str] = {}
        self._just_seen: set[str] = set()
        self._feedback = Feedback()
        self._script = self._commands()
        self._can_turn = True

    def act(
        self,
        observation: HouseholdObservation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Return the next action. Raises ``UsageError`` for a body with only single steps."""
        self._seen = observation
        self._note_seen(_visible_names(observation))
        for message in observation.messages:
            text = messages.message_to(self._actor, message.text)
            if text is not None and (parsed := messages.parse(text)) is not None:
                self._messages.append(parsed)
            elif text is not None and not messages.is_reply(text):
                self._unread.append(text)
        # A body with high-level actions alone cannot turn, and looks around instead.
        self._can_turn = Action("turn_right") in space
        if self._has_started:
            return Decision(self._script.send(self._feedback))
        self._has_started = True
        # Any name is a legal argument of "goto", if the body has it: also the actor's own.
        if Action("goto", (self._actor,)) not in space:
            raise UsageError(
                f"{self._actor} needs high-level actions; set dataset.actions=all"
            )
        return Decision(next(self._script))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Keep the feedback for the running command."""
        self._feedback = feedback

    def _note_seen(self, names: Iterable[str]) -> None:
        """Note the room of objects that were just seen."""
        for name in names:
            self._room_of[name] = self._seen.room
            self._just_seen.add(name)

    def _commands(self) -> Generator[Action, Feedback, None]:
        """Yield the actions that carry out the commander's messages."""
        while self._may_talk:
            # Its sender would wait for a report on a message that was not understood.
            if self._unread:
                yield Action(
                    "chat",
                    (messages.not_understood("follower", self._unread.pop(0)),),
                )
                continue
            heard = None
            if self._messages:
                heard = self._messages.pop(0)
            if isinstance(heard, messages.Command):
                trouble = yield from self._obey(heard)
                report: messages.Utterance = messages.Done()
                if trouble:
                    report = messages.Trouble(trouble)
                yield Action("chat", (str(report),))
            elif isinstance(heard, messages.AllDone):
                break
            else:
                yield self._idle()
        yield STOP

    def _obey(self, command: messages.Command) -> Attempt:
        """Yield the actions of a command; return why it failed, or an empty text."""
        if command.verb not in ("take", "bring"):
            verbs = {"switch on": "toggle_on", "switch off": "toggle_off"}
            verb = verbs.get(command.verb, command.verb)
            return (yield from self._find_and_do(command, "goto", verb))
        # Hands may be full of what an earlier command left in them.
        if not self._holds(command.object):
            for held in self._seen.holding:  # put down first
                yield Action("drop", (held.name,))
            trouble = yield from self._find_and_do(command, "go_grab")
            if trouble:
                return trouble
        if command.verb == "take":
            return ""
        # A command only to look for the place: its verb is not carried out.
        target = messages.Command("open", command.to, room=command.to_room)
        return (yield from self._find_and_do(target, "go_put"))

    def _find_and_do(self, command: messages.Command, *verbs: str) -> Attempt:
        """Find an object and act on it with each verb; search again if it is not there.

        Returns why it failed, or an empty text.
        """
        name = command.object
        trouble = ""
        # What was seen earlier may have been moved: then it is searched for, once.
        for search_again in (False, True):
            trouble = ""
            if name not in self._room_of or search_again:
                self._just_seen = set(_visible_names(self._seen))
                trouble = yield from self._search(name, command.place, command.room)
                if not self._has_located(name):
                    yield Action("chat", (str(messages.WhereQuestion(name)),))
                    answer = yield from self._answer()
                    if answer is not None:
                        trouble = yield from self._search(
                            name,
                            answer.place,
                            answer.room,
                        )
                if self._has_located(name):
                    trouble = ""
                else:
                    trouble = trouble or f"I do not see {name}"
            for verb in verbs:
                if not trouble:
                    trouble = yield from self._do(verb, name)
            if not trouble:
                break
        return trouble

    def _search(self, name: str, place: str, room: str) -> Attempt:
        """Look for an object in its expected place, then around the room, then at all
        known objects in it.

        Ends as soon as the object is seen. Returns why the last step failed, or an
        empty text.
        """

        def check() -> Attempt:
            """Yield a look into a place, if the object is known to be there."""
            if not self._has_located(name) and place in self._room_of:
                yield from self._do("go_check", place)
            return ""

        trouble = ""
        if room and self._seen.room != room:
            trouble = yield from self._do("goto", room)
        yield from check()
        if not self._has_located(name) and room:
            trouble = yield from self._do("go_explore", room)
        yield from check()
        # A copy: what is seen on the way is added to the table.
        in_room = [each for each, place in self._room_of.items() if place == room]
        for other in in_room:
            if self._has_located(name):
                break
            yield from self._do("goto", other)
        yield from check()
        return trouble

    def _answer(self) -> Generator[Action, Feedback, messages.WhereAnswer | None]:
        """Wait for the answer to a question; None if none comes."""
        for _ in range(MOST_WAITING_TURNS):
            yield self._idle()
            for heard in self._messages:
                if isinstance(heard, messages.WhereAnswer):
                    self._messages.remove(heard)
                    return heard
        return None

    def _idle(self) -> Action:
        """Return an action that changes nothing: a turn, or a look around."""
        if self._can_turn:
            return Action("turn_right")
        return Action("go_explore", (self._seen.room,))

    def _do(self, verb: str, *names: str) -> Attempt:
        """Do an action; return why it failed, or an empty text."""
        feedback = yield Action(verb, names)
        for key in ("seen", "contents"):
            self._note_seen(feedback.details.get(key, ()))
        if feedback.ok:
            return ""
        return f"{verb} {', '.join(names)}: {feedback.status}"

    def _has_located(self, name: str) -> bool:
        """True if an object is in view or held."""
        return name in self._just_seen or self._holds(name)

    def _holds(self, name: str) -> bool:
        """True if the follower holds an object."""
        return any(held.name == name for held in self._seen.holding)


def _visible_names(view: HouseholdObservation) -> list[str]:
    """Return the names of all objects and doors in view."""
    return [item.name for item in view.objects] + [item.name for item in view.doors]
