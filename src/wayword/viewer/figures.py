"""Numbers as people read them, and small pictures: histograms, intervals, a compass, free depth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayword.core.metric import Metric
from wayword.core.model import Choice
from wayword.metrics import accounting, table
from wayword.viewer.letters import Letters
from wayword.viewer.markup import Html, join, tag

_BINS = 12
_MOST_OPTIONS = 12
_UNITS = {"rate": ("", "%"), "metres": ("", " m"), "seconds": ("", " s"), "dollars": ("$", "")}


@dataclass(frozen=True, slots=True)
class Bin:
    """Values from ``low`` up to ``high``; ``high`` itself is in only in the last bin."""

    low: float
    high: float
    count: int


def value(metric: Metric, score: float | None) -> str:
    """With its unit: ``46.7%``, ``7.37 m``, ``$0.0012``. A dash for NaN."""
    if score is None or math.isnan(score):
        return "–"
    if math.isinf(score):
        return "∞"
    if metric.kind == "seconds" and abs(score) < 1:
        return f"{1000 * score:.0f} ms"
    plain = metric.kind == "count" and float(score).is_integer()
    text = table.number(metric, score, 0 if plain else _digits(metric, score))
    before, after = _UNITS.get(metric.kind, ("", ""))
    return f"{before}{text}{after}"


def _digits(metric: Metric, score: float) -> int | None:
    """Decimals; as in tables, but zero and a whole percentage need none of them."""
    if score == 0 and metric.kind == "dollars":
        return 2
    whole = metric.kind == "rate" and score in (0.0, 1.0)
    return 0 if whole else None


def title(metric: Metric) -> str:
    """What the metric is called here: there is room to write the accounting's out in full."""
    if metric in accounting.METRICS:
        return metric.key.replace("_", " ").capitalize()
    return metric.label


def column(metric: Metric) -> str:
    """The head of a table's column, short and with its unit."""
    return f"{metric.label} tok." if metric.kind == "tokens" else table.label(metric)


def interval(metric: Metric, found: Mapping[str, float | None]) -> str:
    """``95%: 38.1 to 55.2%``, or why it is missing."""
    low, high = found.get("low"), found.get("high")
    if low is None or high is None:
        return "too few episodes for an interval"
    first, last = value(metric, low), value(metric, high)
    unit = _UNITS.get(metric.kind, ("", ""))[1]
    if unit and first.endswith(unit) and last.endswith(unit) and not first.endswith("ms"):
        first = first.removesuffix(unit)
    return f"95%: {first} to {last}"


def bins(metric: Metric, scores: ArrayLike) -> list[Bin]:
    """At most twelve bins of equal width over the finite scores; none for no scores.

    Yes-or-no rates have two, other rates ten from 0 to 1, and small whole numbers one each.
    """
    given = np.asarray(scores, dtype=np.float64)
    finite = given[np.isfinite(given)]
    if not len(finite):
        return []
    low, high = float(finite.min()), float(finite.max())
    if metric.kind == "rate":
        no, yes = int((finite == 0.0).sum()), int((finite == 1.0).sum())
        if no + yes == len(finite):
            return [Bin(0.0, 0.5, no), Bin(0.5, 1.0, yes)]
        return _binned(finite, 0.0, 1.0, 10) if low >= 0 and high <= 1 else _even(finite)
    whole = bool((finite == np.floor(finite)).all())
    if whole and high - low < _BINS and abs(high) < 2**53:
        return _binned(finite, low, high + 1, int(high - low) + 1)
    return _even(finite)


def _words(metric: Metric, each: Bin, scores: NDArray[np.float64], last: bool) -> str:
    """The one value that the bin holds, or from where to where it goes."""
    inside = (scores >= each.low) & ((scores < each.high) | (last & (scores == each.high)))
    held = scores[inside]
    if len(held) and held.min() == held.max():
        return value(metric, float(held[0]))
    return f"{value(metric, each.low)} to {value(metric, each.high)}"


def _even(finite: NDArray[np.float64]) -> list[Bin]:
    low, high = float(finite.min()), float(finite.max())
    size = max(abs(low), abs(high), 1.0)
    # What differs by rounding alone is one value: twelve bins of it would have no width.
    if high - low <= 1e-9 * size:
        return _binned(finite, low, low + size, 1)
    return _binned(finite, low, high, _BINS)


def _binned(finite: NDArray[np.float64], low: float, high: float, count: int) -> list[Bin]:
    width = (high - low) / count
    numbers = np.clip((finite - low) / width, 0, count - 1).astype(np.intp)
    counts = np.bincount(numbers, minlength=count).tolist()
    return [Bin(low + i * width, low + (i + 1) * width, n) for i, n in enumerate(counts)]


