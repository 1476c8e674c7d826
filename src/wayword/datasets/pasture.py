"""PASTURE: find what a description is of (Gadre et al. 2023): "Find the small, red apple."

    wayword run frontier --on pasture:appearance --data DATA
    wayword run lgx --on pasture:hidden --data DATA --set dataset.simulator=thor \\
      --set dataset.build=pasture_builds/thor_build_remove/remove.x86_64

Reads what ``real-stanford/cow`` publishes, unpacked as its README says: the archive of datasets
(``datasets/robothor-objectnav-{normal,dup,hidden,longtail}/val/episodes/{scene}.json.gz``, in
RoboTHOR's format with the target's ``object_id``) and ``class_templates/`` (descriptions by scene
and type). Where things were added, only the authors' Unity builds know what lies where.

Source: CoWs on PASTURE (Gadre et al. 2023), section 4, and that repository at ac225dc8
(``pasture_runner.py``, ``robothor_challenge.py``, ``config_cow.yaml``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

from wayword.core.dataset import Task
from wayword.core.episode import Episode, Extra
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find_any, read_field, read_json
from wayword.core.geometry import Point
from wayword.datasets.robothor import Robothor, RobothorSettings, called
from wayword.datasets.sources.robothor import records_of, scene_of
from wayword.worlds.objectnav.observation import Camera
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from wayword.worlds.objectnav.thor import ThorBase, ThorCamera, ThorWorld, launch
from wayword.worlds.objectnav.world import ObjectNavReference, ObjectNavWorld

EPISODES = {
    "appearance": "normal",
    "spatial": "normal",
    "appearance_distractors": "dup",
    "spatial_distractors": "dup",
    "hidden": "hidden",
    "hidden_distractors": "hidden",
    "uncommon": "longtail",
}
"""Split -> the published folder of its episodes."""
BUILDS = {
    "normal": ("appearance", "spatial", "hidden_distractors"),
    "dup": ("appearance_distractors", "spatial_distractors"),
    "remove": ("hidden",),
    "longtail": ("uncommon",),
}
"""The authors' Unity builds, and which splits each of them is for."""
IN_WORDS = ("appearance", "spatial")
"""Splits whose targets are RoboTHOR's own things, at published places."""
UNCOMMON = {
    "GingerbreadHouse": "gingerbread house", "EspressoMachine": "espresso machine",
    "Crate": "green plastic crate", "ElectricGuitar": "white electric guitar",
    "RiceCooker": "rice cooker", "LlamaWickerBasket": "llama wicker basket",
    "Whiteboard": "whiteboard saying cvpr", "Surfboard": "tie dye surfboard",
    "Tricycle": "blue and red tricycle", "GraphicsCard": "graphics card", "Mate": "mate gourd",
    "ToyAirplane": "wooden toy plane",
}  # fmt: skip
"""What the twelve uncommon types are called (``src/simulation/constants.py`` of the release)."""
NEAR = 0.5
"""Metres between the place in a published id and the metadata's: versions of THOR round otherwise,
and things of one type stand further apart."""
PUBLISHED = "https://github.com/real-stanford/cow, `datasets.tar.gz` and `class_templates/`"


@dataclass(frozen=True)
class PastureSettings(RobothorSettings):
    """As RoboTHOR's, with PASTURE's camera. ``build`` is the authors' Unity executable for the
    split, with ``simulator=thor``."""

    field_of_view: float = 90.0
    build: str = ""


