"""Recorded perception: NavGPT's text pack, and REVERIE's boxes as a second source of objects.

The pack holds, for every viewpoint, eight sentences (45° sectors, sector 0 centred on north), the
objects within 3 m of each sector, and one sentence for the whole place. Its headings run over
[-22.5°, 337.5°); they are turned into [0°, 360°) here, once.

Sources: NavGPT (Zhou et al. 2024), section 3.2 and its data pack; REVERIE (Qi et al. 2020), whose
boxes name what each viewpoint sees and whose object positions lie in the graph's own frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_json, reading
from wayword.core.geometry import absolute, bearings, sector
from wayword.core.perceiver import Perceiver, Percept, Sector, Sighting
from wayword.worlds.indoor.graph import ViewpointGraph

SECTORS = 8
"""Directions of NavGPT's pack; packs made with other layouts have 6 or 12."""
COUNTS = (6, SECTORS, 12)

Sightings = Callable[[str, str], list[list[Sighting]]]
"""Scene and viewpoint in, the things seen in each of the sectors out."""


class RecordedPerceiver(Perceiver):
    """Captions, objects and summaries read from files, one scan at a time, when asked.

    ``folder`` holds ``observations_list_summarized/`` and ``observations_summarized/`` in NavGPT's
    layout; ``sightings`` gives the objects (``pack_sightings`` or ``reverie_sightings``).
    """

    def __init__(self, folder: Path, sightings: Sightings, name: str = "recorded:navgpt") -> None:
        self._folder, self._sightings, self.name = folder, sightings, name
        self._captions: dict[str, Mapping[str, list[str]]] = {}
        self._summaries: dict[str, Mapping[str, str]] = {}
        self._known: dict[tuple[str, str], Percept] = {}

    def perceive(self, scene: str, place: str) -> Percept:
        key = scene, place
        if key not in self._known:
            with reading(f"{self._folder}, scan {scene}"):
                self._known[key] = self._read(scene, place)
        return self._known[key]

    def _read(self, scene: str, place: str) -> Percept:
        if scene not in self._captions:
            captions = find(self._folder / "observations_list_summarized", f"{scene}.json")
            summaries = find(self._folder / "observations_summarized", f"{scene}_summarized.json")
            self._captions[scene] = read_json(captions)
            self._summaries[scene] = read_json(summaries)
        sentences = self._captions[scene].get(place)
        where = f"scan {scene}, viewpoint {place!r}"
        if not isinstance(sentences, list) or len(sentences) not in COUNTS:
            raise DataError(self._folder, where, "has no eight recorded sentences")
        seen, width = self._sightings(scene, place), 360.0 / len(sentences)
        if len(seen) != len(sentences):
            problem = f"has {len(sentences)} sentences, but {len(seen)} groups of objects"
            raise DataError(self._folder, where, problem)
        return Percept(
            tuple(
                Sector(i * width, width, sentence.strip(), tuple(things))
                for i, (sentence, things) in enumerate(zip(sentences, seen, strict=True))
            ),
            _sentence(self._summaries[scene].get(place, "")),
        )


def _sentence(summary: str) -> str:
    """The pack's summaries complete the sentence that they were asked to complete."""
    return f"The scene from the viewpoint is a {summary.strip()}" if summary.strip() else ""


def pack_sightings(folder: Path) -> Sightings:
    """Objects of NavGPT's pack: ``objects_list/{scan}.json``, eight dicts a viewpoint."""
    scans: dict[str, Any] = {}

    def see(scene: str, place: str) -> list[list[Sighting]]:
        if scene not in scans:
            scans[scene] = read_json(find(folder / "objects_list", f"{scene}.json"))
        groups = scans[scene].get(place)
        if not isinstance(groups, list) or len(groups) not in COUNTS:
            where = f"scan {scene}, viewpoint {place!r}"
            raise DataError(folder / "objects_list", where, "has no eight groups of objects")
        return [[_sighting(name, thing) for name, thing in group.items()] for group in groups]

    return see


def _sighting(name: str, thing: Mapping[str, float | None]) -> Sighting:
    """A thing of the pack; one whose depth was not known has the distance null."""
    return Sighting(name.strip(), absolute(thing["heading"] or 0.0), thing["distance"])


def reverie_sightings(
    folder: Path, graph: Callable[[str], ViewpointGraph], within: float = 3.0
) -> Sightings:
    """Objects of REVERIE's boxes: visible from the viewpoint, at most ``within`` metres away.

    Heading and distance follow from the object's own position (median heading error of that
    position against the boxes: 0.8°).
    """
    positions: dict[str, Mapping[str, list[float]]] = {}
    boxes: dict[str, Any] = {}

    def see(scene: str, place: str) -> list[list[Sighting]]:
        if not positions:
            positions.update(read_json(find(folder, "objpos.json")))
        if scene not in boxes:
            boxes[scene] = read_json(find(folder / "bbox_by_scan", f"{scene}.json"))
        scan = graph(scene)
        here = scan.positions[scan.index[place]]
        seen: list[list[Sighting]] = [[] for _ in range(SECTORS)]
        for number, box in boxes[scene].get(place, {}).get(place, {}).items():
            at = positions.get(scene, {}).get(number)
            if not box["visible_pos"] or at is None:
                continue
            x, y, z = (np.asarray(at) - here).tolist()
            distance = float(np.hypot(np.hypot(x, y), z))
            if distance <= within:
                heading = absolute(float(bearings(x, y)))
                name = box["name"].replace("#", " ")
                seen[sector(heading)].append(Sighting(name, heading, distance))
        return seen

    return see


@dataclass(frozen=True, slots=True)
class RecordedSettings:
    """``folder``: observation files in NavGPT's layout, as ``wayword perceive`` writes them."""

    folder: str = ""


class RecordedFiles(RecordedPerceiver):
    """Observation files in NavGPT's layout, for any indoor dataset.

    ``--set perceiver.name=recorded --set perceiver.folder=seen``
    """

    Settings: ClassVar[type[RecordedSettings]] = RecordedSettings

    def __init__(self, settings: RecordedSettings, own: Perceiver | None) -> None:
        if not settings.folder:
            raise UsageError("perceiver recorded: name the folder with --set perceiver.folder=DIR")
        folder = Path(settings.folder)
        super().__init__(folder, pack_sightings(folder), f"recorded:{folder.name}")


# A perceiver that knows the answer: words taken from a world's own ground truth.
#
# >>> from wayword.core.perceiver import Percept
# >>> seer = SymbolicPerceiver("mine", lambda scene: {"a1b2c3": Percept((), "A bare room.")})
# >>> seer.perceive("house", "a1b2c3").summary
# 'A bare room.'


class SymbolicPerceiver(Perceiver):
    """Percepts that a generator gives. ``percepts`` maps a scene to those of its places.

    It is asked for a scene only when an agent stands there, and may itself be lazy.
    """

    def __init__(self, name: str, percepts: Callable[[str], Mapping[str, Percept]]) -> None:
        self.name, self._percepts = name, percepts

    def perceive(self, scene: str, place: str) -> Percept:
        """What there is around ``place``. Raises ``DataError`` where there is no such place."""
        try:
            return self._percepts(scene)[place]
        except KeyError:
            raise DataError(scene, f"place {place!r}", "has no percept") from None


perceiver = RecordedFiles
