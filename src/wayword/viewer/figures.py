"""Numbers as people read them, and the small pictures of them: histograms and intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wayword.core.metric import Metric
from wayword.metrics import accounting, table
from wayword.viewer.markup import Html, tag

_BINS = 12
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
    if metric.kind == "seconds" and score < 1:
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
