"""Numbers, values and small figures, formatted for people.

    value(metric, 0.467)                            # "46.7%"
    facts({"place": "hall", "objects": [...]})      # any JSON, laid out by templates/parts.html
    observation(seen, taken, letters)               # an actor's observation, with a compass

Figures: histograms, intervals, a compass of an actor's neighbors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from wayword.core.geometry import relative
from wayword.core.metric import Metric
from wayword.metrics import accounting
from wayword.metrics import table as tables
from wayword.metrics.mistakes.causes import label_of
from wayword.metrics.progress import count
from wayword.metrics.recorded import as_mapping, wind
from wayword.viewer.markup import Html, Letters, macro, template_function

_BINS = 12
_UNITS = {
    "rate": ("", "%"),
    "ratio": ("", "%"),
    "metres": ("", " m"),
    "seconds": ("", " s"),
    "dollars": ("$", ""),
}


template_function(label_of)
template_function(count)
template_function(wind)

# Metrics in words.


@template_function
def value(metric: Metric, score: float | None) -> str:
    """Format a value with its unit: ``46.7%``, ``7.37 m``, ``$0.0012``; a dash for NaN."""
    if score is None or math.isnan(score):
        return "–"
    if math.isinf(score):
        return "∞"
    if metric.kind == "seconds" and abs(score) < 1:
        return f"{1000 * score:.0f} ms"
    # As in tables, but zero and a whole percentage need no decimals.
    integral = metric.kind == "count" and float(score).is_integer()
    digits = 0 if integral or (metric.kind == "rate" and score in (0.0, 1.0)) else None
    digits = 2 if metric.kind == "dollars" and score == 0 else digits
    before, after = _UNITS.get(metric.kind, ("", ""))
    return f"{before}{tables.number(metric, score, digits)}{after}"


@template_function
def title(metric: Metric) -> str:
    """Return the metric's name on pages, where accounting metrics are written out in full."""
    if metric in accounting.METRICS:
        return metric.key.replace("_", " ").capitalize()
    return metric.label


@template_function
def column(metric: Metric) -> str:
    """Return a short column heading with its unit."""
    return f"{metric.label} tok." if metric.kind == "tokens" else tables.label(metric)


