"""The bench: ladders are played and resumed, cards say how far a player gets, two are compared."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from wayword.bench import card_text, checksums, comparison, outcomes, scorecard
from wayword.bench import ladders as bench
from wayword.cli import bench as command
from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.core.rollout import Outcome
from wayword.metrics.intervals import Interval
from wayword.runs.forecast import forecast
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.results import RunResult

VERSION = bench.open_bench()
FOLLOW, STREET = VERSION.tracks[:2]


def wayword(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["bench", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def without_cards(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Play ladders without runs: each level has one solved episode, and no card is written."""
    monkeypatch.setattr(
        outcomes, "results", lambda path, track: iter([("town1_0", True, {})])
    )
    monkeypatch.setattr(scorecard, "make_card", lambda *_: {})
    monkeypatch.setattr(scorecard, "write_card", lambda *_: folder)
    monkeypatch.setattr(card_text, "render", lambda *_: "")
    monkeypatch.setattr("wayword.bench.page.write_card_page", lambda *_: folder)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {
        name: tmp_path_factory.mktemp("bench") / name for name in ("gold", "random")
    }
    for name, folder in folders.items():
        options = (
            "--agent",
            name,
            "--quick",
            "--tracks",
            "follow,street",
            "--out",
            str(folder),
        )
        wayword(*options)
    return folders


def test_the_expert_is_beyond_every_ladder_and_chance_below(
    played: dict[str, Path],
) -> None:
    gold, chance = (scorecard.read_card(folder) for folder in played.values())
    assert gold["success"] is None, "a total needs all tracks"
    assert [row["success"] for row in gold["tracks"].values()] == [
        [1.0, 0.6306, 1.0]
    ] * 2
    assert [row["h50"] for row in gold["tracks"].values()] == [
        ["> 16"] * 3,
        ["> 32"] * 3,
    ]
    assert {
        level["steps_over_length"] for level in gold["tracks"]["follow"]["levels"]
    } == {1.0}
    assert chance["tracks"]["street"]["success"][0] < 0.25
    assert chance["tracks"]["street"]["h50"][0] == "< 8"
    assert "street (actions): H50 below the ladder" in card_text.render(chance)


def test_a_card_resumes_and_is_written_in_every_form(played: dict[str, Path]) -> None:
    folder = played["gold"]
    before = json.loads((folder / bench.CARD).read_text())
    again = wayword(
        "--agent", "gold", "--quick", "--tracks", "follow,street", "--out", str(folder)
    )
    assert "gold on bench 2026.2, quick" in again
    assert json.loads(wayword("card", str(folder), "--format", "json")) == before
    assert "| follow | > 16 |" in wayword("card", str(folder), "--format", "markdown")
    assert "tabular" in wayword("card", str(folder), "--format", "latex")
    alone = folder.parent / "alone.json"
    alone.write_text(json.dumps(before))
    assert wayword("card", str(alone)) == wayword("card", str(folder))


def test_two_players_are_compared_by_episode(played: dict[str, Path]) -> None:
    total, follow, street = comparison.compare_cards(played["random"], played["gold"])
    assert (total.track, total.shared) == ("all tracks", 16)
    assert total.p < 0.01
    assert (follow.track, street.track, street.shared) == ("follow", "street", 16)
    assert street.difference.mean > 0.7
    assert street.p <= street.holm < 0.05
    assert "Holm" in wayword("compare", str(played["random"]), str(played["gold"]))


