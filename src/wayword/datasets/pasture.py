"""PASTURE: find the object that matches a description (Gadre et al. 2023), e.g. "the red apple".

    wayword run frontier --on pasture:appearance --data DATA
    wayword run lgx --on pasture:hidden --data DATA --set dataset.simulator=thor \\
      --set dataset.build=pasture_builds/thor_build_remove/remove.x86_64

Reads the files published by ``real-stanford/cow``, unpacked as its README says: the dataset archive
(``datasets/robothor-objectnav-{normal,dup,hidden,longtail}/val/episodes/{scene}.json.gz``, in
RoboTHOR's format with the target's ``object_id``) and ``class_templates/`` (descriptions by scene
and type). Added objects and their positions exist only in the authors' Unity builds.

Source: CoWs on PASTURE (Gadre et al. 2023), section 4, and that repository at ac225dc8
(``pasture_runner.py``, ``robothor_challenge.py``, ``config_cow.yaml``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path

from wayword.core.dataset import Task
from wayword.core.episode import Episode, Extra, JsonObject
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find_any, read_field, read_json
from wayword.core.geometry import Point
from wayword.datasets.procedural.tables import Table
from wayword.datasets.robothor import Robothor, RobothorSettings, spoken_type
from wayword.datasets.sources import thor
from wayword.datasets.sources.robothor import records_of, scene_of
from wayword.settings import FileName
from wayword.worlds.objectnav.observation import FieldOfView
from wayword.worlds.objectnav.simulated import SimulatedScene
from wayword.worlds.objectnav.thor import ThorBase, ThorCamera, launch
from wayword.worlds.objectnav.world import ObjectNavReference, ObjectNavWorld

EPISODES = {
    **dict.fromkeys(("appearance", "spatial"), "normal"),
    **dict.fromkeys(("appearance_distractors", "spatial_distractors"), "dup"),
    **dict.fromkeys(("hidden", "hidden_distractors"), "hidden"),
    "uncommon": "longtail",
}
"""Split -> folder of its published episodes."""
BUILDS = {
    "normal": ("appearance", "spatial", "hidden_distractors"),
    "dup": ("appearance_distractors", "spatial_distractors"),
    "remove": ("hidden",),
    "longtail": ("uncommon",),
}
"""The authors' Unity builds, each with the splits it is for."""
TEXT_SPLITS = ("appearance", "spatial")
"""Splits whose targets are RoboTHOR's own objects, at published positions."""
UNCOMMON_NAMES = Table[str]("thor", "uncommon", package=thor.__package__)
"""Names of the twelve uncommon types (``src/simulation/constants.py`` of the release)."""
# Tolerance in metres between a published id and the metadata: THOR versions round differently,
# and objects of one type are farther apart than this.
SAME_PLACE = 0.5
SOURCE_URL = (
    "https://github.com/real-stanford/cow, `datasets.tar.gz` and `class_templates/`"
)


@dataclass(frozen=True)
class PastureSettings(RobothorSettings):
    """RoboTHOR's settings with PASTURE's camera. ``build``: the authors' Unity executable for the
    split, used with ``simulator=thor``."""

    field_of_view: FieldOfView = 90.0
    build: FileName = ""


