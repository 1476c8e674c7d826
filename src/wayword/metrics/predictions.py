"""Predictions of other systems, read as trajectories for the ordinary scorers.

A file is ``.json`` or ``.jsonl``, plain or gzipped; a ``.json`` file may hold JSON lines. It is a
list of records, JSON lines, or an object that maps ids to records or walks (``{"6918": {...}}``),
also inside ``instances`` (VELMA's release), ``predictions`` or another name of ``LISTS``.

* The id is ``instr_id`` (R2R), ``id``, ``episode_id``, ``instruction_id`` (RxR) or ``path_id``
  (the path's first instruction), or Touchdown's ``route_id``; ``scan`` is checked if present.
* The walk is ``trajectory``, ``path``, ``pred_path``, ``agent_pano_path``, ``route_panoids`` or
  another name of ``PLACES``; or ``actions``, which are replayed in the dataset's world. A place is
  ``"viewpoint"`` or ``["viewpoint", heading, elevation]`` (headings are not scored); nested lists
  of viewpoints are flattened in order.
* REVERIE's records name the object in ``predObjId`` or ``pred_objid`` (VLN-DUET, HAMT).

Positions in metres, as in prediction files of VLN-CE, are refused: first map each to its nearest
viewpoint.

As in the published scorers, any walk is scored, even one with impossible moves; but such moves are
counted for each episode.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from wayword.core.action import Action, Decision, Rejection
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import parse_at, parsed, read_bytes, read_json_lines
from wayword.core.game import Game
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.metrics.scoring import Pair, PlaceScorer, scorer
from wayword.worlds.indoor.world import ObjectReference

NAMES = ("instr_id", "id", "episode_id", "instruction_id", "route_id", "path_id")
PLACES = (
    *("trajectory", "path", "pred_path", "agent_pano_path", "route_panoids"),
    *("predicted_path", "pred_trajectory", "traj", "agent_path", "viewpoints"),
)
OBJECTS = ("predObjId", "pred_objid", "pred_obj_id", "predObjID", "pred_object_id")
LISTS = (
    *("instances", "predictions", "results", "submission"),
    *("preds", "outputs", "trajectories", "data"),
)
"""Names of the list or mapping of records in a file that is one object."""
ACTION = re.compile(r"\s*([A-Za-z_][\w-]*)\s*(?:\[(.*)\])?\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Predictions:
    """A prediction file matched with a split of ``of`` episodes. ``pairs`` are in the file's order,
    ``illegal_moves`` parallel to them."""

    pairs: list[Pair] = field(default_factory=list)
    illegal_moves: list[int] = field(default_factory=list)
    of: int = 0

    @property
    def missing(self) -> int:
        """Episodes of the split without a prediction."""
        return self.of - len(self.pairs)

    def score(self, dataset: Dataset) -> list[dict[str, float]]:
        """Return family metrics, ``steps`` and ``illegal_moves`` of each pair, in order."""
        scores = scorer(dataset.family).score(dataset, self.pairs)
        for row, (_, trajectory), illegal in zip(
            scores, self.pairs, self.illegal_moves, strict=True
        ):
            row |= {"steps": len(trajectory.steps), "illegal_moves": illegal}
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
    decision = Decision(Action("goto", (place,)))
    return Step("agent", {}, decision, Feedback(), {key: place})


def trajectory_from_actions(
    dataset: Dataset, episode: Episode, actions: Sequence[Action]
) -> Trajectory:
    """Replay actions in the dataset's world. An illegal action, or one after the actor is done, is
    recorded as a rejection. Raises ``UsageError`` for worlds with several actors."""
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
    """Read a prediction file against the episodes of ``dataset``. Raises ``DataError`` with file,
    record and field for anything that cannot be scored."""
    predictions = Predictions(of=len(dataset.tasks))
    judge = scorer(dataset.family)
    by_places = None
    if isinstance(judge, PlaceScorer):
        by_places = judge
    by_id = {task.episode.id: task for task in dataset.tasks}
    # Some files name a path instead of one of its instructions.
    by_path: dict[str, Task] = {}
    for task in dataset.tasks:  # 5593_0, 5593_1 … : the first one represents path 5593
        by_path.setdefault(task.episode.id.rpartition("_")[0], task)
    # An episode that is predicted twice would count twice in every mean.
    used: dict[str, str] = {}
    collecting = gc.isenabled()
    gc.disable()  # collection would take longer than reading, and free nothing
    try:
        for where, record in _records(path):
            _refuse_positions(path, where, record)
            task = _task(path, where, record, dataset, by_id, by_path)
            name = task.episode.id
            if name in used:
                raise DataError(
                    path, where, f"repeats episode {name!r} of {used[name]}"
                )
            used[name] = where
            trajectory, illegal = _trajectory(
                path, where, record, dataset, task, by_places
            )
            predictions.pairs.append((task, trajectory))
            predictions.illegal_moves.append(illegal)
    finally:
        if collecting:
            gc.enable()
    if not predictions.pairs:
        raise DataError(path, "", "contains no predictions")
    return predictions


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each record with its location in the file: ``record 3`` or ``line 4``."""
    kind = path.suffix
    if kind == ".gz":
        kind = path.with_suffix("").suffix
    if kind not in (".json", ".jsonl"):
        raise DataError(path, "", "must end in .json or .jsonl, optionally with .gz")
    if not path.is_file():
        raise DataError(path, "", "no such file", "name a file with predictions")
    content = read_bytes(path)
    value = None
    try:
        value = parsed(content)
    except (ValueError, RecursionError):
        # JSON lines in a file with either suffix: the first line is a value of its own.
        if kind == ".json" and not _is_json(content.lstrip().split(b"\n", 1)[0]):
            parse_at(path, "", content)
    named: Iterator[tuple[str, Any]]
    if value is None:
        named = ((f"line {number}", line) for number, line in read_json_lines(path))
    else:
        named = _named_records(path, value)
    for where, record in named:
        if not isinstance(record, dict):
            problem = "must be an object with an id and a trajectory"
            raise DataError(path, where, problem)
        yield where, record


