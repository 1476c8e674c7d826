"""KnownActions: what an actor may try, made only when listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wayword.core.action import STOP, Action, ListedWhenAsked
from wayword.worlds.housework.house import Actor, House
from wayword.worlds.housework.verbs import SPEECH, VERBS, Slot, Verb, well_formed


class KnownActions(ListedWhenAsked):
    """The closed choices of an actor.

    *Listed* is what makes sense by what the actor knows: each verb with things it has seen that
    show the affordance, in the order of first sight. *Contained* is every well-formed action: the
    verb is one of the body's, and it has as many words as it takes. The world answers it, with a
    failure where it must.
    """

    def __init__(self, house: House, me: Actor) -> None:
        self._house, self._me = house, me
        self._verbs = me.body.actions
        self._count, self._hands = len(me.names.order), tuple(me.hands)

    def __contains__(self, action: object) -> bool:
        return (
            isinstance(action, Action)
            and action.name in self._verbs
            and action.name not in SPEECH
            and well_formed(action.name, action.arguments)
        )

    def listed(self) -> list[Action]:
        things, me = self._house.things, self._me
        known = [i for i in me.names.order[: self._count] if me.known[i]]
        people = [i for i in me.view.things if i >= things.first_actor]
        return [
            action
            for name in self._verbs
            if name not in SPEECH
            for action in self._of(VERBS[name], known, people)
        ]

    def _of(self, verb: Verb, known: list[int], people: list[int]) -> Iterator[Action]:
        if verb.name == "stop":
            yield STOP
            return
        name = self._me.names.of
        choices: dict[Slot, Callable[[], list[str]]] = {
            "held": lambda: [name[i] for i in self._hands],
            "room": lambda: [room.name for room in self._house.layout.scene.rooms],
            "place": lambda: [name[i] for i in (*known, *people)],
            "receptacle": lambda: [name[i] for i in known if self._receives(i)],
            "object": lambda: [name[i] for i in known if self._suits(i, verb.needs)],
            "tool": lambda: [name[i] for i in known if self._suits(i, verb.needs)],
        }
        filled: list[tuple[str, ...]] = [()]
        for slot in verb.slots:
            options = choices[slot]() if filled else []
            filled = [(*words, option) for words in filled for option in options]
        yield from (Action(verb.name, words) for words in filled)

    def _suits(self, i: int, affordance: str) -> bool:
        return self._house.things.does(i, affordance)

    def _receives(self, i: int) -> bool:
        things = self._house.things
        return i < things.objects and bool(things.specs[i].receptacle)