class Pasture(Robothor):
    """Language-driven object navigation: the target is the one object that fits a description.

    ``uncommon`` names rare objects, ``appearance`` describes looks, ``spatial`` nearby objects,
    ``hidden`` what the object is under or in; ``…_distractors`` add objects of the target's type
    (plain ``hidden`` removes the visible ones). ``appearance`` and ``spatial`` can run on the
    published metadata (``simulator=words``): described objects are named by their description, and
    if PASTURE's episodes are missing, starts come from RoboTHOR's validation episodes. The other
    splits need AI2-THOR with the authors' builds.
    """

    Settings = PastureSettings
    splits = tuple(EPISODES)
    max_steps = 250
    name = "pasture"
    settings: PastureSettings

    def open(self) -> None:
        """Find the files of the split and its simulator. Raises ``UsageError`` or
        ``DataError``."""
        self._root = self.folder or Path()
        settings = self.settings
        super().open()
        if settings.simulator == "words" and self.split not in TEXT_SPLITS:
            build = next(
                name for name, splits in BUILDS.items() if self.split in splits
            )
            problem = (
                f"pasture:{self.split} has objects that exist only in a Unity build"
            )
            path = f"pasture_builds/thor_build_{build}/{build}.x86_64"
            remedy = f"set dataset.simulator=thor and dataset.build={path}"
            raise UsageError(f"{problem}: {remedy}")
        if settings.simulator == "thor" and not Path(settings.build).is_file():
            raise UsageError(
                f"pasture: dataset.build={settings.build or '(empty)'}: no such file; PASTURE's "
                "scenes are in the authors' builds (pasture_builds.tar.gz), not in AI2-THOR's own"
            )
        # Caches of this object: a decorated method would keep it alive.
        self._descriptions = lru_cache(maxsize=64)(self._describe_targets)
        self._cached_place = lru_cache(maxsize=64)(self._make_place)

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """Notes on inferred parts and on borrowed episodes."""
        if self.settings.simulator == "thor":
            return ()
        inferred = (
            "PASTURE: floors inferred from RoboTHOR's episodes, distractors absent",
        )
        borrowed = (
            "PASTURE's episodes missing: its targets, from RoboTHOR's validation starts"
        )
        return inferred if self._published else (*inferred, borrowed)

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Files that the episodes are read from, with the descriptions if they are
        used."""
        return {
            **super().files,
            **({"descriptions": p} if (p := self._template) else {}),
        }

    def world(self, episode: Episode) -> ObjectNavWorld:
        """Return the episode's apartment, as text or in the simulator of the settings."""
        settings = self.settings
        if settings.simulator == "words":
            return super().world(episode)
        start = partial(
            launch,
            local_executable_path=str(Path(settings.build).absolute()),
        )
        camera = ThorCamera(settings.field_of_view, settings.depth)
        return ObjectNavWorld(
            ThorBase(camera, start, self._descriptions(episode.scene))
        )

    def place(self, scene: str) -> SimulatedScene:
        """Return a scene in which described objects are named by their descriptions."""
        return self._cached_place(scene)

    def _make_place(self, scene: str) -> SimulatedScene:
        """Return an apartment whose objects have PASTURE's descriptions."""
        words = {
            record.id: spoken_type(record.label)
            for record in records_of(self.folder, scene)
        }
        return SimulatedScene(
            scene_of(self.folder, scene),
            words | self._descriptions(scene),
        )

    @cached_property
    def _published(self) -> Path | None:
        """Folder of the split's episodes, in the archive or next to it. Raises
        ``DataError``."""
        name = f"robothor-objectnav-{EPISODES[self.split]}"
        for root in (self._root / "pasture", self._root):
            # As in the archive, or without its outer folder.
            for parent in (root / "datasets", root):
                folder = parent / name / "val" / "episodes"
                if folder.is_dir():
                    return folder
        return None

    @cached_property
    def _scenes(self) -> dict[str, Path]:
        """Scene -> episode file; RoboTHOR's own if PASTURE's are missing."""
        folder = self._published
        if folder is None and self.split in TEXT_SPLITS:
            folder = self.folder / "episodes" / "val"
        paths = sorted((folder or Path("-")).glob("*.json*"))
        if not paths:
            published = Path(
                "pasture",
                "datasets",
                f"robothor-objectnav-{EPISODES[self.split]}",
            )
            missing = self._root / published / "val" / "episodes"
            raise DataError(missing, "", "no such folder", f"take it from {SOURCE_URL}")
        return {path.name.partition(".")[0]: path for path in paths}

    @cached_property
    def _template(self) -> Path | None:
        """The published file of descriptions; None for ``uncommon``, whose names are built in."""
        if self.split == "uncommon":
            return None
        if "hidden" in self.split:
            name = "hidden_map.json"
        else:
            name = "spatial_appearence_map.json"
        pasture = self._root / "pasture"
        robothor = self.folder / "pasture_cow"
        roots = (
            pasture / "class_templates",
            pasture,
            robothor / "class_templates",
            robothor,
        )
        template = next(
            (path for root in roots if (path := find_any(root, name))),
            None,
        )
        if template is None:
            missing = pasture / "class_templates" / name
            raise DataError(missing, "", "no such file", f"take it from {SOURCE_URL}")
        return template

    @cached_property
    def _templates(self) -> JsonObject:
        """Published descriptions by scene; none without the file."""
        return dict(read_json(self._template)) if self._template else {}

    def _description(self, scene: str, label: str) -> str:
        """Return the words for a target: of the published file, else its uncommon or
        spoken name."""
        path = self._template
        if path is None:
            return UNCOMMON_NAMES.get(label, spoken_type(label))
        phrases = read_field(path, "", self._templates, scene, dict)
        if "hidden" in self.split:
            return str(read_field(path, f"scene {scene}", phrases, label, str))
        pair = read_field(path, f"scene {scene}", phrases, label, list)
        if len(pair) < 2:
            raise DataError(
                path,
                f"scene {scene}, type {label}",
                "must have two descriptions",
            )
        return str(pair[0 if self.split.startswith("spatial") else 1])

    def _describe_targets(self, scene: str) -> dict[str, str]:
        """Map target ids to descriptions; types instead of ids if only the build knows the ids."""
        records = enumerate(map(json.loads, self._records(scene)))
        return {
            self._target(scene, n, record): self._description(
                scene,
                str(record.get("object_type")),
            )
            for n, record in records
        }

    def _target(self, scene: str, number: int, record: JsonObject) -> str:
        """Return the id of the target that a record asks for. Raises ``DataError``."""
        path = self._scenes[scene]
        where = f"record {number}"
        label = str(read_field(path, where, record, "object_type", str))
        object_id = str(record.get("object_id", ""))
        if self.settings.simulator == "thor":
            return object_id or label
        records = [r for r in records_of(self.folder, scene) if r.label == label]
        if object_id:  # Mug|+01.40|+00.72|-03.94 is at (1.4, -3.94)
            try:
                _, x, _, y, *_ = object_id.split("|")
                point = float(x), float(y)
            except ValueError:
                problem = f"must be an AI2-THOR object id, got {object_id!r}"
                raise DataError(path, f"{where}, field 'object_id'", problem) from None
            records = [
                r for r in records if math.dist(r.center[:2], point) <= SAME_PLACE
            ]
        if len(records) != 1:
            target = object_id or f"the {label}"
            problem = f"{target} must match one object of {scene}'s metadata, got {len(records)}"
            raise DataError(path, where, problem)
        return records[0].id

    def _task(self, number: int) -> Task:
        """Return a task with PASTURE's words for its target."""
        scene, index = self._entry(number)
        plain = super()._task(number)
        record = json.loads(self._records(scene)[index])
        label = str(record["object_type"])
        target = self._target(scene, index, record)
        phrase = self._description(scene, label)
        reference = plain.reference
        assert isinstance(reference, ObjectNavReference)
        extra: Extra = {
            "target": phrase,
            "kind": UNCOMMON_NAMES.get(label, spoken_type(label)),
        }
        # The authors' runner looks straight ahead
        start = {
            **plain.episode.start,
            "horizon": 0.0,
        }
        episode = Episode(
            plain.episode.id,
            f"Find the {phrase}.",
            scene,
            start,
            extra=extra,
        )
        middles: tuple[Point, ...] = tuple(
            r.center[:2] for r in records_of(self.folder, scene) if r.id == target
        )
        return Task(
            episode,
            replace(reference, targets=frozenset({target}), middles=middles),
        )


dataset = Pasture
