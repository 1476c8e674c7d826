"""Robustness: pairs are the episodes that were played with and without a perturbation."""

from __future__ import annotations

from pathlib import Path

import pytest

from wayword.bench import comparison, ladders, page, scorecard, sight
from wayword.bench.outcomes import cost, dollars_text, results, unpriced
from wayword.core.trajectory import Trajectory
from wayword.runs.record import EpisodeRecord, RunFolder

BENCH = ladders.open_bench()
TRACK = BENCH.tracks[0].quick()
KIND = next(iter(BENCH.robust))


def played(folder: Path, won: dict[str, bool], failed: tuple[str, ...] = ()) -> None:
    with RunFolder.open(folder, {"identity": {}}) as run:
        for name in failed:
            run.fail(name, "an error")
        for name, success in won.items():
            scores = {TRACK.success: TRACK.at_least if success else 0.0}
            run.append(EpisodeRecord(name, scores, Trajectory(name, {})))


@pytest.mark.parametrize("clean", [(), ("a_1",), ("a_1", "b_1"), ("a_1", "b_1", "c_1")])
@pytest.mark.parametrize("perturbed", [("a_1", "b_1"), ("b_1",), ("c_1",)])
def test_only_episodes_of_both_runs_are_compared(
    tmp_path: Path, perturbed: tuple[str, ...], clean: tuple[str, ...]
) -> None:
    played(tmp_path / TRACK.name / f"{TRACK.middle:03d}", dict.fromkeys(clean, True))
    path = tmp_path / ladders.ROBUST / KIND / TRACK.name
    played(path, dict.fromkeys(perturbed, False))
    rows = scorecard.robustness(tmp_path, BENCH, quick=True)
    pairs = len({*clean} & {*perturbed})
    assert [row["episodes"] for row in rows] == [pairs] * bool(pairs)
    for row in rows:
        assert (row["kind"], row["tracks"]) == (KIND, [TRACK.name])
        assert (row["clean"], row["perturbed"]) == (1.0, 0.0)
        mean, low, high = row["loss"]
        assert -1.0 <= low < mean == high == 1.0, "no loss is above all"


def test_a_perturbation_names_only_the_tracks_that_its_loss_is_of(
    tmp_path: Path,
) -> None:
    first, second = (track.quick() for track in BENCH.tracks[:2])
    for track, episode in ((first, "a_1"), (second, "b_1")):
        played(tmp_path / track.name / f"{track.middle:03d}", {"a_1": True})
        played(tmp_path / ladders.ROBUST / KIND / track.name, {episode: True})
    (row,) = scorecard.robustness(tmp_path, BENCH, quick=True)
    assert (row["episodes"], row["tracks"]) == (1, [first.name])


@pytest.mark.parametrize("won", [True, False])
def test_no_difference_of_sight_is_above_all_or_below_none(won: bool) -> None:
    """Five places, all of which only one of both conditions solves."""
    names = [f"follow/h{number}_0" for number in range(5)]
    gap = 1.0 if won else -1.0
    mean, low, high = sight._difference(
        dict.fromkeys(names, won), dict.fromkeys(names, not won)
    )
    assert mean == gap
    assert -1.0 <= low <= mean <= high <= 1.0


def test_an_episode_that_failed_is_lost_unless_it_was_finished_later(
    tmp_path: Path,
) -> None:
    played(tmp_path, {"b": True}, failed=("a", "a", "b", "c"))
    found = {
        name: (won, bool(scores)) for name, won, scores in results(tmp_path, TRACK)
    }
    assert found == {"b": (True, True), "a": (False, False), "c": (False, False)}


def test_failed_episodes_are_in_the_order_of_their_record(tmp_path: Path) -> None:
    """A card names the first lost episode, in every process the same."""
    names = tuple(f"episode_{number}" for number in (5, 3, 9, 1, 7, 2, 8, 4, 6, 0))
    played(tmp_path, {}, failed=names)
    assert tuple(name for name, _, _ in results(tmp_path, TRACK)) == names


@pytest.mark.parametrize("off", [-0.01, 0.0, 0.01])
def test_success_begins_at_the_least_value_of_its_score(
    tmp_path: Path, off: float
) -> None:
    with RunFolder.open(tmp_path, {"identity": {}}) as run:
        scores = {TRACK.success: TRACK.at_least + off}
        run.append(EpisodeRecord("a", scores, Trajectory("a", {})))
        run.append(EpisodeRecord("b", {"other": 9.0}, Trajectory("b", {})))
    assert [won for _, won, _ in results(tmp_path, TRACK)] == [off >= 0, False]


