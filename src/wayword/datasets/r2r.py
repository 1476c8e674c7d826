"""Room-to-Room: follow a written route through a house (Anderson et al. 2018).

    >>> from wayword.datasets.r2r import dataset as R2R
    >>> R2R.splits[:3]
    ('val_seen', 'val_unseen', 'train')

Reads the plain R2R annotation files (three instructions a record, flattened to one an episode,
``{path_id}_{0,1,2}``) and the flattened ones of NavGPT's folder layout (``…_instr.json``), each as
``.json`` or ``.json.gz``. Beside ``annotations/`` lie ``connectivity/`` and NavGPT's text pack.
``sample72`` is the kind of sample NavGPT's ablations use (section 4.3): one trajectory from each of
the 61 train and 11 val-unseen scenes, drawn by ``sample_seed``, with its three instructions.
"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from wayword.core.dataset import SolvableWalks, Task, Training
from wayword.core.episode import Episode, PathReference, Reference
from wayword.core.errors import DataError, UsageError
from wayword.core.files import SOURCES, cache_folder, find, find_any, read_field, read_json
from wayword.core.geometry import absolute
from wayword.core.perceiver import Perceiver
from wayword.core.world import Family
from wayword.perception.recorded import (
    RecordedPerceiver,
    ScanPictures,
    camera_headings,
    pack_sightings,
    reverie_sightings,
)
from wayword.worlds import indoor
from wayword.worlds.indoor import graph as viewpoints
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.indoor.world import IndoorWorld

SAMPLE_PARTS = ("train", "val_unseen")
PER_SCAN = {
    "connectivity": "{scan}_connectivity.json",
    "observations_list_summarized": "{scan}.json",
    "observations_summarized": "{scan}_summarized.json",
    "objects_list": "{scan}.json",
}
"""What a run on a scan may read, for checksums."""


@dataclass(frozen=True, slots=True)
class R2RSettings:
    """``objects``: whose objects are told (NavGPT's pack, or REVERIE's boxes within 3 m).

    ``sub_instructions`` puts FGR2R's split of the instruction into ``episode.extra``.
    ``sample_seed`` draws the ``sample72`` subset.

    ``annotations`` is a file in either format that takes the place of the split's: MapGPT's 216,
    say. ``observations`` is a folder in the layout of NavGPT's pack, captioned anew. ``pictures``
    is a folder of pictures by scan and viewpoint: see ``wayword.perception.recorded``.
    """

    objects: Literal["pack", "reverie"] = "pack"
    sub_instructions: bool = False
    sample_seed: int = 72
    annotations: str = ""
    observations: str = ""
    pictures: str = ""


class R2R(SolvableWalks):
    """Room-to-Room: written routes through Matterport3D houses (Anderson et al. 2018).

    Raises ``DataError`` for files that are missing or malformed.
    """

    name: ClassVar[str] = "r2r"
    Settings: ClassVar[type[R2RSettings]] = R2RSettings
    family: ClassVar[Family] = indoor.family
    splits: ClassVar[tuple[str, ...]] = ("val_seen", "val_unseen", "train", "test", "sample72")
    max_steps: ClassVar[int] = 15

    def __init__(self, split: str, folder: Path | None, settings: R2RSettings) -> None:
        super().__init__(split, folder, settings)
        self.folder = _r2r_folder(folder)
        self._graphs: dict[str, ViewpointGraph] = {}

    @cached_property
    def tasks(self) -> Sequence[Task]:
        if self.split == "sample72" and not self.settings.annotations:
            return list(self._sample())
        return list(self._read(self.split))

    @cached_property
    def scans(self) -> list[str]:
        """The scans of the split's episodes."""
        return sorted({task.episode.scene for task in self.tasks})

    @cached_property
    def files(self) -> Mapping[str, Path]:
        whole = self.split != "sample72" or bool(self.settings.annotations)
        parts = (self.split,) if whole else SAMPLE_PARTS
        found = {f"annotations/{part}": self._annotations(part) for part in parts}
        for scan in self.scans:
            for kind, name in PER_SCAN.items():
                inside = self.folder if kind == "connectivity" else self._pack
                path = find_any(inside / kind, name.format(scan=scan))
                if path:
                    found[f"{kind}/{scan}"] = path
        return found | self._extra_files(parts)

    def _extra_files(self, parts: Sequence[str]) -> dict[str, Path]:
        """What the settings bring in beside the usual files."""
        found: dict[str, Path] = {}
        if self.settings.sub_instructions:
            found |= {f"fgr2r/{p}": find(self.folder / "fgr2r", f"FGR2R_{p}.json") for p in parts}
        if self.settings.objects == "reverie":
            folder = self.folder.parent / "reverie"
            found["reverie/objpos"] = find(folder, "objpos.json")
            for scan in self.scans:
                found[f"reverie/{scan}"] = find(folder / "bbox_by_scan", f"{scan}.json")
        return found

    def graph(self, scene: str) -> ViewpointGraph:
        """The scan's viewpoint graph, loaded once."""
        if scene not in self._graphs:
            path = find(self.folder / "connectivity", f"{scene}_connectivity.json")
            self._graphs[scene] = viewpoints.load(path, cache_folder() / "graphs")
        return self._graphs[scene]

    def world(self, episode: Episode) -> IndoorWorld:
        return IndoorWorld(self.graph(episode.scene))

    def perceiver(self) -> Perceiver:
        return self._perceiver

    def training(self) -> Training:
        """The train split. Raises ``UsageError`` for splits that are made of it."""
        if self.split in ("train", "sample72"):
            raise UsageError(f"r2r:{self.split} is itself made of training paths; set shots=0")
        return Training(self._train, self._train.tasks, salt="")

    @cached_property
    def _train(self) -> R2R:
        return type(self)(
            "train", self.folder, replace(self.settings, sub_instructions=False, annotations="")
        )

    @cached_property
    def _perceiver(self) -> Perceiver:
        words = self._words
        if not self.settings.pictures:
            return words
        folder = Path(self.settings.pictures)
        if not folder.is_dir():
            raise UsageError(f"{self.name}: dataset.pictures={folder}: no such folder")
        return ScanPictures(words, folder, self._axes)

    @property
    def _words(self) -> Perceiver:
        own = f":{Path(self.settings.observations).name}" if self.settings.observations else ""
        if self.settings.objects == "reverie":
            seen = reverie_sightings(self.folder.parent / "reverie", self.graph)
            return RecordedPerceiver(self._pack, seen, f"recorded:navgpt+reverie{own}")
        return RecordedPerceiver(self._pack, pack_sightings(self._pack), f"recorded:navgpt{own}")

    @cached_property
    def _pack(self) -> Path:
        """The folder of observations."""
        if not self.settings.observations:
            return Path(self.folder)
        folder = Path(self.settings.observations)
        if not (folder / "observations_list_summarized").is_dir():
            problem = "holds no folder observations_list_summarized"
            raise DataError(folder, "", problem, "make it with `wayword perceive`")
        return folder

    def _axes(self, scan: str) -> Mapping[str, float]:
        return camera_headings(find(self.folder / "connectivity", f"{scan}_connectivity.json"))

    def _annotations(self, part: str) -> Path:
        if self.settings.annotations:
            path = Path(self.settings.annotations)
            return find(path.parent, path.name)
        folder = self.folder / "annotations"
        flattened = find_any(folder, f"R2R_{part}_instr.json")
        return find_any(folder, f"R2R_{part}.json") or flattened or find(folder, f"R2R_{part}.json")

    def _read(self, part: str) -> Iterator[Task]:
        path = self._annotations(part)
        records = read_json(path)
        if not isinstance(records, list):
            raise DataError(path, "", "is not a list of records", "fetch it again")
        split_up = self._sub_instructions(part) if self.settings.sub_instructions else {}
        for number, record in enumerate(records):
            for index, instruction in _instructions(path, number, record):
                episode_id = _episode_id(path, number, record, index)
                sub = split_up.get(episode_id)  # FGR2R covers three instructions a path
                extra = {"sub_instructions": sub} if sub else {}
                yield task_of(path, f"record {number}", record, episode_id, instruction, extra)

    def _sub_instructions(self, part: str) -> dict[str, list[str]]:
        """FGR2R: episode id -> sub-instructions. Its field is a string that holds a literal."""
        path = find(self.folder / "fgr2r", f"FGR2R_{part}.json")
        found = {}
        for number, record in enumerate(read_json(path)):
            text = read_field(path, f"record {number}", record, "new_instructions", str)
            for index, chunks in enumerate(ast.literal_eval(text)):
                found[f"{record['path_id']}_{index}"] = [" ".join(words) for words in chunks]
        return found

    def _sample(self) -> Iterator[Task]:
        rng = random.Random(self.settings.sample_seed)
        for part in SAMPLE_PARTS:
            paths: dict[str, dict[str, list[Task]]] = {}
            for task in self._read(part):
                path_id = task.episode.id.rsplit("_", 1)[0]
                paths.setdefault(task.episode.scene, {}).setdefault(path_id, []).append(task)
            for scene in sorted(paths):
                full = sorted(i for i, tasks in paths[scene].items() if len(tasks) >= 3)
                if full:
                    yield from paths[scene][rng.choice(full)][:3]


