"""Result files of other benchmarks: outcomes of episodes, without the walks, and their intervals.

* ALFWorld (its ``scripts/run_eval.py``): a ``.json`` with ``res_points``, ``res_steps``,
  ``res_info`` and, from goal-condition scoring on, ``res_gcs``, a number or line a game. A line of
  ``res_info`` begins with the game, ``pick_and_place_simple-Mug-None-Desk-308/trial_T2019…``, which
  names its type of task and its room.
* EmbodiedBench (February 2025 to March 2026, EB-ALFRED, EB-Habitat, EB-Navigation and
  EB-Manipulation): a folder ``results`` an evaluation set, with an ``episode_N_final_res.json`` an
  episode; its ``summary.json`` is not read. A folder of such sets makes a row of each.

Their means are those that the benchmarks report; the intervals are new, and resample whole rooms
where the file names them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.core.errors import DataError
from wayword.core.files import read_json
from wayword.core.metric import Metric
from wayword.metrics.summary import Row, summarize

METRICS: tuple[Metric, ...] = (
    Metric("sr", "SR", "rate", "higher", "episodes that were solved, as the file says"),
    Metric("goal_sr", "Goal-SR", "rate", "higher", "share of the goal conditions that were met"),
    Metric("steps", "Steps", "count", None, "actions in the environment"),
    Metric("invalid", "Invalid", "rate", "lower", "share of actions that the environment refused"),
)
GAME = re.compile(r"\s*(?P<kind>[a-z_]+)-.*-(?P<room>\d+)/(?P<trial>[^,\s]+)")
EPISODE = re.compile(r"episode_(\d+)_final_res\.json")
FIELDS = {
    "task_success": "sr",
    "task_progress": "goal_sr",
    "num_steps": "steps",
    "num_invalid_action_ratio": "invalid",
}
"""Field of EmbodiedBench -> metric."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The episodes of one file or folder, with their types of task and rooms where it tells."""

    name: str
    source: str
    ids: tuple[str, ...]
    scores: tuple[Mapping[str, float], ...]
    kinds: tuple[str, ...] = ()
    rooms: tuple[str, ...] = ()

    def row(self) -> Row:
        """Means with intervals; success also by type of task."""
        names = sorted(set(self.kinds))
        by_kind = [Metric(f"sr_{k}", f"SR {k}", "rate", "higher", "of that type") for k in names]
        scores = [
            {**each, **({f"sr_{kind}": each["sr"]} if kind else {})}
            for each, kind in zip(self.scores, self.kinds or ("",) * len(self.ids), strict=True)
        ]
        shown = [m for m in METRICS if any(m.key in each for each in scores)]
        return summarize(
            self.name,
            scores,
            family="household",
            metrics=(*shown, *by_kind),
            of=len(scores),
            dataset=self.source,
            clusters=self.rooms or None,
        )


def is_outcomes(path: Path) -> bool:
    """Whether a path is a folder, or an ALFWorld file."""
    if path.is_dir():
        return True
    whole = read_json(path) if ".json" in path.suffixes else None
    return isinstance(whole, dict) and "res_points" in whole


def read(path: Path) -> list[Outcomes]:
    """The outcomes of a file or folder. Raises ``DataError`` with file, record and field."""
    return _embodied(path) if path.is_dir() else [_alfworld(path)]


def _alfworld(path: Path) -> Outcomes:
    whole = read_json(path)
    columns: dict[str, Sequence[Any]] = {}
    for name in ("res_points", "res_steps", "res_info", "res_gcs"):
        given = whole.get(name)
        if given is None and name == "res_gcs":
            continue
        if not isinstance(given, list) or not given:
            raise DataError(path, f"field {name!r}", "is no list of games", "is it ALFWorld's?")
        columns[name] = given
    lengths = {name: len(given) for name, given in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(path, "", f"lists of different lengths: {lengths}")
    games = [_game(path, number, line) for number, line in enumerate(columns["res_info"])]
    keys = {"res_points": "sr", "res_steps": "steps", "res_gcs": "goal_sr"}
    scores = [
        {
            key: _number(path, f"{name}, item {n}", columns[name][n], key)
            for name, key in keys.items()
            if name in columns
        }
        for n in range(len(games))
    ]
    ids = tuple(f"{game['kind']}/{game['trial']}" for game in games)
    kinds, rooms = (tuple(game[part] for game in games) for part in ("kind", "room"))
    return Outcomes(path.name, "ALFWorld", ids, tuple(scores), kinds, rooms)


def _game(path: Path, number: int, line: Any) -> Mapping[str, str]:
    match = GAME.match(line) if isinstance(line, str) else None
    if match is None:
        problem = (
            "does not begin with a game, as in pick_and_place_simple-Mug-None-Desk-308/trial_1"
        )
        raise DataError(path, f"res_info, item {number}", problem)
    return match.groupdict()


def _embodied(folder: Path) -> list[Outcomes]:
    files: dict[Path, dict[int, Path]] = {}
    for path in folder.rglob("episode_*_final_res.json"):
        if match := EPISODE.fullmatch(path.name):
            files.setdefault(path.parent, {})[int(match[1])] = path
    if not files:
        problem = "holds no episode_N_final_res.json, as EmbodiedBench writes them"
        raise DataError(folder, "", problem)
    return [_set(folder, where, files[where]) for where in sorted(files)]


def _set(top: Path, where: Path, files: Mapping[int, Path]) -> Outcomes:
    own = where.parent if where.name == "results" else where
    name = own.name if own in (top, top.parent) else str(own.relative_to(top))
    scores = [_episode(files[number]) for number in sorted(files)]
    return Outcomes(name, "EmbodiedBench", tuple(map(str, sorted(files))), tuple(scores))


def _episode(path: Path) -> Mapping[str, float]:
    whole = read_json(path)
    if not isinstance(whole, dict) or "task_success" not in whole:
        raise DataError(path, "field 'task_success'", "is missing", "is it EmbodiedBench's?")
    found = {name: key for name, key in FIELDS.items() if whole.get(name) is not None}
    return {key: _number(path, name, whole[name], key) for name, key in found.items()}


def _number(path: Path, where: str, value: Any, key: str) -> float:
    good = isinstance(value, int | float) and math.isfinite(value) and value >= 0
    if not good or (key in ("sr", "goal_sr") and value > 1):
        raise DataError(path, where, f"is no possible {key}: {value!r}")
    return float(value)
