"""Recorded perception: NavGPT's text pack, REVERIE's boxes, and pictures of viewpoints.

The pack holds, for every viewpoint, eight sentences (45° sectors, sector 0 centered on north), the
objects within 3 m of each sector, and one sentence for the full place. Its headings run over
[-22.5°, 337.5°); they are turned into [0°, 360°) here, once.

Sources: NavGPT (Zhou et al. 2024), section 3.2 and its data pack; REVERIE (Qi et al. 2020), whose
boxes list the objects visible at a viewpoint, with positions in the graph's frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_field, read_json, reading
from wayword.core.geometry import absolute, bearings, relative, sector
from wayword.core.model import Image
from wayword.core.perceiver import Perceiver, Percept, Picture, Sector, Sighting
from wayword.perception import panorama
from wayword.perception.panorama import FACES
from wayword.settings import Checked, FileName
from wayword.worlds.indoor.graph import ViewpointGraph

SECTORS = 8  # directions of NavGPT's pack; packs made with other layouts have 6 or 12
COUNTS = (6, SECTORS, 12)
REVERIE_METRES = 3.0  # maximum distance of an object that is described

Sightings = Callable[[str, str], list[list[Sighting]]]
"""Scene and viewpoint -> the objects in each sector."""


class RecordedPerceiver(Perceiver):
    """Captions, objects and summaries from files, read per scan at first use.

    ``folder`` has NavGPT's subfolders ``observations_list_summarized`` and
    ``observations_summarized``; ``sightings`` is ``pack_sightings`` or ``reverie_sightings``.
    """

    def __init__(
        self,
        folder: Path,
        sightings: Sightings,
        name: str = "recorded:navgpt",
    ) -> None:
        self._folder = folder
        self._sightings = sightings
        self.name = name
        self._captions: dict[str, Mapping[str, list[str]]] = {}
        self._summaries: dict[str, Mapping[str, str]] = {}
        self._percepts: dict[tuple[str, str], Percept] = {}

    def perceive(self, scene: str, place: str) -> Percept:
        """Return the recorded description of a viewpoint, the same object each time.

        Raises ``DataError`` for a missing file or viewpoint.
        """
        # Kept for the run: the same place is described again after every return.
        if (scene, place) not in self._percepts:
            with reading(f"{self._folder}, scan {scene}"):
                self._percepts[scene, place] = self._read_percept(scene, place)
        return self._percepts[scene, place]

    def _read_percept(self, scene: str, place: str) -> Percept:
        """Return the recorded description of a viewpoint.

        Sector 0 is centered on north, the others follow clockwise; all have the same width. Raises
        ``DataError`` for a missing file or viewpoint, and if the numbers of sectors are wrong.
        """
        # A scan's files are read once, at its first viewpoint.
        if scene not in self._captions:
            captions = find(
                self._folder / "observations_list_summarized",
                f"{scene}.json",
            )
            summaries = find(
                self._folder / "observations_summarized",
                f"{scene}_summarized.json",
            )
            self._captions[scene] = read_json(captions)
            self._summaries[scene] = read_json(summaries)
        sentences = self._captions[scene].get(place)
        where = f"scan {scene}, viewpoint {place!r}"
        if sentences is None:
            # The count tells whether the wrong pack was given.
            count = len(self._captions[scene])
            raise DataError(
                self._folder,
                where,
                f"is not among the {count} recorded places",
            )
        # Packs of other layouts have other numbers of sectors.
        if not isinstance(sentences, list) or len(sentences) not in COUNTS:
            raise DataError(self._folder, where, "must have 6, 8 or 12 sentences")
        # Objects and sentences come from two files: with other numbers of sectors, objects would
        # be listed in the wrong directions.
        object_groups = self._sightings(scene, place)
        width = 360.0 / len(sentences)
        if len(object_groups) != len(sentences):
            problem = f"has {len(sentences)} sentences, but {len(object_groups)} groups of objects"
            raise DataError(self._folder, where, problem)
        sectors = tuple(
            Sector(number * width, width, sentence.strip(), tuple(objects))
            for number, (sentence, objects) in enumerate(
                zip(sentences, object_groups, strict=True)
            )
        )
        # The pack's summaries continue a sentence that began in the prompt.
        summary = self._summaries[scene].get(place, "").strip()
        return Percept(
            sectors,
            summary and f"The scene from the viewpoint is a {summary}",
        )


def pack_sightings(folder: Path) -> Sightings:
    """Return the objects of NavGPT's pack: ``objects_list/{scan}.json``, a dict per sector.

    The result reads the file of a scan at its first viewpoint, and raises ``DataError``.
    """
    scans: dict[str, Any] = {}

    def find_objects(scene: str, place: str) -> list[list[Sighting]]:
        """Return the objects of a viewpoint in each of its sectors."""
        # Read per scan: most runs visit few.
        if scene not in scans:
            scans[scene] = read_json(find(folder / "objects_list", f"{scene}.json"))
        groups = scans[scene].get(place)
        if not isinstance(groups, list) or len(groups) not in COUNTS:
            where = f"scan {scene}, viewpoint {place!r}"
            raise DataError(
                folder / "objects_list",
                where,
                "must have 6, 8 or 12 groups of objects",
            )
        return [sightings_of(group) for group in groups]

    def sightings_of(group: JsonObject) -> list[Sighting]:
        """Return the objects of a sector in file order."""
        # The distance is null if the depth was unknown.
        return [
            # An unknown heading counts as north.
            Sighting(name.strip(), absolute(obj["heading"] or 0.0), obj["distance"])
            for name, obj in group.items()
        ]

    return find_objects


def reverie_sightings(
    folder: Path,
    graph: Callable[[str], ViewpointGraph],
) -> Sightings:
    """Return the objects of REVERIE's boxes: visible, and at most ``REVERIE_METRES`` away.

    Heading and distance are those of the object's position (0.8° from its box in the median).
    """
    positions: dict[str, Mapping[str, list[float]]] = {}
    boxes: dict[str, Any] = {}

    def find_objects(scene: str, place: str) -> list[list[Sighting]]:
        """Return the objects of a viewpoint in each of its sectors."""
        # Positions of all scans are one file, boxes are one file a scan.
        if not positions:
            positions.update(read_json(find(folder, "objpos.json")))
        if scene not in boxes:
            boxes[scene] = read_json(find(folder / "bbox_by_scan", f"{scene}.json"))
        scan = graph(scene)
        position = scan.positions[scan.index[place]]
        groups: list[list[Sighting]] = [[] for _ in range(SECTORS)]
        record = boxes[scene].get(place, {})
        for number, box in record.get(place, record).items():  # some files repeat it
            object_position = positions.get(scene, {}).get(number)
            # Only visible objects count, and those whose position was published.
            if not box["visible_pos"] or object_position is None:
                continue
            # Metres east, north and up from the viewpoint.
            x, y, z = (np.asarray(object_position) - position).tolist()
            distance = float(np.hypot(np.hypot(x, y), z))
            if distance <= REVERIE_METRES:
                heading = absolute(float(bearings(x, y)))
                # REVERIE joins the words of a name by ``#``.
                name = box["name"].replace("#", " ")
                groups[sector(heading)].append(Sighting(name, heading, distance))
        return groups

    return find_objects


@dataclass(frozen=True)
class RecordedSettings(Checked):
    """``folder``: observation files in NavGPT's layout, as ``wayword perceive`` writes them."""

    folder: FileName = ""


