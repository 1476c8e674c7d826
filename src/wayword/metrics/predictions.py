"""Predictions of other systems, read as trajectories for the ordinary scorers.

A file is ``.json``, ``.jsonl`` or ``.ndjson``, plain or gzipped; a ``.json`` file may hold JSON
lines. It is a list of records, JSON lines, or an object that maps ids to records or walks
(``{"6918": {...}}``), also inside ``instances`` (VELMA's release), the split's name or another name
of ``LISTS``.

* The id is ``instr_id`` (R2R), ``instruction_id`` (RxR), Touchdown's ``route_id``, CVDN's
  ``inst_idx``, ``episode_id`` or ``id``, or ``path_id`` (the path's first instruction). Of several,
  the first that is an episode's counts; ``scan`` is checked if present.
* The walk is a field that says so, such as ``pred_path`` or ``agent_pano_path`` (``PREDICTED``),
  else ``trajectory``, ``path``, ``route_panoids`` or another name of ``PLACES``, which may also
  hold the reference; or ``actions``, which are replayed in the dataset's world. If this walk is
  the reference and an unknown field holds another one, the record is refused. A place is
  ``"viewpoint"``, ``{"viewpoint": ...}`` or ``["viewpoint", heading, elevation]`` (headings are
  not scored); nested lists and objects with a ``path`` (SOON) are flattened in order. A walk may
  be a text with such a list, as tables hold it.
* REVERIE's records name the object in ``predObjId`` or ``pred_objid`` (VLN-DUET, HAMT).

Positions in metres, as in prediction files of VLN-CE, are refused: first map each to its nearest
viewpoint.

As in the published scorers, any walk is scored, even one with impossible moves; but such moves are
counted for each episode.
"""

from __future__ import annotations

import ast
import gc
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from wayword.core.action import Action, Decision, Rejection
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import (
    collecting_bad_records,
    one_record,
    parse_at,
    parsed,
    read_bytes,
    read_json_lines,
    short_repr,
)
from wayword.core.game import Game
from wayword.core.other_files import OWN_NAMES, but_is
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.metrics.scoring import (
    Pair,
    PlaceScorer,
    WalkScorer,
    rows_of,
    scorer,
    without_repeats,
)
from wayword.worlds.indoor.world import ObjectReference

NAMES = (
    *("instr_id", "id", "episode_id", "instruction_id", "route_id", "inst_idx"),
    "path_id",
)
RUNNING = ("episode_id", "id")
"""Names of an id or of a running number: others count first."""
IN_ORDER = (*(name for name in NAMES if name not in RUNNING), *RUNNING)
PREDICTED = re.compile(
    r"(?:pred|predicted|prediction|agent|generated)_(?:route_)?"
    r"(?:path|route|traj|trajectory|panos|panoids|pano_ids|pano_path|viewpoints)",
    re.IGNORECASE,
)
"""Names of the walk that cannot be the reference's."""
REFERENCE = re.compile(
    r"(?:.*[\W_])?(?:gt|gold|ref|reference|ground|truth|teacher|expert|shortest)"
    r"(?:[\W_].*)?",
    re.IGNORECASE,
)
"""Names of walks that are no prediction."""
PLACES = (
    *("trajectory", "traj", "viewpoints", "panoids", "pano_ids", "pano_path", "path"),
    "route_panoids",
)
"""Names of the walk. Those that can be the reference's as well come last."""
ANNOTATION_FIELDS = {
    *("instructions", "navigation_text", "instruction", "timed_instruction"),
}
"""Fields of a dataset's own records, whose path is the reference."""
OBJECTS = ("predObjId", "pred_objid", "pred_obj_id", "predObjID", "pred_object_id")
LISTS = (
    *("instances", "predictions", "results", "submission"),
    *("preds", "outputs", "trajectories", "data", "episodes"),
)
"""Names of the list or mapping of records in a file that is one object."""
PLACE_KEYS = (
    *("path", "viewpoint", "viewpointId", "viewpoint_id", "panoid"),
    *("pano_id", "pano", "vp", "image_id"),
)
SCAN_KEYS = ("scan", "scan_id", "scanId")
"""Names of the place, or of the path, in an item of a walk that is an object."""
SCORES = {"success", "spl", "sr", "distance_to_goal", "path_length"}
"""Fields of files with scores, which are often given in place of those with walks."""
SOURCES = (*PLACES, "actions")
ANGLE = re.compile(r"-?\d+\.\d*(?:e-?\d+)?")
"""A heading or an elevation in a text. Whole numbers may be ids of places."""
ACTION = re.compile(r"\s*([A-Za-z_][\w-]*)\s*(?:\[(.*)\])?\s*", re.DOTALL)

