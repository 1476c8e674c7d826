"""Published data next to the ladders: a block of its own, which changes no other number."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helpers.small_scan import write_scan
from wayword.cli.app import app
from wayword.core.errors import UsageError
from wayword_bench import ladders, page, real

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
    patch.setattr(ladders, "open_bench", lambda *_: small_version(replace(R2R, checksums={})))
    found: dict[str, Any] = {"data": top / "data"}
    for name in ("gold", "forward"):
        line = ("--agent", name, "--quick", "--tracks", "follow", "--out", str(top / name))
        found[f"{name} alone"] = wayword(*line)
        found[f"{name} card"] = json.loads((top / name / ladders.CARD).read_text())
        found[f"{name} with data"] = wayword(*line, "--real", "--data", str(top / "data"))
        found[name] = top / name
    yield found
    patch.undo()


def test_the_headline_is_the_same_with_and_without_published_data(played: dict[str, Any]) -> None:
    for name in ("gold", "forward"):
        without, card = played[f"{name} card"], ladders.read_card(played[name])
        assert "real" not in without
        assert {key: value for key, value in card.items() if key != "real"} == without
        lines = played[f"{name} alone"].splitlines()
        assert played[f"{name} with data"].splitlines()[: len(lines) - 2] == lines[:-2]


def test_a_row_has_the_split_that_is_there_its_numbers_and_what_is_missing(
    played: dict[str, Any],
) -> None:
    (row,) = ladders.read_card(played["gold"])["real"]
    assert row["dataset"] == "r2r:val_seen"
    assert row["named"] == "r2r:val_unseen"
    assert row["missing"] == ["r2r/annotations/R2R_val_unseen.json: no such file (nor .gz)"]
    assert (row["episodes"], row["clusters"], row["unit"], row["solved"]) == (3, 1, "paths", 3)
    assert row["success"] == row["value"] == [1.0, 0.0, 1.0]  # one path alone gives no interval
    text = played["gold with data"]
    assert "r2r:val_seen: success 100% [0, 100], spl 100% [0, 100], 3 episodes (1 paths)" in text
    assert "in place of r2r:val_unseen, missing: r2r/annotations/R2R_val_unseen.json" in text
    folder = str(played["gold"])
    assert "| real: r2r:val_seen |" in wayword("card", folder, "--format", "markdown")
    assert "Published data" in (played["gold"] / page.PAGE).read_text()


def test_a_row_is_of_the_published_schema(played: dict[str, Any]) -> None:
    text = Path("docs/bench.md").read_text(encoding="utf-8")
    (schema,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    form = json.loads(schema)["$defs"]["sample"]
    (row,) = ladders.read_card(played["gold"])["real"]
    assert set(form["required"]) < set(row) == set(form["properties"])


def test_published_data_are_compared_apart_from_the_tracks(played: dict[str, Any]) -> None:
    (row,) = ladders.compare_real(played["forward"], played["gold"])
    assert (row.track, row.shared) == ("r2r:val_seen", 3)
    assert row.p == row.holm
    tracks = ladders.compare_cards(played["forward"], played["gold"])
    assert [each.track for each in tracks] == ["follow"]
    text = wayword("compare", str(played["forward"]), str(played["gold"]))
    assert "published data:\nr2r:val_seen: success" in text


def test_runs_on_published_data_verify_if_they_are_of_the_sample(
    played: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, data = played["gold"], played["data"]
    card = ladders.read_card(folder)
    assert page.unverified(folder, card, data) == ""
    monkeypatch.setattr(
        ladders, "open_bench", lambda *_: replace(small_version(R2R), seed=VERSION.seed + 1)
    )
    entry = ladders.Entry(ladders.open_bench(), "gold", tracks=("follow",), quick=True)
    plan = replace(entry.real_plan(R2R, data=data), on="r2r:val_seen")
    run = folder / "real" / "r2r-val_seen" / "run.json"
    identity = json.loads(run.read_text())["identity"]
    assert real.is_foreign(plan, R2R, {"7_0"}, identity)  # drawn with another seed
    plan = replace(plan, shuffle=VERSION.seed)
    assert not real.is_foreign(plan, R2R, {"7_0", "7_2"}, identity)
    assert real.is_foreign(plan, R2R, {"8_0"}, identity)


def test_data_that_are_not_there_and_those_of_other_episodes_are_named(
    played: dict[str, Any], tmp_path: Path
) -> None:
    plan = ladders.Entry(VERSION, "gold").real_plan(R2R, data=tmp_path)
    head, nothing = real.find(R2R, plan, tmp_path, whole=True)
    assert nothing is None
    (row,) = real.real_rows(tmp_path, [R2R], [head])
    assert (row["dataset"], row["episodes"]) == ("", 0)
    assert ladders.real_line(row).startswith("r2r:val_unseen: not played, missing: ")
    plan = replace(plan, data=played["data"])
    with pytest.raises(UsageError, match=r"r2r:val_seen: these files hold other episodes"):
        real.find(R2R, plan, tmp_path, whole=True)


@pytest.mark.parametrize(
    ("name", "episode", "cluster"),
    [
        ("r2r", "5593_2", "5593"),
        ("map2seq", "6918", "6918"),
        ("robothor", "FloorPlan_Train1_2_Laptop_67", "FloorPlan_Train1_2"),
        ("household", "trial_T20190909_044715_250790_1", "trial_T20190909_044715_250790"),
    ],
)
def test_episodes_are_clustered_by_a_part_of_their_ids(
    name: str, episode: str, cluster: str
) -> None:
    (found,) = (each for each in VERSION.real if each.name == name)
    assert found.cluster_of(episode) == cluster
