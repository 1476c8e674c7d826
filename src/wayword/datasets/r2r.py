"""Room-to-Room and its relatives: R4R, Room-across-Room and REVERIE, on Matterport3D's graphs.

All read their annotations as published, optionally compressed (``.gz``), and share the data in
``r2r/``: ``connectivity/`` and NavGPT's text pack.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache, cached_property, partial
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal

from wayword.core.action import STOP, Action
from wayword.core.dataset import (
    Clusters,
    DrawnTasks,
    SolvableWalks,
    Task,
    Training,
    listed,
)
from wayword.core.episode import Episode, JsonObject, PathReference, Reference
from wayword.core.errors import DataError, UsageError
from wayword.core.files import (
    FETCH,
    NUMBER,
    cache_folder,
    check_kind,
    collects_bad_records,
    find,
    find_any,
    find_own,
    one_record,
    read_field,
    read_json,
    read_json_lines,
    require_data,
)
from wayword.core.game import ActionPlan
from wayword.core.geometry import absolute, plain_sum
from wayword.core.perceiver import Perceiver
from wayword.core.world import World
from wayword.datasets.sources.rules import read_rules
from wayword.perception import recorded
from wayword.settings import Checked, FileName
from wayword.worlds import indoor
from wayword.worlds.indoor import graph as viewpoints
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.indoor.world import (
    IndoorWorld,
    ObjectReference,
    ObjectsWorld,
    VisibleObject,
)

SAMPLE_PARTS = ("train", "val_unseen")
PER_SCAN = {
    "connectivity": "{scan}_connectivity.json",
    "observations_list_summarized": "{scan}.json",
    "observations_summarized": "{scan}_summarized.json",
    "objects_list": "{scan}.json",
}
"""Files that a run on a scan may read; used for checksums."""
# Heading step (degrees) between views in REVERIE's ``visible_pos``: twelve views per row.
VIEW_STEP = 30.0

_WALK = '"scan": "SCAN", "path": ["VIEWPOINT", …], "heading": RADIANS'
FORM = (
    'a file of annotations is a JSON list of {"path_id": 1, '
    f'{_WALK}, "instructions": ["TEXT", …]}}'
)
"""Remedy for a file of another form."""
_OF_VLN_CE = ("episodes", "reference_path")
"""Fields of VLN-CE's files and of their episodes."""


@dataclass(frozen=True)
class R2RSettings(Checked):
    """``objects``: source of the listed objects (NavGPT's pack, or REVERIE's boxes within 3 m).
    ``sub_instructions`` adds FGR2R's sub-instructions to ``episode.extra``. ``sample_seed`` draws
    the ``sample72`` subset. ``instructions``: play ``all`` instructions of a path, or only its
    ``first`` one, as in NavGPT's 783 episodes of ``val_unseen``.

    ``annotations``: file in either format that replaces the split's own, e.g. MapGPT's 216
    episodes. ``observations``: folder of new captions in the layout of NavGPT's pack. ``pictures``:
    folder of pictures by scan and viewpoint; see ``wayword.perception.recorded``.
    """

    objects: Literal["pack", "reverie"] = "pack"
    sub_instructions: bool = False
    sample_seed: int = 72
    instructions: Literal["all", "first"] = "all"
    annotations: FileName = ""
    observations: FileName = ""
    pictures: FileName = ""


