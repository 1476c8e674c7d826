"""Numbers in messages, tables and pages: their units, plurals, rounding, signs and thousands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from wayword.agents.discussnav.directions import side_text
from wayword.bench.card_text import percents
from wayword.bench.outcomes import dollars_text
from wayword.core.metric import Kind, Metric
from wayword.core.visible import count
from wayword.metrics import table
from wayword.metrics.progress import length_in
from wayword.runs import forecast, probe
from wayword.runs.running import were
from wayword.verbalize import household, indoor, objectnav
from wayword.viewer import episode, figures


def shown(kind: Kind, value: float) -> str:
    """A value of a metric on a page."""
    return figures.value(Metric("m", "M", kind, "higher", "a metric"), value)


def cell(kind: Kind, value: float) -> str:
    """A value of a metric in a table, whose heading has the unit."""
    return table.number(Metric("m", "M", kind, "higher", "a metric"), value)


def bill(dollars: float, **row: int) -> str:
    return dollars_text({"dollars": dollars, "tokens": 9, **row})


CASES: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
    # Counts, singular and plural.
    (count, (0, "step"), "0 steps"),
    (count, (1, "step"), "1 step"),
    (count, (2, "step"), "2 steps"),
    (count, (-2, "step"), "-2 steps"),
    (count, (1_234_567, "step"), "1,234,567 steps"),
    (were, (0, "request"), "0 requests were"),
    (were, (1, "request"), "1 request was"),
    (were, (1_000, "request"), "1,000 requests were"),
    # Lengths.
    (length_in, ("m", 0.5), "0.5 m"),
    (length_in, ("m", 1.0), "1.0 m"),
    (length_in, ("m", 1234.56), "1234.6 m"),
    (length_in, ("m", math.inf), "no path"),
    (length_in, ("links", 1.0), "1 link"),
    (length_in, ("links", 1.6), "2 links"),
    (figures.number, (0.5, "distance"), "0.5 m"),
    (figures.number, (100.0, "distance"), "100 m"),
    (figures.number, (2.345, "distance"), "2.35 m"),
    (figures.number, (-0.001, "distance"), "0 m"),
    (figures.number, (float("inf"), "heading"), "inf"),
    (figures.number, (float("nan"), "heading_before"), "nan"),
    (figures.number, (10**400, "heading"), str(10**400)),
    (objectnav._distance_text, (0.5, 5.0), "0.5 m"),
    (objectnav._distance_text, (5.0, 5.0), "5 m or more"),
    (objectnav._distance_text, (4.9, 5.0), "4.9 m"),
    (objectnav._distance_text, (math.nan, 5.0), "unknown"),
    (household.spot_words, ((0.04, -0.04),), "in the middle"),
    (household.spot_words, ((0.06, 0.0),), "0.1 m east of the middle"),
    (
        household.spot_words,
        ((-1.0, -12.0),),
        "1.0 m west and 12.0 m south of the middle",
    ),
    (probe.size_of, (199,), "below 200 pixels"),
    (probe.size_of, (200,), "below 800 pixels"),
    (probe.size_of, (3_199,), "below 3,200 pixels"),
    (probe.size_of, (3_200,), "3,200 pixels or more"),
    # Angles.
    (figures.number, (0.0, "heading"), "0° north"),
    (figures.number, (359.6, "heading"), "0° north"),
    (figures.number, (45, "heading"), "45° north-east"),
    (figures.number, (-12.5, "elevation"), "-12.5°"),
    (figures.number, (-0.001, "elevation"), "0°"),
    (indoor.side_angle, (90.0, 90.4), "ahead"),
    (indoor.side_angle, (90.0, 91.0), "left 1°"),
    (indoor.side_angle, (91.0, 90.0), "right 1°"),
    (indoor.side_angle, (10.0, 350.0), "right 20°"),
    (indoor.side_angle, (270.0, 90.0), "behind"),
    (indoor.side_angle, (270.4, 90.0), "behind"),
    (indoor.side_angle, (269.0, 90.0), "right 179°"),
    (indoor.side_angle, (271.0, 90.0), "left 179°"),
    (indoor.slope, (11.9,), ""),
    (indoor.slope, (12.0,), "up 12"),
    (indoor.slope, (-11.9,), ""),
    (indoor.slope, (-12.0,), "down 12"),
    (household._bearing_text, (0.4,), "ahead"),
    (household._bearing_text, (-1.0,), "left 1°"),
    (household._bearing_text, (20.4,), "right 20°"),
    (household.facing_words, (0.0,), "north"),
    (household.facing_words, (315.0,), "north-west"),
    (household.facing_words, (30.0,), "30°"),
    (objectnav._bearing_text, (4.9,), "ahead"),
    (objectnav._bearing_text, (5.0,), "right 5°"),
    (objectnav._bearing_text, (-5.0,), "left 5°"),
    (side_text, (1,), "ahead"),
    (side_text, (2,), "30° to the right"),
    (side_text, (6,), "150° to the right"),
    (side_text, (7,), "behind"),
    (side_text, (8,), "150° to the left"),
    (side_text, (12,), "30° to the left"),
    # Times.
    (episode.seconds, (0.0994,), "99 ms"),
    (episode.seconds, (0.1,), "0.1 s"),
    (episode.seconds, (1.0,), "1.0 s"),
    (episode.seconds, (math.nan,), "–"),
    (figures.duration, (0.0,), "10 s"),
    (figures.duration, (89.0,), "90 s"),
    (figures.duration, (90.0,), "2 min"),
    (figures.duration, (5399.0,), "90 min"),
    (figures.duration, (5400.0,), "1.5 h"),
    (forecast._duration, (0.0,), "0 seconds"),
    (forecast._duration, (1 / 3600,), "1 second"),
    (forecast._duration, (59 / 3600,), "59 seconds"),
    (forecast._duration, (1 / 60,), "1 minute"),
    (forecast._duration, (0.5,), "30 minutes"),
    (forecast._duration, (1.0,), "1.0 hours"),
    # Shares.
    (percents, (None,), ("–", "")),
    (percents, ((0.5, 0.25, 1.0),), ("50%", "[25, 100]")),
    (percents, ((0.0, -0.001, 0.02),), ("0%", "[0, 2]")),
    (percents, ((0.998, 0.99, 1.0),), ("99.8%", "[99, 100]")),
    (percents, ((-0.15, -0.3, 0.004),), ("-15%", "[-30, 0]")),
    (shown, ("rate", 0.0), "0%"),
    (shown, ("rate", 1.0), "100%"),
    (shown, ("rate", 0.5), "50.0%"),
    (shown, ("rate", 0.9995), "99.95%"),
    (cell, ("rate", 0.125), "12.5"),
    (cell, ("rate", -0.25), "-25.0"),
    # Lengths, times and costs on pages have their unit.
    (shown, ("metres", 0.5), "0.50 m"),
    (shown, ("metres", -1.0), "-1.00 m"),
    (shown, ("ratio", 0.5), "50.0%"),
    (shown, ("seconds", 0.5), "500 ms"),
    (shown, ("seconds", 1.0), "1.0 s"),
    (shown, ("seconds", math.nan), "–"),
    (shown, ("metres", math.inf), "∞"),
    # Money and tokens.
    (bill, (0.0,), "no known cost"),
    (bill, (0.5,), "$0.50"),
    (bill, (12.345,), "$12.35"),
    (
        lambda: bill(1.0, unpriced=2),
        (),
        "at least $1.00 (2 episodes have no known price)",
    ),
    (lambda: bill(0.0, unpriced=0), (), "$0.00"),
    (shown, ("dollars", 0.0), "$0.00"),
    (shown, ("dollars", 0.5), "$0.5000"),
    (shown, ("dollars", 1.0), "$1.00"),
    (cell, ("dollars", 12345.678), "12,345.68"),
    (cell, ("tokens", 0.5), "0"),
    (cell, ("tokens", 1_234_567.0), "1,234,567"),
    (cell, ("metres", 0.5), "0.50"),
    (cell, ("metres", 1234.5), "1,234"),
    (cell, ("count", 1.0), "1.0"),
    (shown, ("count", 1.0), "1"),
]


@pytest.mark.parametrize(
    ("form", "values", "text"),
    CASES,
    ids=[f"{number}-{case[2]}" for number, case in enumerate(CASES)],
)
def test_a_number_for_people(
    form: Callable[..., Any], values: tuple[Any, ...], text: Any
) -> None:
    assert form(*values) == text