def _is_json(text: bytes) -> bool:
    try:
        parsed(text)
    except ValueError:
        return False
    return True


def _named_records(path: Path, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the records of a list, of a mapping from ids, or of one inside a named field."""
    if isinstance(value, dict):
        value = next((value[name] for name in LISTS if name in value), value)
    # Dataset files of VLN-CE have this field, and are easily given by mistake.
    if isinstance(value, dict) and isinstance(value.get("episodes"), list):
        problem = "contains episodes, not predictions"
        raise DataError(path, "field 'episodes'", problem, "name the result file")
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


def _refuse_positions(path: Path, where: str, record: Mapping[str, Any]) -> None:
    """Raise ``DataError`` for a walk in metres, as VLN-CE's prediction files have it."""
    walk = next((record[name] for name in PLACES if name in record), None)
    if not isinstance(walk, list) or not walk:
        return
    first = position = walk[0]
    if isinstance(first, dict):
        position = first.get("position")
    if not isinstance(position, list) or not position:
        return
    if all(isinstance(metres, int | float) for metres in position):
        problem = f"has positions in metres, not viewpoints: {_short(first)}"
        remedy = "map each position to its nearest viewpoint, and write those"
        raise DataError(path, where, problem, remedy)


def _task(
    path: Path,
    where: str,
    record: dict[str, Any],
    dataset: Dataset,
    by_id: Mapping[str, Task],
    by_path: Mapping[str, Task],
) -> Task:
    name = next((name for name in NAMES if name in record), None)
    if name is None:
        raise DataError(path, where, f"has none of the fields {', '.join(NAMES)}")
    value = record[name]
    at = f"{where}, field {name!r}"
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise DataError(path, at, f"is not an id: {_short(value)}")
    task = by_id.get(str(value)) or by_path.get(str(value))
    if task is None:
        hint = ""
        if len(by_id) < 50:  # among thousands, a similar id is no help
            hint = suggest(str(value), list(by_id))
        problem = f"{_short(value)} is not an episode of {dataset.split or 'the split'}"
        raise DataError(path, at, problem, hint or "name its split with --on")
    # A wrong scene means that ids are of another split.
    scan = record.get("scan", task.episode.scene)
    if scan != task.episode.scene:
        problem = (
            f"{_short(scan)}, but episode {task.episode.id} is in {task.episode.scene}"
        )
        raise DataError(path, f"{where}, field 'scan'", problem)
    return task


def _trajectory(
    path: Path,
    where: str,
    record: dict[str, Any],
    dataset: Dataset,
    task: Task,
    judge: PlaceScorer | None,
) -> tuple[Trajectory, int]:
    name = next((name for name in (*PLACES, "actions") if name in record), None)
    if name is None:
        raise DataError(path, where, "has none of the fields trajectory, path, actions")
    at = f"{where}, field {name!r}"
    value = record[name]
    if not isinstance(value, list):
        raise DataError(path, at, f"must be a list, got {_short(value)}")
    if name == "actions":
        actions = [_action(path, at, number, item) for number, item in enumerate(value)]
        trajectory = trajectory_from_actions(dataset, task.episode, actions)
        decisions = [step.decision for step in trajectory.steps]
        return trajectory, sum(isinstance(each, Rejection) for each in decisions)
    if judge is None:
        raise DataError(
            path, at, "cannot be scored: this dataset needs the field 'actions'"
        )
    places = _pose_places(value) or _listed_places(path, at, value)
    if not places:
        raise DataError(path, at, "must contain at least the start")
    try:
        illegal = judge.illegal_moves(dataset, task, places)
    except KeyError as error:
        problem = f"{_short(error.args[0])} is not a place in {task.episode.scene}"
        raise DataError(path, at, problem) from None
    walk = [place for place, _ in groupby(places)]  # turning in place is not a move
    key = dataset.family.place
    trajectory = trajectory_from_places(task.episode.id, walk, key)
    field_name = next((name for name in OBJECTS if record.get(name) is not None), "")
    if field_name and isinstance(task.reference, ObjectReference):
        value = record[field_name]
        if isinstance(value, bool) or not isinstance(value, str | int):
            at = f"{where}, field {field_name!r}"
            raise DataError(path, at, f"is not an object's id: {_short(value)}")
        stop = Decision(Action("stop", (str(value),)))
        trajectory.steps.append(Step("agent", {}, stop, Feedback(), {key: walk[-1]}))
    return trajectory, illegal


def _pose_places(items: list[Any]) -> list[str]:
    """Return the places of a walk of poses, as most files have it; empty for other forms."""
    try:
        places, *angles = zip(*items, strict=True)
    except (TypeError, ValueError):
        return []
    # Exact types of a whole column at once: item by item, this takes a third of reading a file.
    is_pose = set(map(type, chain(*angles))) <= {int, float}
    is_named = set(map(type, places)) == {str}
    has_lists = set(map(type, items)) == {list} and 0 < len(angles) <= 2
    if is_pose and is_named and has_lists:
        return list(places)
    return []


def _listed_places(path: Path, at: str, items: Sequence[Any]) -> list[str]:
    """Return the places of a path whose items have any form."""
    places: list[str] = []
    for number, item in enumerate(items):
        places += _places(path, at, number, item)
    return places


def _places(path: Path, at: str, number: int, item: Any) -> list[str]:
    """Return the places in an item of a path: a name, a pose, a list of names, or a path (SOON)."""
    if isinstance(item, str):
        return [item]
    if isinstance(item, dict) and isinstance(item.get("path"), list):
        return _listed_places(path, at, item["path"])
    if isinstance(item, list) and item and isinstance(item[0], str):
        if all(isinstance(part, str) for part in item):
            return item
        if len(item) <= 3 and all(isinstance(part, int | float) for part in item[1:]):
            return item[:1]
    problem = f"must be a place or [place, heading, elevation], got {_short(item)}"
    raise DataError(path, f"{at}, item {number}", problem)


def _action(path: Path, at: str, number: int, item: Any) -> Action:
    match = None
    if isinstance(item, str):
        match = ACTION.fullmatch(item)
    if match is None:
        problem = (
            f"must be an action such as 'forward' or 'goto[place]', got {_short(item)}"
        )
        raise DataError(path, f"{at}, item {number}", problem)
    name, arguments = match.groups()
    if not arguments:
        return Action(name)
    return Action(name, tuple(part.strip() for part in arguments.split(",")))


def _short(value: object) -> str:
    shown = repr(value)
    if len(shown) > 60:
        shown = f"{shown[:57]}..."
    return shown