class R2R(SolvableWalks):
    """Room-to-Room: written routes through Matterport3D houses (Anderson et al. 2018).

    Reads R2R's own annotation files (three instructions per record, split into one per episode,
    ``{path_id}_{0,1,2}``) and the flat files of NavGPT's folder layout (``…_instr.json``).
    ``sample72`` follows the sample in NavGPT's ablations (section 4.3): one trajectory from
    each of the 61 train and 11 val-unseen scenes, drawn by ``sample_seed``, with its three
    instructions. Raises ``DataError`` for missing or malformed files.
    """

    name: ClassVar[str] = "r2r"
    Settings = R2RSettings
    family = indoor.family
    clusters = Clusters("path", r"(.+)_\d+")
    splits: ClassVar[tuple[str, ...]] = (
        "val_seen",
        "val_unseen",
        "train",
        "test",
        "sample72",
    )
    max_steps = 15
    annotation_files: ClassVar[tuple[str, ...]] = ("R2R_{}.json", "R2R_{}_instr.json")
    """File names of a split, searched in ``annotations/`` and, except for R2R, its parent."""
    form: ClassVar[str] = FORM
    """Remedy for annotations of another form."""

    def open(self) -> None:
        """Find the dataset's folder, also if its own folder was given. Raises
        ``DataError``."""
        folder = require_data(self.folder, self.name)
        # The folder of the dataset itself is accepted too.
        for candidate in (folder / "r2r", folder / "R2R", folder):
            if (candidate / "annotations").is_dir():
                self.folder = candidate
                break
        else:
            raise DataError(
                folder,
                "",
                "contains no r2r/annotations",
                f"{FETCH.format(self.name)}, or set --data FOLDER or WAYWORD_DATA",
            )
        self._graphs: dict[str, ViewpointGraph] = {}

    @cached_property
    def tasks(self) -> Sequence[Task]:
        """Tasks of the split: one per path, or per instruction with
        ``instructions=all``."""
        if self.split == "sample72" and not self.settings.annotations:
            return self._sample()
        tasks = list(self._read(self.split))
        if self.settings.instructions == "all":
            return tasks
        first: dict[str, Task] = {}
        for task in tasks:
            first.setdefault(_path_id(task), task)
        return list(first.values())

    def _sample(self) -> list[Task]:
        """Draw one path with three instructions from each scene of ``SAMPLE_PARTS``."""
        rng = Random(self.settings.sample_seed)
        sample: list[Task] = []
        for part in SAMPLE_PARTS:
            # Scene -> path id -> its tasks.
            scenes: dict[str, dict[str, list[Task]]] = {}
            for task in self._read(part):
                paths = scenes.setdefault(task.episode.scene, {})
                paths.setdefault(_path_id(task), []).append(task)
            # Sorted, so that the draw does not depend on the order of the file.
            for scene in sorted(scenes):
                paths = scenes[scene]
                path_ids = sorted(name for name in paths if len(paths[name]) >= 3)
                if path_ids:
                    sample += paths[rng.choice(path_ids)][:3]
        return sample

    @property
    def replaced_by(self) -> str:
        """Return the name of a user's file that replaces the annotations; empty if
        none."""
        return Path(self.settings.annotations).name

    @property
    def caveats(self) -> tuple[str, ...]:
        """Notes on a user's annotation file, or that the sample is not NavGPT's."""
        if name := self.replaced_by:
            count = len(self.tasks)
            return (f"the {count:,} episodes of {name}, not those of {self.split}",)
        if self.split == "sample72":
            return ("sample72 is drawn by seed: NavGPT's own sample is not published",)
        return ()

    @cached_property
    def scans(self) -> list[str]:
        """Scans used by the split's episodes."""
        return sorted({task.episode.scene for task in self.tasks})

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Annotations and connectivity of the split, for checksums."""
        sampled = self.split == "sample72" and not self.settings.annotations
        parts = SAMPLE_PARTS if sampled else (self.split,)
        files = {f"annotations/{part}": self._annotations(part) for part in parts}
        for scan in self.scans:
            for kind, name in PER_SCAN.items():
                top = self.folder if kind == "connectivity" else self._pack_folder
                path = find_any(top / kind, name.format(scan=scan))
                if path:
                    files[f"{kind}/{scan}"] = path
        if self.settings.sub_instructions:
            for part in parts:
                name = f"FGR2R_{part}.json"
                files[f"fgr2r/{part}"] = find(self.folder / "fgr2r", name)
        if self.settings.objects == "reverie":
            folder = self.folder.parent / "reverie"
            files["reverie/objpos"] = find(folder, "objpos.json")
            for scan in self.scans:
                files[f"reverie/{scan}"] = find(folder / "bbox_by_scan", f"{scan}.json")
        return files

    def narrated(self, task: Task) -> Sequence[tuple[int, int]]:
        """Return where each of FGR2R's sub-instructions is.

        The offset of its words in the instruction, and the path index of its end; empty
        if FGR2R does not have the instruction.
        """
        parts = self._fine_grained.get(task.episode.id, ())
        written = [*re.finditer(r"\w+", task.episode.instruction.lower())]
        written_words = [match[0] for match in written]
        words: list[str] = []
        for part, _ in parts:
            words += part

        # FGR2R has the words' base forms and lacks some: those in common place the others.
        matcher = SequenceMatcher(
            None,
            written_words,
            words,
            autojunk=False,
        )
        place: dict[int, int] = {}  # word of FGR2R -> word of the instruction
        for a, b, size in matcher.get_matching_blocks():
            place |= zip(range(b, b + size), range(a, a + size), strict=True)

        # A part begins as many words before its first placed word as in FGR2R.
        narrated = list[tuple[int, int]]()
        first = 0
        last = (
            len(getattr(task.reference, "path", ())) - 1
        )  # one path is longer in FGR2R
        for part, end in parts:
            near = next((n for n in range(len(part)) if first + n in place), None)
            if near is not None:
                word = written[max(0, place[first + near] - near)]
                narrated.append((word.start(), min(end - 1, last)))
            first += len(part)
        return narrated

    @cached_property
    def _fine_grained(self) -> dict[str, list[tuple[list[str], int]]]:
        """FGR2R's sub-instructions by episode id, each with its last viewpoint on the path.

        Viewpoints are counted from 1. Empty for parts that FGR2R does not have.
        """
        if self.name != "r2r" or self.settings.annotations:
            return {}
        path = find_any(self.folder / "fgr2r", f"FGR2R_{self.split}.json")
        return dict(_fgr2r(path)) if path else {}

    def graph(self, scene: str) -> ViewpointGraph:
        """Return the viewpoint graph of a scan; cached on disk."""
        if scene not in self._graphs:
            path = find(self.folder / "connectivity", f"{scene}_connectivity.json")
            self._graphs[scene] = viewpoints.load(path, cache_folder() / "graphs")
        return self._graphs[scene]

    def world(self, episode: Episode) -> IndoorWorld:
        """Return a walk on the graph of the episode's scan."""
        return IndoorWorld(self.graph(episode.scene))

    def perceiver(self) -> Perceiver:
        """Return the recorded perceiver of the settings."""
        return self._perceiver

    def training(self) -> Training:
        """Return the train split. Raises ``UsageError`` if this split is drawn from it."""
        if self.split in ("train", "sample72"):
            raise UsageError(
                f"r2r:{self.split} consists of training paths; set shots=0"
            )
        return Training(self._train, self._train.tasks, salt="")

    @cached_property
    def _train(self) -> R2R:
        """Return the train split, to take examples from."""
        settings = replace(self.settings, sub_instructions=False, annotations="")
        return type(self)("train", self.folder, settings)

    @cached_property
    def _perceiver(self) -> Perceiver:
        """Perceiver of the recorded texts, with REVERIE's objects or pictures if set."""
        settings = self.settings
        name = "recorded:navgpt"
        if settings.objects == "reverie":
            sightings = recorded.reverie_sightings(
                self.folder.parent / "reverie",
                self.graph,
            )
            name += "+reverie"
        else:
            sightings = recorded.pack_sightings(self._pack_folder)
        if settings.observations:
            name += f":{Path(settings.observations).name}"
        captions = recorded.RecordedPerceiver(self._pack_folder, sightings, name)
        if not settings.pictures:
            return captions
        folder = Path(settings.pictures)
        graphs = self.folder / "connectivity"
        if not folder.is_dir():
            raise UsageError(f"dataset.pictures: no such folder: {folder}")

        def headings(scan: str) -> Mapping[str, float]:
            """Return the headings (degrees) of a scan's cameras."""
            path = find(graphs, f"{scan}_connectivity.json")
            return recorded.camera_headings(path)

        return recorded.ScanPictures(captions, folder, headings)

    @cached_property
    def _pack_folder(self) -> Path:
        """Return the folder of observations. Raises ``UsageError`` for one of another
        layout."""
        if not self.settings.observations:
            return Path(self.folder)
        folder = Path(self.settings.observations)
        if not (folder / "observations_list_summarized").is_dir():
            problem = "contains no folder observations_list_summarized"
            raise DataError(
                folder,
                "",
                problem,
                "make it with `wayword perceive`",
            )
        return folder

    def _annotations(self, part: str) -> Path:
        """Return the annotation file of a part. Raises ``DataError`` if there is none."""
        if self.settings.annotations:
            return find_own(Path(self.settings.annotations))
        top = self.folder.parent / self.name
        if self.name == "r2r":
            places = [self.folder / "annotations"]
        else:
            places = [top / "annotations", top]
        names = [name.format(part) for name in self.annotation_files]
        for folder, name in product(places, names):
            published = find_any(folder, name)
            if published:
                return published
        remedy = FETCH.format(self.name)
        found = []
        for split in self.splits:
            options = [name.format(split) for name in self.annotation_files]
            if any(find_any(*each) for each in product(places, options)):
                found.append(split)
        if found:
            remedy += f"; you have {', '.join(found)}"
        return find(places[-1], names[0], remedy)  # raises the error for the usual name

    def _read(self, part: str) -> Iterator[Task]:
        """Yield the tasks of a part in file order. Raises ``DataError``."""
        path = self._annotations(part)
        names = dict[str, str]()
        fgr2r: dict[str, list[tuple[list[str], int]]] = {}
        if self.settings.sub_instructions:
            fgr2r = dict(_fgr2r(find(self.folder / "fgr2r", f"FGR2R_{part}.json")))
        try:
            records = read_json(path, list)
        except DataError as error:
            # "Fetch it again" is no help for a user's file.
            if not self.settings.annotations:
                raise
            raise DataError(path, error.where, error.problem, self.form) from error
        for number, record in enumerate(records):
            where = f"record {number}"
            with one_record(path, where, self.form):
                _refuse_positions(path, where, record, self.form)
                tasks = []
                for name, text in _instructions(path, where, record).items():
                    extra: dict[str, Any] = {}
                    # FGR2R covers three instructions per path.
                    parts = [" ".join(words) for words, _ in fgr2r.get(name, ())]
                    if parts:
                        extra["sub_instructions"] = parts
                    tasks.append(_task(path, where, record, name, text, extra, names))
                self._check_route(path, where, record)
                yield from tasks

    def _check_route(
        self,
        path: Path,
        where: str,
        record: JsonObject,
    ) -> None:
        """Raise ``DataError`` if a record does not fit its scan's graph.

        Published files fit, unless a copy was changed or damaged: runs do not check them.
        """
        is_own = self.settings.annotations
        if not (is_own or collects_bad_records()):
            return
        scan = record["scan"]
        route = record["path"]
        try:
            graph = self.graph(scan)
        except DataError as error:
            problem = f"is not a Matterport3D scan: {scan!r}"
            raise DataError(path, f"{where}, field 'scan'", problem) from error
        problem = _route_problem(graph, route)
        # Published splits for evaluation have the first viewpoint alone.
        if is_own and len(route) < 2 and "distance" not in record:
            problem = "must have at least two viewpoints"
        if problem:
            raise DataError(path, f"{where}, field 'path'", problem)


