"""The expert of BabyAI's levels: the package's own bot, and errands for bodies that run those.

The bot explores as it goes: it uses what has come into view, not the whole grid. It cannot look for
a key in a box (level KeyInBox), so boxes that hold the key of a locked door are opened first.

Source: ``minigrid.utils.baby_ai_bot`` (Chevalier-Boisvert et al. 2019, section 4).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib.metadata import version
from typing import Any, ClassVar

from wayword.core.action import Action
from wayword.core.dataset import Dataset, Task, able
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, Game, PlanningFailed
from wayword.core.world import Feedback, World
from wayword.worlds.babyai.level import DONE, TOGGLE, Level, route
from wayword.worlds.babyai.motions import CODES, LOCKED, LOW, NOTHING_UNSEEN, OK, ONE
from wayword.worlds.babyai.world import BabyAIWorld

VERBS = {code: verb for verb, code in CODES.items()}


def solve(world: BabyAIWorld) -> ActionPlan:
    """Every action until the level ends. Raises ``PlanningFailed`` where the bot gives up."""
    for code in plan(world.level):
        yield Action(VERBS[code])


class SolvableLevels(Dataset):
    """Levels of BabyAI: ``expert`` is the package's bot, by the level's own actions; actors that
    run errands are planned for by those."""

    solutions: ClassVar[tuple[str, ...]] = ("expert",)

    def make_plan(self, task: Task, world: World, actor: str, how: str = "expert") -> ActionPlan:
        if not isinstance(world, BabyAIWorld):
            raise UsageError(f"episode {task.episode.id} is no level of BabyAI")
        if set(ONE) <= set(world.verbs):
            return LevelErrands(world).plan()
        able({actor: world.verbs}, LOW, "low")
        return solve(world)

    def solve(self, task: Task, how: str = "") -> tuple[Action, ...]:
        game = Game(self.world(task.episode), task.episode)
        actor = game.world.actors[0]
        actions = game.actions(actor, self.plan(task, game.world, actor, how or "expert"))
        if not game.world.state()["success"]:
            raise PlanningFailed(f"{task.episode.scene}: the expert's actions do not solve it")
        return actions

    def decided_by(self) -> str:
        """The package that draws the levels and solves them."""
        return f"minigrid {version('minigrid')}, numpy {version('numpy')}"

    def _length(self, task: Task) -> int | None:
        """L* in the level's own actions, whatever actions the dataset's actors have."""
        return expert_length(task.episode.scene, task.episode.start["seed"])


def expert_length(level: str, seed: int) -> int | None:
    """How many actions the expert needs for a level as drawn by ``seed``; None where it fails."""
    opened = Level(level)
    opened.start(seed)
    try:
        for code in plan(opened):
            opened.act(code)
    except PlanningFailed:
        return None
    return opened.steps if opened.reward > 0 else None


def plan(level: Level) -> Iterator[int]:
    """Actions of the package's, each to be carried out before the next one is asked for."""
    from minigrid.utils.baby_ai_bot import BabyAIBot, DisappearedBoxError

    yield from _unpack(level)
    make: Any = BabyAIBot  # its methods have no annotations
    bot = make(level.env)
    taken: Any = None
    while not level.over:
        try:
            taken = bot.replan(taken)
        except (AssertionError, DisappearedBoxError) as error:
            raise PlanningFailed(f"{level.name}: the package's bot gave up: {error}") from error
        if taken == DONE:
            raise PlanningFailed(f"{level.name}: the package's bot takes the task for done")
        yield int(taken)


def _unpack(level: Level) -> Iterator[int]:
    """Open the boxes that hold the key of a locked door."""
    things = [thing for thing in level.env.grid.grid if thing is not None]
    locked = {thing.color for thing in things if thing.type == "door" and thing.is_locked}
    for box in things:
        key = box.contains if box.type == "box" else None
        if key is not None and key.type == "key" and key.color in locked:
            place = level.find(box)
            way = route(level, lambda _, front, place=place: front == place)  # type: ignore[misc]
            if way is None:
                raise PlanningFailed(
                    f"{level.name}: no free way leads to the box with the {key.color} key"
                )
            yield from [*way, TOGGLE]


# By errands: clause after clause of the instruction, looking around until what it names is seen.

PATIENCE = 60
"""Errands that are tried for one clause."""


