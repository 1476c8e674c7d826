"""Comparisons of runs on the episodes that both have, from folders to a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError
from wayword.core.files import short_path
from wayword.core.geometry import Point
from wayword.metrics import accounting
from wayword.metrics import compare as comparing
from wayword.metrics.recorded import as_mapping, point_of
from wayword.runs import config as configs
from wayword.runs.record import RunFolder
from wayword.runs.reports import Report
from wayword.runs.scored_runs import (
    MOST_NAMED,
    ScoredRun,
    groups_at,
    merged_owners,
    only,
    pooled_scores,
    scored_run,
    width_of,
)

SAME_START = 0.25
"""Metres up to which two starts of a robot count as one: as near as Nav2 drives."""


@dataclass(frozen=True)
class Compared:
    """A comparison of two runs by episode, the fields in which their identities differ, and a note
    on searches that began at different places."""

    comparison: comparing.Comparison
    differ: tuple[str, ...]
    starts: str = ""


def compared(first: Path, second: Path, keys: Sequence[str] = ()) -> Compared:
    """Compare two runs by episode. Raises ``UsageError`` if they have no episode in common."""
    one, two = ([scored_run(RunFolder.read(path))] for path in (first, second))
    return _compared(one, two, keys, (str(first), str(second)))


def _compared(
    first: Sequence[ScoredRun],
    second: Sequence[ScoredRun],
    keys: Sequence[str],
    names: tuple[str, str],
) -> Compared:
    """Compare pooled runs by episode, by their means over seeds.

    ``keys`` are the metrics to compare, by key or column head; all if empty.
    ``names`` are those of the two sides in messages and tables. Raises ``UsageError``
    for runs of different families, or without a shared episode.
    """
    # Runs of one side differ only in seeds, so the first one's config and unit stand for all.
    first_config = first[0].config
    second_config = second[0].config
    family = first_config["family"]
    if second_config["family"] != family:
        families = f"{names[0]} is {family} and {names[1]} is {second_config['family']}"
        raise UsageError(f"{families}; compare runs on the same dataset")
    first_scores = dict(pooled_scores(first))
    second_scores = dict(pooled_scores(second))
    for name, scores in zip(names, (first_scores, second_scores), strict=True):
        if not scores:
            raise UsageError(f"{name} has no finished episodes to compare")
    if first_scores.keys().isdisjoint(second_scores):
        _check_settings(first_config, second_config, names)
    metrics = configs.metrics_of(first_config)
    columns = (*metrics, *accounting.METRICS)
    comparison = comparing.compare(
        names[0],
        only(first_scores, keys, columns),
        names[1],
        only(second_scores, keys, columns),
        family=family,
        metrics=metrics,
        clusters=merged_owners(first),
        unit=first[0].unit,
        primary=configs.success_of(first_config),
    )
    differ = differing_fields(first_config, second_config)
    return Compared(comparison, differ, start_note(first, second))


def start_note(first: Sequence[ScoredRun], second: Sequence[ScoredRun]) -> str:
    """Return which searches with a robot began at different places in two pooled runs; empty if
    none did: ``toilet: starts 1.4 m apart; …``. Simulations begin where the episode says."""
    places: list[dict[str, list[Point]]] = [{}, {}]
    for side, runs in zip(places, (first, second), strict=True):
        for each in runs:
            # Only robots report these metres.
            if "metres" not in each.scored.columns:
                return ""
            for name in each.scored.ids:
                side.setdefault(name, []).extend(_starts(each, name))
    notes = []
    for name, starts in places[0].items():
        pairs = product(starts, places[1].get(name, ()))
        apart = max((math.dist(*pair) for pair in pairs), default=0.0)
        if apart > SAME_START:
            notes.append(f"{name}: starts {apart:.1f} m apart")
    if not notes:
        return ""
    if len(notes) > MOST_NAMED:
        more = len(notes) - MOST_NAMED
        notes[MOST_NAMED:] = [f"{more} more episodes"]
    return f"{', '.join(notes)}; drive the robot back to its start before each run"


def _starts(run: ScoredRun, episode: str) -> list[Point]:
    """Return where the actors of an episode began, as far as its record says."""
    trajectory = as_mapping(run.run.raw_record(episode)["trajectory"])
    poses = as_mapping(trajectory.get("start") or {}).values()
    return list(filter(None, (point_of(as_mapping(pose)) for pose in poses)))


def _check_settings(one: JsonObject, two: JsonObject, names: tuple[str, str]) -> None:
    """Raise ``UsageError`` for two runs without a shared episode whose splits are the same: their
    settings of the dataset, such as a robot's target, make other episodes."""
    old = one["identity"]
    new = two["identity"]
    if old.get("dataset") != new.get("dataset"):
        return
    first = old.get("dataset_settings") or {}
    second = new.get("dataset_settings") or {}
    for key in dict.fromkeys((*first, *second)):
        if first.get(key) != second.get(key):
            raise UsageError(
                f"{names[0]} and {names[1]} have no finished episode in common: dataset.{key} is "
                f"{first.get(key)!r:.60} and {second.get(key)!r:.60}; give both runs the same"
            )