def test_tracks_that_a_card_lacks_are_not_compared(
    played: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(played["gold"], tmp_path / "gold")
    card = scorecard.read_card(tmp_path / "gold")
    del card["tracks"]["follow"]  # as if the last command had named street alone
    scorecard.write_card(tmp_path / "gold", card)
    (street,) = comparison.compare_cards(played["random"], tmp_path / "gold")
    assert street.track == "street"
    assert "follow" not in wayword(
        "compare", str(played["random"]), str(tmp_path / "gold")
    )


def test_failed_episodes_count_as_failures_and_levels_not_played_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    track = replace(STREET, lengths=(4, 8, 16), floor=())
    monkeypatch.setattr(
        scorecard, "open_bench", lambda _: replace(VERSION, tracks=(track,))
    )
    rows: list[tuple[int, str, bool, dict[str, float]]] = [
        (0, f"town{n}_0", n < 6, {"tc": 1.0} if n < 6 else {}) for n in range(8)
    ]
    rows += [(1, f"town{n}_1", False, {}) for n in range(8)]
    monkeypatch.setattr(scorecard, "outcomes", lambda folder, track: iter(rows))
    header = bench.Contender(VERSION, "random", tracks=("street",)).header()
    card = scorecard.make_card(tmp_path, header)
    levels = card["tracks"]["street"]["levels"]
    assert [level["solved"] for level in levels] == [6, 0, 0]
    assert [level["episodes"] for level in levels] == [8, 8, 0]
    assert card["success"][0] == card["tracks"]["street"]["success"][0] == 0.25
    assert "not played" in card_text.render(card)


@pytest.mark.parametrize(
    ("solved", "tried", "ends", "quick_ends"),
    [
        ([0], [16], False, False),
        ([0, 0], [16, 16], True, True),
        ([3, 0], [16, 16], False, False),
        ([9, 0, 0], [8] * 3, False, True),
        ([1, 0], [8] * 2, False, False),
    ],
)
def test_a_ladder_ends_where_more_levels_are_hopeless(
    solved: list[int], tried: list[int], ends: bool, quick_ends: bool
) -> None:
    assert bench.is_hopeless(solved, tried) == ends
    assert bench.is_hopeless(solved, tried, quick=True) == quick_ends


def test_a_folder_is_named_by_all_that_makes_a_card_another() -> None:
    def name(agent: str = "navgpt", **fields: Any) -> str:
        return bench.Contender(VERSION, agent, **fields).folder.as_posix()

    assert name() == "runs/bench/navgpt"
    assert name("./mine/agent.py") == "runs/bench/agent"
    assert name(model="openai:gpt") == "runs/bench/navgpt-openai-gpt"
    assert name(model="hf:maker/gpt") == "runs/bench/navgpt-gpt"
    assert name(model="hf:maker/gpt", quick=True) == "runs/bench/navgpt-gpt-quick"
    ours = name(model="hf:gpt", salt="ours", quick=True)
    assert ours.startswith("runs/bench/navgpt-hf-gpt-salt-")
    assert ours.endswith("-quick")
    assert "ours" not in ours
    assert ours != name(model="hf:gpt", salt="theirs", quick=True)
    assert name(salt="ours", out=Path("here")) == "here"


def test_a_private_twin_has_other_episodes_of_the_same_lengths() -> None:
    def texts(salt: str) -> list[Any]:
        entry = bench.Contender(VERSION, "gold", tracks=("street",), salt=salt)
        dataset = open_dataset(dict(entry.plans(STREET))[8])
        tasks = dataset.tasks[:4]
        assert {len(dataset.solve(task)) for task in tasks} == {8}
        return [task.episode.instruction for task in tasks]

    assert texts("ours") == texts("ours") != texts("")
    assert texts("ours") != texts("theirs")


def test_a_checksum_is_of_what_makes_an_episode_and_of_no_prose() -> None:
    track = {each.name: each for each in VERSION.tracks}["act"]
    (length, plan), *_ = bench.Contender(VERSION, "gold").plans(track)
    task = open_dataset(plan).tasks[0]
    assert task.episode.extra["rules"]
    whole = checksums.content(open_dataset(plan), task)
    extra = {**task.episode.extra, "rules": "Other words."}
    reworded = replace(task, episode=replace(task.episode, extra=extra))
    assert checksums.content(open_dataset(plan), reworded) == whole
    other = replace(task, episode=replace(task.episode, instruction="Put it there."))
    assert checksums.content(open_dataset(plan), other) != whole
    goal = replace(task, reference=replace(task.reference, episode_id="another"))
    assert checksums.content(open_dataset(plan), goal) != whole
    assert checksums.level_checksums(plan) == track.checksums[length]
    assert (
        checksums.level_checksums(replace(plan, limit=8)) == track.checksums[length][:1]
    )


def test_mistakes_are_named() -> None:
    with pytest.raises(UsageError, match="no bench '2025'"):
        bench.open_bench("2025")
    with pytest.raises(UsageError, match=r"no track 'folow'.*follow"):
        bench.Contender(VERSION, "gold", tracks=("folow",)).chosen()
    (length, plan), *_ = bench.Contender(VERSION, "gold").plans(FOLLOW)
    with pytest.raises(UsageError, match="draws other episodes"):
        bench.check_level(replace(FOLLOW, checksums={length: ["0" * 12]}), length, plan)
    with pytest.raises(UsageError, match="has no card"):
        scorecard.read_card(Path("nowhere"))
    for setting in ("dataset.houses=3", "perturb.typos=0.1"):
        with pytest.raises(UsageError, match="episodes are fixed"):
            wayword("--agent", "random", "--set", setting)
    with pytest.raises(
        UsageError, match="no agent is called 'rndom'; did you mean 'random'"
    ):
        wayword("--agent", "rndom")


def test_the_robust_block_is_a_row_a_perturbation_with_the_paired_loss(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "gold"
    options = ("--agent", "gold", "--quick", "--tracks", "street", "--out", str(folder))
    assert "loss" not in wayword(*options)
    output = wayword(*options, "--robust")
    card = json.loads((folder / bench.CARD).read_text())
    kinds = [row["kind"] for row in card["robust"]]
    assert kinds == [kind for kind in VERSION.robust if kind != "doors"]
    assert {row["episodes"] for row in card["robust"]} == {8}
    assert all(row["loss"][0] == 0.0 for row in card["robust"])
    assert all(row["loss"][1] < 0.0 < row["loss"][2] for row in card["robust"])
    assert all(row["p"] == row["p_raw"] == 1.0 for row in card["robust"])
    assert output.count(" on 8 episodes") == len(kinds)


def test_a_forecast_has_the_perturbed_runs() -> None:
    player = ("--agent", "act", "--model", "scripted:first", "--dry-run", "--quick")
    options = (*player, "--tracks", "street")
    rows = wayword(*options).splitlines()
    further = wayword(*options, "--robust").splitlines()
    names = [row.partition(":")[0] for row in further if row not in rows]
    expected = [f"street, {kind}" for kind in VERSION.robust if kind != "doors"]
    assert names[: len(expected)] == expected


@pytest.mark.parametrize("levels", [2, 3])
def test_perturbed_runs_are_played_where_the_ladder_got_to_its_middle(
    levels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the middle level there is nothing to compare them with."""
    played = []

    async def run_async(plan: Plan, on_progress: Any) -> RunResult:
        assert plan.out is not None
        RunFolder.open(plan.out, {"identity": {}}).close()
        played.append(plan.out.relative_to(tmp_path).parts[0])
        return RunResult(plan.out, Outcome(), 0)

    monkeypatch.setattr("wayword.runs.running.run_async", run_async)
    monkeypatch.setattr("wayword.runs.config.billed", lambda run: (0, 0.0, 1))
    monkeypatch.setattr(bench, "is_hopeless", lambda solved, *_: len(solved) == levels)
    without_cards(monkeypatch, tmp_path)
    player = ("--agent", "gold", "--tracks", "follow", "--robust")
    wayword(*player, "--out", str(tmp_path))
    assert FOLLOW.lengths.index(FOLLOW.middle) == 2
    expected = ["follow"] * levels
    if levels > 2:
        expected += ["robust"] * len(VERSION.robust)
    assert played == expected


def test_a_loss_is_paired_by_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    won = {"032": [True] * 6 + [False] * 2, "street": [True] * 2 + [False] * 6}
    monkeypatch.setattr(
        scorecard, "is_run", lambda path: "typos" in path.parts or path.name == "032"
    )
    monkeypatch.setattr(
        scorecard,
        "results",
        lambda path, track: iter(
            [(f"town{n}_0", w, {}) for n, w in enumerate(won[path.name])]
        ),
    )
    (row,) = scorecard.robustness(
        tmp_path, replace(VERSION, tracks=(STREET,)), quick=False
    )
    assert (row["kind"], row["clean"], row["perturbed"]) == ("typos", 0.75, 0.25)
    assert row["loss"][0] == 0.5
    assert -0.2 < row["loss"][1] < 0.5 < row["loss"][2]


def test_one_ladder_has_the_whole_rate_and_concurrency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = []

    async def run_async(plan: Plan, on_progress: Any) -> RunResult:
        plans.append(plan)
        return RunResult(tmp_path, Outcome(), 0)

    monkeypatch.setattr("wayword.runs.running.run_async", run_async)
    monkeypatch.setattr("wayword.runs.config.billed", lambda run: (0, 0.0, 0))
    without_cards(monkeypatch, tmp_path)
    wide = "--concurrency", "64", "--rpm", "60"
    wayword("--agent", "random", "--tracks", "street", *wide)
    assert {(plan.concurrency, plan.rpm) for plan in plans} == {(64, 60)}
    plans.clear()
    wayword("--agent", "walker", "--model", "regression:walker", "--salt", "x", *wide)
    assert {(plan.on, plan.concurrency, plan.rpm) for plan in plans} == {
        ("houses:test", 64, 60)
    }


def test_minutes_of_a_forecast_are_divided_by_the_ladders_that_are_played(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def minutes(concurrency: int) -> str:
        player = "--agent", "act", "--model", "scripted:first", "--dry-run", "--quick"
        text = wayword(*player, "--tracks", "street", "--concurrency", str(concurrency))
        return re.findall(r"about (\d+) minutes", text)[0]

    assert minutes(64) == minutes(8) == "3"
    sample = Plan("gold", "towns", limit=20)
    estimate = replace(forecast(sample), episodes=20, calls=120.0)
    monkeypatch.setattr("wayword.runs.forecast.forecast", lambda _: estimate)
    command._print_forecast([], {"street": sample}, {}, at_once=2, concurrency=16)
    assert (
        "about 3 minutes" in capsys.readouterr().out
    )  # 20 episodes, 8 at once, are 3 rounds


@pytest.mark.parametrize(("concurrency", "most"), [(8, 1), (16, 2), (40, 3)])
def test_ladders_are_played_at_once_within_one_budget(
    concurrency: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[float] = []
    seen = []
    reserved = []

    async def run_async(plan: Plan, on_progress: Any) -> RunResult:
        assert plan.max_dollars is not None
        running.append(plan.max_dollars)
        await asyncio.sleep(0)
        seen.append(len(running))
        reserved.append(0.1 * (len(seen) - len(running)) + sum(running))
        await asyncio.sleep(0)
        running.remove(plan.max_dollars)
        return RunResult(tmp_path, Outcome(), 0)

    monkeypatch.setattr("wayword.runs.running.run_async", run_async)
    monkeypatch.setattr("wayword.runs.config.billed", lambda run: (0, 0.1, 1))
    without_cards(monkeypatch, tmp_path)
    options = "--tracks", "follow,street,grid", "--concurrency", str(concurrency)
    wayword(
        "--agent", "random", "--quick", *options, "--max-dollars", "5", "--salt", "x"
    )
    assert max(seen) == most
    assert len(seen) == 9
    assert max(reserved) <= 5.0 + 1e-9
    assert min(reserved) > 1.0


def test_outcomes_that_were_recorded_in_another_order_are_paired_by_episode() -> None:
    first = {"a_1": 1.0, "b_1": 0.0, "c_1": 1.0, "d_1": 0.0}
    second = {"x_1": 0.0, **dict(reversed(first.items()))}
    (row,) = comparison._differences([("track", (first, second), outcomes.place)])
    assert (row.shared, row.places, row.rates) == (4, 4, (0.5, 0.5))
    assert row.difference.mean == 0.0
    assert row.p == 1.0


def test_ranks_count_the_players_that_are_significantly_better() -> None:
    def player(wins: int) -> dict[str, float]:
        return {f"p{n}_{k}": float(n < wins) for n in range(16) for k in range(4)}

    players = [player(2), player(15), player(16), player(3)]
    assert comparison.ranks(players, outcomes.place) == [3, 1, 1, 3]
    assert comparison.ranks([player(2), {"elsewhere_0": 1.0}], outcomes.place) == [1, 1]


def test_ranks_are_corrected_for_the_number_of_pairs() -> None:
    """7 places of 16 against none differ as the only pair, not as one of six."""

    def player(wins: int) -> dict[str, float]:
        return {f"p{n}_{k}": float(n < wins) for n in range(16) for k in range(4)}

    assert comparison.ranks([player(0), player(7)], outcomes.place) == [2, 1]
    four = [player(wins) for wins in (0, 5, 6, 7)]
    assert comparison.ranks(four, outcomes.place) == [1, 1, 1, 1]


def test_a_quick_comparison_says_what_it_cannot_show(played: dict[str, Path]) -> None:
    text = comparison.render_comparison(played["random"], played["gold"])
    assert "too few places" not in text  # two tracks of eight places: 2 * 2 / 2**8
    assert comparison.clearest_p(8, 7) > 0.05 > comparison.clearest_p(16, 7)
    assert comparison.clearest_p(2, 7) == 1.0, "a p-value is at most 1"
    assert "a quick run can show at best, with a win in every place: p on one" in text
    assert "a difference needs 6 places without a loss" in text


def test_what_a_quick_run_can_show_is_counted_by_the_track_of_the_fewest_places() -> (
    None
):
    gap = Interval(0.0, -1.0, 1.0)
    rows = [
        comparison.TrackDifference(name, (1.0, 1.0), places, places, gap, 1.0, 1.0)
        for name, places in ((comparison.ALL_TRACKS, 13), ("follow", 5), ("grid", 8))
    ]
    note = comparison._quick_note(rows)
    assert "p on one of 2 tracks 0.12, on all together 0.00024; " in note