def _route_problem(graph: ViewpointGraph, route: Sequence[str]) -> str:
    """Return the reason why a route is not a path of the graph; empty if it is one."""
    for place in route:
        if place not in graph.index:
            return f"{place!r} is not a viewpoint of {graph.scan}"
    for one, other in pairwise(route):
        if other not in graph.adjacent[one]:
            return f"{one!r} and {other!r} are not adjacent"
    return ""


def _refuse_positions(path: Path, where: str, record: Any, form: str) -> None:
    """Raise ``DataError`` for episodes of VLN-CE, whose paths are positions in metres."""
    if isinstance(record, dict) and not record.keys().isdisjoint(_OF_VLN_CE):
        raise DataError(path, where, "is of VLN-CE, which has no viewpoints", form)


def _path_id(task: Task) -> str:
    """Return the path of an episode: ``123`` for ``123_0``."""
    return task.episode.id.rsplit("_", 1)[0]


def _instructions(path: Path, where: str, record: Any) -> JsonObject:
    """Return the instructions of a record by episode id, in NavGPT's format or in R2R's own.

    Raises ``DataError`` if it has neither.
    """
    read = partial(read_field, path, where, record)
    if isinstance(record, dict) and "instr_id" in record:
        return {read("instr_id", str): read("instruction", str)}
    texts = _texts(path, where, record)
    path_id = read("path_id", (int, str))
    return {f"{path_id}_{index}": text for index, text in enumerate(texts)}


