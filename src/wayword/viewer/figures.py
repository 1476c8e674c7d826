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

from wayword.core.episode import JsonObject
from wayword.core.geometry import relative
from wayword.core.metric import Metric
from wayword.core.visible import count, spaced
from wayword.metrics import accounting
from wayword.metrics import table as tables
from wayword.metrics.intervals import FEWEST
from wayword.metrics.mistakes.causes import label_of
from wayword.metrics.recorded import as_mapping, wind
from wayword.viewer.markup import Html, Letters, macro, template_function

_BINS = 12  # of a distribution: as many as a reader can distinguish in a small drawing
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
template_function(spaced)

_FIELDS = {
    # observations and feedback
    "changed": "new place",
    "container": "receptacle",
    "preposition": "in or on",
    "metres": "moved",
    "low_level": "steps in detail",
    # notes of agents that search
    "asked": "asked the model",
    "first_word": "began with an option",
    "gave_up": "gave up the search",
    "grounded": "detector reported the target",
    "known": "squares seen",
    "listed": "options",
    "not_there": "not confirmed from nearby",
    "nothing_listed": "no object listed",
    "turn": "look around",
    "valid": "answer was an option",
    # metrics of search
    "SR grounded": "Target in view at a stop (SR grounded)",
    "SR visible": "Target in view at the end (SR visible)",
    "SR released": "Within 2 m of the target (SR released)",
    "SR challenge": "In view within 1 m (SR challenge)",
    "Ever grounded": "Detector reported the target in view",
}
"""Words for people, by the name of a field, a note or a metric. Others are shown as they are."""


@template_function
def field(name: object) -> str:
    """Return the words for a field, a note or a metric."""
    return _FIELDS.get(str(name), spaced(name))


# Metrics in words.


@template_function
def value(metric: Metric, score: float | None) -> str:
    """Format a value with its unit: ``46.7%``, ``7.37 m``, ``$0.0012``; a dash for NaN."""
    if score is None or math.isnan(score):
        return "–"
    if math.isinf(score):
        return "∞"
    # 0.01 s would lose the difference between 6 and 14 ms.
    if metric.kind == "seconds" and abs(score) < 1:
        return f"{1000 * score:.0f} ms"
    # 200% of a number would read as a mistake.
    if metric.kind == "ratio" and score > 1:
        return f"{score:.1f}×"
    # As in tables, but zero and a whole percentage need no decimals.
    digits = None
    whole_count = metric.kind == "count" and float(score).is_integer()
    all_or_none = metric.kind == "rate" and score in (0.0, 1.0)
    if whole_count or all_or_none:
        digits = 0
    elif metric.kind == "dollars" and score == 0:
        digits = 2
    before, after = _UNITS.get(metric.kind, ("", ""))
    return f"{before}{tables.number(metric, score, digits)}{after}"


@template_function
def title(metric: Metric) -> str:
    """Return the metric's name on pages, where accounting metrics are written out in full."""
    if metric in accounting.METRICS:
        return spaced(metric.key).capitalize()
    return field(metric.label)


@template_function
def column(metric: Metric) -> str:
    """Return a short column heading with its unit."""
    if metric.kind == "tokens":
        return f"{metric.label} tok."
    return tables.label(metric)


def too_few(metric: Metric) -> str:
    """Return why a metric has no interval: one without bounds needs more episodes than a rate."""
    if metric.kind == "rate":
        return "too few for an interval"
    return f"too few (from {FEWEST} units)"


@template_function
def interval(metric: Metric, row: Mapping[str, float | None]) -> str:
    """Format an interval: ``95%: 38.1 to 55.2%``, or the reason why it is missing."""
    low = row.get("low")
    high = row.get("high")
    if low is None or high is None:
        return too_few(metric)
    return f"95%: {value_range(metric, low, high)}"


def value_range(metric: Metric, low: float, high: float) -> str:
    """Format a range of values, with a shared unit once: ``38.1 to 55.2%``."""
    first = value(metric, low)
    last = value(metric, high)
    unit = _UNITS.get(metric.kind, ("", ""))[1]
    if unit and last.endswith(unit):
        first = first.removesuffix(unit)
    return f"{first} to {last}"


def duration(seconds: float) -> str:
    """Format a time left, roughly: ``40 s``, ``12 min``, ``3.5 h``."""
    # Ten seconds at least: a countdown to zero would be wrong most of the time.
    if seconds < 90:
        return f"{max(10, 10 * round(seconds / 10))} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


# Distributions.


