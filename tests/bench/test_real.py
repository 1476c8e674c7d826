"""Published data next to the ladders: a block of its own, which changes no other number."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helpers.records import records, rewrite
from helpers.small_scan import write_scan
from wayword.bench import card_text, comparison, ladders, page, real, scorecard
from wayword.bench.verify import Verified
from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword.models.middleware import prices
from wayword.runs import json_lines

VERSION = ladders.open_bench()
R2R = VERSION.real[0]


def wayword(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["bench", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def small_version(*sets: real.RealSet) -> ladders.Bench:
    return replace(VERSION, real=sets)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two players on a scan of three instructions: their folders, the data, and the outputs."""
    top = tmp_path_factory.mktemp("real")
    write_scan(top / "data")
    patch = pytest.MonkeyPatch()
    patch.setattr(
        ladders, "open_bench", lambda *_: small_version(replace(R2R, checksums={}))
    )
    found: dict[str, Any] = {"data": top / "data"}
    for name in ("gold", "forward"):
        line = (
            "--agent",
            name,
            "--quick",
            "--tracks",
            "follow",
            "--out",
            str(top / name),
        )
        found[f"{name} alone"] = wayword(*line)
        found[f"{name} card"] = json.loads((top / name / ladders.CARD).read_text())
        found[f"{name} with data"] = wayword(
            *line, "--real", "--data", str(top / "data")
        )
        found[name] = top / name
    yield found
    patch.undo()


def test_the_headline_is_the_same_with_and_without_published_data(
    played: dict[str, Any],
) -> None:
    for name in ("gold", "forward"):
        without = played[f"{name} card"]
        card = scorecard.read_card(played[name])
        assert "real" not in without
        assert {key: value for key, value in card.items() if key != "real"} == without
        lines = played[f"{name} alone"].splitlines()
        assert played[f"{name} with data"].splitlines()[: len(lines) - 2] == lines[:-2]


def test_a_row_has_the_split_that_is_there_its_numbers_and_what_is_missing(
    played: dict[str, Any],
) -> None:
    (row,) = scorecard.read_card(played["gold"])["real"]
    assert row["dataset"] == "r2r:val_seen"
    assert row["named"] == "r2r:val_unseen"
    assert row["missing"] == [
        "r2r/annotations/R2R_val_unseen.json: no such file (nor .gz)"
    ]
    assert (row["episodes"], row["clusters"], row["unit"], row["solved"]) == (
        3,
        1,
        "paths",
        3,
    )
    assert (
        row["success"] == row["value"] == [1.0, 0.0, 1.0]
    )  # one path alone gives no interval
    text = played["gold with data"]
    assert (
        "r2r:val_seen: success 100% [0, 100], spl 100% [0, 100], 3 of 20 episodes (1 "
        in text
    )
    assert (
        "in place of r2r:val_unseen, missing: r2r/annotations/R2R_val_unseen.json"
        in text
    )
    folder = str(played["gold"])
    assert "| real: r2r:val_seen |" in wayword("card", folder, "--format", "markdown")
    assert "Published data" in (played["gold"] / page.PAGE).read_text()