def _texts(path: Path, where: str, record: Any) -> Sequence[Any]:
    """Return the instructions of a record. Raises ``DataError`` if it has none."""
    texts: Sequence[Any] = read_field(path, where, record, "instructions", list)
    if not texts:
        raise DataError(path, f"{where}, field 'instructions'", "is empty")
    return texts


def _task(
    path: Path,
    where: str,
    record: Any,
    name: str,
    instruction: Any,
    extra: Any,
    names: dict[str, str],
) -> Task:
    """Build a task from a record; its ``Reference`` is empty if only the start is published.
    ``names`` maps the ids read so far to their records, to detect duplicates."""
    first = names.setdefault(name, where)
    part = f"{where}, instruction {name.rpartition('_')[2]}"
    check_kind(path, part, instruction, str)
    if not instruction.strip():
        raise DataError(path, part, "is empty")
    read = partial(read_field, path, where, record)
    route = read("path", list)
    heading = read("heading", NUMBER)
    # Optional, and no run computes with it; a text in its place is a damaged record.
    if isinstance(record, dict) and record.get("distance") is not None:
        read("distance", NUMBER)
    if not route or not all(isinstance(place, str) for place in route):
        raise DataError(
            path,
            f"{where}, field 'path'",
            "must be a list of viewpoint IDs",
        )
    if not abs(heading) <= math.tau:  # as of degrees, or NaN
        problem = f"must be in radians from north, at most 2 pi, got {heading!r}"
        raise DataError(path, f"{where}, field 'heading'", problem)
    start = {"viewpoint": route[0], "heading": absolute(math.degrees(heading))}
    scan = read("scan", str)
    # Last, as it would hide the record's other faults.
    if first != where:
        raise DataError(path, where, f"has the same episode id as {first}: {name!r}")
    episode = Episode(
        name,
        instruction.strip(),
        scan,
        start,
        extra=extra,
    )
    if len(route) == 1 and "distance" not in record:
        return Task(
            episode,
            Reference(name),
        )  # the public test split has only the start
    return Task(episode, PathReference(name, tuple(route)))


