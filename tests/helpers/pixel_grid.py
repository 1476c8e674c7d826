"""A player of BabyAI's grids that finds its target by sight, and moves by one rule.

What it sees comes from pixels, square by square, compared with a picture of each object; or from
the words of the observation. Where it does not see its target, it moves by chance.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.worlds.babyai.level import MIDDLE, VIEW_SIZE
from wayword.worlds.babyai.world import BabyAIObservation

Square = tuple[int, int]
"""Steps ahead and to the right."""
COLORS = ("red", "green", "blue", "purple", "yellow", "grey")
KINDS = ("ball", "box", "key")
EMPTY = ("", "")
ALIKE = 12.0
"""Largest mean difference of a channel at which a square shows an object: a mark covers a part."""


@cache
def portraits(tile: int) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Color and kind -> its square, as the package draws it in view."""
    from minigrid.core.grid import Grid
    from minigrid.core.world_object import WorldObj

    empty = Grid.render_tile(None, highlight=True, tile_size=tile)
    found = {EMPTY: empty.astype(np.float64)}
    for color, kind in product(COLORS, KINDS):
        (shown,) = [
            cls for cls in WorldObj.__subclasses__() if cls.__name__.lower() == kind
        ]
        picture = Grid.render_tile(shown(color), highlight=True, tile_size=tile)
        found[color, kind] = picture.astype(np.float64)
    return found


def recognize(color: NDArray[np.uint8]) -> Mapping[Square, tuple[str, str]]:
    """Return the objects of a picture by their squares."""
    rows, columns = color.shape[:2]
    tile = min(rows, columns) // VIEW_SIZE
    top = (rows - VIEW_SIZE * tile) // 2
    left = (columns - VIEW_SIZE * tile) // 2
    found = {}
    for row, column in product(range(VIEW_SIZE), repeat=2):
        y = top + row * tile
        x = left + column * tile
        square = color[y : y + tile, x : x + tile].astype(np.float64)
        unlike = {
            name: float(np.abs(square - picture).mean())
            for name, picture in portraits(tile).items()
        }
        best = min(unlike, key=unlike.__getitem__)
        if best != EMPTY and unlike[best] < ALIKE:
            found[VIEW_SIZE - 1 - row, column - MIDDLE] = best
    return found


class GridPlayer(Agent):
    """Goes to the object that the task names: by pixels where the run has eyes, else by words."""

    def __init__(self, settings: object, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)

    async def begin(self, episode: Episode) -> None:
        named = re.search(
            rf"({'|'.join(COLORS)}) ({'|'.join(KINDS)})", episode.instruction
        )
        assert named is not None, episode.instruction
        self._target = (named[1], named[2])

    async def act(
        self, observation: BabyAIObservation, space: ActionSpace
    ) -> Decision | Rejection:
        seen = self._seen(observation)
        places = [at for at, each in seen.items() if each == self._target]
        turns = ["turn_left", "turn_right"]
        if not places:
            # As the agent ``random``, so that what it does better comes from its sight.
            moves = [action for action in space.listed if action != STOP]
            return Decision(self.toolkit.rng.choice(moves))
        ahead, right = min(places, key=lambda at: at[0] + abs(at[1]))
        if ahead > 0 and (1, 0) not in seen:
            return Decision(Action("move_ahead"))
        if right:
            return Decision(Action(turns[right > 0]))
        # Something stands in between.
        return Decision(Action(self.toolkit.rng.choice(turns)))

    def _seen(self, observation: BabyAIObservation) -> Mapping[Square, tuple[str, str]]:
        eyes = self.toolkit.eyes
        if eyes is None:
            return {
                (each.ahead, each.right): (each.color, each.kind)
                for each in observation.objects
            }
        ((_, frame),) = eyes.frames()
        return recognize(frame.color)
