"""Card of one player: the results of its runs, level by level and track by track.

It is computed from the runs and kept in ``FOLDER/card.json``. A card of someone else is data: its
shape is checked before it is read. The runs are in folders of their own:

    TRACK/LENGTH               a level of a track, such as ``follow/008``
    real/DATASET-SPLIT         a sample of published data
    robust/PERTURBATION/TRACK  a middle level with perturbed perception
    eyes/CONDITION/TRACK       a first level in pictures
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wayword.bench.card_text import render
from wayword.bench.horizon import Attempt, Horizon, horizon, mean_success, place_means
from wayword.bench.ladders import (
    CARD,
    DIFFERENCE,
    ROBUST,
    Bench,
    Contender,
    Track,
    open_bench,
    sample_size,
)
from wayword.bench.outcomes import cost, effort, place, results, total, triple, unpriced
from wayword.bench.real import REAL, ROW_HEAD, real_rows, sample_folder
from wayword.bench.sight import looks, sight_rows
from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError
from wayword.core.files import reading
from wayword.core.other_files import but_is, fields_of
from wayword.core.shapes import Shapes, check_shape, parse_untrusted
from wayword.metrics.intervals import estimates, holm, rate_interval
from wayword.models.parts.weights import TRAINED
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder, is_run


def outcomes(
    folder: Path,
    track: Track,
) -> Iterator[tuple[int, str, bool, dict[str, float]]]:
    """Yield each tried episode: its level, id, success, and scores. Failed ones count
    as failures.
    """
    for level, length in enumerate(track.lengths):
        path = folder / track.name / f"{length:03d}"
        if is_run(path):
            for name, won, scores in results(path, track):
                yield level, name, won, scores


def successes(
    tried: Sequence[tuple[int, str, bool, dict[str, float]]],
) -> dict[str, float]:
    """Return episode -> 1 if it was solved, else 0."""
    return {name: float(won) for _, name, won, _ in tried}


def robustness(folder: Path, bench: Bench, quick: bool) -> list[dict[str, Any]]:
    """A row for each perturbation: success with and without it on the same episodes of the tracks'
    middle levels, and the loss with its interval, paired by episode. Intervals and p-values are
    corrected for the number of perturbations (Holm)."""
    rows = []
    losses = []
    for kind, rate in bench.robust.items():
        places: list[str] = []
        before: list[bool] = []
        after: list[bool] = []
        tracks: list[str] = []
        played = []
        for track in bench.tracks:
            if quick:
                track = track.quick()
            clean = folder / track.name / f"{track.middle:03d}"
            path = folder / ROBUST / kind / track.name
            # Tracks that were not played under this perturbation have no pairs.
            if not (is_run(path) and is_run(clean)):
                continue
            # Pairs are episodes that were played both ways: a perturbed run may be interrupted.
            clean_wins = {name: won for name, won, _ in results(clean, track)}
            for name, won, scores in results(path, track):
                played.append(scores)
                if name not in clean_wins:
                    continue
                places.append(f"{track.name}/{place(name)}")
                before.append(clean_wins[name])
                after.append(won)
                if track.name not in tracks:
                    tracks.append(track.name)
        if places:
            gaps = np.array(before, dtype=float) - np.array(after, dtype=float)
            losses += estimates(gaps[:, None], [DIFFERENCE], places)
            rows.append(
                {
                    "kind": kind,
                    "rate": rate,
                    "tracks": tracks,
                    "episodes": len(places),
                    "clean": round(float(np.mean(before)), 4),
                    "perturbed": round(float(np.mean(after)), 4),
                    **cost(played),
                }
            )
    # Perturbations are one family: the worst of eight looks worse than it is.
    for row, loss, (p, alpha) in zip(
        rows,
        losses,
        holm([loss.p for loss in losses]),
        strict=True,
    ):
        row |= {"loss": triple(loss.interval(alpha), -1.0)}
        row |= {"p": round(p, 4), "p_raw": round(loss.p, 4)}
    return rows


def make_card(folder: Path, header: JsonObject) -> JsonObject:
    """Return the card of the runs in a folder, whose ``header`` says what they are of.

    Samples of published data (``real``) count neither in success nor in costs.
    """
    bench = open_bench(header["bench"])
    tracks = {}
    means: list[float] = []
    for track in bench.tracks:
        if track.name not in header["tracks"]:
            continue
        if header["quick"]:
            track = track.quick()
        # A card may be of some tracks.
        played = list(outcomes(folder, track))
        if not played:
            continue
        # A place is what several episodes of a ladder have in common.
        attempts = [
            Attempt(level, place(name), name, won) for level, name, won, _ in played
        ]
        # Places weigh alike, so that a track with more of them weighs more.
        means += place_means(attempts, len(track.lengths)).values()
        tracks[track.name] = {
            "lengths": list(track.lengths),
            "unit": track.unit,
            **_horizon(horizon(track.lengths, attempts, track.floor or None), track),
            "success": triple(mean_success(attempts, len(track.lengths))),
            "levels": [
                _level(played, n, length) for n, length in enumerate(track.lengths)
            ],
        }
    if not tracks:
        raise UsageError(
            f"{folder}: no episode of the bench is finished yet, so there is no card; run "
            "wayword bench again to continue"
        )
    robust = robustness(folder, bench, header["quick"])
    # The first level, of all tracks: it is the same in quick runs.
    sight = sight_rows(folder, bench.tracks)
    # Perturbed runs cost money too.
    billed = [*robust, *sight]
    for each in tracks.values():
        billed += each["levels"]
    sums: dict[str, Any] = {}
    for key in ("tokens", "dollars"):
        sums[key] = sum(row.get(key) or 0 for row in billed)
    # A mean over some tracks would not compare with one over others.
    overall = None
    if len(tracks) == len(bench.tracks):
        overall = triple(rate_interval(np.array(means)))
    # Of all runs but samples of published data.
    others = [path.parent for path in folder.glob("*/*/*/run.json")]
    sums["unpriced"] = sum(map(unpriced, [*level_runs(folder), *others]))
    sums |= {"date": _date(folder), "robust": robust}
    # Cards of players that were not trained have no such field.
    if trained := _trained(folder):
        sums["trained"] = trained
    # Cards of runs in words alone have no such field.
    if sight:
        sums |= {"sight": sight, "looks": looks(folder, bench.tracks)}
    if "real" in header:
        size = sample_size(bench, header["quick"])
        sums["real"] = list(real_rows(folder, bench.real, header["real"], size))
    return {
        **header,
        "success": overall,
        **sums,
        "tracks": tracks,
    }


def level_runs(folder: Path) -> list[Path]:
    """Return the runs of levels in a folder."""
    runs = sorted(path.parent for path in folder.glob("*/*/run.json"))
    return [run for run in runs if run.parent.name != REAL]


def _trained(folder: Path) -> list[str]:
    """Return what the player was trained on, as the caveats of its runs say."""
    lines: dict[str, None] = {}
    for run in level_runs(folder):
        caveats = RunFolder.read(run).config["caveats"]
        lines |= dict.fromkeys(line for line in caveats if TRAINED in line)
    return [*lines]


def _date(folder: Path) -> str:
    """Return the day on which the last run of a level began, as a card grows over days."""
    started = [RunFolder.read(run).config["started"] for run in level_runs(folder)]
    return max((each[:10] for each in started), default="")


def recorded_entry(folder: Path, header: JsonObject) -> Contender:
    """Return the entry that a card's header describes."""
    names = tuple(header["tracks"])
    return Contender(
        open_bench(header["bench"]),
        header["agent"],
        header["model"],
        header["settings"],
        names,
        header["quick"],
        out=folder,
    )