def _fgr2r(path: Path) -> Iterator[tuple[str, list[tuple[list[str], int]]]]:
    """Read a file of FGR2R, an episode at a time.

    Yield its id, and for each sub-instruction the words and the number, from 1, of its
    last viewpoint. The words are a Python literal in the JSON.
    """
    for number, record in enumerate(read_json(path, list)):
        where = f"record {number}"
        text = read_field(path, where, record, "new_instructions", str)
        views = read_field(path, where, record, "chunk_view", list)
        parts = zip(ast.literal_eval(text), views, strict=True)
        for index, (words, ranges) in enumerate(parts):
            ends = [end for _, end in ranges]
            name = f"{record['path_id']}_{index}"
            yield name, list(zip(words, ends, strict=True))


class R4R(R2R):
    """Room-for-Room: pairs of R2R routes joined into long walks (Jain et al. 2019).

        wayword run oracle --on r4r:val_seen --data DATA

    Reads ``r4r/R4R_{split}.json`` (or ``r4r/annotations/``) as written by the authors' generator
    from R2R's files, in R2R's format. The reference is the joined path, which is not a shortest
    path, so use nDTW, sDTW and CLS. Raises the same errors as R2R.
    """

    name = "r4r"
    splits = ("val_seen", "val_unseen", "train")
    max_steps = 30
    annotation_files = ("R4R_{}.json",)


@dataclass(frozen=True)
class RxRSettings(R2RSettings):
    """R2R's settings, and ``language``: English (India and US), Hindi or Telugu; empty for all."""

    language: Literal["en", "hi", "te", ""] = "en"


