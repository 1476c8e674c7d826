"""Marks in place of names, for agents that see objects in pictures alone.

    >>> from wayword.core.action import STOP, Action, ActionSpace
    >>> marks = MarkedNames({"mug_1": "4", "desk_1": "7"})
    >>> marks.text("You put mug_1 on desk_1.")
    'You put object 4 on object 7.'
    >>> marks.to_names(Action("put", ("4", "7")))
    Action(name='put', arguments=('mug_1', 'desk_1'))
    >>> marks.to_names(Action("chat", ("Bring object 4, 2 of 7.",)))
    Action(name='chat', arguments=('Bring mug_1, 2 of 7.',))
    >>> space = ActionSpace((Action("pick_up", ("mug_1",)), STOP))
    >>> [str(action) for action in marks.space(space, {"pick_up": 1}).listed]
    ['stop', 'pick_up[4]', 'pick_up[7]']

The world's menu lists what fits an object ("pick_up[mug_1]", but not "pick_up[desk_1]"). The menu
of marks lists every verb with every number, so that it tells nothing of the scene.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from wayword.core.action import Action, ActionSpace, LazyActions

_WORD = re.compile(r"[\w-]+")
_NUMBER = re.compile(r"\b(?:object )?([0-9]+)\b")
_SPOKEN = re.compile(r"\bobject ([0-9]+)\b")
NUMBER_FORM = "[0-9]{1,3}"
"""Pattern of a mark in a constrained answer. No scene has a thousand objects."""


class MarkedNames:
    """The numbers of objects by their names in actions.

    Without marks, every method returns what it is given.
    """

    def __init__(self, marks: Mapping[str, str]) -> None:
        self._number_of = dict(marks)
        self._name_of = {number: name for name, number in marks.items()}

    def text(self, text: str) -> str:
        """Return a text with numbers in place of names."""

        def spoken(match: re.Match[str]) -> str:
            number = self._number_of.get(match[0])
            return match[0] if number is None else f"object {number}"

        return _WORD.sub(spoken, text)

    def named_text(self, text: str) -> str:
        """Return a model's words with names in place of numbers."""
        return _NUMBER.sub(lambda match: self._name_of.get(match[1], match[0]), text)

    def to_names(self, action: Action) -> Action:
        """Return an action with names in place of numbers; in a message to others, of "object 4".
        Other arguments stay."""

        def named(match: re.Match[str]) -> str:
            return self._name_of.get(match[1], match[0])

        words = []
        for word in action.arguments:
            spoken = _SPOKEN.sub(named, word)
            words.append(self._name_of.get(word, spoken))
        return Action(action.name, tuple(words))

    def to_numbers(self, action: Action) -> Action:
        """Return an action with numbers in place of names; other arguments stay."""
        words = [self._number_of.get(word, word) for word in action.arguments]
        return Action(action.name, tuple(words))

    def space(self, space: ActionSpace, verbs: Mapping[str, int]) -> ActionSpace:
        """Return a space with numbers in place of names.

        ``verbs`` are those that name objects, each with the number of its arguments. An
        action is legal if the one with names is.
        """
        if not verbs:
            return space
        numbers = list(self._name_of)

        def listed() -> list[Action]:
            actions = [each for each in space.listed if each.name not in verbs]
            for verb, count in verbs.items():
                if count == 1:
                    actions += [Action(verb, (number,)) for number in numbers]
                    continue
                # All pairs would be thousands: one shows how the action is written.
                example = next(iter(numbers), "1")
                actions.append(Action(verb, (example,) * count))
            return actions

        def named(action: Action) -> bool:
            if action.name not in verbs:
                return space.knows(action)
            if len(action.arguments) != verbs[action.name]:
                return False
            return all(word in self._name_of for word in action.arguments)

        return ActionSpace(
            LazyActions(listed),
            space.open_verbs,
            accepts=lambda action: self.to_names(action) in space,
            named=named,
        )

    def schema_space(self, space: ActionSpace, verbs: Mapping[str, int]) -> ActionSpace:
        """Return the space of :meth:`space` for a constrained answer.

        Any number of an object fits, also one of an earlier picture.
        """
        if not verbs:
            return space
        plain = [each for each in space.listed if each.name not in verbs]
        forms = []
        for verb, count in verbs.items():
            forms.append(rf"{verb}\[{', '.join([NUMBER_FORM] * count)}\]")
        return replace(space, listed=plain, forms=tuple(forms))


_SIGNATURE = re.compile(r"([a-z_]+)\[([^\]]+)\]")
_PLACES = frozenset({"room"})
"""Slots of actions that take the name of a place, which the rules list."""


def verbs_on_objects(catalog: str, space: ActionSpace) -> dict[str, int]:
    r"""Return the verbs that name objects, with the number of arguments of each.

    ``catalog`` is a prompt's list of actions.

        >>> verbs_on_objects("go_explore[room]: walk\npick_up[object]: take", ActionSpace(()))
        {'pick_up': 1}
    """
    verbs = {}
    for line in catalog.splitlines():
        for verb, slots in _SIGNATURE.findall(line.partition(": ")[0]):
            names = slots.split(", ")
            if verb not in space.open_verbs and _PLACES.isdisjoint(names):
                verbs[verb] = len(names)
    return verbs