STEP_KEYS = (
    *(
        "step",
        "step_id",
        "step_idx",
        "step_index",
        "step_number",
        "timestep",
        "time_step",
    ),
    *("timestamp", "t"),
)
"""Numbers of the steps of a walk, which must not fall."""
BY_PANDAS = "write it by pandas: table.to_json('FILE.json', orient='records')"
MOST_LISTED = 20
"""Bad records of a file that its error lists; more would push the first off the screen."""

Walk = Sequence[str] | Trajectory
"""The places of a walk; a trajectory where actions were replayed or an object is sought."""


@dataclass(frozen=True)
class Predictions:
    """A prediction file matched with a split of ``of`` episodes.

    ``tasks`` are in the file's order, ``walks`` and ``illegal_moves`` parallel to them. ``place``
    is the field of a place in poses.
    """

    place: str
    of: int
    tasks: list[Task]
    walks: list[Walk]
    illegal_moves: list[int]

    @property
    def missing(self) -> int:
        """Episodes of the split without a prediction."""
        return self.of - len(self.tasks)

    @property
    def pairs(self) -> list[Pair]:
        """Every task with its walk as a trajectory."""
        pairs: list[Pair] = []
        for task, walk in zip(self.tasks, self.walks, strict=True):
            if not isinstance(walk, Trajectory):
                walk = trajectory_from_places(task.episode.id, walk, self.place)
            pairs.append((task, walk))
        return pairs

    def score(self, dataset: Dataset) -> list[dict[str, float]]:
        """Return family metrics, ``steps`` and ``illegal_moves`` of each pair, in order."""
        by = scorer(dataset.family)
        walks = [walk for walk in self.walks if not isinstance(walk, Trajectory)]
        # Making steps of a walk takes longer than scoring it.
        if isinstance(by, WalkScorer) and len(walks) == len(self.walks):
            scores = by.score_walks(dataset, self.tasks, walks)
            steps = [len(walk) - 1 for walk in walks]
        else:
            pairs = self.pairs
            scores = rows_of(by, dataset, pairs)
            steps = [len(trajectory.steps) for _, trajectory in pairs]
        for row, count, illegal in zip(scores, steps, self.illegal_moves, strict=True):
            row["steps"] = count
            row["illegal_moves"] = illegal
        return scores


def trajectory_from_places(
    episode_id: str, places: Sequence[str], key: str
) -> Trajectory:
    """Return a walk through ``places``; ``key`` is the place's field in poses (``"viewpoint"``)."""
    steps = [_step_to(place, key) for place in places[1:]]
    return Trajectory(episode_id, {"agent": {key: places[0]}}, steps, {key: places[-1]})


# Making steps would take half the time of reading a file, so walks share those to a place.
@lru_cache(maxsize=100_000)
def _step_to(place: str, key: str) -> Step:
    """Return the step of a move to a place, shared by all walks."""
    decision = Decision(Action("goto", (place,)))
    return Step("agent", {}, decision, Feedback(), {key: place})


def trajectory_from_actions(
    dataset: Dataset, episode: Episode, actions: Sequence[Action]
) -> Trajectory:
    """Replay actions in the dataset's world.

    An illegal action, or one after the actor is done, is recorded as a rejection.
    Raises ``UsageError`` for worlds with several actors.
    """
    game = Game(dataset.world(episode), episode)
    if len(game.world.actors) > 1:
        raise UsageError(
            f"episode {episode.id} has several actors; only one is supported"
        )
    (actor,) = game.world.actors
    for action in actions:
        game.act(actor, Decision(action))
    return game.finished()