class RxR(R2R):
    """Room-across-Room: long spoken instructions in three languages (Ku et al. 2020).

        wayword run navgpt --on rxr:val_seen --model openai:NAME --data DATA \\
          --set dataset.language=hi

    Reads the guide annotations, one JSON object per line: ``rxr/rxr_{split}_guide.jsonl``. The
    episode id is the ``instruction_id``. Pose traces and word timings are not read.
    """

    name = "rxr"
    Settings = RxRSettings
    splits = (
        "val_seen",
        "val_unseen",
        "train",
        "test_standard_public",
        "test_challenge_public",
    )
    max_steps = 30
    annotation_files = ("rxr_{}_guide.jsonl",)
    form = (
        'a file of guides has a line {"instruction_id": 1, "path_id": 1, '
        f'{_WALK}, "language": "en-US", "instruction": "TEXT"}} for each instruction'
    )
    clusters = Clusters("path", field="path_id")

    def _read(self, part: str) -> Iterator[Task]:
        """Yield the tasks of a part, in the language of the settings."""
        path = self._annotations(part)
        names = dict[str, str]()
        left_out = set[str]()
        for number, record in read_json_lines(path):
            where = f"line {number}"
            with one_record(path, where, self.form):
                _refuse_positions(path, where, record, self.form)
                read = partial(read_field, path, where, record)
                language = read("language", str)
                # "en-US", also written "en_us"
                code = language[:2].lower()
                if self.settings.language not in ("", code):
                    left_out.add(code)
                    continue
                text = read("instruction", str)
                name = str(read("instruction_id", (int, str)))
                extra = {"language": language, "path_id": record.get("path_id")}
                task = _task(path, where, record, name, text, extra, names)
                self._check_route(path, where, record)
                yield task
        if left_out and not names:
            problem = f"is {' or '.join(sorted(left_out))} in all records"
            remedy = f"set dataset.language={min(left_out)}"
            raise DataError(path, "field 'language'", problem, remedy)