def test_a_row_is_of_the_published_schema(played: dict[str, Any]) -> None:
    text = Path("docs/bench.md").read_text(encoding="utf-8")
    (schema,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    form = json.loads(schema)["$defs"]["sample"]
    (row,) = scorecard.read_card(played["gold"])["real"]
    assert set(form["required"]) < set(row) == set(form["properties"])


def test_tokens_and_dollars_of_a_sample_count_in_its_row_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_scan(tmp_path / "data")
    monkeypatch.setattr(
        ladders, "open_bench", lambda *_: small_version(replace(R2R, checksums={}))
    )
    (tmp_path / "prices.yaml").write_text("scripted:*: {input: 1, output: 10}\n")
    monkeypatch.setattr(prices, "SHIPPED", tmp_path / "prices.yaml")
    player = (
        "--agent",
        "act",
        "--model",
        "scripted:first",
        "--out",
        str(tmp_path / "card"),
    )
    line = (*player, "--quick", "--tracks", "follow")
    wayword(*line)
    without = json.loads((tmp_path / "card" / ladders.CARD).read_text())
    wayword(*line, "--real", "--data", str(tmp_path / "data"))
    card = json.loads((tmp_path / "card" / ladders.CARD).read_text())
    assert card["real"][0]["tokens"] > 0
    assert card["real"][0]["dollars"] > 0
    assert (card["tokens"], card["dollars"]) == (without["tokens"], without["dollars"])
    assert card["dollars"] > 0


def test_a_sample_played_on_a_later_day_leaves_the_date(
    played: dict[str, Any], tmp_path: Path
) -> None:
    shutil.copytree(played["gold"], tmp_path / "gold")
    before = scorecard.read_card(tmp_path / "gold")["date"]
    for run, day in (("real/r2r-val_seen", "2999-01-02"), ("follow/008", "2998-01-02")):
        file = tmp_path / "gold" / run / "run.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "started": day}))
        expected = before if run.startswith("real") else day
        assert scorecard.read_card(tmp_path / "gold")["date"] == expected


def test_published_data_are_compared(played: dict[str, Any]) -> None:
    (row,) = comparison.compare_real(played["forward"], played["gold"])
    assert (row.track, row.shared) == ("r2r:val_seen", 3)
    tracks = comparison.compare_cards(played["forward"], played["gold"])
    assert [each.track for each in tracks] == ["follow"]
    text = wayword("compare", str(played["forward"]), str(played["gold"]))
    assert "published data:\nr2r:val_seen: success" in text


def test_splits_and_tracks_are_corrected_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def results(path: Path, judge: Any) -> Iterator[tuple[str, bool, dict[str, float]]]:
        yield from ((f"{n}_0", "second" in path.parts, {}) for n in range(6))

    card = {
        "bench": VERSION.version,
        "tracks": {"follow": {}, "street": {}},
        "real": [{"dataset": "r2r:val_seen", "episodes": 6}],
    }
    monkeypatch.setattr(comparison, "read_card", lambda _: card)
    for module in (comparison, scorecard):
        monkeypatch.setattr(module, "is_run", lambda _: True)
        monkeypatch.setattr(module, "results", results)
    (split,) = comparison.compare_real(Path("first"), Path("second"))
    assert split.p < 0.1  # three tests in one family would triple it
    assert split.holm == split.p
    total, *tracks = comparison.compare_cards(Path("first"), Path("second"))
    assert total.holm == total.p, "the primary comparison is not corrected"
    for track in tracks:
        assert track.holm == pytest.approx(2 * track.p)


def test_runs_on_published_data_verify_if_they_are_of_the_sample(
    played: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = played["gold"]
    data = played["data"]
    card = scorecard.read_card(folder)
    assert page.check_card(folder, card, data) == Verified()
    lost = tmp_path / "lost"
    shutil.copytree(folder, lost)
    run = real.sample_folder(lost, "r2r:val_seen")
    rewrite(run, records(run)[1:])
    scorecard.write_card(lost, scorecard.read_card(lost))
    found = page.check_card(lost, scorecard.read_card(lost), data)
    assert found.reason.startswith("real/r2r-val_seen: episode")
    other = replace(VERSION, seed=VERSION.seed + 1)
    monkeypatch.setattr(scorecard, "open_bench", lambda *_: other)
    found = page.check_card(folder, card, data)
    assert "is not the version's: 'dataset_settings.seed'" in found.reason


def test_a_card_whose_published_files_are_not_here_says_so_and_verifies_the_rest(
    played: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(played["gold"], tmp_path / "cards" / "gold")
    (tmp_path / "empty").mkdir()
    page.write_board(tmp_path / "cards", tmp_path / "site", tmp_path / "empty")
    board = (tmp_path / "site" / "index.html").read_text()
    assert 'data-verified="part"' in board
    assert "all but r2r:val_seen" in board
    text = (tmp_path / "site" / "card-000.html").read_text()
    assert "not checked here, because their files are missing: r2r:val_seen." in text
    page.write_board(tmp_path / "cards", tmp_path / "site", played["data"])
    assert "all but" not in (tmp_path / "site" / "index.html").read_text()
    assert "not checked here" not in (tmp_path / "site" / "card-000.html").read_text()
    monkeypatch.setattr(
        "wayword.bench.verify.verify", lambda *_: [("house_1", "step 2: other pose")]
    )
    page.write_board(tmp_path / "cards", tmp_path / "site", tmp_path / "empty")
    assert 'data-verified="no"' in (tmp_path / "site" / "index.html").read_text()


@pytest.mark.parametrize("field", ["dataset", "named"])
def test_a_card_of_unknown_published_data_is_refused(
    field: str, played: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "card"
    shutil.copytree(played["gold"], folder)
    card = json.loads((folder / ladders.CARD).read_text())
    (row,) = card["real"]
    card["real"] = [{**row, "dataset": "", field: "moon:val"}]
    scorecard.write_card(folder, card)
    problem = r"card: 'moon:val' is none of this bench's published data \(r2r"
    with pytest.raises(UsageError, match=problem):
        scorecard.read_card(folder)


def test_a_card_shows_where_fewer_episodes_than_the_sample_count(
    played: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladders, "QUICK_REAL", 3)
    card = scorecard.read_card(played["gold"])
    assert ", 3 episodes (1 paths)" in card_text.render(card)
    assert '<td class="n" data-label="episodes">3</td>' in page._card_page(card, {})
    shutil.copytree(played["gold"], tmp_path / "gold")
    run = real.sample_folder(tmp_path / "gold", "r2r:val_seen")
    records = run / "episodes.jsonl.gz"
    *_, last = json_lines.read_members(records)
    records.write_bytes(records.read_bytes()[: last.at])  # a lost episode is deleted
    card = scorecard.read_card(tmp_path / "gold")
    assert ", 2 of 3 episodes (1 paths)" in card_text.render(card)
    assert '<td class="n bad" data-label="episodes">2 of 3</td>' in page._card_page(
        card, {}
    )


def test_data_that_are_not_there_and_those_of_other_episodes_are_named(
    played: dict[str, Any], tmp_path: Path
) -> None:
    plan = ladders.Contender(VERSION, "gold").real_plan(R2R, data=tmp_path)
    head, nothing = real.find(R2R, plan, tmp_path, complete=True)
    assert nothing is None
    (row,) = real.real_rows(tmp_path, [R2R], [head], 200)
    assert (row["dataset"], row["episodes"]) == ("", 0)
    assert card_text.real_line(row).startswith("r2r:val_unseen: not played, missing: ")
    plan = replace(plan, data=played["data"])
    with pytest.raises(
        UsageError, match=r"r2r:val_seen: these files hold other episodes"
    ):
        real.find(R2R, plan, tmp_path, complete=True)


def test_a_wrong_setting_is_named_and_is_no_missing_file(
    played: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAYWORD_DATA", raising=False)
    monkeypatch.setattr(real, "data_folder", lambda named: named)
    plan = ladders.Contender(VERSION, "gold").real_plan(R2R, data=played["data"])
    wrong = replace(plan, settings={"dataset": {"rooms": 9}})
    for data in (played["data"], None):
        with pytest.raises(UsageError, match="rooms"):
            real.find(R2R, replace(wrong, data=data), tmp_path, complete=False)
    with pytest.raises(UsageError, match="r2r has no split 'val_sen'"):
        real.find(replace(R2R, splits=("val_sen",)), plan, tmp_path, complete=False)
    head, nothing = real.find(R2R, replace(plan, data=None), tmp_path, complete=False)
    assert nothing is None
    assert head["missing"] == ["no data folder (--data or WAYWORD_DATA)"]


def test_samples_have_the_clusters_of_their_datasets() -> None:
    units = {each.name: each.clusters.unit for each in VERSION.real}
    assert units == {
        "r2r": "path",
        "map2seq": "episode",
        "robothor": "scene",
        "household": "trajectory",
    }


@pytest.mark.parametrize(
    ("name", "episode", "cluster"),
    [
        ("r2r", "5593_2", "5593"),
        ("map2seq", "6918", "6918"),
        ("robothor", "FloorPlan_Train1_2_Laptop_67", "FloorPlan_Train1_2"),
        (
            "household",
            "trial_T20190909_044715_250790_1",
            "trial_T20190909_044715_250790",
        ),
    ],
)
def test_episodes_are_clustered_by_a_part_of_their_ids(
    name: str, episode: str, cluster: str
) -> None:
    (found,) = (each for each in VERSION.real if each.name == name)
    assert found.cluster_of(episode) == cluster