def read(path: Path, dataset: Dataset) -> Predictions:
    """Read a prediction file against the episodes of ``dataset``.

    Raises ``DataError`` with file, record and field for anything that cannot be scored: a line for
    each bad record, up to ``MOST_LISTED``, and their number.
    """
    # This reads the dataset, whose own bad records are not the file's.
    reader = _Reader(path, dataset)
    collecting = gc.isenabled()
    gc.disable()  # collection would take longer than reading, and free nothing
    found = []
    try:
        with collecting_bad_records() as bad:
            for where, record in _records(path, dataset.split):
                with one_record(path, where):
                    if not isinstance(record, dict):
                        problem = "must be an object with an id and a trajectory"
                        raise DataError(path, where, problem)
                    found.append(reader.read(where, record))
    finally:
        if collecting:
            gc.enable()
    if bad:
        raise _bad_records(path, bad)
    if not found:
        raise DataError(path, "", "contains no predictions")
    if len(reader.foreign) == len(found):
        raise reader.foreign[0]
    tasks, walks, illegal = map(list, zip(*found, strict=True))
    of = len(dataset.tasks)
    return Predictions(dataset.family.place, of, tasks, walks, illegal)


def _bad_records(path: Path, bad: Sequence[str]) -> DataError:
    """Return the error of all bad records of a file, a line for each and one with their number."""
    # The last line alone would say nothing that the only one does not.
    if len(bad) == 1:
        return DataError(bad[0], "", "")
    lines = list(bad[:MOST_LISTED])
    if len(bad) > MOST_LISTED:
        lines.append(f"… and {len(bad) - MOST_LISTED:,} more")
    lines.append(str(path))
    problem = f"{len(bad):,} bad records"
    return DataError("\n".join(lines), "", problem, "correct or remove them")


def _records(path: Path, split: str) -> Iterator[tuple[str, Any]]:
    """Yield each record with its location in the file: ``record 3`` or ``line 4``."""
    if not path.exists():
        raise DataError(path, "", "no such file", "name a file with predictions")
    if path.name in OWN_NAMES:
        raise DataError(path, "", "no predictions", but_is(path).removeprefix("; "))
    kind = path.suffix.lower()
    if kind == ".gz":
        kind = path.with_suffix("").suffix.lower()
    if kind not in (".json", ".jsonl", ".ndjson"):
        problem = "must end in .json or .jsonl, optionally with .gz"
        remedy = but_is(path).removeprefix("; ")
        if kind in (".csv", ".tsv", ".parquet"):
            remedy = BY_PANDAS
        raise DataError(path, "", problem, remedy)
    if not path.is_file():
        raise DataError(path, "", "no such file", "name a file with predictions")
    content = read_bytes(path)
    value = None
    try:
        value = parsed(content)
    except (ValueError, RecursionError):
        # JSON lines in a file with either suffix: the first line is a value of its own.
        if kind == ".json" and not _is_json(content.lstrip().split(b"\n", 1)[0]):
            # The records of a list are named, also the first that is not valid.
            is_list = content.lstrip().startswith(b"[")
            value = parse_at(path, "", content, is_list=is_list)
    if value is not None:
        if isinstance(value, dict):
            _refuse_repeats(path, content)
        yield from _named_records(path, value, split)
        return
    for number, line in read_json_lines(path):
        yield f"line {number}", line