class Reverie(R2R):
    """REVERIE: find and name an object in another room, given one sentence (Qi et al. 2020).

        wayword run react --on reverie:val_unseen --model openai:NAME --data DATA

    Reads ``REVERIE_{split}.json`` in ``reverie/annotations/`` or ``reverie/``: ``id`` or
    ``path_id`` and ``objId``, ``path``, ``instructions``. Objects in view are those with a visible
    box in ``reverie/bbox_by_scan/{scan}.json``.

    An episode succeeds if the target is in view from the last viewpoint, as in the authors'
    evaluation; ``rgs`` also requires that the object named at the stop is the target.
    """

    name = "reverie"
    splits = ("val_seen", "val_unseen", "train", "test")
    max_steps = 20
    annotation_files = ("REVERIE_{}.json",)
    form = (
        'a file of annotations is a JSON list of {"id": "1_2", "objId": 2, '
        f'{_WALK}, "instructions": ["TEXT", …]}}'
    )
    # The middle part is the object: instructions for two objects of a path share the walk.
    clusters = Clusters("path", r"(.+?)_.+")

    def open(self) -> None:
        """Find REVERIE's boxes next to its annotations."""
        super().open()
        self._boxes = self.folder.parent / "reverie" / "bbox_by_scan"
        self._visible = cache(self._read_objects)

    @cached_property
    def tasks(self) -> Sequence[Task]:
        """All episodes; the boxes of a scan are read when one of its tasks is accessed."""
        walks = self._walks

        def task(number: int) -> Task:
            """Return the task with its target and the viewpoints that see it, if published."""
            walk, target = walks[number]
            episode = walk.episode
            path = getattr(walk.reference, "path", ())
            if not path or not target:
                return Task(episode, Reference(episode.id))
            views = set[str]()
            for place, objects in self._visible(episode.scene).items():
                if any(item.id == target for item in objects):
                    views.add(place)
            # A target without a box is taken to be in view at the end of the path.
            goal = frozenset(views or path[-1:])
            return Task(
                episode,
                ObjectReference(
                    episode.id,
                    path,
                    None,
                    target,
                    goal,
                ),
            )

        return DrawnTasks(len(walks), task, lambda number: walks[number][0].episode.id)

    @cached_property
    def _walks(self) -> list[tuple[Task, str]]:
        """Each episode as a task without its object, and the ID of that object."""
        path = self._annotations(self.split)
        walks = []
        names = dict[str, str]()
        for number, record in enumerate(read_json(path, list)):
            where = f"record {number}"
            with one_record(path, where, self.form):
                extra = {"rules": read_rules("reverie")}
                read = partial(read_field, path, where, record)
                texts = _texts(path, where, record)
                target = self._target(path, where, record)
                if record.get("id"):
                    stem = str(read("id", (int, str)))
                else:
                    stem = f"{read('path_id', (int, str))}_{target}"
                tasks = []
                for index, text in enumerate(texts):
                    name = f"{stem}_{index}"
                    task = _task(path, where, record, name, text, extra, names)
                    tasks.append((task, target))
                self._check_route(path, where, record)
                # Only now: the episodes of a bad record cannot be played.
                walks += tasks
        return walks

    def _target(self, path: Path, where: str, record: JsonObject) -> str:
        """Return the ID of a record's object; empty if it is not published, as in the test split.

        Raises ``DataError`` for a user's own record without one, or with one that the scan lacks:
        its episodes could not be scored.
        """
        if not self.settings.annotations and record.get("objId") is None:
            return ""
        name = read_field(path, where, record, "objId", (str, int, float))
        # Tables write whole numbers as 66.0.
        target = str(name).removesuffix(".0")
        scan = read_field(path, where, record, "scan", str)
        if self.settings.annotations and find_any(self._boxes, f"{scan}.json"):
            views = self._visible(scan).values()
            known = {item.id for objects in views for item in objects}
            if target not in known:
                problem = (
                    f"is not an object in view from a viewpoint of {scan}: {name!r}"
                )
                raise DataError(path, f"{where}, field 'objId'", problem)
        return target

    @cached_property
    def scans(self) -> list[str]:
        """Scans of the split, sorted."""
        return sorted({walk.episode.scene for walk, _ in self._walks})

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Files of the walks and boxes, for checksums."""
        boxes = {
            f"bbox/{scan}": find(self._boxes, f"{scan}.json") for scan in self.scans
        }
        return {**super().files, **boxes}

    def world(self, episode: Episode) -> ObjectsWorld:
        """Return a walk whose stop may name an object."""
        scan = episode.scene
        return ObjectsWorld(self.graph(scan), lambda place: self.objects(scan, place))

    def objects(self, scan: str, place: str) -> Sequence[VisibleObject]:
        """Return the objects in view from a viewpoint, sorted by ID."""
        return self._visible(scan).get(place, ())

    def make_plan(
        self,
        task: Task,
        world: World,
        actor: str,
        kind: str,
    ) -> ActionPlan:
        """Return the plan of a walk whose stop names the object if it is in view."""
        plan = super().make_plan(task, world, actor, kind)
        name = getattr(task.reference, "object_id", "")
        path = getattr(task.reference, "path", ("",))
        in_view = {item.id for item in self.objects(task.episode.scene, path[-1])}
        if name not in in_view:
            return plan
        stop = Action("stop", (name,))
        return listed(lambda: [stop if action == STOP else action for action in plan])

    def _read_objects(self, scan: str) -> dict[str, tuple[VisibleObject, ...]]:
        """Map viewpoints to the objects in view from them."""
        objects = {}
        for place, record in read_json(find(self._boxes, f"{scan}.json")).items():
            boxes = record.get(place, record)  # some files repeat the viewpoint
            in_view: list[VisibleObject] = []
            for number in sorted(boxes, key=int):
                box = boxes[number]
                views = box["visible_pos"]
                if views:
                    name = box["name"].replace("#", " ")
                    in_view.append(VisibleObject(number, name, _mean_heading(views)))
            objects[place] = tuple(in_view)
        return objects


def _mean_heading(views: Sequence[int]) -> float:
    """Return the mean heading (degrees) of views, twelve per row of elevation."""
    angles = [math.radians(VIEW_STEP * (view % 12)) for view in views]
    east = plain_sum(map(math.sin, angles))
    north = plain_sum(map(math.cos, angles))
    return math.degrees(math.atan2(east, north)) % 360.0


datasets = {"r2r": R2R, "r4r": R4R, "rxr": RxR, "reverie": Reverie}
