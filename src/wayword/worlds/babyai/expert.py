"""The expert of BabyAI's levels: the package's own bot, and what it does not know.

The bot explores as it goes: it uses what has come into view, not the whole grid. It cannot look for
a key in a box (level KeyInBox), so boxes that hold the key of a locked door are opened first.

Source: ``minigrid.utils.baby_ai_bot`` (Chevalier-Boisvert et al. 2019, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

from wayword.core.action import Action
from wayword.core.dataset import Task
from wayword.core.errors import UsageError
from wayword.core.replay import ActionPlan, PlanningFailed
from wayword.core.solving import Solvable, able
from wayword.core.world import World
from wayword.worlds.babyai.level import DONE, TOGGLE, Level
from wayword.worlds.babyai.motions import CODES, LOW
from wayword.worlds.babyai.view import route
from wayword.worlds.babyai.world import BabyAIWorld

VERBS = {code: verb for verb, code in CODES.items()}


def solve(world: BabyAIWorld) -> ActionPlan:
    """Every action until the level ends. Raises ``PlanningFailed`` where the bot gives up."""
    for code in plan(world.level):
        yield Action(VERBS[code])


class SolvableLevels(Solvable):
    """Levels of BabyAI: ``expert`` is the package's bot, by the level's own actions."""

    hows: ClassVar[tuple[str, ...]] = ("expert",)

    def make_plan(self, task: Task, world: World, actor: str, how: str) -> ActionPlan:
        if not isinstance(world, BabyAIWorld):
            raise UsageError(f"episode {task.episode.id} is no level of BabyAI")
        able({actor: world.verbs}, LOW, "low")
        return solve(world)

    def expert_length(self, task: Task) -> int | None:
        """L* in the level's own actions, whatever actions the dataset's actors have."""
        return expert_length(task.episode.scene, task.episode.start["seed"])


@lru_cache(maxsize=4096)
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