def recorded_samples(
    entry: Contender,
    header: JsonObject,
    data: Path | None,
) -> dict[Path, Plan]:
    """Return the plan of each run on published data that a card names."""
    plans = {}
    for on in (row["dataset"] for row in header.get("real", ())):
        for real in entry.bench.real:
            run = sample_folder(entry.folder, on)
            # A version has each dataset once.
            if on.partition(":")[0] == real.name and is_run(run):
                plans[run] = replace(entry.real_plan(real, data=data), on=on)
    return plans


def _horizon(fitted: Horizon, track: Track) -> JsonObject:
    """Return the horizon in the ladder's unit: numbers, or the texts ``< 2`` and ``> 64``."""

    def bounded(length: float) -> float | str:
        """Return a length, or a text for one beyond an end of the ladder."""
        if length <= 0:
            return f"< {track.lengths[0]}"
        if math.isinf(length):
            return f"> {track.lengths[-1]}"
        return round(length, 2)

    h50 = fitted.h50
    return {
        "h50": [bounded(value) for value in (h50.mean, h50.low, h50.high)],
        "ceiling": triple(fitted.ceiling),
        "monotone": fitted.is_monotone,
        "floor": list(track.floor),
    }


def _level(
    played: Sequence[tuple[int, str, bool, dict[str, float]]],
    level: int,
    length: int,
) -> JsonObject:
    """Return the success and the cost of a level.

    ``episodes`` is 0 where the ladder ended before it.
    """
    # A level without rows was not played, because those before it were hopeless.
    rows = [row for row in played if row[0] == level]
    won = np.array([row[2] for row in rows], dtype=float)
    line: dict[str, Any] = {
        "length": length,
        "episodes": len(rows),
        "solved": int(won.sum()),
    }
    if not rows:
        return line
    rate = rate_interval(won, [place(row[1]) for row in rows])
    scores = [row[3] for row in rows]

    line["success"] = triple(rate)
    # The page of a card links to the first lost episode.
    line["lost"] = next((row[1] for row in rows if not row[2]), "")
    line |= effort(scores)
    line["steps_over_length"] = round(total(scores, "steps") / (length * len(rows)), 2)
    return line


