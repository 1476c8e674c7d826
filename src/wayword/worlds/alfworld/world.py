"""A game of ALFWorld as a world: the commands of its engine are the actions.

    >>> print(action_of("take apple 1 from countertop 2"))
    take[apple 1, countertop 2]
    >>> print(action_of("go to fridge 1"), action_of("inventory"))
    go_to[fridge 1] inventory

Only commands that the engine lists are legal. In ALFWorld's own loop any other one costs a step and
is answered by "Nothing happens."; here it is a counted rejection, which costs a turn as well. An
episode ends as soon as its goal is met.

Source: ALFWorld (Shridhar et al. 2021).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.episode import Episode, JsonObject, Reference
from wayword.core.errors import DataError
from wayword.core.world import Feedback, Observation, World
from wayword.worlds import alfworld

FORMS: Mapping[str, str] = {
    r"go to (.+)": "go_to",
    r"take (.+) from (.+)": "take",
    r"(?:move|put) (.+) (?:to|in/on) (.+)": "move",
    r"(open|close|use|examine) (.+)": "",
    r"(clean|heat|cool|slice) (.+) with (.+)": "",
    r"(look|inventory|help)": "",
}
"""A command's form -> the verb of its action; empty: the first group. Versions before 0.4 write
"put … in/on …" for "move … to …"."""

OTHER = "do"
"""The verb of a command of another form, with the command as its argument."""


def action_of(command: str) -> Action:
    """Return the action of an engine's command; the command itself as argument if unknown."""
    for form, verb in FORMS.items():
        if match := re.fullmatch(form, command):
            words = [verb, *match.groups()] if verb else list(match.groups())
            return Action(words[0], tuple(word.strip() for word in words[1:]))
    return Action(OTHER, (command,))


class GameEngine(Protocol):
    """What a world needs of an engine: see :mod:`wayword.worlds.alfworld.engine`."""

    def ask(self, request: JsonObject) -> dict[str, Any]:
        """Return the answer to a request."""


@dataclass(frozen=True, slots=True)
class GameObservation(Observation):
    """The engine's last text: the surroundings at first, then the result of the last command."""

    family = alfworld.family

    text: str


@dataclass(frozen=True, slots=True)
class GameReference(Reference):
    """The type of a game's task, such as ``pick_heat_then_place_in_recep``."""

    kind: str


class GameWorld(World):
    """A game for one actor; family ``"alfworld"``.

    ``game`` is the content of a ``game.tw-pddl`` file, ``start`` makes an engine, which the world
    keeps. Copies begin their own game and repeat the commands.
    """

    def __init__(
        self,
        game: JsonObject,
        start: Callable[[], GameEngine],
    ) -> None:
        self._game = game
        self._start = start
        self._engine: GameEngine | None = None
        self._commands: list[str] = []
        self._name = ""
        self._stopped = False
        self._show({"text": "", "commands": [], "won": False})

    def __getstate__(self) -> JsonObject:
        """Return the state for a copy, which begins an engine of its own."""
        return {**self.__dict__, "_engine": None}

    def reset(self, episode: Episode) -> None:
        """Begin the game. Raises ``DataError`` if its engine cannot load it."""
        self._name = episode.id
        self._commands = []
        self._stopped = False
        self._show(self._ask({"game": self._game}))

    def observe(self, actor: str) -> GameObservation:
        """Return the engine's last text."""
        return GameObservation(self._text)

    def action_space(self, actor: str) -> ActionSpace:
        """Return the commands that the engine lists now, and a stop."""
        return ActionSpace((*self._possible, STOP))

    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out a listed command, or stop. Raises ``ValueError`` for any other action."""
        if action == STOP:
            self._stopped = True
            return Feedback("ok", {"action": "stop"})
        if action not in self._possible:
            raise ValueError(f"{action} is not on the menu")
        command = self._possible[action]
        # Of a copy, the engine has to be brought to the same point first.
        self._catch_up()
        self._show(self._ask({"command": command}))
        self._commands.append(command)
        return Feedback("ok", {"command": command, "result": self._text})

    def done(self, actor: str) -> bool:
        """True once the goal is met or the actor has stopped."""
        return self._stopped or self._won

    def pose(self, actor: str) -> JsonObject:
        """Return nothing: the engine names no position."""
        return {}

    def state(self) -> JsonObject:
        """Return if the game was won or stopped, and all commands in order."""
        return {
            "won": self._won,
            "stopped": self._stopped,
            "commands": list(self._commands),
        }

    def _show(self, answer: JsonObject) -> None:
        """Store what the engine shows: its text, its commands, and if the game is won."""
        self._text = str(answer["text"])
        self._won = bool(answer["won"])
        self._possible = {action_of(each): str(each) for each in answer["commands"]}

    def _catch_up(self) -> None:
        """Give a copy its own engine, at the point of the original."""
        if self._engine is None:
            self._ask({"game": self._game})
            for command in self._commands:
                self._ask({"command": command})

    def _ask(self, request: JsonObject) -> JsonObject:
        """Return the engine's answer, after starting one if there is none.

        Raises ``DataError`` for a failure.
        """
        if self._engine is None:
            self._engine = self._start()
        answer = self._engine.ask(request)
        if problem := answer.get("error"):
            # A game whose goal no action can reach fails with an error about "val1": its
            # translator puts a dummy task in its place.
            remedy = "leave it out, or check it with alfworld-play-tw"
            raise DataError(
                "alfworld",
                f"episode {self._name}",
                str(problem),
                remedy,
            )
        return answer


world = GameWorld