class Pasture(Robothor):
    """Language-driven object navigation: one thing of its type is the target, by its description.

    ``uncommon`` names rare things, ``appearance`` tells looks, ``spatial`` what is near, ``hidden``
    what the thing is under or in; ``…_distractors`` add things of the target's type (``hidden``
    without them removes the visible ones). ``appearance`` and ``spatial`` can be played on the
    published metadata (``simulator=words``): there a described thing goes by its description, and
    where PASTURE's own episodes are missing, RoboTHOR's validation episodes give the starts. The
    others need AI2-THOR with the authors' builds. Raises ``DataError`` and ``UsageError`` that name
    what is missing.
    """

    Settings: ClassVar[type[PastureSettings]] = PastureSettings
    splits: ClassVar[tuple[str, ...]] = tuple(EPISODES)
    max_steps: ClassVar[int] = 250
    name: ClassVar[str] = "pasture"
    settings: PastureSettings

    def __init__(
        self, split: str, folder: Path | None, settings: PastureSettings | None = None
    ) -> None:
        settings = settings or PastureSettings()
        super().__init__(split, folder, settings)
        self.settings, self._given = settings, folder or Path()
        if settings.simulator == "words" and split not in IN_WORDS:
            build = next(name for name, splits in BUILDS.items() if split in splits)
            raise UsageError(
                f"pasture:{split} has things that only the authors' Unity build knows: set "
                "dataset.simulator=thor and "
                f"dataset.build=pasture_builds/thor_build_{build}/{build}.x86_64"
            )
        if settings.simulator == "thor" and not Path(settings.build).is_file():
            raise UsageError(
                f"pasture: dataset.build={settings.build or '(empty)'}: no such file; PASTURE's "
                "scenes are in the authors' builds (pasture_builds.tar.gz), not in AI2-THOR's own"
            )
        self._words = lru_cache(maxsize=64)(self._described)
        self._made = lru_cache(maxsize=64)(self._make_place)

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """What is inferred, and whose episodes these are."""
        if self.settings.simulator == "thor":
            return ()
        own = ("PASTURE: floors inferred from RoboTHOR's episodes, distractors absent",)
        borrowed = "PASTURE's episodes are not here: RoboTHOR's validation starts, its descriptions"
        return own if self._published else (*own, borrowed)

    @cached_property
    def files(self) -> Mapping[str, Path]:
        return {**super().files, **({"descriptions": p} if (p := self._template) else {})}

    def world(self, episode: Episode) -> ObjectNavWorld:
        view, reach = self.settings.field_of_view, self.settings.depth
        if self.settings.simulator == "words":
            return ObjectNavWorld(
                SimulatedBase(self.place(episode.scene), Camera(field_of_view=view, reach=reach))
            )
        start = partial(launch, local_executable_path=str(Path(self.settings.build).absolute()))
        return ThorWorld(ThorBase(ThorCamera(view, reach), start, self._words(episode.scene)))

    def place(self, scene: str) -> SimulatedScene:
        """A scene whose described things go by their descriptions."""
        return self._made(scene)

    def _make_place(self, scene: str) -> SimulatedScene:
        words = {record.id: called(record.label) for record in records_of(self.folder, scene)}
        return SimulatedScene(scene_of(self.folder, scene), words | self._words(scene))

    @cached_property
    def _published(self) -> Path | None:
        """The folder of PASTURE's own episodes, where it is."""
        part = Path(f"robothor-objectnav-{EPISODES[self.split]}", "val", "episodes")
        tops = [self._given / "pasture", self._given]
        found = [top / inner / part for top in tops for inner in ("datasets", "")]
        return next((folder for folder in found if folder.is_dir()), None)

    @cached_property
    def _scenes(self) -> dict[str, Path]:
        """Scene -> file of its episodes; RoboTHOR's own where PASTURE's are not here."""
        folder = self._published
        if folder is None and self.split in IN_WORDS:
            folder = self.folder / "episodes" / "val"
        paths = sorted((folder or Path("-")).glob("*.json*"))
        if not paths:
            wanted = Path("pasture", "datasets", f"robothor-objectnav-{EPISODES[self.split]}")
            missing = self._given / wanted / "val" / "episodes"
            raise DataError(missing, "", "no such folder", f"take it from {PUBLISHED}")
        return {path.name.partition(".")[0]: path for path in paths}

    @cached_property
    def _template(self) -> Path | None:
        """The published file of descriptions; None for ``uncommon``, whose twelve are known."""
        if self.split == "uncommon":
            return None
        name = "hidden_map.json" if "hidden" in self.split else "spatial_appearence_map.json"
        pasture, robothor = self._given / "pasture", self.folder / "pasture_cow"
        tops = (pasture / "class_templates", pasture, robothor / "class_templates", robothor)
        found = next((path for top in tops if (path := find_any(top, name))), None)
        if found is None:
            missing = pasture / "class_templates" / name
            raise DataError(missing, "", "no such file", f"take it from {PUBLISHED}")
        return found

    @cached_property
    def _phrases(self) -> Mapping[str, Any]:
        """Scene -> type -> its description, in the published form."""
        return dict(read_json(self._template)) if self._template else {}

    def _phrase(self, scene: str, label: str) -> str:
        path = self._template
        if path is None:
            return UNCOMMON.get(label, called(label))
        told = read_field(path, "", self._phrases, scene, dict)
        if "hidden" in self.split:
            return str(read_field(path, f"scene {scene}", told, label, str))
        both = read_field(path, f"scene {scene}", told, label, list)
        if len(both) < 2:
            raise DataError(path, f"scene {scene}, type {label}", "holds no two descriptions")
        return str(both[0 if self.split.startswith("spatial") else 1])

    def _read(self, scene: str) -> list[Any]:
        records = read_json(self._scenes[scene])
        if not isinstance(records, list):
            raise DataError(self._scenes[scene], "", "is not a list of episodes", "fetch it again")
        return records

    def _described(self, scene: str) -> dict[str, str]:
        """The scene's targets by their ids, and what each is called; by their type where a build
        alone knows the id."""
        return {
            self._target(scene, n, record): self._phrase(scene, str(record.get("object_type")))
            for n, record in enumerate(self._records(scene))
        }

    def _target(self, scene: str, number: int, record: Mapping[str, Any]) -> str:
        path, where = self._scenes[scene], f"record {number}"
        label = str(read_field(path, where, record, "object_type", str))
        given = str(record.get("object_id", ""))
        if self.settings.simulator == "thor":
            return given or label
        known = [one for one in records_of(self.folder, scene) if one.label == label]
        if given:
            at = _point_of(path, where, given)
            known = [one for one in known if math.dist(one.centre[:2], at) <= NEAR]
        if len(known) != 1:
            what = given or f"the {label}"
            raise DataError(path, where, f"{len(known)} things of {scene}'s metadata are {what}")
        return known[0].id

    def _task(self, number: int) -> Task:
        scene, index = self._order[number]
        bare, record = super()._task(number), self._records(scene)[index]
        label, target = str(record["object_type"]), self._target(scene, index, record)
        phrase, reference = self._phrase(scene, label), bare.reference
        assert isinstance(reference, ObjectNavReference)
        extra: Extra = {"target": phrase, "kind": UNCOMMON.get(label, called(label))}
        start = {**bare.episode.start, "horizon": 0.0}  # the runner looks straight ahead
        episode = Episode(bare.episode.id, f"Find the {phrase}.", scene, start, extra=extra)
        middles: tuple[Point, ...] = tuple(
            one.centre[:2] for one in records_of(self.folder, scene) if one.id == target
        )
        return Task(episode, replace(reference, targets=frozenset({target}), middles=middles))


def _point_of(path: Path, where: str, name: str) -> Point:
    """``Mug|+01.40|+00.72|-03.94`` -> (1.4, -3.94). Raises ``DataError``."""
    parts = name.split("|")
    try:
        return float(parts[1]), float(parts[3])
    except (IndexError, ValueError):
        raise DataError(path, f"{where}, field 'object_id'", f"is no id: {name!r}") from None


dataset = Pasture