class RecordedFiles(RecordedPerceiver):
    """Observation files in NavGPT's layout, for any indoor dataset.

    ``--set perceiver.name=recorded --set perceiver.folder=seen``
    """

    Settings = RecordedSettings

    def __init__(self, settings: RecordedSettings, custom: Perceiver | None) -> None:
        # A perceiver of recorded files has nothing without its folder.
        if not settings.folder:
            raise UsageError(
                "perceiver recorded: set the folder with --set perceiver.folder=DIR"
            )
        folder = Path(settings.folder)
        super().__init__(folder, pack_sightings(folder), f"recorded:{folder.name}")


class SymbolicPerceiver(Perceiver):
    """Percepts from a world's ground truth. ``percepts`` returns those of a scene by place, once an
    agent is there; the mapping may be lazy.

    >>> from wayword.core.perceiver import Percept
    >>> seer = SymbolicPerceiver("mine", lambda scene: {"a1b2c3": Percept((), "A bare room.")})
    >>> seer.perceive("house", "a1b2c3").summary
    'A bare room.'
    """

    def __init__(
        self,
        name: str,
        percepts: Callable[[str], Mapping[str, Percept]],
    ) -> None:
        self.name = name
        self._percepts = percepts

    def perceive(self, scene: str, place: str) -> Percept:
        """Return the percept of a place. Raises ``DataError`` for an unknown one."""
        try:
            return self._percepts(scene)[place]
        except KeyError:
            raise DataError(scene, f"place {place!r}", "has no percept") from None


