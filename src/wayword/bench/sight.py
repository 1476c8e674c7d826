"""Sight: the same episodes in words, in pictures, in both, and with pictures of no use.

A model that scores alike with the pictures of another place does not look at them: it reads the
list of actions, and what else the prompt states. Two controls show that, a blank picture and the
picture of another place. Success is compared by episode, on the shortest level of each track.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from wayword.bench.outcomes import Judge, cost, place, results, triple
from wayword.metrics.intervals import estimates, rate_interval
from wayword.runs.record import is_run

SIGHT = "eyes"
"""The folder of the runs, ``eyes/CONDITION/TRACK``."""
CONDITIONS: Mapping[str, Mapping[str, str]] = {
    "words": {},
    "pictures": {"eyes": "pictures"},
    "both": {"eyes": "both"},
    "blank": {"eyes": "pictures", "picture_control": "blank"},
    "elsewhere": {"eyes": "pictures", "picture_control": "elsewhere"},
}
"""Condition -> the settings of its runs. The first is the one that the others are compared with."""
DRAWN = {
    "follow": "",
    "street": "",
    "find": "apartments:paintable",
    "grid": "",
    "act": "",
}
"""Track -> the dataset that is played in all conditions, if it is not the track's own."""
DIFFERENCE = (-1.0, 1.0)
"""Bounds of the difference of two outcomes."""


class Ladder(Judge, Protocol):
    """A track, as far as its runs are found and judged."""

    @property
    def name(self) -> str:
        """Name of the track."""

    @property
    def lengths(self) -> Sequence[int]:
        """Lengths of its levels, the shortest first."""


def run_folder(folder: Path, track: Ladder, condition: str) -> Path:
    """Return the folder of a condition's run.

    In words, that of the ladder's shortest level, unless the conditions have a dataset
    of their own.
    """
    if condition == "words" and not DRAWN[track.name]:
        return folder / track.name / f"{track.lengths[0]:03d}"
    return folder / SIGHT / condition / track.name


def _outcomes(
    folder: Path, tracks: Sequence[Ladder], condition: str
) -> Iterator[tuple[str, str, bool, Mapping[str, float]]]:
    """Yield the place, name, success and scores of each episode of a condition."""
    for track in tracks:
        path = run_folder(folder, track, condition)
        # Tracks that were not played in pictures have no pairs.
        if is_run(path) and is_run(run_folder(folder, track, "pictures")):
            for name, won, scores in results(path, track):
                yield (
                    f"{track.name}/{place(name)}",
                    f"{track.name}/{name}",
                    won,
                    scores,
                )


def sight_rows(folder: Path, tracks: Sequence[Ladder]) -> list[dict[str, Any]]:
    """Return a row for each condition: success, and its difference from words, paired by episode.

    Empty without runs in pictures.
    """
    drawn = [track for track in tracks if track.name in DRAWN]
    rows = []
    in_words: dict[str, bool] = {}
    for condition in CONDITIONS:
        played = list(_outcomes(folder, drawn, condition))
        wins = {name: won for _, name, won, _ in played}
        if condition == "words":
            in_words = wins
        if not played:
            continue
        places = [where for where, _, _, _ in played]
        row = {
            "condition": condition,
            "episodes": len(played),
            "success": triple(
                rate_interval(np.array(list(wins.values()), float), places)
            ),
            "change": _difference(wins, in_words),
        }
        # Without what the ladder has counted: its own level, in words.
        extra = [scores for _, name, _, scores in played if _is_extra(name, condition)]
        rows.append({**row, **cost(extra)})
    return rows


def _is_extra(name: str, condition: str) -> bool:
    """True if the ladder has not counted the episode's cost already."""
    track = name.partition("/")[0]
    return condition != "words" or bool(DRAWN[track])


def looks(folder: Path, tracks: Sequence[Ladder]) -> list[float]:
    """Return how much more often a model succeeds with its pictures than with another place's.

    The mean difference, paired by episode, with the interval's bounds. Empty without
    both runs.
    """
    drawn = [track for track in tracks if track.name in DRAWN]
    wins = {}
    for condition in ("pictures", "elsewhere"):
        wins[condition] = {
            name: won for _, name, won, _ in _outcomes(folder, drawn, condition)
        }
    return _difference(wins["pictures"], wins["elsewhere"])


def _difference(wins: Mapping[str, bool], others: Mapping[str, bool]) -> list[float]:
    """Return the mean difference on shared episodes and its bounds; empty without any."""
    shared = [name for name in wins if name in others]
    if not shared:
        return []
    gaps = [float(wins[name]) - float(others[name]) for name in shared]
    places = [place(name) for name in shared]
    (found,) = estimates(np.array(gaps)[:, None], [DIFFERENCE], places)
    return triple(found.interval(), -1.0)


def verdict(gap: Sequence[float]) -> str:
    """Return what the difference from the pictures of another place says of a model.

    ``gap`` is the result of :func:`looks`.
    """
    mean, low, high = gap
    points = f"{100 * mean:+.0f} points [{100 * low:+.0f}, {100 * high:+.0f}]"
    if low > 0.0:
        return (
            f"its own pictures beat those of another place by {points}: the model looks"
        )
    # No proof that it does not look: few episodes show no difference either.
    return (
        f"its own pictures beat those of another place by no more than chance ({points}): these "
        "episodes do not show that the model looks"
    )
