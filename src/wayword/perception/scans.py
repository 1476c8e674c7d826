"""Pictures of Matterport3D's viewpoints, from a folder of the user's.

The pictures are under Matterport3D's terms, so none are shipped. Three forms are read, for each
scan and viewpoint:

    SCAN/VIEWPOINT.jpg                              equirectangular, the middle column faces north
    SCAN/VIEWPOINT/00.jpg … 35.jpg                  MatterSim's 36 views, numbered as it does
    SCAN/[matterport_skybox_images/]VIEWPOINT_skybox{0..5}_sami.jpg      as published

View v of the 36 looks to heading 30° x (v mod 12), at elevation -30°, 0° or 30° by v div 12. A
skybox stands in the frame of its camera: its face 1 looks along the camera's axis, whose heading
is in the connectivity file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from wayword.core.errors import DataError
from wayword.core.files import read_field, read_json
from wayword.core.geometry import relative
from wayword.core.model import Image
from wayword.core.perceiver import Perceiver, Percept, Picture
from wayword.perception import panorama
from wayword.perception.panorama import FACES, SUFFIXES

SIZE = 480
"""Rows and columns of the views that agents are shown."""
STEP = 30.0
"""Degrees between MatterSim's views, in heading and in elevation."""
ROWS = 512
"""Rows of the whole-sphere picture that a skybox is turned into."""


class ScanPictures(Perceiver):
    """The words of another perceiver, with pictures from ``folder``.

    ``axes(scan)`` gives the heading (degrees) that each viewpoint's skybox faces.
    """

    def __init__(
        self, words: Perceiver, folder: Path, axes: Callable[[str], Mapping[str, float]]
    ) -> None:
        self._words, self._folder, self._axes = words, folder, axes
        self.name = f"{words.name}+pictures"
        self._whole = lru_cache(maxsize=8)(self._sphere)

    def perceive(self, scene: str, place: str) -> Percept:
        return self._words.perceive(scene, place)

    def picture(
        self, scene: str, place: str, heading: float, width: float, elevation: float = 0.0
    ) -> Image:
        """The view towards an absolute heading, as JPEG.

        One of the 36 views is given whole, whatever ``width`` is: the nearest in heading and
        elevation. Raises ``DataError`` for a viewpoint without pictures.
        """
        views = self._folder / scene / place
        if views.is_dir():
            return panorama.encode(panorama.kept(self._nearest(views, heading, elevation)))
        sphere, north = self._whole(scene, place)
        return panorama.encode(
            panorama.view(sphere, heading - north, elevation, width, (SIZE, SIZE))
        )

    def _nearest(self, views: Path, heading: float, elevation: float) -> Path:
        row = min(max(round(elevation / STEP), -1), 1) + 1
        number = 12 * row + round(heading / STEP) % 12
        found = _picture(views / f"{number:02d}") or _picture(views / str(number))
        if found is None:
            problem = f"has no picture {number:02d} of the 36"
            raise DataError(views, "", problem, "render all 36 views, 00 to 35")
        return found

    def _sphere(self, scene: str, place: str) -> tuple[Picture, float]:
        """A whole-sphere picture, and the heading of its middle column."""
        whole = _picture(self._folder / scene / place)
        if whole is not None:
            return panorama.read(whole), 0.0
        for inside in ("matterport_skybox_images", ""):
            folder = self._folder / scene / inside
            faces = [_picture(folder / f"{place}_skybox{n}_sami") for n in range(6)]
            found = [path for path in faces if path is not None]
            if len(found) == len(FACES):
                read = {name: panorama.read(p) for name, p in zip(FACES, found, strict=True)}
                return panorama.from_skybox(read, ROWS), self._axes(scene)[place]
        raise DataError(
            self._folder / scene,
            f"viewpoint {place!r}",
            "has no picture, no 36 views and no skybox",
            "docs/perception.md has the three forms",
        )


def _picture(stem: Path) -> Path | None:
    """The picture file of that name, with any of the endings."""
    paths = (stem.with_name(stem.name + suffix) for suffix in SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


def camera_headings(path: Path) -> dict[str, float]:
    """Viewpoint -> heading (degrees) of its camera's axis, from ``{scan}_connectivity.json``.

    ``pose`` is a row-major 4 x 4 matrix from the camera's frame (right, down, forward) to the
    scan's, so its third column is the axis.
    """
    found = {}
    for number, record in enumerate(read_json(path)):
        pose = read_field(path, f"record {number}", record, "pose", list)
        heading = math.degrees(math.atan2(pose[2], pose[6]))
        found[read_field(path, f"record {number}", record, "image_id", str)] = relative(heading, 0)
    return found