def histogram(metric: Metric, scores: ArrayLike) -> Html | None:
    """Bars that the page's script makes into filters by their ``data-low`` and ``data-high``.

    None where all scores are the same: there is nothing to see and nothing to filter.
    """
    known = np.asarray(scores, dtype=np.float64)
    if not len(known) or known.min() == known.max():
        return None
    found = bins(metric, known)
    if not found:
        return None
    most = max(each.count for each in found)
    step = 120 / len(found)
    bars = []
    for at, each in enumerate(found):
        height = 0 if each.count == 0 else max(1.5, 34 * each.count / most)
        last = at == len(found) - 1
        words = _words(metric, each, known, last)
        left, wide = round(at * step, 2), round(step, 2)
        hit = tag("rect", x=left, y=0, width=wide, height=36, class_="hit")
        bar = tag(
            "rect", x=round(left + 0.75, 2), y=round(36 - height, 1), class_="bar",
            width=round(wide - 1.5, 2), height=round(height, 1), rx=1,
        )  # fmt: skip
        group = tag(
            "g", tag("title", f"{words}: {each.count:,}"), hit, bar,
            data_key=metric.key, data_low=repr(each.low), data_high=repr(each.high),
            data_last=last, data_words=f"{title(metric)} {words}",
        )  # fmt: skip
        bars.append(group)
    return tag(
        "svg", *bars, viewBox="0 0 120 37", class_="histogram", role="group",
        preserveAspectRatio="none", aria_label=f"distribution of {title(metric)}",
    )  # fmt: skip


def overlay(metric: Metric, first: ArrayLike, second: ArrayLike) -> Html | None:
    """Two runs' distributions over each other, as shares of each; None where all is one value, or
    yes and no."""
    both = [np.asarray(each, dtype=np.float64) for each in (first, second)]
    both = [each[np.isfinite(each)] for each in both]
    found = bins(metric, np.concatenate(both))
    if min(map(len, both)) == 0 or len(found) < 3:
        return None
    edges = [each.low for each in found] + [found[-1].high]
    shares = [np.histogram(each, edges)[0] / len(each) for each in both]
    most, wide = max(float(each.max()) for each in shares), 120 / len(found)
    lines = []
    for number, share_of in enumerate(shares):
        heights = [round(36 - 34 * part / most, 1) for part in share_of.tolist()]
        d = f"M0 36V{heights[0]}" + "".join(
            f"H{round((at + 1) * wide, 1)}V{heights[at + 1] if at + 1 < len(heights) else 36}"
            for at in range(len(heights))
        )
        lines.append(tag("path", d=d, class_=f"spread walk{number}"))
    ends = f"{value(metric, edges[0])} to {value(metric, edges[-1])}"
    drawn = tag(
        "svg", *lines, viewBox="0 0 120 37", class_="histogram", role="img",
        preserveAspectRatio="none", aria_label=f"{title(metric)} of both runs, {ends}",
    )  # fmt: skip
    return join([tag("p", ends, class_="dim"), drawn])


def whisker(metric: Metric, found: Mapping[str, float | None]) -> Html | None:
    """A rate and its interval on a line from 0 to 100%; None for anything else."""
    mean, low, high = (found.get(key) for key in ("mean", "low", "high"))
    if metric.kind != "rate" or mean is None or low is None or high is None:
        return None
    x, x0, x1 = (round(100 * min(1.0, max(0.0, each)), 1) for each in (mean, low, high))
    parts = [
        tag("line", x1=0, y1=6, x2=100, y2=6, class_="axis"),
        tag("line", x1=x0, y1=6, x2=x1, y2=6, class_="range"),
        tag("rect", x=max(0.0, x - 0.8), y=1, width=1.6, height=10, class_="mean"),
    ]
    return tag(
        "svg", *parts, viewBox="0 0 100 12", class_="whisker", role="img",
        preserveAspectRatio="none",
        aria_label=f"{title(metric)} {value(metric, mean)}, {interval(metric, found)}",
    )  # fmt: skip


def share(part: float) -> Html:
    """A bar that is filled to a part of one."""
    return tag(
        "svg", tag("rect", x=0, y=0, width=round(100 * part, 1), height=8, rx=2),
        viewBox="0 0 100 8", class_="share", preserveAspectRatio="none", aria_hidden="true",
    )  # fmt: skip


def options(choice: Choice) -> Html:
    """Options by probability, the best first. Those of a closed list need not add up to one."""
    ranked = sorted(zip(choice.options, choice.logprobs, strict=False), key=lambda p: -p[1])
    rows = []
    for option, logprob in ranked[:_MOST_OPTIONS]:
        probability = math.exp(min(0.0, logprob)) if logprob == logprob else 0.0
        told = f"{100 * probability:.1f}%"
        cells = [tag("td", tag("code", option)), tag("td", share(probability)), tag("td", told)]
        rows.append(tag("tr", *cells))
    more = len(ranked) - len(rows)
    rest = tag("p", f"and {more} more", class_="dim") if more > 0 else None
    return tag("div", tag("table", tag("tbody", *rows), class_="small"), rest)


