"""Follower: does what it is told, by what it sees and hears, and nothing else.

It takes a command apart into high-level actions, looks for what it has not seen where it was told
that it is, then all over that room, then asks. It is shown no goals and never looks at the truth.

Source: the Follower of TEACh (Padmakumar et al. 2022), section 3.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable

from wayword.agents.team.messages import (
    AllDone,
    Command,
    Done,
    Trouble,
    Utterance,
    WhereAnswer,
    WhereQuestion,
    heard_by,
    is_reply,
    not_understood,
    parse,
)
from wayword.agents.team.role import Brief
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.errors import UsageError
from wayword.core.world import Feedback
from wayword.worlds.household.observation import HouseholdObservation

PATIENCE = 40
"""Turns for which it waits for an answer."""

Attempt = Generator[Action, Feedback, str]
"""Actions, and in the end why it did not work, empty where it did."""


class Follower:
    """One follower's script. Of its brief it reads its own name, and whether to talk, alone."""

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
