"""Policies without any skill are below the ladder of every track."""

from __future__ import annotations

import pytest
from tools.horizon_validity import policy_attempts, row_of

from helpers.sampling import LONG
from wayword.bench.ladders import Track, open_bench


@pytest.mark.timeout(3_600 if LONG else 300)
@pytest.mark.parametrize("track", open_bench().tracks, ids=lambda track: track.name)
def test_a_policy_without_skill_is_below_the_ladder(track: Track) -> None:
    # The short form plays eight episodes of the shortest level, which is the easiest; where worlds
    # are built within milliseconds, four of each of the four shortest.
    size = {"levels": 1, "episodes": 8}
    if track.name in ("follow", "street"):
        size = {"levels": 4, "episodes": 4}
    if LONG:
        size = {}
    attempts = policy_attempts(track, **size)
    rows = [row_of(track, name, tried) for name, tried in attempts.items()]
    assert [row for row in rows if not row.endswith("below the ladder")] == []