def overlay(metric: Metric, first: ArrayLike, second: ArrayLike) -> Html | None:
    """Draw the distributions of two runs above each other, as shares of each.

    ``first`` and ``second`` are scores (N,) and (M,); infinite ones and NaN are left
    out. At most ``_BINS`` bins. None if a run has no scores, or both together fewer
    than three different ones.
    """
    both = [np.asarray(each, dtype=np.float64) for each in (first, second)]
    # Distances to unreachable goals are infinite, and have no place on an axis.
    both = [each[np.isfinite(each)] for each in both]
    values = np.concatenate(both)
    is_empty = min(map(len, both)) == 0
    if is_empty or len(np.unique(values)) < 3:
        return None
    low = float(values.min())
    high = float(values.max())
    # Rates share an axis, so that two of them can be compared at a glance.
    if metric.kind == "rate" and low >= 0 and high <= 1:
        low = 0.0
        high = 1.0
    # Whole numbers of a small range get a bin each.
    whole = not (values % 1).any() and high - low < _BINS
    if whole and metric.kind != "rate":
        edges = np.arange(low, high + 2)
    else:
        edges = np.linspace(low, high, _BINS + 1)
    shares = []
    for scores in both:
        counts, _ = np.histogram(scores, edges)
        shares.append(counts / len(scores))
    # One scale for both runs, whatever their numbers of episodes.
    most = max(float(share.max()) for share in shares)
    # The drawing is 120 wide and 36 high, the highest bar 34.
    wide = 120 / (len(edges) - 1)
    paths = []
    for share in shares:
        tops = [round(36 - 34 * part / most, 1) for part in share.tolist()]
        path = f"M0 36V{tops[0]}"
        # At the right end of each bar the outline steps to the next one, at last to the axis.
        for number, top in enumerate([*tops[1:], 36], 1):
            path += f"H{round(number * wide, 1)}V{top}"
        paths.append(path)
    return _OVERLAY(metric, value_range(metric, low, high), paths)


_OVERLAY = macro("parts.html", "overlay")


def probability(logprob: float) -> float:
    """Convert a log-probability to a probability in [0, 1]; 0 if it is missing (NaN)."""
    if math.isnan(logprob):
        return 0.0
    return math.exp(min(0.0, logprob))  # rounding may lead above 0


@template_function
def ranked_options(choice: JsonObject) -> list[tuple[str, float]]:
    """Return a choice's options and their probabilities, the best first.

    They need not sum to one: options may share their beginning.
    """
    # A record may come from elsewhere, with lists of different lengths.
    pairs = zip(choice["options"], choice["logprobs"], strict=False)
    ranked = sorted(pairs, key=lambda pair: -pair[1])
    return [(option, probability(logprob)) for option, logprob in ranked]


# Any JSON values as facts: names and values, lists, tables.

_FOLDED = 12  # names in a list from which it is folded away
_DEEPEST = 5  # levels of nesting that have a layout; deeper ones are JSON
_LONG = 120  # characters from which a text is set as a paragraph


facts = macro("parts.html", "facts")
"""Names and values of any JSON; nothing for an empty mapping."""
shown = macro("parts.html", "shown")
"""A value as text, number, list, table or nested facts."""


@template_function
def named_values(mapping: JsonObject) -> list[tuple[str, Any]]:
    """Return the items of a mapping that have a value."""
    # Zero and no are values, an empty list or mapping is none.
    empty: tuple[Any, ...] = (None, "", [], (), {})
    return [
        (str(key), each)
        for key, each in mapping.items()
        if key != "type" and each not in empty
    ]


@template_function
def kind_of(value: Any, depth: int) -> str:
    """Return the form in which the template ``parts.html`` shows a value.

    Empty for an empty text. ``depth`` is the number of values around it: from
    ``_DEEPEST`` on, it is not unfolded further.
    """
    match value:
        case int() | float():
            return "number"
        case "":
            return ""
        case str():
            if len(value) > _LONG or "\n" in value:
                return "long"
            return "text"
        # After scalars, which are shown at any depth; only nesting is cut.
        case _ if depth >= _DEEPEST:
            return "deep"
        case Mapping():
            mappings = all(isinstance(each, Mapping) for each in value.values())
            if len(value) > _FOLDED and mappings:
                return "objects"
            if value.get("type") == "DepthImage" and free_rays(value):
                return "depth"
            return "facts"
        case Sequence():
            if value and all(isinstance(item, Mapping) for item in value):
                return "rows"
            scalars = (str, int, float, type(None))
            if not all(isinstance(item, scalars) for item in value):
                return "list"
            if len(value) > _FOLDED:
                return "many words"
            return "words"
    return "plain"