def write_card(folder: Path, card: JsonObject) -> Path:
    """Write the card next to its runs."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / CARD
    path.write_text(
        json.dumps(card, indent=2, allow_nan=False) + "\n",
        encoding="utf-8",
    )
    return path


def read_stored(path: Path) -> JsonObject:
    """Return the card in a file as it was written.

    Raises ``UsageError``, ``RecordingError`` or ``DataError`` for a file that is not a card.
    """
    if not path.is_file():
        raise UsageError(f"{path.parent}: has no {CARD}; play with wayword bench")
    if "tracks" not in fields_of(path):
        raise UsageError(f"{path}: not a card of the bench{but_is(path)}")
    # Cards come from other people.
    with reading(str(path), "play the bench again"):
        card: dict[str, Any] = parse_untrusted(path.read_bytes())
        # Shapes are of fields, so that the whole is checked as one: it must be a mapping.
        check_shape(path, {"card": card}, {"card": {}})
        check_shape(path, card, SHAPES)
        open_bench(card["bench"])
        render(card)  # raises for whatever else is missing or malformed
    return card


def read_card(folder: Path) -> JsonObject:
    """Return the card of a folder, computed again where its runs are there.

    Raises ``UsageError`` or ``RecordingError``.
    """
    path = folder / CARD if folder.is_dir() else folder
    card = read_stored(path)
    # What the player was is taken from the card.
    header = {key: value for key, value in card.items() if key not in _COMPUTED}
    # Nothing that was computed is taken from the file: a card may have been edited.
    header["tracks"] = track_heads(card)
    if "real" in card:
        header["real"] = []
        for row in card["real"]:
            header["real"].append({key: row[key] for key in ROW_HEAD})
    if not level_runs(path.parent):
        return card
    return make_card(path.parent, header)


def track_heads(card: JsonObject) -> dict[str, dict[str, Any]]:
    """Return the part of each track of a card that its header has: lengths and unit."""
    heads = {}
    for name, row in card["tracks"].items():
        heads[name] = {"lengths": row["lengths"], "unit": row["unit"]}
    return heads


SHAPES: Shapes = {
    "bench": "",
    "quick": False,
    "private": False,
    "agent": "",
    "model": "",
    "settings": {},
    "wayword": "",
    "commit": "",
    "date": "",
    "success": [],
    "success.*": 0.0,
    "tokens": 0,
    "dollars": 0.0,
    "unpriced": 0,
    "trained": [],
    "trained.*": "",
    "tracks": {},
    "tracks.*": {},
    "tracks.*.lengths": [],
    "tracks.*.lengths.*": 0,
    "tracks.*.unit": "",
    "tracks.*.floor.*": 0.0,
    "tracks.*.ceiling.*": 0.0,
    "tracks.*.success.*": 0.0,
    "tracks.*.monotone": False,
    "tracks.*.levels": [],
    "tracks.*.levels.*": {},
    "tracks.*.levels.*.length": 0,
    "tracks.*.levels.*.episodes": 0,
    "tracks.*.levels.*.solved": 0,
    "tracks.*.levels.*.success.*": 0.0,
    "tracks.*.levels.*.lost": "",
    "tracks.*.levels.*.steps_over_length": 0.0,
    "tracks.*.levels.*.tokens": 0,
    "tracks.*.levels.*.dollars": 0.0,
    "tracks.*.levels.*.seconds": 0.0,
    "tracks.*.levels.*.rejection_rate": 0.0,
    "robust": [],
    "robust.*": {},
    "robust.*.kind": "",
    "robust.*.tracks": [],
    "robust.*.tracks.*": "",
    "robust.*.episodes": 0,
    "robust.*.rate": 0.0,
    "robust.*.clean": 0.0,
    "robust.*.perturbed": 0.0,
    "robust.*.loss.*": 0.0,
    "robust.*.p": 0.0,
    "robust.*.p_raw": 0.0,
    "robust.*.tokens": 0,
    "robust.*.dollars": 0.0,
    "sight": [],
    "sight.*": {},
    "sight.*.condition": "",
    "sight.*.episodes": 0,
    "sight.*.success.*": 0.0,
    "sight.*.change.*": 0.0,
    "sight.*.tokens": 0,
    "sight.*.dollars": 0.0,
    "looks": [],
    "looks.*": 0.0,
    "real": [],
    "real.*": {},
    "real.*.dataset": "",
    "real.*.named": "",
    "real.*.missing": [],
    "real.*.missing.*": "",
    "real.*.episodes": 0,
    "real.*.sample": 0,
    "real.*.clusters": 0,
    "real.*.solved": 0,
    "real.*.success.*": 0.0,
    "real.*.value.*": 0.0,
    "real.*.tokens": 0,
    "real.*.dollars": 0.0,
    "real.*.seconds": 0.0,
    "real.*.rejection_rate": 0.0,
}
"""Fields of a card, with examples of their types."""


# Fields that are computed from the runs, never read from a card
_COMPUTED = (
    *("success", "tokens", "dollars", "unpriced", "date", "robust", "sight", "looks"),
    "trained",
)