class LevelErrands:
    """What solves a level for a body that runs errands: of the truth it reads the instruction, and
    which things fit its words; where they are it sees for itself."""

    def __init__(self, world: BabyAIWorld) -> None:
        self._world, self._level, self._names = world, world.level, world.names

    def plan(self) -> ActionPlan:
        """Every errand until the level ends. Raises ``PlanningFailed`` where it does not."""
        for clause in _clauses(self._level.env.instrs):
            yield from self._clause(clause)
        raise PlanningFailed(f"{self._level.name}: the instruction's clauses do not end it")

    def _clause(self, clause: Any) -> ActionPlan:
        kind = type(clause).__name__
        if kind == "PutNextInstr":
            if self._level.carried not in clause.desc_move.obj_set:
                yield from self._grab(clause.desc_move.obj_set)
            yield from self._do("go_put", clause.desc_fixed.obj_set)
        elif kind == "PickupInstr":
            yield from self._grab(clause.desc.obj_set)
        else:
            verb = {"OpenInstr": "go_open", "GoToInstr": "goto"}[kind]
            yield from self._do(verb, clause.desc.obj_set)

    def _grab(self, things: Collection[Any]) -> ActionPlan:
        yield from self._free_hands()
        yield from self._do("go_grab", things)

    def _do(self, verb: str, things: Collection[Any]) -> ActionPlan:
        """An errand about any of some things, once one was seen and a way leads to it."""
        for _ in range(PATIENCE):
            for name in self._seen(things):
                feedback = yield Action(verb, (name,))
                if feedback.status == LOCKED:
                    yield from self._unlock(self._names.thing[name])
                    feedback = Feedback(OK) if verb == "go_open" else (yield Action(verb, (name,)))
                if feedback.ok:
                    return
            feedback = yield Action("go_explore")
            if feedback.status == NOTHING_UNSEEN:
                yield from self._open_up()
        raise PlanningFailed(f"{self._level.name}: {verb} comes to nothing")

    def _open_up(self) -> ActionPlan:
        """Open a door, or a box that may hold a key, where nothing else is left to look at."""
        known = [thing for thing in self._names.thing.values() if self._level.find(thing)]
        doors = [thing for thing in known if thing.type == "door" and not thing.is_open]
        for thing in sorted(doors, key=lambda door: bool(door.is_locked)):
            if thing.is_locked:
                yield from self._unlock(thing)
                return
            feedback = yield Action("go_open", (self._names.call(thing),))
            if feedback.ok:
                return
        raise PlanningFailed(f"{self._level.name}: nothing is left to look at")

    def _unlock(self, door: Any) -> ActionPlan:
        """Fetch the key of a door, out of a box where it is in one, and open the door."""
        keys = [key for key in self._keys() if key.color == door.color]
        if self._level.carried not in keys:
            yield from self._free_hands()
            boxes = {box for box in self._all("box") if box.contains in keys}
            if boxes:
                yield from self._do("go_open", boxes)
            yield from self._do("go_grab", keys)
        yield from self._do("go_open", [door])

    def _free_hands(self) -> ActionPlan:
        for _ in range(4):
            if self._level.carried is None:
                return
            feedback = yield Action("drop")
            if not feedback.ok:
                yield Action("turn_left")
        if self._level.carried is not None:
            raise PlanningFailed(f"{self._level.name}: there is no room to put anything down")

    def _seen(self, things: Collection[Any]) -> list[str]:
        there = [name for name, thing in self._names.thing.items() if thing in things]
        return [name for name in there if self._level.find(self._names.thing[name])]

    def _all(self, kind: str) -> list[Any]:
        return [t for t in self._level.env.grid.grid if t is not None and t.type == kind]

    def _keys(self) -> list[Any]:
        inside = [box.contains for box in self._all("box") if box.contains is not None]
        held = [self._level.carried] if self._level.carried is not None else []
        return [t for t in (*self._all("key"), *inside, *held) if t.type == "key"]


def _clauses(instruction: Any) -> Iterator[Any]:
    """The parts of an instruction in the order in which they are done."""
    kind = type(instruction).__name__
    if not hasattr(instruction, "instr_a"):
        yield instruction
        return
    parts = [instruction.instr_a, instruction.instr_b]
    for part in reversed(parts) if kind == "AfterInstr" else parts:
        yield from _clauses(part)
