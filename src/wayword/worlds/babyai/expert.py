"""The expert for BabyAI levels: the package's own bot, and plans for bodies that run skills.

The bot knows only the squares that it has seen. It cannot look for a key in a box (level KeyInBox),
so boxes with the key of a locked door are opened first.

Source: ``minigrid.utils.baby_ai_bot`` (Chevalier-Boisvert et al. 2019, section 4).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib.metadata import version
from typing import Any

from wayword.core.action import Action
from wayword.core.dataset import Dataset, Task, capable_actors, listed
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, Game, PlanningFailed
from wayword.core.world import Feedback, World
from wayword.worlds.babyai.level import DONE, DROP, LEFT, TOGGLE, Level, route
from wayword.worlds.babyai.world import CODES, LOW_LEVEL, ON_OBJECT, BabyAIWorld


class SolvableLevels(Dataset):
    """BabyAI levels with a solution.

    ``expert`` is the package's bot, or for actors that run skills, a plan of skills.
    """

    solutions = ("expert",)

    def make_plan(
        self,
        task: Task,
        world: World,
        actor: str,
        kind: str = "expert",
    ) -> ActionPlan:
        """Return the bot's actions, or a plan of skills for a body that runs them.
        Raises ``UsageError`` for another world."""
        if not isinstance(world, BabyAIWorld):
            raise UsageError(f"episode {task.episode.id} is not a BabyAI level")
        # A body with skills gets a plan of skills: the bot's codes would not be on its
        # menu.
        if set(ON_OBJECT) <= set(world.verbs):
            return LevelPlanner(world).plan()
        # All bodies must be able to move, as the bot has only one.
        capable_actors({actor: world.verbs}, LOW_LEVEL, "low")
        verbs = {code: verb for verb, code in CODES.items()}
        return listed(lambda: (Action(verbs[code]) for code in plan(world.level)))

    def solve(self, task: Task, kind: str = "") -> tuple[Action, ...]:
        """Return the expert's actions. Raises ``PlanningFailed`` if they do not solve
        the level."""
        game = Game(self.world(task.episode), task.episode)
        actor = game.world.actors[0]
        actions = game.actions(
            actor,
            self.plan(task, game.world, actor, kind or "expert"),
        )
        # The package judges success; a plan that ends early is no solution.
        if not game.world.state()["success"]:
            raise PlanningFailed(
                f"the expert's actions do not solve {task.episode.scene}"
            )
        return actions

    def decided_by(self) -> str:
        """Return the versions of the packages that generate and solve the levels."""
        return f"minigrid {version('minigrid')}, numpy {version('numpy')}"

    def _length(self, task: Task) -> int | None:
        """Return L* in the level's own actions, independent of the actors' action set."""
        # From the seed alone, so the length is the same for every action set.
        return expert_length(task.episode.scene, task.episode.start["seed"])


def expert_length(
    level: str,
    seed: int,
    at_most: int | None = None,
) -> int | None:
    """Return the number of actions the expert needs for a level and seed.

    None if it fails or needs more than ``at_most``.
    """
    instance = Level(level)
    instance.start(seed)
    # It has to walk up to one of the objects, so most draws need no bot
    # A lower bound by the grid's distance, minus the last square, which only has to be
    # faced.
    if at_most is not None:
        x, y = instance.place
        walks = [
            abs(x - at[0]) + abs(y - at[1]) - 1 for at in instance.target_squares()
        ]
        if walks and min(walks) > at_most:
            return None
    try:
        for code in plan(instance):
            # Generation needs to know only that it is too long.
            if instance.steps == at_most:
                return None
            instance.act(code)
    except PlanningFailed:
        return None
    # The reward is above 0 only for success.
    return instance.steps if instance.reward > 0 else None


def plan(level: Level) -> Iterator[int]:
    """Yield the package's action codes; carry out each before requesting the next.

    Raises ``PlanningFailed`` if the bot gives up or stops before success.
    """
    from minigrid.utils.baby_ai_bot import BabyAIBot, DisappearedBoxError

    # The bot never opens a box to look for a key.
    squares = [obj for obj in level.env.grid.grid if obj is not None]
    locked = {obj.color for obj in squares if obj.type == "door" and obj.is_locked}
    for box in squares:
        key = box.contains if box.type == "box" else None
        # Only keys that a door needs.
        if key is not None and key.type == "key" and key.color in locked:
            at = level.find(box)
            codes = route(level, lambda _, front, at=at: front == at)  # type: ignore[misc]
            if codes is None:
                raise PlanningFailed(
                    f"{level.name}: no path to the box with the {key.color} key"
                )
            yield from [*codes, TOGGLE]
    make_bot: Any = BabyAIBot  # its methods have no annotations
    bot = make_bot(level.env)
    # Levels that begin with the object in hand confuse the bot's first goal.
    if level.carried is not None:
        _skip_pickup(bot, level)
    last_action: Any = None
    while not level.over:
        try:
            # The bot updates its memory from the action that was really taken.
            last_action = bot.replan(last_action)
        except (AssertionError, DisappearedBoxError) as error:
            raise PlanningFailed(
                f"{level.name}: the package's bot gave up: {error}"
            ) from error
        if last_action == DROP and level.steps == 0:
            last_action = LEFT  # the verifier does not see a drop as the first action
        # The bot is done before the level is: it believes in a success that the level
        # denies.
        if last_action == DONE:
            raise PlanningFailed(
                f"{level.name}: the package's bot stopped before success"
            )
        yield int(last_action)


def _skip_pickup(bot: Any, level: Level) -> None:
    """Remove the bot's first goals, to fetch an object, if the level begins with it in hand."""
    first = next(_clauses(level.env.instrs))
    moved = getattr(first, "desc_move", None)
    if moved is not None and level.carried in moved.obj_set:
        del bot.stack[-2:]  # last in, first out: go to the object, and pick it up


