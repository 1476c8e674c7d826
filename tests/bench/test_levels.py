"""Levels of the bench: this installation draws the version's episodes, and the expert solves them.

The shortest level of each track; ``WAYWORD_CHAOS=long`` checks all levels.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.sampling import LONG
from wayword.bench import checksums, ladders
from wayword.bench.ladders import Track
from wayword.core.action import Decision
from wayword.core.game import Game
from wayword.metrics import scoring
from wayword.runs.opening import open_dataset

VERSION = ladders.open_bench()
LEVELS = [
    pytest.param(track, length, id=f"{track.name}-{length}")
    for track in VERSION.tracks
    for length in (track.lengths if LONG else track.lengths[:1])
]


@pytest.mark.parametrize(("track", "length"), LEVELS)
def test_the_first_and_last_episode_are_the_versions_and_the_expert_solves_them(
    track: Track, length: int
) -> None:
    plan = dict(ladders.Contender(VERSION, "gold").plans(track))[length]
    assert checksums.level_checksums(plan) == track.checksums[length]
    dataset = open_dataset(plan)
    for task in (dataset.tasks[0], dataset.tasks[-1]):
        actions = dataset.solve(task, track.solution)
        game = Game(dataset.world(task.episode), task.episode, dataset.max_steps)
        first = game.world.actors[0]
        for actor in game.turns():  # partners stop at once
            taken = game.taken[first] if actor == first else -1
            game.act(actor, Decision(actions[min(taken, len(actions) - 1)]))
        (scores,) = scoring.score(dataset, [(task, game.finished())])
        assert scores[track.success] >= track.at_least
        assert len(actions) <= dataset.max_steps


@pytest.mark.parametrize("name", ["follow", "street"])
def test_the_first_version_draws_its_own_wording(name: str) -> None:
    """Length 8 has sentences that the second wording changes."""
    first = ladders.open_bench("2026")
    (track,) = [each for each in first.tracks if each.name == name]
    plan = dict(ladders.Contender(first, "gold").plans(track))[8]
    assert checksums.level_checksums(plan) == track.checksums[8]
    (now,) = [each for each in VERSION.tracks if each.name == name]
    assert track.checksums[8] != now.checksums[8]


@pytest.mark.parametrize(
    ("lengths", "middle"), [((2,), 2), ((2, 4), 2), ((2, 4, 8), 4), ((2, 4, 8, 16), 4)]
)
def test_of_two_middle_levels_the_shorter_is_perturbed(
    lengths: tuple[int, ...], middle: int
) -> None:
    track = replace(VERSION.tracks[0], lengths=lengths)
    assert track.middle == middle


def test_sets_and_mappings_count_alike_in_whatever_order_they_are() -> None:
    """Sets of texts are in another order in each process."""
    names = [f"mug_{number}" for number in range(20)]
    assert checksums._plain(frozenset(names)) == sorted(names)
    turned = dict.fromkeys(reversed(names), 1.00004) | {"b": {1, 2}}
    assert checksums._plain(turned) == [*[1.0] * 20, [1, 2]]
