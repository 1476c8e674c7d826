"""A searcher of generated apartments that finds its target by pixels alone.

It knows what each kind and each look is drawn like, and its own pose. Patches of a picture in the
colors of the target's look are measured with the depth camera; the target is drawn where the patch
is, facing each of the four ways, and compared with the picture pixel by pixel. Color alone is not
enough: other kinds have the same looks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.agents.search.frontier import FrontierAgent, FrontierSettings
from wayword.core.agent import Toolkit
from wayword.core.geometry import bearing, relative
from wayword.core.perceiver import GroundedRegion, Perceiver
from wayword.core.sight import Eyes, Frame
from wayword.datasets.apartments import LOOKS
from wayword.datasets.procedural.homes.objects import OBJECTS
from wayword.render.parts import home_look, look_paint
from wayword.render.raster import Mesh, PinholeCamera, draw
from wayword.worlds.household.picture import Placement, object_mesh
from wayword.worlds.objectnav.observation import View

ENOUGH = 30  # pixels of a patch in the target's colors
LIKE = 0.6  # least share of the drawn target's pixels that the picture must have
NEAR_SURFACE = (
    0.03  # metres by which a surface may be nearer than where the target is drawn
)
WHOLE = 0.02  # metres between two estimates of a place, from its two sides, that agree
SLACK = 2  # pixels by which the drawn target may be off
FRONTS = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))

Colors = NDArray[np.int32]


def codes(color: NDArray[np.uint8]) -> Colors:
    """Each pixel's color as one number."""
    wide = color.astype(np.int32)
    return wide[..., 0] * 65536 + wide[..., 1] * 256 + wide[..., 2]


@dataclass(frozen=True)
class Target:
    """What is searched for: its ``kind``, and the ``paint`` of its look."""

    kind: str
    paint: str

    @property
    def extents(self) -> tuple[float, float, float]:
        """Metres across, off its back and up."""
        spec = OBJECTS[self.kind]
        return spec.size, spec.size, spec.height

    def mesh(
        self, middle: tuple[float, float], underside: float, front: tuple[float, float]
    ) -> Mesh:
        """The target with the middle of its box and its underside at a place, in metres."""
        deep = self.extents[1]
        back = (
            round(middle[0] - front[0] * deep / 2, 6),
            round(middle[1] - front[1] * deep / 2, 6),
        )
        look = Placement(
            1, self.kind, (), back, front, self.extents, round(underside, 6), self.paint
        )
        return object_mesh(look)


def parse(phrase: str) -> Target:
    """Read a description, such as "neon-pink basket ball"."""
    adjective = max(
        (word for word in LOOKS["paintable"] if phrase.startswith(f"{word} ")), key=len
    )
    kind = phrase.removeprefix(adjective).strip().replace(" ", "_")
    return Target(kind, look_paint(adjective))


@cache
def own_colors(target: Target) -> Colors:
    """The colors of the target's look, on all of its sides; not those of its other parts."""
    plain = set(codes(_all_colors(Target(target.kind, "grey"))).tolist())
    found = set(codes(_all_colors(target)).tolist()) - plain
    assert home_look(target.kind).parts
    return np.array(sorted(found), np.int32)


def _all_colors(target: Target) -> NDArray[np.uint8]:
    shown = []
    for front in FRONTS:
        mesh = target.mesh((0.0, 0.0), 0.0, front)
        for colors, count in zip(mesh.colors, mesh.color_counts, strict=True):
            shown.append(colors[: int(count)])
    return np.concatenate(shown)


class PixelDetector(Perceiver):
    """Grounds a description in the pictures of one robot's eyes."""

    name = "pixels"

    def __init__(self, eyes: Eyes) -> None:
        self._eyes = eyes
        # A searcher asks about a view up to twice.
        self._latest: tuple[View | None, GroundedRegion | None] = None, None

    def check_view(self, view: View) -> None:
        """Accept any view: its ground truth is not read."""

    def ground(self, view: View, phrase: str) -> GroundedRegion | None:
        """The place where the drawn target is most like a picture, None if it is nowhere."""
        if self._latest[0] is view:
            return self._latest[1]
        target = parse(phrase)
        best: GroundedRegion | None = None
        for picture, frame in self._eyes.frames():
            camera = PinholeCamera(
                (view.x, view.y, view.eye),
                picture.heading,
                picture.elevation,
                picture.width,
            )
            for score, point in matches(frame, camera, target):
                if score < LIKE or (best is not None and score <= best.score):
                    continue
                toward = relative(bearing((view.x, view.y), point), view.heading)
                away = math.dist(point, (view.x, view.y))
                best = GroundedRegion(score, toward, away)
        self._latest = view, best
        return best


