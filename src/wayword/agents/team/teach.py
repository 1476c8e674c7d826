"""Commander and follower: one knows the task and the house, the other does what it is told.

Source: TEACh (Padmakumar et al. 2022), section 3.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

from wayword.agents.team.messages import (
    AllDone,
    Brief,
    Command,
    Done,
    Trouble,
    Utterance,
    WhereAnswer,
    WhereQuestion,
    addressed,
    heard_by,
    is_reply,
    not_understood,
    parse,
)
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.errors import UsageError
from wayword.core.world import Feedback
from wayword.worlds.household.errands import Order, PlannedReference
from wayword.worlds.household.observation import HouseholdObservation
from wayword.worlds.household.things import Things

REPEATS = 3
"""How often a command is given before the next one is."""
IDLE = Action("turn_left")
Talk = Generator[Utterance, Utterance, None]


class Commander:
    """One commander's script: has a follower do one thing at a time.

    It reads out its reference's plan as commands, with the true place of everything, has doors on
    the way opened first, answers where things are, and says a thing again that could not be done.
    """

    def __init__(self, brief: Brief) -> None:
        if not isinstance(brief.reference, PlannedReference):
            raise UsageError(f"episode {brief.episode.id} has no plan to read out")
        self._brief, self._world, self._reference = brief, brief.world, brief.reference
        self._followers = (brief.reference.worker, *brief.reference.helpers)
        self._follower = self._followers[0]
        self._talk = self._script()
        self._waiting = False
        self._sides: dict[str, str] = {}
        """Door -> the room that it was said to be in: it stands between two."""

    def act(self, observation: HouseholdObservation, space: ActionSpace) -> Decision | Rejection:
        """Say the next thing once the last was answered; turn on the spot until then."""
        texts = [m.text for m in observation.messages if m.sender == self._follower]
        heard = next((said for said in map(parse, texts) if said is not None), None)
        unread = [text for text in texts if not is_reply(text)]
        if heard is None and unread and self._brief.talk:
            return Decision(Action("chat", (not_understood("commander", unread[-1]),)))
        if self._waiting and heard is None:
            return Decision(IDLE)
        try:
            said = self._talk.send(heard) if self._waiting and heard else next(self._talk)
        except StopIteration:
            return Decision(STOP)
        self._waiting = not isinstance(said, AllDone)
        to_all = len(self._followers) == 1 or not self._waiting
        text = str(said) if to_all else addressed(self._follower, said)
        return Decision(Action("chat", (text,)))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """It hears of everything by message."""

    def _script(self) -> Talk:
        for number, order in enumerate(self._reference.plan if self._brief.talk else ()):
            for attempt in range(REPEATS):
                self._follower, failed = self._turn(order, number + attempt), False
                for command in self._commands(order):
                    failed = yield from self._say(command)
                    if failed:
                        break
                if not failed:
                    break
        if self._brief.talk:
            yield AllDone()

    def _turn(self, order: Order, number: int) -> str:
        """Whose turn it is: that of the one who holds what the order is about, else the next."""
        hands = {name: self._world.house.actors[name].hands for name in self._followers}
        about = {self._number(thing) for thing in (order.thing, order.other) if thing}
        holder = next((name for name, held in hands.items() if about & set(held)), None)
        return holder or self._followers[number % len(self._followers)]

    def _say(self, command: Command) -> Generator[Utterance, Utterance, bool]:
        """Give a command and answer what is asked about it; True if it failed."""
        said: Utterance = command
        while True:
            heard = yield said
            if isinstance(heard, Done):
                return False
            if isinstance(heard, Trouble):
                self._brief.toolkit.note("trouble", command=str(command), reason=heard.reason)
                return True
            said = command
            if isinstance(heard, WhereQuestion):
                i = self._world.object_id(self._brief.actor, heard.thing)
                place, room = self._place(i) if i else ("", "")
                said = WhereAnswer(heard.thing, place, room)

    def _commands(self, order: Order) -> Iterator[Command]:
        """An order in commands, as things stand when each of them is given."""
        yield from self._doors(order.thing)
        if order.deed == "bring":
            yield from self._bring(order.thing, order.other)
        elif order.deed == "slice":
            if not self._is("sliced", order.thing):
                yield from self._slice(order.thing, order.other)
        elif order.deed in ("on", "off"):
            if self._is("on", order.thing) != (order.deed == "on"):
                yield self._command(f"switch {order.deed}", order.thing)
        elif self._is("open", order.thing) != (order.deed == "open"):
            yield self._command("open" if order.deed == "open" else "close", order.thing)

    def _bring(self, thing: str, place: str) -> Iterator[Command]:
        things = self._things
        if int(things.inside[self._number(thing)]) == self._number(place):
            return
        yield from self._doors(place)
        holders = [k for k in things.holders(self._number(place)) if k < things.first_actor]
        for k in reversed(holders):  # what the place is shut in, the outermost first
            if things.encloses[k] and not things.open[k]:
                yield self._command("open", self._world.layout.ids[k])
        where, room = self._place(thing)
        _, to_room = self._place(place)
        yield Command("bring", self._name(thing), where, room, self._name(place), to_room)

    def _slice(self, thing: str, knife: str) -> Iterator[Command]:
        under = int(self._things.inside[self._number(thing)])
        if not self._holds(knife):
            yield from self._doors(knife)
            yield self._command("take", knife)
        yield from self._doors(thing)
        yield self._command("slice", thing)
        if under >= 0 and self._holds(knife):
            yield from self._bring(knife, self._world.layout.ids[under])

    def _doors(self, target: str) -> Iterator[Command]:
        """Have the shut doors on the way opened, the nearest first."""
        if self._holds(target):
            return
        for door in self._world.doors_to_open(self._follower, target) or ():
            if door != target:
                yield self._command("open", door)

    def _side(self, door: str) -> str:
        """The room that a door is said to be in: one that the follower can walk into, and the same
        whenever the door is named, as long as that holds."""
        rooms = next(each.rooms for each in self._world.layout.scene.doors if each.id == door)
        sides = [*([self._sides[door]] if door in self._sides else []), *rooms]
        near = [r for r in sides if self._world.route(self._follower, r) is not None]
        self._sides[door] = (near or sides or [""])[0]
        return self._sides[door]

    def _command(self, verb: str, thing: str) -> Command:
        place, room = self._place(thing)
        return Command(verb, self._name(thing), place, room)  # type: ignore[arg-type]

    def _place(self, thing: str) -> tuple[str, str]:
        """What a thing is in or on, the outermost that shuts first of all, and in which room."""
        if any(each.id == thing for each in self._world.layout.scene.doors):
            return "", self._side(thing)
        things, i = self._things, self._number(thing)
        holders = [k for k in things.holders(i) if k < things.first_actor]
        shut = next((k for k in reversed(holders) if things.encloses[k]), None)
        at = shut if shut is not None else holders[-1] if holders else None
        room = self._world.layout.room_at(float(things.x[i]), float(things.y[i]))
        held = things.holders(i)[-1:] and things.holders(i)[-1] >= things.first_actor
        return ("" if at is None or held else self._name(self._world.layout.ids[at])), room

    @property
    def _things(self) -> Things:
        return self._world.house.things

    def _number(self, thing: str) -> int:
        return self._world.layout.index[thing]

    def _name(self, thing: str) -> str:
        return self._world.name(self._brief.actor, thing) or thing

    def _is(self, state: str, thing: str) -> bool:
        return bool(getattr(self._things, state)[self._number(thing)])

    def _holds(self, thing: str) -> bool:
        return self._number(thing) in self._world.house.actors[self._follower].hands


PATIENCE = 40
"""Turns for which it waits for an answer."""

Attempt = Generator[Action, Feedback, str]
"""Actions, and in the end why it did not work, empty where it did."""


class Follower:
    """One follower's script. Of its brief it reads its own name, and whether to talk, alone.

    It takes a command apart into high-level actions, looks for what it has not seen where it was
    told that it is, then all over that room, then asks. It never looks at goals or the truth.
    """

    def __init__(self, brief: Brief) -> None:
        self._me, self._talks = brief.actor, brief.talk
        self._view: HouseholdObservation | None = None
        self._heard: list[Utterance] = []
        self._unread: list[str] = []
        self._rooms: dict[str, str] = {}
        self._fresh: set[str] = set()
        self._feedback = Feedback()
        self._life = self._live()
        self._turns = True

    def act(self, observation: HouseholdObservation, space: ActionSpace) -> Decision | Rejection:
        """Raises ``UsageError`` for a body that walks by single steps alone."""
        begun = self._view is not None
        self._view = observation
        self._note(_names(observation))
        heard = [heard_by(self._me, message.text) for message in observation.messages]
        for text in (text for text in heard if text is not None):
            if (said := parse(text)) is not None:
                self._heard.append(said)
            elif not is_reply(text):
                self._unread.append(text)
        self._turns = Action("turn_right") in space
        if not begun and Action("goto", (self._me,)) not in space:
            raise UsageError(
                f"{self._me} goes about things by high-level actions; set dataset.actions=all"
            )
        return Decision(self._life.send(self._feedback) if begun else next(self._life))

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self._feedback = feedback

    @property
    def _now(self) -> HouseholdObservation:
        assert self._view is not None
        return self._view

    def _note(self, names: Iterable[str]) -> None:
        for name in names:
            self._rooms[name] = self._now.room
            self._fresh.add(name)

    def _live(self) -> Generator[Action, Feedback, None]:
        while self._talks:
            if self._unread:
                yield Action("chat", (not_understood("follower", self._unread.pop(0)),))
                continue
            said = self._heard.pop(0) if self._heard else None
            if isinstance(said, Command):
                trouble = yield from self._obey(said)
                yield Action("chat", (str(Trouble(trouble) if trouble else Done()),))
            elif isinstance(said, AllDone):
                break
            else:
                yield self._idle()
        yield STOP

    def _obey(self, command: Command) -> Attempt:
        if command.verb not in ("take", "bring"):
            verbs = {"switch on": "toggle_on", "switch off": "toggle_off"}
            return (yield from self._work(command, "goto", verbs.get(command.verb, command.verb)))
        if not self._holds(command.thing):
            for held in self._now.holding:  # put down first
                yield Action("drop", (held.name,))
            trouble = yield from self._work(command, "go_grab")
            if trouble:
                return trouble
        if command.verb == "take":
            return ""
        return (yield from self._work(Command("open", command.to, room=command.to_room), "go_put"))

    def _work(self, command: Command, *verbs: str) -> Attempt:
        """Find a thing and do something with it; look for it again where it is not there."""
        trouble = ""
        for again in (False, True):
            trouble = yield from self._find(command, again)
            for verb in verbs if not trouble else ():
                trouble = yield from self._do(verb, command.thing)
                if trouble:
                    break
            if not trouble:
                return ""
        return trouble

    def _find(self, command: Command, again: bool = False) -> Attempt:
        thing, place, room = command.thing, command.place, command.room
        if thing in self._rooms and not again:
            return ""
        self._fresh = set(_names(self._now))
        trouble = yield from self._search(thing, place, room)
        if not self._found(thing):
            yield Action("chat", (str(WhereQuestion(thing)),))
            answer = yield from self._answer()
            if answer is not None:
                trouble = yield from self._search(thing, answer.place, answer.room)
        return "" if self._found(thing) else trouble or f"I do not see {thing}"

    def _search(self, thing: str, place: str, room: str) -> Attempt:
        """Look where it should be, then around that room, then at all there is in it."""
        trouble = ""
        if room and self._now.room != room:
            trouble = yield from self._do("goto", room)
        if not self._found(thing) and place in self._rooms:
            yield from self._do("go_check", place)
        if not self._found(thing) and room:
            trouble = yield from self._do("go_explore", room)
        if not self._found(thing) and place in self._rooms:
            yield from self._do("go_check", place)
        for name in [n for n, r in self._rooms.items() if r == room]:
            if self._found(thing):
                break
            yield from self._do("goto", name)
        if not self._found(thing) and place in self._rooms:
            yield from self._do("go_check", place)
        return trouble

    def _answer(self) -> Generator[Action, Feedback, WhereAnswer | None]:
        for _ in range(PATIENCE):
            yield self._idle()
            for said in self._heard:
                if isinstance(said, WhereAnswer):
                    self._heard.remove(said)
                    return said
        return None

    def _idle(self) -> Action:
        return Action("turn_right") if self._turns else Action("go_explore", (self._now.room,))

    def _do(self, verb: str, *names: str) -> Attempt:
        feedback = yield Action(verb, names)
        self._note([*feedback.details.get("seen", ()), *feedback.details.get("contents", ())])
        return "" if feedback.ok else f"{verb} {', '.join(names)}: {feedback.status}"

    def _found(self, thing: str) -> bool:
        return thing in self._fresh or self._holds(thing)

    def _holds(self, thing: str) -> bool:
        return any(held.name == thing for held in self._now.holding)


def _names(view: HouseholdObservation) -> list[str]:
    return [seen.name for seen in view.objects] + [seen.name for seen in view.doors]
