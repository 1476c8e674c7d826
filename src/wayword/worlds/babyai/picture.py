"""Pictures of BabyAI levels: the actor's view from above, drawn by the package ``minigrid``.

The view is the package's own (``get_pov_render``): 7 x 7 squares with the actor in the middle of
the lowest row, facing up. Squares that it does not see are darker and look empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from wayword.core.marks import Mark
from wayword.core.sight import Frame, Painter, PictureView
from wayword.core.world import World
from wayword.worlds.babyai.level import MIDDLE, VIEW_SIZE, VIEW_SQUARES
from wayword.worlds.babyai.world import BabyAIWorld

MARGIN = (0, 0, 0)
"""Color beside the square picture where the requested size is not square."""


class GridPainter(Painter):
    """Draws levels of BabyAI. Maps have no depth."""

    has_marks = True
    has_depth = False

    @property
    def name(self) -> str:
        """``minigrid:`` and the version of the package, which draws the pictures."""
        # Imported here: only this extra needs the package.
        import minigrid

        return f"minigrid:{minigrid.__version__}"

    def views(self, world: World, actor: str) -> Sequence[PictureView]:
        """Return the only picture: the view from above."""
        heading = float(world.pose(actor)["heading"])
        return [
            PictureView(
                "the squares in view",
                heading,
                -90.0,
                90.0,
            )
        ]

    def marks(self, world: World, actor: str) -> Mapping[int, Mark]:
        """Map the numbers of objects in view to their marks, in the order of first sight."""
        names = _as_level(world).names.objects
        return {
            number: Mark(number, name) for number, name in enumerate(names, start=1)
        }

    def frame(
        self,
        world: World,
        actor: str,
        view: PictureView,
        size: tuple[int, int],
    ) -> Frame:
        """Draw the squares in view; ``size`` is rows and columns in pixels.

        The picture is a square in the middle of the frame. It has no depth: infinite
        everywhere.
        """
        grid_world = _as_level(world)
        tile = min(size) // VIEW_SIZE
        side = VIEW_SIZE * tile
        top = (size[0] - side) // 2
        left = (size[1] - side) // 2
        color = np.empty((*size, 3), np.uint8)
        color[:] = MARGIN
        picture = grid_world.level.env.get_pov_render(tile)
        color[top : top + side, left : left + side] = picture

        # The names' order numbers the objects; squares show one object each.
        objects = grid_world.names.objects.values()
        number_of = {obj: number for number, obj in enumerate(objects, start=1)}
        ids = np.zeros(size, np.int32)
        for ahead, right in VIEW_SQUARES[1:]:
            number = number_of.get(grid_world.level.view(ahead, right), 0)
            row = top + (VIEW_SIZE - 1 - ahead) * tile
            column = left + (right + MIDDLE) * tile
            ids[row : row + tile, column : column + tile] = number
        return Frame(color, np.full(size, np.inf), ids)


def _as_level(world: World) -> BabyAIWorld:
    """Return a level's world, the only kind this painter is used with."""
    assert isinstance(world, BabyAIWorld)
    return world