MAX_SKILLS = 60  # skills tried per clause: several times what the largest level needs


class LevelPlanner:
    """Planner for a body that runs skills, clause by clause.

    It knows which objects match the instruction, but has to find them by looking.
    """

    def __init__(self, world: BabyAIWorld) -> None:
        self._world = world
        self._level = world.level
        self._names = world.names

    def plan(self) -> ActionPlan:
        """Yield skills until the level ends. Raises ``PlanningFailed`` if it does not."""
        for clause in _clauses(self._level.env.instrs):
            kind = type(clause).__name__
            # "Put A next to B": fetch A unless it is in hand.
            if kind == "PutNextInstr":
                if self._level.carried not in clause.desc_move.obj_set:
                    yield from self._grab(clause.desc_move.obj_set)
                yield from self._do("go_put", clause.desc_fixed.obj_set)
                # Repeated only if that was the very first action.
                if self._level.steps == 1:  # the verifier misses a drop as first action
                    yield from self._grab(clause.desc_move.obj_set)
                    yield from self._do("go_put", clause.desc_fixed.obj_set)
            elif kind == "PickupInstr":
                yield from self._grab(clause.desc.obj_set)
            else:
                verb = {"OpenInstr": "go_open", "GoToInstr": "goto"}[kind]
                yield from self._do(verb, clause.desc.obj_set)
        raise PlanningFailed(
            f"{self._level.name}: not solved by the instruction's clauses"
        )

    def _grab(self, objects: Collection[Any]) -> ActionPlan:
        """Pick up any of the objects, with free hands."""
        yield from self._free_hands()
        yield from self._do("go_grab", objects)

    def _do(self, verb: str, objects: Collection[Any]) -> ActionPlan:
        """Run a skill on any of ``objects``, exploring until one is seen and reachable.

        Raises ``PlanningFailed`` after ``MAX_SKILLS`` explorations.
        """
        # A seen object may be unreachable, so all that match are tried before the next
        # exploration.
        for _ in range(MAX_SKILLS):
            seen = self._names.objects.items()
            for name in [
                n for n, obj in seen if obj in objects and self._level.find(obj)
            ]:
                feedback = yield Action(verb, (name,))
                # A locked door has a key somewhere: fetch it, then try again.
                if feedback.status == "locked":
                    yield from self._unlock(self._names.objects[name])
                    # Unlocking opens it, so there is nothing left to do.
                    if verb == "go_open":
                        feedback = Feedback()
                    else:
                        feedback = yield Action(verb, (name,))
                if feedback.ok:
                    return
            feedback = yield Action("go_explore")
            # Everything reachable is known: only a door can help.
            if feedback.status == "nothing_unseen":
                yield from self._open_a_door()
        raise PlanningFailed(
            f"{self._level.name}: {verb} fails after {MAX_SKILLS} explorations"
        )

    def _open_a_door(self) -> ActionPlan:
        """Open a door when everything reachable has been explored."""
        # Closed doors before locked ones, which cost a search for a key.
        present = [obj for obj in self._names.objects.values() if self._level.find(obj)]
        doors = [obj for obj in present if obj.type == "door" and not obj.is_open]
        for door in sorted(doors, key=lambda door: bool(door.is_locked)):
            if door.is_locked:
                yield from self._unlock(door)
                return
            # A door that cannot be reached is skipped.
            feedback = yield Action("go_open", (self._names.name_of(door),))
            if feedback.ok:
                return
        raise PlanningFailed(f"{self._level.name}: nothing is left to explore")

    def _unlock(self, door: Any) -> ActionPlan:
        """Fetch the key of a door, opening a box that contains it if necessary; open the door."""
        # The plan knows where keys are; the body still has to find and fetch them.
        squares = [obj for obj in self._level.env.grid.grid if obj is not None]
        boxed = [
            box.contains
            for box in squares
            if box.type == "box" and box.contains is not None
        ]
        held = [self._level.carried] if self._level.carried is not None else []
        keys = [
            t
            for t in (*squares, *boxed, *held)
            if (t.type, t.color) == ("key", door.color)
        ]
        # A key in hand is enough.
        if self._level.carried not in keys:
            yield from self._free_hands()
            boxes = {
                box for box in squares if box.type == "box" and box.contains in keys
            }
            if boxes:
                yield from self._do("go_open", boxes)
            yield from self._do("go_grab", keys)
        yield from self._do("go_open", [door])

    def _free_hands(self) -> ActionPlan:
        """Drop what is held on a free square around. Raises ``PlanningFailed`` if there
        is none."""
        # Four directions: one of them is free, or none.
        for _ in range(4):
            if self._level.carried is None:
                return
            feedback = yield Action("drop")
            if not feedback.ok:
                yield Action("turn_left")
        if self._level.carried is not None:
            raise PlanningFailed(
                f"{self._level.name}: no free square for the held object"
            )


def _clauses(instruction: Any) -> Iterator[Any]:
    """Yield the clauses of an instruction in execution order."""
    # A clause without parts is a single instruction.
    if not hasattr(instruction, "instr_a"):
        yield instruction
        return
    # "B after you A" lists B first but starts with A.
    parts = [instruction.instr_a, instruction.instr_b]
    for part in (
        reversed(parts) if type(instruction).__name__ == "AfterInstr" else parts
    ):
        yield from _clauses(part)