def test_a_cards_day_is_that_of_the_last_run_of_a_level(tmp_path: Path) -> None:
    for number, day in enumerate(("2026-01-09", "2026-02-01", "2025-12-30")):
        started = {"identity": {}, "started": f"{day}T10:00:00"}
        RunFolder.open(tmp_path / "track" / f"{number:03d}", started).close()
    later = {"identity": {}, "started": "2027-01-01T10:00:00"}
    RunFolder.open(tmp_path / ladders.ROBUST / KIND / "track", later).close()
    assert scorecard._date(tmp_path) == "2026-02-01"


@pytest.mark.parametrize(
    "gap", [(-0.1, -0.2, 0.1), (0.1, -0.1, 0.3), (0.1, 0.0, 0.3), (0.2, 0.1, 0.3)]
)
def test_a_model_looks_only_where_its_interval_excludes_zero(
    gap: tuple[float, float, float],
) -> None:
    assert ("do not show" in sight.verdict(gap)) == (gap[1] <= 0.0)


@pytest.mark.parametrize("condition", sight.CONDITIONS)
def test_the_cost_of_a_condition_is_counted_once(condition: str) -> None:
    """A track whose ladder is played in words has counted them; a drawn one plays them apart."""
    for track, dataset in sight.DRAWN.items():
        is_counted = condition == "words" and not dataset
        assert sight._is_extra(f"{track}/episode", condition) == (not is_counted)


def test_horizons_beyond_a_ladder_sort_after_those_within_and_below_it_first() -> None:
    values: list[float | str] = ["> 64", 2.0, "< 2", 64.0, 63.9, "> 32"]
    found = sorted(values, key=page._order)
    assert found.index("< 2") == 0
    assert found.index("> 64") == len(found) - 1
    assert found.index("> 64") > found.index(64.0) > found.index(63.9)


@pytest.mark.parametrize("better", [0, 1, 2])
def test_a_rank_counts_the_players_that_are_significantly_better(better: int) -> None:
    """Of three players, one wins everywhere; the others are alike."""
    names = [f"p{n}_0" for n in range(20)]
    players = [dict.fromkeys(names, 0.0) for _ in range(3)]
    players[better] = dict.fromkeys(names, 1.0)
    ranks = comparison.ranks(players, lambda name: name)
    assert ranks == [1 if n == better else 2 for n in range(3)]


@pytest.mark.parametrize(
    ("tokens", "dollars"), [(0, 0.0), (5, 0.0), (5, 0.5), (0, 0.5)]
)
def test_tokens_without_dollars_have_no_known_cost(tokens: int, dollars: float) -> None:
    text = dollars_text({"tokens": tokens, "dollars": dollars})
    expected = f"${dollars:.2f}"
    if tokens and not dollars:
        expected = "no known cost"
    assert text == expected


@pytest.mark.parametrize(
    ("unpriced", "dollars", "expected"),
    [
        (0, 0.0, "$0.00"),
        (2, 0.0, "no known cost"),
        (2, 0.5, "at least $0.50 (2 episodes have no known price)"),
    ],
)
def test_a_free_model_differs_from_one_without_a_price(
    unpriced: int, dollars: float, expected: str
) -> None:
    row = {"tokens": 5, "dollars": dollars, "unpriced": unpriced}
    assert dollars_text(row) == expected


def test_the_cost_of_episodes_is_of_prompts_and_answers() -> None:
    scores = [
        {"prompt_tokens": 100.0, "completion_tokens": 7.0, "cost": 0.25},
        {"prompt_tokens": 20.0, "completion_tokens": float("nan")},
        {"cost": 0.5},
    ]
    assert cost(scores) == {"tokens": 127, "dollars": 0.75}


def test_only_episodes_with_calls_and_without_a_cost_have_no_known_price(
    tmp_path: Path,
) -> None:
    scored: dict[str, dict[str, float]] = {
        "no model": {},
        "no call": {"calls": 0},
        "priced": {"calls": 3, "cost": 0.2},
        "cached": {"calls": 3, "cost": 0.0},
        "unknown": {"calls": 3},
        "other": {"calls": 1},
    }
    with RunFolder.open(tmp_path, {"identity": {}, "family": "indoor"}) as folder:
        for name, scores in scored.items():
            folder.append(EpisodeRecord(name, dict(scores), Trajectory(name, {})))
            folder.fail(f"{name} failed", "no connection")
    assert unpriced(tmp_path) == len({"unknown", "other"})