# The compass: the ways around an actor.


def dial(ways: Sequence[tuple[float, str]], taken: str, letters: Letters) -> Html:
    """Ways around the actor, who faces up: relative degrees (right positive) and their names.

    The letters of the places stand outside the rim, as far as they have room there.
    """
    spokes = []
    room: list[tuple[float, float]] = []
    for angle, name in ways:
        kind = "way taken" if name and name == taken else "way"
        spoke = tag(
            "g", tag("line", x1=0, y1=-10, x2=0, y2=-34), tag("circle", cx=0, cy=-36, r=5),
            transform=f"rotate({angle:.1f})",
        )  # fmt: skip
        title = tag("title", f"{letters.title(name)} {side(angle)}".strip())
        label = _named(letters.known[name], angle, room) if name in letters.known else None
        spokes.append(tag("g", title, spoke, label, class_=kind))
    me = tag("path", d="M0 -7L5 6L0 3L-5 6Z", class_="me")
    rim = tag("circle", cx=0, cy=0, r=36, class_="rim")
    drawn = join([rim, *spokes, me])
    return tag(
        "svg", drawn, viewBox="-62 -62 124 124", class_="dial",
        role="img", aria_label=f"{len(ways)} ways, ahead is up",
    )  # fmt: skip


def _named(letter: str, angle: float, room: list[tuple[float, float]]) -> Html | None:
    """A letter at a spoke's end; None where another one stands there."""
    for aside in (0, 20, -20):
        turn = math.radians(angle + aside)
        x, y = 52 * math.sin(turn), -52 * math.cos(turn)
        if not any(abs(x - a) < 16 and abs(y - b) < 13 for a, b in room):
            room.append((x, y))
            return tag("text", letter, x=round(x, 1), y=round(y + 4, 1))
    return None


def side(angle: float) -> str:
    """``ahead``, ``right 34°``, ``left 90°``, ``behind``."""
    if abs(angle) < 0.5:
        return "ahead"
    if abs(angle) > 179.5:
        return "behind"
    return f"{'right' if angle > 0 else 'left'} {abs(angle):.0f}°"


# Depth as a fan: how far the way is free at the height of the eye.

_LEVEL = 6.0
"""Degrees off the level up to which a row of a depth image speaks of walls and not of the floor."""


def free_ways(depth: Mapping[str, Any]) -> list[tuple[float, float]]:
    """(bearing in degrees, metres free) of each column of a depth image as it was recorded.

    Nothing for anything else that a run folder may hold.
    """
    bearings, rows, levels = depth.get("bearings"), depth.get("elevations"), depth.get("levels")
    reach = depth.get("reach")
    if not isinstance(bearings, list | tuple) or not isinstance(rows, list | tuple):
        return []
    if not isinstance(levels, bytes) or not isinstance(reach, int | float):
        return []
    if len(levels) != len(bearings) * len(rows) or not bearings:
        return []
    level = [n for n, up in enumerate(rows) if isinstance(up, int | float) and abs(up) <= _LEVEL]
    found = []
    for column, bearing in enumerate(bearings):
        if not isinstance(bearing, int | float):
            return []
        nearest = min((levels[n * len(bearings) + column] for n in level), default=255)
        found.append((float(bearing), float(reach) * min(nearest, 254) / 254))
    return found


def depth_fan(depth: Mapping[str, Any]) -> Html | None:
    """What lay free before a camera, seen from above; None where the image cannot be read."""
    ways = free_ways(depth)
    reach = depth.get("reach")
    if not ways or not isinstance(reach, int | float) or reach <= 0:
        return None
    scale = 60 / reach
    points = [
        (math.sin(math.radians(b)) * far * scale, -math.cos(math.radians(b)) * far * scale)
        for b, far in ways
    ]
    path = "M0 0L" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + "Z"
    ahead = min(ways, key=lambda way: abs(way[0]))[1]
    words = f"free ahead: {ahead:.1f} m{' or more' if ahead >= reach else ''}"
    drawn = [tag("circle", cx=0, cy=0, r=60, class_="rim"), tag("path", d=path, class_="free"),
             tag("path", d="M0 -7L5 6L0 3L-5 6Z", class_="me")]  # fmt: skip
    fan = tag("svg", *drawn, viewBox="-64 -64 128 80", class_="fan", role="img", aria_label=words)
    return tag("div", fan, tag("span", words, class_="dim"))
