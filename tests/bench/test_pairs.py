"""Robustness: pairs are the episodes that were played with and without a perturbation."""

from __future__ import annotations

from pathlib import Path

import pytest

from wayword.bench import ladders
from wayword.bench.outcomes import results
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
    rows = ladders.robustness(tmp_path, BENCH, quick=True)
    pairs = len({*clean} & {*perturbed})
    assert [row["episodes"] for row in rows] == [pairs] * bool(pairs)
    for row in rows:
        assert (row["kind"], row["tracks"]) == (KIND, [TRACK.name])
        assert (row["clean"], row["perturbed"], row["loss"][0]) == (1.0, 0.0, 1.0)


def test_an_episode_that_failed_is_lost_unless_it_was_finished_later(
    tmp_path: Path,
) -> None:
    played(tmp_path, {"b": True}, failed=("a", "a", "b", "c"))
    found = {
        name: (won, bool(scores)) for name, won, scores in results(tmp_path, TRACK)
    }
    assert found == {"b": (True, True), "a": (False, False), "c": (False, False)}


@pytest.mark.parametrize("off", [-0.01, 0.0, 0.01])
def test_success_begins_at_the_least_value_of_its_score(
    tmp_path: Path, off: float
) -> None:
    with RunFolder.open(tmp_path, {"identity": {}}) as run:
        scores = {TRACK.success: TRACK.at_least + off}
        run.append(EpisodeRecord("a", scores, Trajectory("a", {})))
        run.append(EpisodeRecord("b", {"other": 9.0}, Trajectory("b", {})))
    assert [won for _, won, _ in results(tmp_path, TRACK)] == [off >= 0, False]