@template_function
def as_json(value: Any) -> str:
    """Return a value that is nested too deeply for a layout as JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


# Ten turns: more is no heading that a world gives.
_MOST_DEGREES = 3600


@template_function
def number(value: float, name: str) -> str:
    """Format a number with the unit implied by its name; yes or no for a boolean."""
    # Before ``int``, of which it is a kind.
    if isinstance(value, bool):
        return "yes" if value else "no"
    # A heading of a foreign record may be any number, also infinite.
    if name in ("heading", "heading_before") and abs(value) <= _MOST_DEGREES:
        # A full turn is 0; 359.6 rounds to one.
        return f"{round(value) % 360}° {wind(value)}"
    if isinstance(value, int):
        return str(value)
    # z: what rounds to 0 has no sign.
    text = f"{value:z.2f}".rstrip("0").rstrip(".")
    if name in ("distance", "metres", "away"):
        return f"{text} m"
    if name in ("elevation", "bearing"):
        return f"{text}°"
    return text


@template_function
def filled_keys(rows: Sequence[JsonObject]) -> list[str]:
    """Return the columns of a table that are not empty, or a no, in every row."""
    empty: tuple[Any, ...] = ("", None, [])
    keys: dict[str, bool] = {}
    for row in rows:
        for key, item in row.items():
            keys.setdefault(str(key), False)
            if item not in empty and item is not False:
                keys[str(key)] = True
    keys.pop("type", None)
    return [key for key, is_filled in keys.items() if is_filled]


# Observations: facts, and the neighbors of an actor on a compass.


class ListedExit(NamedTuple):
    """An exit of a place: degrees to the right of the actor's heading (None if
    unknown), metres as text, and its destination; ``taken`` if the actor used it.
    """

    turn: float | None
    place: str = ""
    distance: str = ""
    taken: bool = False


def observation(observed: Any, taken: str, letters: Letters) -> Html:
    """Render an observation; ``taken``, the place the actor went to next, is marked.

    ``observed`` is an observation as a record or a game has it. Headings are absolute
    degrees there and relative to the actor on the page. Exits of a street have an angle
    only, those of a viewpoint a name and a length in metres, too.
    """
    held = as_mapping(observed)
    facing = held.get("heading")
    neighbors = held.get("neighbors")
    exits = []
    has_neighbors = False
    # A compass needs to know where the actor looks; a record may hold anything.
    if isinstance(facing, int | float) and isinstance(neighbors, list | tuple):
        has_neighbors = True
        for neighbor in map(as_mapping, neighbors):
            name = str(neighbor.get("viewpoint", ""))
            heading = neighbor.get("heading")
            length = neighbor.get("distance")
            turn = None
            distance = ""
            if isinstance(heading, int | float):
                turn = relative(heading, facing)
            if isinstance(length, int | float):
                distance = f"{length:.2f} m"
            exits.append(ListedExit(turn, name, distance, name == taken))
    elif isinstance(held.get("angles"), list | tuple):
        turns = [turn for turn in held["angles"] if isinstance(turn, int | float)]
        exits = [ListedExit(float(turn)) for turn in turns]
    rest = {key: item for key, item in held.items() if key not in _SHOWN_ELSEWHERE}
    if "walls" in rest:
        rest["walls"] = _walls(rest["walls"])
    if rest.get("elevation") == 0:
        del rest["elevation"]  # a level gaze is nothing new
    return _OBSERVATION(rest, exits, has_neighbors, letters)


_OBSERVATION = macro("steps.html", "observation")
_SHOWN_ELSEWHERE = frozenset(
    {"neighbors", "angles", "scene", "actor", "messages", "image", "step"}
)
"""Fields shown in another form, or once for all steps. A world counts steps from 0, its page from
1."""


def _walls(walls: Any) -> Any:
    """Return the steps to the walls ahead, left and right (None: beyond the view) as text."""
    # Of another world, or changed by hand: shown as it is.
    if not isinstance(walls, list | tuple) or len(walls) != 3:
        return walls
    if not all(steps is None or isinstance(steps, int) for steps in walls):
        return walls
    sides = zip(walls, ("ahead", "left", "right"), strict=True)
    distances = [f"{side} {count(n, 'step')}" for n, side in sides if n is not None]
    return ", ".join(distances) or "none in view"


@template_function
def side(angle: float) -> str:
    """Return an angle to the right in words: ``ahead``, ``right 34°``, ``left 90°``, ``behind``."""
    if abs(angle) < 0.5:
        return "ahead"
    if abs(angle) > 179.5:
        return "behind"
    name = "right" if angle > 0 else "left"
    return f"{name} {abs(angle):.0f}°"


# Depth: the free distance at the height of the eye.

_LEVEL = 6.0
"""Degrees off the level up to which a row of a depth image speaks of walls and not of the floor."""


def free_rays(depth: JsonObject) -> list[tuple[float, float]]:
    """Return (bearing in degrees, free metres) of each column of a recorded depth image.

    The free distance is that at the height of the eye, where walls and furniture count
    and the floor does not. Empty for any other value.
    """
    try:
        bearings = depth["bearings"]
        rows = depth["elevations"]
        reach = depth["reach"]
        shape = (len(rows), len(bearings))
        image = np.frombuffer(depth["levels"], np.uint8).reshape(shape)
        level = [n for n, up in enumerate(rows) if abs(up) <= _LEVEL]
        # Level 254 is the reach of the sensor; 255 is a missing measurement.
        nearest = image[level].min(axis=0, initial=254).tolist()
        rays = []
        for bearing, near in zip(bearings, nearest, strict=True):
            rays.append((float(bearing), float(reach) * near / 254))
        return rays
    except (KeyError, TypeError, ValueError):
        return []
