"""``wayword power`` against exact powers, of the test that ``compare`` prints."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from wayword.core.errors import UsageError
from wayword.metrics.intervals import ALPHA, estimates
from wayword.runs import Plan, run
from wayword.runs.power import FEWEST, assumed_error, episodes_for, report, shown_by

CORRELATION = 0.5
DISCORDANT = 0.25
"""Share of episodes that only one of two equal agents solves, at an SR of 50% and a correlation of
0.5."""


@cache
def p_value(episodes: int, wins: int, losses: int) -> float:
    ties = episodes - wins - losses
    values = np.repeat([1.0, -1.0, 0.0], [wins, losses, ties])[:, None]
    (found,) = estimates(values, [(-1.0, 1.0)], [str(n) for n in range(episodes)])
    return found.p


def exact_power(episodes: int, difference: float) -> float:
    """Chance that a comparison of agents with this true difference has p < 0.05."""
    discordant = max(DISCORDANT, difference)
    win = (discordant + difference) / 2
    loss = (discordant - difference) / 2
    tie = 1.0 - discordant
    power = 0.0
    for wins in range(episodes + 1):
        for losses in range(episodes + 1 - wins):
            ties = episodes - wins - losses
            chance = math.comb(episodes, wins) * math.comb(episodes - wins, losses)
            chance *= win**wins * loss**losses * tie**ties
            # rarer outcomes change nothing in the second digit
            if chance > 1e-5 and p_value(episodes, wins, losses) < ALPHA:
                power += chance
    return power


def test_as_many_episodes_show_the_difference_in_80_percent_of_comparisons() -> None:
    difference = shown_by(FEWEST, assumed_error(CORRELATION))
    assert 0.75 < exact_power(FEWEST, difference) < 0.88
    needed = episodes_for(difference, assumed_error(CORRELATION))
    assert needed in (FEWEST, FEWEST + 1)


@pytest.mark.parametrize("episodes", [5, 10, 20])
def test_of_fewer_episodes_it_promises_nothing(episodes: int) -> None:
    assert math.isinf(shown_by(episodes, assumed_error(CORRELATION)))
    by_the_rule = shown_by(4 * 30, assumed_error(CORRELATION)) * math.sqrt(
        120 / episodes
    )
    assert exact_power(episodes, by_the_rule) < 0.75
    assert episodes_for(0.9, assumed_error(CORRELATION)) == FEWEST


def test_of_five_episodes_not_even_a_win_in_all_is_significant() -> None:
    assert p_value(5, 5, 0) > ALPHA > p_value(6, 6, 0)


# By hand: 392 (1 - correlation) / points² x 100 episodes for the points, and 280 points x the root
# of (1 - correlation) / 2, over the root of the split's 180 episodes.
ASSUMED_ROWS = {
    10: [
        ("0.00", "392 episodes, more than the split has", "14.8"),
        ("0.30", "275 episodes, more than the split has", "12.3"),
        ("0.50", "196 episodes, more than the split has", "10.4"),
        ("0.70", "118 episodes", "8.1"),
    ],
    25: [
        ("0.00", "63 episodes", "14.8"),
        ("0.30", "44 episodes", "12.3"),
        ("0.50", "32 episodes", "10.4"),
        ("0.70", "30 episodes", "8.1"),
    ],
}


def test_the_split_is_that_of_the_runs(tmp_path: Path) -> None:
    for name, on in (("a", "towns"), ("b", "towns"), ("c", "houses")):
        run(Plan("random", on, limit=1, max_steps=2, out=tmp_path / name))
    one, two, other = (tmp_path / name for name in "abc")
    assert report("", 5, [one, two], None).startswith("towns:")
    with pytest.raises(UsageError, match="the runs are on houses:test and towns:"):
        report("", 5, [one, other], None)
    with pytest.raises(UsageError, match=r"a is on towns:.*, not on houses:test"):
        report("houses", 5, [one, two], None)
    # A folder of runs may have runs on other splits.
    assert report("houses", 5, [tmp_path], None).startswith("houses:test")
    assert report("", 5, [tmp_path], None).startswith("houses:test")


@pytest.mark.parametrize("points", ASSUMED_ROWS)
def test_without_runs_a_range_of_correlations_is_assumed(points: int) -> None:
    head, note, *rows = report("houses", points, [Path("none")], None).splitlines()
    assert head == "houses:test, SR: 180 episodes; p < 0.05 in 80% of comparisons"
    assert note == (
        "no two runs on this split in none (to name others: wayword power RUNS); for agents with "
        "success of 50%:"
    )
    assert rows == [
        f"assumed: correlation {correlation}; {points} points need {needed}; "
        f"the whole split shows {shown} points"
        for correlation, needed, shown in ASSUMED_ROWS[points]
    ]
