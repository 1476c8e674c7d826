"""Ranks by paired tests, with the scores of a board from a public report."""

from __future__ import annotations

import numpy as np

from wayword.bench.comparison import ranks

SOLVED = (396, 396, 394, 388, 387, 384, 384, 382)
"""Questions that the first eight of SWE-bench Verified solved, of 500."""
Player = dict[str, float]


def players(solved: tuple[int, ...], noise: float) -> list[Player]:
    """Players that solve the easier questions, each with some luck."""
    rng = np.random.default_rng(0)
    easy = rng.random(500)
    found = []
    for count in solved:
        order = np.argsort(easy + rng.normal(0, noise, 500))
        outcomes = np.zeros(500)
        outcomes[order[:count]] = 1.0
        found.append({str(n): each for n, each in enumerate(outcomes.tolist())})
    return found


def test_players_within_three_points_share_the_first_rank() -> None:
    assert ranks(players(SOLVED, 0.15), str) == [1] * 8


def test_a_clear_lead_is_a_rank_of_its_own() -> None:
    assert ranks(players((400, 300, 299), 0.15), str) == [1, 2, 2]


def test_the_order_of_entries_changes_nothing() -> None:
    listed = players((400, 300, 299, 300, 396), 0.15)
    there = ranks(listed, str)
    back = ranks(listed[::-1], str)
    assert there == back[::-1]


def test_a_board_of_ten_scenarios_ranks_no_neighbors() -> None:
    scores = np.random.default_rng(1).normal(0.6, 0.1, 10)
    first = {str(n): float(each) for n, each in enumerate(scores)}
    second = {
        name: each + (0.01 if int(name) % 2 else -0.005) for name, each in first.items()
    }
    assert ranks([first, second], str) == [1, 1]