perceiver = RecordedFiles


# Pictures of Matterport3D's viewpoints, from the user's folder: their terms do not allow shipping.
#
# Each scan and viewpoint has one of three forms (docs/perception.md): an equirectangular picture
# with north in its middle column, MatterSim's 36 views, or the published skybox. View v of the 36
# has the heading 30° x (v mod 12) and the elevation -30°, 0° or 30° by v div 12. Face 1 of a skybox
# is along its camera's axis, whose heading is in the connectivity file.

SIZE = 480  # rows and columns of the views shown to agents
STEP = 30.0  # degrees between MatterSim's views, in heading and elevation
ROWS = 512  # rows of the equirectangular picture made from a skybox


class ScanPictures(Perceiver):
    """Another perceiver, with pictures from ``folder``.

    ``axes(scan)`` returns the heading (degrees) of each viewpoint's skybox camera.
    """

    def __init__(
        self,
        words: Perceiver,
        folder: Path,
        axes: Callable[[str], Mapping[str, float]],
    ) -> None:
        self._words = words
        self._folder = folder
        self._axes = axes
        self.name = f"{words.name}+pictures"
        self._sphere = lru_cache(maxsize=8)(self._read_sphere)

    def perceive(self, scene: str, place: str) -> Percept:
        """Return the percept of the other perceiver."""
        return self._words.perceive(scene, place)

    def picture(
        self,
        scene: str,
        place: str,
        heading: float,
        width: float,
        elevation: float = 0.0,
    ) -> Image:
        """Return the view towards an absolute heading, as JPEG; of MatterSim's 36 views, the
        nearest one, uncut. Raises ``DataError`` for a viewpoint without pictures."""
        views = self._folder / scene / place
        # A folder holds the 36 views; without one there is a panorama or a skybox.
        if not views.is_dir():
            sphere, north = self._sphere(scene, place)
            shown = panorama.view(
                sphere,
                heading - north,
                elevation,
                width,
                (SIZE, SIZE),
            )
            return panorama.encode(shown)
        # Twelve views per row: looking down, level, looking up.
        elevation_row = min(max(round(elevation / STEP), -1), 1) + 1
        number = 12 * elevation_row + round(heading / STEP) % 12
        # Renderers number with or without a leading zero.
        path = panorama.picture_at(views / f"{number:02d}")
        path = path or panorama.picture_at(views / str(number))
        if path is None:
            problem = f"has no picture {number:02d} of the 36"
            raise DataError(views, "", problem, "render all 36 views, 00 to 35")
        return panorama.encode(panorama.cached_read(path))

    def _read_sphere(self, scene: str, place: str) -> tuple[Picture, float]:
        """Return the equirectangular picture, and the heading of its middle column."""
        # A single picture first: it needs no conversion.
        single_file = panorama.picture_at(self._folder / scene / place)
        if single_file is not None:
            return panorama.read(single_file), 0.0
        # The published folder, or its files moved up.
        for subfolder in ("matterport_skybox_images", ""):
            folder = self._folder / scene / subfolder
            paths: dict[str, Path] = {}
            for number, name in enumerate(FACES):
                path = panorama.picture_at(folder / f"{place}_skybox{number}_sami")
                if path is not None:
                    paths[name] = path
            if len(paths) == len(FACES):
                faces = {name: panorama.read(path) for name, path in paths.items()}
                return panorama.from_skybox(faces, ROWS), self._axes(scene)[place]
        raise DataError(
            self._folder / scene,
            f"viewpoint {place!r}",
            "has no picture, no 36 views and no skybox",
            "docs/perception.md describes the three forms",
        )


def camera_headings(path: Path) -> dict[str, float]:
    """Return the heading (degrees) of each viewpoint's camera, from ``{scan}_connectivity.json``.

    ``pose`` is a row-major 4 x 4 matrix from the camera's frame (right, down, forward) to the
    scan's, so its third column is the camera's axis.
    """
    headings = {}
    for number, record in enumerate(read_json(path)):
        read = partial(read_field, path, f"record {number}", record)
        pose = read("pose", list)
        east = pose[2]
        north = pose[6]
        heading = math.degrees(math.atan2(east, north))
        headings[read("image_id", str)] = relative(heading, 0)
    return headings
