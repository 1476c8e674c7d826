"""Made-up rooms of 6 x 6 squares inside a real level, drawn as text.

``.`` free, ``#`` wall, ``k`` red key, ``K`` blue key, ``r`` red ball, ``b`` blue ball, ``x`` grey
box with a green key in it, ``d`` shut, ``l`` locked and ``o`` open red door; ``^ > v <`` the actor.
"""

from __future__ import annotations

from typing import Any

from wayword.core.episode import Episode
from wayword.worlds.babyai.level import Level, LevelNames
from wayword.worlds.babyai.world import Actions, BabyAIWorld

CORNER = 8
"""x and y of the room's north-west square."""
FACING = {">": 0, "v": 1, "<": 2, "^": 3}
LEVEL = "KeyInBox"
"""A level whose task is to open a door that is not in the drawing, so that nothing ends it."""


def grid_object(sign: str) -> Any:
    from minigrid.core.world_object import Ball, Box, Door, Key, Wall

    made = {
        "#": lambda: Wall(),
        "k": lambda: Key("red"),
        "K": lambda: Key("blue"),
        "r": lambda: Ball("red"),
        "b": lambda: Ball("blue"),
        "x": lambda: Box("grey", Key("green")),
        "d": lambda: Door("red"),
        "l": lambda: Door("red", is_locked=True),
        "o": lambda: Door("red", is_open=True),
    }
    return made[sign]() if sign in made else None


def drawn(rows: str, actions: Actions = "low", seed: int = 0) -> BabyAIWorld:
    """A world that was reset, its middle room redrawn."""
    world = BabyAIWorld(LEVEL, actions)
    world.reset(Episode("1", "open the door", LEVEL, {"seed": seed}))
    lines = rows.split()
    redraw(world.level, lines)
    world.names = LevelNames()
    world._update_view()
    if actions == "high":
        from wayword.worlds.babyai.world import LevelWalker

        world._walker = LevelWalker(world.level, world.names, world._update_view)
    return world


def redraw(level: Level, lines: list[str]) -> None:
    from minigrid.core.world_object import Wall

    env = level.env
    for n in range(8):  # the level's own door is walled up
        for x, y in ((7, 7 + n), (14, 7 + n), (7 + n, 7), (7 + n, 14)):
            env.grid.set(x, y, Wall())
    for j in range(6):
        for i in range(6):
            sign = lines[j][i] if j < len(lines) and i < len(lines[j]) else "."
            env.grid.set(CORNER + i, CORNER + j, grid_object(sign))
            if sign in FACING:
                env.agent_pos = (CORNER + i, CORNER + j)
                env.agent_dir = FACING[sign]
    level.look()