def _r2r_folder(folder: Path | None) -> Path:
    if folder is None:
        raise UsageError("r2r needs its data: give --data FOLDER or set WAYWORD_DATA")
    for place in (folder / "r2r", folder / "R2R", folder):
        if (place / "annotations").is_dir():
            return place
    raise DataError(folder, "", "holds no r2r/annotations", SOURCES)


def _instructions(path: Path, number: int, record: Any) -> Iterator[tuple[int, str]]:
    where = f"record {number}"
    if isinstance(record, dict) and "instruction" in record:
        index = int(str(read_field(path, where, record, "instr_id", str)).rsplit("_", 1)[-1])
        texts = [(index, read_field(path, where, record, "instruction", str))]
    else:
        texts = list(enumerate(read_field(path, where, record, "instructions", list)))
    for index, text in texts:
        if not isinstance(text, str) or not text.strip():
            raise DataError(path, f"{where}, instruction {index}", "is empty")
        yield index, text.strip()


def _episode_id(path: Path, number: int, record: Any, index: int) -> str:
    if "instr_id" in record:
        return str(record["instr_id"])
    return f"{read_field(path, f'record {number}', record, 'path_id', (int, str))}_{index}"


def task_of(
    path: Path, where: str, record: Any, episode_id: str, instruction: str, extra: Any
) -> Task:
    """A record as an episode. ``Reference`` stays empty where only the start is published."""
    route = read_field(path, where, record, "path", list)
    heading = read_field(path, where, record, "heading", (int, float))
    if not route or not all(isinstance(place, str) for place in route):
        raise DataError(path, f"{where}, field 'path'", "is not a list of viewpoint IDs")
    if not math.isfinite(heading):
        raise DataError(path, f"{where}, field 'heading'", f"is not a number: {heading!r}")
    start = {"viewpoint": route[0], "heading": absolute(math.degrees(heading))}
    scan = read_field(path, where, record, "scan", str)
    episode = Episode(episode_id, instruction, scan, start, extra=extra)
    known = len(route) > 1 or "distance" in record  # the public test split holds only the start
    reference = PathReference(episode_id, tuple(route)) if known else Reference(episode_id)
    return Task(episode, reference)


dataset = R2R