def _refuse_repeats(path: Path, content: bytes) -> None:
    """Raise ``DataError`` if an object of a file has a key twice: parsers keep only the last value,
    so that an episode would be scored by one of its two walks."""

    def check(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(key for key, _ in pairs)
        if len(counts) < len(pairs):
            [(twice, _)] = counts.most_common(1)
            problem = "is a key twice in one object; keep one record of each episode"
            raise DataError(path, f"record {twice!r}", problem)

    # The file has been parsed, so that it is JSON, whatever this parser thinks of its numbers.
    with suppress(ValueError, RecursionError):
        json.loads(content, object_pairs_hook=check)


def _is_json(text: bytes) -> bool:
    """True if a text is one value in JSON."""
    try:
        parsed(text)
    except (ValueError, RecursionError):
        return False
    return True


def _named_records(path: Path, value: Any, split: str) -> Iterator[tuple[str, Any]]:
    """Yield the records of a list, of a mapping from ids, or of one inside a named field."""
    if _is_low_level(value):
        problem = "contains low-level actions of ALFRED, which need pictures"
        remedy = "write this dataset's, such as goto[mug_1], in the field 'actions'"
        raise DataError(path, "", problem, remedy)
    # Dataset files of VLN-CE have this field, and are easily given by mistake.
    if isinstance(value, dict) and isinstance(value.get("episodes"), list):
        problem = "contains episodes, not predictions"
        raise DataError(path, "field 'episodes'", problem, "name the result file")
    # pandas writes tables by columns where it is not told otherwise.
    if isinstance(value, dict):
        ids = [value[name] for name in NAMES if name in value]
        if {"columns", "data"} <= value.keys() or any(
            isinstance(each, dict | list) for each in ids
        ):
            raise DataError(path, "", "is a table by columns", BY_PANDAS)
    # Also one in the other, as {"results": {"predictions": [...]}}.
    for _ in range(2):
        if isinstance(value, dict):
            lists = [each for each in value.values() if _is_list_of_records(each)]
            # The only list of records, whatever its name, next to a version or scores.
            only = lists[0] if len(lists) == 1 else value
            names = (split, *LISTS)
            value = next((value[name] for name in names if name in value), only)
    if isinstance(value, dict) and not value.keys() & {*NAMES, *PLACES}:
        for name, record in value.items():
            if isinstance(record, list):
                record = {"trajectory": record}
            if isinstance(record, dict):
                record = {"id": name, **record}
            yield f"record {name!r}", record
    else:
        if not isinstance(value, list):
            value = [value]
        for number, record in enumerate(value):
            yield f"record {number}", record


@dataclass(frozen=True)
class _Fields:
    """The fields of a record that may hold its walk and its id, the surest first, and its scene.

    ``others`` may hold another walk, where none of ``walks`` is surely the prediction.
    """

    walks: list[str]
    ids: list[str]
    scenes: list[str]
    others: list[str]


# A file's records have the same fields, which are compared once.
@lru_cache(maxsize=1000)
def _fields_of(names: tuple[str, ...]) -> _Fields:
    """Return the fields of a record that has fields of these names."""
    predicted = [*filter(PREDICTED.fullmatch, names)]
    walks = [*predicted, *filter(names.__contains__, SOURCES)]
    others = []
    if not predicted:
        known = {*walks[:1], *NAMES, *SCAN_KEYS}
        others = [name for name in names if name not in known]
    return _Fields(
        walks,
        [*filter(names.__contains__, IN_ORDER)],
        [*filter(names.__contains__, SCAN_KEYS)],
        [name for name in others if not REFERENCE.fullmatch(name)],
    )


def _walk_field(record: JsonObject, fields: _Fields) -> str:
    """Return the field with a record's walk; empty if it has none."""
    source = ""
    for source in fields.walks:
        if record[source] is not None:
            break
    return source


def _is_list_of_records(value: Any) -> bool:
    """True for a list of objects with an id."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and bool(first.keys() & {*NAMES})


def _is_low_level(value: Any) -> bool:
    """True if the first value in a file is an action that is an object, as in ALFRED's dumps."""
    while isinstance(value, dict | list) and value:
        if isinstance(value, dict):
            if "action" in value and "forceAction" in value:
                return True
            value = [*value.values()]
        value = value[0]
    return False


class _Reader:
    """Reads the records of a file against the episodes of a dataset."""

    def __init__(self, path: Path, dataset: Dataset) -> None:
        self._path = path
        self._dataset = dataset
        self._judge: PlaceScorer | None = None
        judge = scorer(dataset.family)
        if isinstance(judge, PlaceScorer):
            self._judge = judge
        self._by_id = {task.episode.id: task for task in dataset.tasks}
        # Any id field may name a path: the part before the last ``_``. Tasks are in order, so the
        # first instruction stays.
        self._by_path: dict[str, Task] = {}
        for name, task in self._by_id.items():
            self._by_path.setdefault(name.rpartition("_")[0], task)
        self._by_name = self._by_path | self._by_id
        self.foreign: list[DataError] = []
        """Errors of records none of whose actions exists in this world. The first is raised if all
        records are such: a player may invent actions in single ones."""
        # Episode id -> where its record is.
        self._used: dict[str, str] = {}

    def read(self, where: str, record: dict[str, Any]) -> tuple[Task, Walk, int]:
        """Return the task of a record, its walk, and the number of illegal moves.

        ``where`` names the record in error messages. Actions are replayed to a trajectory; places
        become a walk without repeats. Raises ``DataError`` for a record without a walk or with one
        in metres, of an unknown or repeated episode, or with a place outside the scene.
        """
        fields = _fields_of(tuple(record))
        source = _walk_field(record, fields)
        value = _list_in(record.get(source))
        # Most files have poses, which are the fastest to read; other forms are read further below.
        places: Sequence[str] = _pose_places(value)
        if not places:
            self._refuse_positions(where, value)
        task = self._task(where, record, fields)
        name = task.episode.id
        if name in self._used:
            problem = f"repeats episode {name!r} of {self._used[name]}"
            raise DataError(self._path, where, problem)
        self._used[name] = where
        if not source:
            problem = f"has none of the fields trajectory, path, actions: {short_repr([*record])}"
            remedy = ""
            if SCORES & record.keys():
                remedy = "name a file with walks; scores of other programs are not read"
            raise DataError(self._path, where, problem, remedy)
        if source in ("path", "route_panoids") and ANNOTATION_FIELDS & record.keys():
            problem = "is the dataset's own record: its path is the reference"
            raise DataError(self._path, where, problem, "name the result file")
        if isinstance(value, dict):  # SOON: one path with the object's direction
            value = [value]
        if not isinstance(value, list):
            raise self._error(where, source, f"must be a list, got {short_repr(value)}")
        # Actions suit every family, places only those whose scorer needs no more.
        if source == "actions":
            return task, *self._replayed(_at(where, source), task, value)
        if self._judge is None:
            problem = "cannot be scored: this dataset needs the field 'actions'"
            raise self._error(where, source, problem)
        places = places or _listed_places(self._path, _at(where, source), value)
        if not places:
            raise self._error(where, source, "must contain at least the start")
        try:
            illegal = self._judge.illegal_moves(self._dataset, task, places)
        except KeyError as error:
            problem = (
                f"{short_repr(error.args[0])} is not a place in {task.episode.scene}"
            )
            raise self._error(where, source, problem) from None
        walk = without_repeats(places)
        if fields.others and [*walk] == [*getattr(task.reference, "path", ())]:
            self._check_only_walk(where, source, record, fields, walk)
        if isinstance(task.reference, ObjectReference):
            return task, self._search(where, record, task, walk), illegal
        return task, walk, illegal

    def _refuse_positions(self, where: str, walk: Any) -> None:
        """Raise ``DataError`` for a walk in metres, as VLN-CE's prediction files have it."""
        if not isinstance(walk, list) or not walk:
            return
        first = position = walk[0]
        if isinstance(first, dict):
            if any(key in first for key in PLACE_KEYS):
                return
            position = first.get("position", [*first.values()])
        if isinstance(position, dict):
            position = [*position.values()]
        if not isinstance(position, list) or not position:
            return
        if all(isinstance(metres, int | float) for metres in position):
            problem = f"has positions in metres, not viewpoints: {short_repr(first)}"
            remedy = "map each position to its nearest viewpoint, and write those"
            if self._judge is None:
                remedy = "write the field 'actions', such as move_ahead and rotate[-30]"
            raise DataError(self._path, where, problem, remedy)

    def _check_only_walk(
        self,
        where: str,
        source: str,
        record: JsonObject,
        fields: _Fields,
        walk: Sequence[str],
    ) -> None:
        """Raise ``DataError`` if a record holds another walk next to this one, the reference."""
        for name in fields.others:
            value = _list_in(record[name])
            # A result within the record has fields of its own.
            parts = [*value.values()] if isinstance(value, dict) else [value]
            for part in map(_list_in, parts):
                if not isinstance(part, list) or not part:
                    continue
                try:
                    other = without_repeats(_listed_places(self._path, "", part))
                except DataError:
                    continue
                # A list of candidates or visited places may begin elsewhere.
                if other[0] == walk[0] and [*other] != [*walk]:
                    problem = f"is the reference, and {name!r} holds another walk"
                    remedy = (
                        "name the prediction 'pred_path', or leave out the reference"
                    )
                    raise self._error(where, source, problem, remedy)

    def _task(self, where: str, record: dict[str, Any], fields: _Fields) -> Task:
        """Return the task that a record is about, by its id or that of its path.

        Raises ``DataError`` if it names none, or names another scene.
        """
        if not fields.ids:
            problem = f"has none of the fields {', '.join(NAMES)}"
            raise DataError(self._path, where, problem)
        name = fields.ids[0]
        # A record may also have a running number: the first name that is an episode's counts.
        if len(fields.ids) > 1:
            # Ids of paths and of instructions are both numbers in RxR.
            known = (
                name
                for name in fields.ids
                if name != "path_id" and str(record[name]) in self._by_id
            )
            name = next(known, name)
        value = record[name]
        if type(value) not in (str, int) or value == "":
            raise self._error(where, name, f"is not an id: {short_repr(value)}")
        known_tasks = self._by_path if name == "path_id" else self._by_name
        task = known_tasks.get(str(value))
        if task is None:
            hint = ""
            if len(self._by_id) < 50:  # among thousands, a similar id is no help
                hint = suggest(str(value), self._by_id)
            split = self._dataset.split or "the split"
            problem = f"{short_repr(value)} is not an episode of {split}"
            remedy = hint or "name its split with --on"
            raise self._error(where, name, problem, remedy)
        # A wrong scene means that ids are of another split.
        scene = task.episode.scene
        for key in fields.scenes:
            scan = record[key]
            if scan != scene:
                problem = (
                    f"{short_repr(scan)}, but episode {task.episode.id} is in {scene}"
                )
                raise self._error(where, key, problem)
        return task

    def _error(
        self, where: str, field: str, problem: str, remedy: str = ""
    ) -> DataError:
        """Return an error that names the file, the record and its field."""
        return DataError(self._path, _at(where, field), problem, remedy)

    def _replayed(
        self, at: str, task: Task, items: list[Any]
    ) -> tuple[Trajectory, int]:
        """Return the trajectory of a record's actions, and the number of rejected ones."""
        actions = [_action(self._path, at, *item) for item in enumerate(items)]
        trajectory = trajectory_from_actions(self._dataset, task.episode, actions)
        decisions = [step.decision for step in trajectory.steps]
        illegal = sum(isinstance(each, Rejection) for each in decisions)
        # Actions of another simulator would be a walk that stands still, until it stops.
        names = {action.name for action in actions} - {"stop"}
        moves = [each for each in decisions if isinstance(each, Decision)]
        if names and all(move.action.name == "stop" for move in moves):
            verbs = self._verbs(task.episode)
            if not verbs & names:
                shown = ", ".join(sorted(verbs))
                problem = (
                    f"{short_repr(items[0])} is no action here; there are: {shown}"
                )
                self.foreign.append(DataError(self._path, at, problem))
        return trajectory, illegal

    def _verbs(self, episode: Episode) -> set[str]:
        """Return the verbs of the actions that are possible at the start of an episode."""
        game = Game(self._dataset.world(episode), episode)
        space = game.space(game.world.actors[0])
        in_forms = (form.partition("\\[")[0] for form in space.forms)
        listed = (action.name for action in space.listed)
        return {*listed, *space.open_verbs, *in_forms}

    def _search(
        self, where: str, record: dict[str, Any], task: Task, walk: Sequence[str]
    ) -> Trajectory:
        """Return a walk to an object, with a stop that names it if the record does."""
        key = self._dataset.family.place
        trajectory = trajectory_from_places(task.episode.id, walk, key)
        name = next((name for name in OBJECTS if record.get(name) is not None), "")
        if name:
            value = record[name]
            if type(value) not in (str, int, float):
                raise self._error(
                    where, name, f"is not an object's id: {short_repr(value)}"
                )
            # Ids are whole numbers, which numpy writes as 5.0.
            number = str(value).strip().removesuffix(".0")
            stop = Decision(Action("stop", (number,)))
            pose = {key: walk[-1]}
            trajectory.steps.append(Step("agent", {}, stop, Feedback(), pose))
        return trajectory


def _at(where: str, field: str) -> str:
    """Return the location of a record's field. Only for errors: most records have none."""
    return f"{where}, field {field!r}"


def _list_in(value: Any) -> Any:
    """Return the list that a text writes, as tables do; any other value as it is."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        # A literal of texts, numbers and lists: no name is looked up, nothing runs.
        # One that pandas has shortened holds an ellipsis, which is no value of JSON.
        with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return json.loads(json.dumps(ast.literal_eval(value.strip())))
    return value


def _pose_places(items: Any) -> tuple[str, ...]:
    """Return the places of a walk of poses, as most files have it; empty for other forms."""
    # Only numbers can be added, and only texts be joined. Looking at the type of each value takes
    # three times as long.
    try:
        places, headings, elevations = zip(*items, strict=True)
        "".join(places)
        sum(headings)
        sum(elevations)
    except (TypeError, ValueError, OverflowError):
        return ()
    return places


def _check_order(path: Path, at: str, items: Sequence[Any]) -> None:
    """Raise ``DataError`` if the items of a path number themselves in another order."""
    for key in STEP_KEYS:
        with suppress(TypeError, KeyError, ValueError, OverflowError):
            numbers = [float(item[key]) for item in items]
            late = [n for n in range(1, len(items)) if numbers[n] < numbers[n - 1]]
            if late:
                where = f"{at}, item {late[0]}"
                problem = f"has the {key} {items[late[0]][key]} after {items[late[0] - 1][key]}"
                raise DataError(path, where, problem, "write the steps in their order")


def _listed_places(path: Path, at: str, items: Sequence[Any]) -> list[str]:
    """Return the places of a path whose items have any form."""
    _check_order(path, at, items)
    parts = [_places(path, at, *item) for item in enumerate(items)]
    starts = {part[0] for part in parts}
    if len(parts) > 1 and len(starts) == 1 and min(map(len, parts)) > 1:
        raise DataError(path, at, f"holds {len(parts)} walks from one start; keep one")
    return [*chain.from_iterable(parts)]


def _places(path: Path, at: str, number: int, item: Any) -> list[str]:
    """Return the places in an item of a path: a name, a pose, or a list or object of these."""
    if isinstance(item, dict):
        item = next((item[key] for key in PLACE_KEYS if key in item), item)
    if isinstance(item, str):
        return [item]
    if isinstance(item, list) and item:
        # A pose first: its angles may be texts, which are no places.
        is_pose = bool(item[1:]) and all(map(_is_angle, item[1:]))
        if isinstance(item[0], str) and is_pose:
            return item[:1]
        if all(isinstance(part, str) for part in item):
            return item
        if isinstance(item[0], list | dict):
            return _listed_places(path, at, item)
    problem = f"must be a place or [place, heading, elevation], got {short_repr(item)}"
    if isinstance(item, list) and None in item:
        problem += "; headings are not scored: write the place alone"
    raise DataError(path, f"{at}, item {number}", problem)


def _is_angle(part: Any) -> bool:
    """True for a number, also in a text: a part of a pose that is not scored."""
    if isinstance(part, str):
        return ANGLE.fullmatch(part) is not None
    return isinstance(part, int | float)


def _action(path: Path, at: str, number: int, item: Any) -> Action:
    """Return an item of a list of actions. Raises ``DataError`` for another form."""
    match = None
    if isinstance(item, str):
        match = ACTION.fullmatch(item)
    if match is None:
        problem = f"must be an action such as 'forward' or 'goto[place]', got {short_repr(item)}"
        raise DataError(path, f"{at}, item {number}", problem)
    name, arguments = match.groups()
    if not arguments:
        return Action(name)
    return Action(name, tuple(part.strip() for part in arguments.split(",")))