def differing_fields(
    one: JsonObject,
    two: JsonObject,
) -> tuple[str, ...]:
    """Return the fields in which the identities of two runs differ, by their ``run.json``."""
    old = one["identity"]
    new = two["identity"]
    fields = dict.fromkeys((*old, *new))
    return tuple(key for key in fields if old.get(key) != new.get(key))


def compare(
    runs: Sequence[Path],
    form: str = "rich",
    keys: Sequence[str] = (),
    cluster: str = "",
    data: Path | None = None,
    labels: Sequence[str] = (),
) -> Report:
    """Return the table of the first run against each of the others, episode by episode.

    ``cluster`` as in :func:`table`. The runs in a folder are pooled if they differ only
    in their seeds, which a notice says. ``labels`` are names of the runs in place of the
    folders'. Raises ``UsageError`` if two runs have no episode in common, or for a wrong
    number of labels.
    """
    results, notices = comparisons(runs, keys, cluster, data, labels)
    return Report(comparing.render(results, form, width_of()), notices)


def comparisons(
    runs: Sequence[Path],
    keys: Sequence[str] = (),
    cluster: str = "",
    data: Path | None = None,
    labels: Sequence[str] = (),
) -> tuple[list[comparing.Comparison], tuple[str, ...]]:
    """Return the comparisons of :func:`compare`, corrected together, and notices for the user.

    The first run is compared with each of the others; runs of one path that differ only in their
    seeds are one. A notice names the settings in which a pair differs. Raises ``UsageError`` for
    fewer than two runs.
    """
    groups: list[tuple[str, list[ScoredRun]]] = []
    notices: list[str] = []
    for path in runs:
        within = groups_at([path], cluster, data, notices.append)
        for each in within:
            # A single group is named as the user wrote it, not by one seed.
            folder = each[0].run.path
            if len(within) == 1:
                folder = path
            groups.append((short_path(folder), each))
    if len(groups) < 2:
        raise UsageError(
            f"a comparison needs at least two runs, got {len(groups)}; name another one"
        )
    if labels and len(labels) != len(groups):
        names = ", ".join(name for name, _ in groups)
        raise UsageError(
            f"--label: {len(labels)} given, and the comparison has {len(groups)} runs "
            f"({names}); repeat --label for each, in this order"
        )
    if labels:
        runs_alone = [each for _, each in groups]
        groups = list(zip(labels, runs_alone, strict=True))
    (name, first), *others = groups
    results = [_compared(first, each, keys, (name, other)) for other, each in others]
    # Each further comparison adds a chance of a false difference.
    corrected = comparing.corrected([each.comparison for each in results])
    for result, (other, _) in zip(results, others, strict=True):
        subject = f"{other} differs"
        if len(results) == 1:
            subject = "the runs differ"
        if result.differ:
            notices.append(f"{subject} in: {', '.join(result.differ)}")
        if result.starts:
            whose = "" if len(results) == 1 else f"{other}: "
            notices.append(f"{whose}{result.starts}")
    return corrected, tuple(notices)
