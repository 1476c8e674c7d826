"""The grid world: levels of BabyAI, as the package ``minigrid`` has them, in words.

    >>> from wayword.core.action import Action
    >>> from wayword.core.episode import Episode
    >>> world = BabyAIWorld("GoToObj")
    >>> world.reset(Episode("1", "go to the green key", "GoToObj", {"seed": 0}))
    >>> [(seen.name, seen.ahead, seen.right) for seen in world.observe("agent").things]
    [('green_key_1', 2, 1)]
    >>> world.step("agent", Action("pick_up")).status
    'nothing_there'

Rules, instructions, step limits and verdicts are the package's: the world ends when the level says
so. ``low`` has the package's actions, one step of it each; ``high`` whole errands over the squares
that were seen.

Source: BabyAI (Chevalier-Boisvert et al. 2019, arXiv:1810.08272); as a task for language agents,
LangSuitE (Jia et al. 2024, arXiv:2406.16294), "instruction grounding".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from wayword.core.action import STOP, Action, ActionSpace, ListedLater
from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError, UsageError
from wayword.core.world import Feedback, World
from wayword.worlds.babyai.level import DONE, BabyAIObservation, Level, LevelNames, look, state_of
from wayword.worlds.babyai.motions import (
    CODES,
    HIGH,
    LOW,
    OK,
    ONE,
    ErrandFailed,
    LevelWalker,
    Outcome,
    primitive,
)

# KnownErrands: what an actor may try, made only when listed.


class KnownErrands:
    """The closed choices of an actor that runs errands.

    *Listed* are the errands that suit the things it has seen and that are still there. *Accepted*
    is every well-formed errand; the world answers it, with a failure where it must.
    """

    def __init__(self, level: Level, names: LevelNames) -> None:
        self._level, self._names = level, names
        self._count = len(names.thing)

    def accepts(self, action: Action) -> bool:
        """Whether the errand is well-formed."""
        words = action.arguments
        return action.name in HIGH and len(words) == (action.name in ONE) and all(words)

    def knows(self, action: Action) -> bool:
        """Whether it is, and its words are names as they are written here."""
        return self.accepts(action) and all(word in self._names.thing for word in action.arguments)

    def listed(self) -> list[Action]:
        """The choices, verb by verb."""
        known = list(self._names.thing)[: self._count]
        there = [name for name in known if self._level.find(self._names.thing[name])]
        return [
            action
            for verb in HIGH
            for action in (
                [Action(verb, (name,)) for name in there if self._suits(verb, name)]
                if verb in ONE
                else [Action(verb)]
            )
        ]

    def _suits(self, verb: str, name: str) -> bool:
        thing = self._names.thing[name]
        if verb == "go_grab":
            return bool(thing.can_pickup())
        if verb == "go_open":
            return thing.type in ("door", "box")
        return verb != "go_put" or self._level.carried is not None


Actions = Literal["low", "high"]
_LOW = tuple(Action(verb) for verb in LOW)


class BabyAIWorld(World):
    """One level of BabyAI and its actor; family ``"babyai"``.

    ``Episode.scene`` names the level, and ``Episode.start`` holds ``"seed"``, the number that the
    package draws it by. Raises ``UsageError`` for an unknown level.
    """

    actors: tuple[str, ...] = ("agent",)

    def __init__(self, level: str, actions: Actions = "low") -> None:
        if actions not in ("low", "high"):
            raise UsageError(f"actions={actions!r} must be 'low' or 'high'")
        self.level, self._high = Level(level), actions == "high"
        self._started = False

    @property
    def verbs(self) -> tuple[str, ...]:
        """What the actor is able to do."""
        return HIGH if self._high else LOW

    def reset(self, episode: Episode) -> None:
        """Start an episode. Raises ``DataError`` for another level or an invalid seed."""
        where = f"episode {episode.id}"
        if episode.scene != self.level.name:
            problem = f"is {episode.scene!r}, but this world holds {self.level.name!r}"
            raise DataError(where, "field 'scene'", problem)
        seed = episode.start.get("seed")
        if not isinstance(seed, int) or seed < 0:
            raise DataError(where, "field 'seed'", f"{seed!r} is no whole number from 0 on")
        self.level.start(seed)
        self._actor, self._started, self._stopped, self._idle = episode.actors[0], True, False, 0
        self.actors = episode.actors[:1]
        self.names = LevelNames()
        self._note()
        self._walker = LevelWalker(self.level, self.names, self._note) if self._high else None

    def observe(self, actor: str) -> BabyAIObservation:
        self._check(actor)
        return self._seen

    def action_space(self, actor: str) -> ActionSpace:
        self._check(actor)
        if self._walker is None:
            return ActionSpace(_LOW)
        known = KnownErrands(self.level, self.names)
        return ActionSpace(ListedLater(known.listed), accepts=known.accepts, named=known.knows)

    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out an action of the menu; others raise ``ValueError``."""
        if self.done(actor) or action not in self.action_space(actor):
            raise ValueError(f"{action} is not on the menu of {actor}")
        verb, before = action.name, self.level.steps
        status, details = self._do(verb, action.arguments)
        if self.level.steps == before:
            self._idle += 1
        if self.level.over:
            details["succeeded"] = self.level.reward > 0
        return Feedback(status, {"action": verb, **details})

    def done(self, actor: str) -> bool:
        self._check(actor)
        return self._stopped or self.level.over

    def pose(self, actor: str) -> Mapping[str, Json]:
        """x to the east and y to the south, in squares; the heading in degrees."""
        self._check(actor)
        x, y = self.level.place
        return {"x": x, "y": y, "heading": self.level.heading}

    def state(self) -> Mapping[str, Json]:
        """The whole grid and the level's verdict.

        ``walls`` are rows from the north, ``#`` for a wall; ``things`` is all else. ``steps``
        counts the level's own actions, ``idle`` those of the actor that came to none.
        """
        level, grid = self.level, self.level.env.grid
        rows = [
            "".join("#" if _is_wall(level.at(x, y)) else "." for x in range(grid.width))
            for y in range(grid.height)
        ]
        things = [
            {"kind": t.type, "colour": t.color, "state": state_of(t), "x": x, "y": y}
            for y in range(grid.height)
            for x in range(grid.width)
            if (t := level.at(x, y)) is not None and not _is_wall(t)
        ]
        held = level.carried
        return {
            "level": level.name,
            "mission": level.mission,
            "success": level.reward > 0,
            "reward": level.reward,
            "over": level.over,
            "steps": level.steps,
            "idle": self._idle,
            "most_steps": int(level.env.max_steps),
            "actor": {**self.pose(self._actor), "holding": held and f"{held.color} {held.type}"},
            "walls": rows,
            "things": things,
        }

    def _do(self, verb: str, words: tuple[str, ...]) -> Outcome:
        if verb == STOP.name:
            self.level.act(DONE)
            self._stopped = True
            return OK, {}
        if self._walker is None:
            outcome = primitive(self.level, self.names, verb)
            self._note()
            return outcome
        if verb in CODES:
            outcome = primitive(self.level, self.names, verb)
            self._walker.remember()
            return outcome
        try:
            return OK, getattr(self._walker, verb)(*words)
        except ErrandFailed as failure:
            return failure.status, failure.details

    def _note(self) -> None:
        """Look around, and name what is new."""
        self._seen = look(self.level, self.names, self._actor)

    def _check(self, actor: str) -> None:
        if not self._started:
            raise ValueError("reset the world first")
        if actor != self._actor:
            raise ValueError(f"nobody here is called {actor!r}")


def _is_wall(thing: object) -> bool:
    return getattr(thing, "type", "") == "wall"


world = BabyAIWorld