@template_function
def interval(metric: Metric, row: Mapping[str, float | None]) -> str:
    """Format an interval: ``95%: 38.1 to 55.2%``, or the reason why it is missing."""
    low = row.get("low")
    high = row.get("high")
    if low is None or high is None:
        return "too few episodes for an interval"
    first = value(metric, low)
    last = value(metric, high)
    unit = _UNITS.get(metric.kind, ("", ""))[1]
    if (
        unit
        and first.endswith(unit)
        and last.endswith(unit)
        and not first.endswith("ms")
    ):
        first = first.removesuffix(unit)
    return f"95%: {first} to {last}"


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{max(10, 10 * round(seconds / 10))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# Distributions.


def overlay(metric: Metric, first: ArrayLike, second: ArrayLike) -> Html | None:
    """Overlay the distributions of two runs, as shares of each, in at most twelve bins; None if
    they have fewer than three values."""
    both = [np.asarray(each, dtype=np.float64) for each in (first, second)]
    both = [each[np.isfinite(each)] for each in both]
    values = np.concatenate(both)
    if min(map(len, both)) == 0 or len(np.unique(values)) < 3:
        return None
    low = float(values.min())
    high = float(values.max())
    if metric.kind == "rate" and low >= 0 and high <= 1:
        low = 0.0
        high = 1.0
    whole = metric.kind != "rate" and high - low < _BINS and not (values % 1).any()
    edges = np.arange(low, high + 2) if whole else np.linspace(low, high, _BINS + 1)
    shares = [np.histogram(each, edges)[0] / len(each) for each in both]
    most = max(float(each.max()) for each in shares)
    wide = 120 / (len(edges) - 1)
    paths = []
    for each in shares:
        heights = [*(round(36 - 34 * part / most, 1) for part in each.tolist()), 36]
        steps = (
            f"H{round(at * wide, 1)}V{height}"
            for at, height in enumerate(heights[1:], 1)
        )
        paths.append(f"M0 36V{heights[0]}{''.join(steps)}")
    return _OVERLAY(metric, f"{value(metric, low)} to {value(metric, high)}", paths)


_OVERLAY = macro("parts.html", "overlay")


def probability(logprob: float) -> float:
    """Convert a log-probability; 0 if it is missing."""
    return math.exp(min(0.0, logprob)) if logprob == logprob else 0.0


@template_function
def ranked_options(choice: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return options and their probabilities, the best first. They need not sum to one."""
    pairs = zip(choice["options"], choice["logprobs"], strict=False)
    return [
        (option, probability(p))
        for option, p in sorted(pairs, key=lambda pair: -pair[1])
    ]


# Any JSON values as facts: names and values, lists, tables.

_FOLDED = 12  # names in a list from which it is folded away
_DEEPEST = 5
_LONG = 120


facts = macro("parts.html", "facts")
"""Names and values of any JSON; nothing for an empty mapping."""
shown = macro("parts.html", "shown")
"""A value as text, number, list, table or nested facts."""


@template_function
def spaced(key: object) -> str:
    """``low level`` for ``low_level``."""
    return str(key).replace("_", " ")


@template_function
def named_values(mapping: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the items of a mapping that have a value."""
    return [
        (str(key), each)
        for key, each in mapping.items()
        if key != "type" and each is not None and each != ""
        if each or not isinstance(each, list | tuple | dict)
    ]


@template_function
def kind_of(value: Any, depth: int) -> str:
    """Return the form in which the template ``parts.html`` shows a value."""
    match value:
        case int() | float():
            return "number"
        case str():
            long = len(value) > _LONG or "\n" in value
            return "" if not value else "long" if long else "text"
        case _ if depth >= _DEEPEST:
            return "deep"
        case Mapping():
            if len(value) > _FOLDED and all(
                isinstance(each, Mapping) for each in value.values()
            ):
                return "objects"
            if value.get("type") == "DepthImage" and free_rays(value):
                return "depth"
            return "facts"
        case Sequence():
            if value and all(isinstance(item, Mapping) for item in value):
                return "rows"
            if all(
                isinstance(item, str | int | float) or item is None for item in value
            ):
                return "words" if len(value) <= _FOLDED else "many words"
            return "list"
    return "plain"


@template_function
def as_json(value: Any) -> str:
    """Return a value that is nested too deeply for a layout as JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


@template_function
def number(value: float, name: str) -> str:
    """Format a number with the unit implied by its name; yes or no for a boolean."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in ("heading", "heading_before"):
        return f"{value:.0f}° {wind(value)}"
    if isinstance(value, int):
        return str(value)
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    if name == "distance":
        return f"{text} m"
    return f"{text}°" if name == "elevation" else text


@template_function
def filled_keys(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns of a table that are not empty, or a no, in every row."""
    empty: tuple[Any, ...] = ("", None, [])
    filled = {
        str(k)
        for row in rows
        for k, v in row.items()
        if v not in empty and v is not False
    }
    keys = dict.fromkeys(str(key) for row in rows for key in row)
    return [key for key in keys if key in filled and key != "type"]


# Observations: facts, and the neighbors of an actor on a compass.


class ListedExit(NamedTuple):
    """An exit of a place: degrees to the right of the actor's heading (None if unknown), metres as
    text, and its destination; ``taken`` if the actor used it."""

    turn: float | None
    place: str = ""
    distance: str = ""
    taken: bool = False


def observation(observed: Any, taken: str, letters: Letters) -> Html:
    """Render an observation; ``taken``, the place the actor went to next, is marked."""
    held = as_mapping(observed)
    facing = held.get("heading")
    neighbors = held.get("neighbors")
    exits = []
    has_neighbors = False
    if isinstance(facing, int | float) and isinstance(neighbors, list | tuple):
        has_neighbors = True
        for neighbor in map(as_mapping, neighbors):
            name = str(neighbor.get("viewpoint", ""))
            heading = neighbor.get("heading")
            if isinstance(heading, int | float):
                turn = relative(heading, facing)
            else:
                turn = None
            length = neighbor.get("distance")
            distance = f"{length:.2f} m" if isinstance(length, int | float) else ""
            exits.append(ListedExit(turn, name, distance, name == taken))
    elif isinstance(held.get("angles"), list | tuple):
        exits = [
            ListedExit(float(turn))
            for turn in held["angles"]
            if isinstance(turn, int | float)
        ]
    rest = {
        key: _walls(each) if key == "walls" else each
        for key, each in held.items()
        # shown in another form, or once for all steps; a level gaze is nothing new
        if key not in ("neighbors", "angles", "scene", "actor", "messages", "image")
        and not (key == "elevation" and each == 0)
    }
    return _OBSERVATION(rest, exits, has_neighbors, letters)


_OBSERVATION = macro("steps.html", "observation")


def _walls(walls: Any) -> Any:
    """Return the steps to the walls ahead, left and right (None: beyond the view) as text."""
    if not isinstance(walls, list | tuple) or len(walls) != 3:
        return walls
    if not all(steps is None or isinstance(steps, int) for steps in walls):
        return walls
    sides = zip(walls, ("ahead", "left", "right"), strict=True)
    distances = [f"{where} {count(n, 'step')}" for n, where in sides if n is not None]
    return ", ".join(distances) or "none in view"


@template_function
def side(angle: float) -> str:
    """``ahead``, ``right 34°``, ``left 90°``, ``behind``."""
    if abs(angle) < 0.5:
        return "ahead"
    if abs(angle) > 179.5:
        return "behind"
    return f"{'right' if angle > 0 else 'left'} {abs(angle):.0f}°"


# Depth: the free distance at the height of the eye.

_LEVEL = 6.0
"""Degrees off the level up to which a row of a depth image speaks of walls and not of the floor."""


def free_rays(depth: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return (bearing in degrees, free metres) of each column of a recorded depth image; empty for
    any other value."""
    try:
        bearings = depth["bearings"]
        rows = depth["elevations"]
        reach = depth["reach"]
        image = np.frombuffer(depth["levels"], np.uint8).reshape(
            len(rows), len(bearings)
        )
        level = [n for n, up in enumerate(rows) if abs(up) <= _LEVEL]
        nearest = image[level].min(axis=0, initial=254).tolist()
        return [
            (float(b), float(reach) * n / 254)
            for b, n in zip(bearings, nearest, strict=True)
        ]
    except (KeyError, TypeError, ValueError):
        return []