def matches(
    frame: Frame, camera: PinholeCamera, target: Target
) -> list[tuple[float, tuple[float, float]]]:
    """How like the target each patch of its colors is, from 0 to 1, and where it is (x, y)."""
    shown = codes(frame.color)
    label = import_module("scipy.ndimage").label
    is_own = np.isin(shown, own_colors(target)) & np.isfinite(frame.depth)
    patches, count = label(is_own, structure=np.ones((3, 3)))
    found = []
    for number in range(1, count + 1):
        patch = patches == number
        if int(patch.sum()) < ENOUGH:
            continue
        points = world_points(frame.depth, patch, camera)
        for front in FRONTS:
            middle, underside = placed(points, camera, target, front)
            drawn = draw(target.mesh(middle, underside, front), camera, shown.shape)
            found.append((likeness(frame, shown, drawn, patch), middle))
    return found


def likeness(
    frame: Frame, shown: Colors, drawn: Frame, patch: NDArray[np.bool_]
) -> float:
    """Share of the pixels of the drawn target and of the patch that have the same color in the
    picture, or next to it: places are known to a centimetre. What stands before the target is left
    out."""
    is_drawn = (drawn.ids > 0) & (drawn.depth <= frame.depth + NEAR_SURFACE)
    either = is_drawn | patch
    rows, columns = np.nonzero(either)
    if not is_drawn.any():
        return 0.0
    area = (
        slice(max(0, rows.min() - SLACK), rows.max() + SLACK + 1),
        slice(max(0, columns.min() - SLACK), columns.max() + SLACK + 1),
    )
    expected = codes(drawn.color[area])
    seen = shown[area]
    same = np.zeros(seen.shape, np.bool_)
    for down in range(-SLACK, SLACK + 1):
        for right in range(-SLACK, SLACK + 1):
            same |= np.roll(seen, (down, right), (0, 1)) == expected
    return float((same & is_drawn[area]).sum() / either.sum())


@cache
def own_box(target: Target, front: tuple[float, float]) -> NDArray[np.float64]:
    """(2, 3) low and high corner of the parts in the target's look, from its middle and its
    underside."""
    mesh = target.mesh((0.0, 0.0), 0.0, front)
    is_own = np.isin(codes(mesh.colors[:, 0]), own_colors(target))
    corners = mesh.corners[is_own].reshape(-1, 3)
    return np.stack([corners.min(axis=0), corners.max(axis=0)])


def placed(
    points: NDArray[np.float64],
    camera: PinholeCamera,
    target: Target,
    front: tuple[float, float],
) -> tuple[tuple[float, float], float]:
    """The middle (x, y) and the underside of the target's box, from points on its near sides."""
    box = own_box(target, front)
    low, high = np.percentile(points, (1, 99), axis=0)
    place = []
    for axis in (0, 1, 2):
        from_low = low[axis] - box[0, axis]
        from_high = high[axis] - box[1, axis]
        # The near side is seen; the far one may be hidden by the object itself.
        is_whole = abs(from_low - from_high) < WHOLE
        if is_whole or low[axis] <= camera.position[axis] <= high[axis]:
            place.append(float(from_low + from_high) / 2)
        elif camera.position[axis] < low[axis]:
            place.append(float(from_low))
        else:
            place.append(float(from_high))
    return (place[0], place[1]), place[2]


def world_points(
    depth: NDArray[np.float64], patch: NDArray[np.bool_], camera: PinholeCamera
) -> NDArray[np.float64]:
    """(N, 3) places of a patch's pixels, in metres."""
    rows, columns = np.nonzero(patch)
    height, width = depth.shape
    focal = width / 2 / math.tan(math.radians(camera.width / 2))
    ahead = depth[rows, columns]
    right = (columns + 0.5 - width / 2) / focal * ahead
    down = (rows + 0.5 - height / 2) / focal * ahead
    turn = math.radians(camera.heading)
    rise = math.radians(camera.elevation)
    level = ahead * math.cos(rise) + down * math.sin(rise)
    up = ahead * math.sin(rise) - down * math.cos(rise)
    x = camera.position[0] + level * math.sin(turn) + right * math.cos(turn)
    y = camera.position[1] + level * math.cos(turn) - right * math.sin(turn)
    return np.stack([x, y, camera.position[2] + up], axis=1)


class PixelSearcher(FrontierAgent):
    """Goes to frontiers until a picture shows its target."""

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        super().__init__(settings or FrontierSettings(grounding="perfect"), toolkit)
        assert toolkit.eyes is not None
        self.detector = PixelDetector(toolkit.eyes)
        self.detectors = (self.detector,)
