"""``regression:``: it learns when a leg is done, and answers velma's questions as a model."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from weights.regression import SETTINGS, fit, write
from weights.sources import Source

import wayword
from wayword.core.errors import UsageError
from wayword.models.regression import RegressionModel
from wayword.runs import RunFolder
from wayword.training.examples import ExampleMaker
from wayword.viewer import write as write_page


def test_it_learns_when_a_leg_of_a_town_is_done(tmp_path: Path) -> None:
    source = Source("towns:train", {"seed": 20, "towns": 4, "episodes": 24})
    dataset, tasks = source.open(None)
    player = ExampleMaker("velma", SETTINGS["velma"], source.data, dataset, near=True)
    walks = [asyncio.run(player.example(task, None, "ft")) for task in tasks]
    write("velma", fit("velma", walks[:18]), tmp_path / "street.json")
    model = RegressionModel(str(tmp_path / "street.json"))
    right = 0
    count = 0
    for walk in walks[18:]:
        for choice in walk.choices:
            if walk.text[: choice.at].endswith("Done?"):
                best = asyncio.run(
                    model.choose(walk.text[: choice.at], ["no", "yes"])
                ).best
                right = right + (best == choice.label.strip())
                count = count + 1
    assert count > 30
    assert right / count > 0.8
    with pytest.raises(UsageError, match="follow=true"):
        asyncio.run(model.choose("Is it done?", ["no", "yes"]))


@pytest.mark.parametrize(
    ("agent", "on", "metric", "least"),
    [("walker", "houses:test", "sr", 15), ("velma", "towns:test", "tc", 13)],
)
def test_the_shipped_weights_find_their_way_in_unseen_places(
    agent: str, on: str, metric: str, least: int, tmp_path: Path
) -> None:
    """88 and 82% of the full splits; random finds one of ten goals, or none."""
    plan = wayword.Plan(
        agent, on, f"regression:{agent}", limit=20, out=tmp_path / "run"
    )
    result = wayword.run(plan)
    records = list(RunFolder.read(result.path).records())
    assert len(records) == 20
    assert sum(record.scores[metric] for record in records) >= least
    pages = write_page(result.path, episodes=[records[0].episode_id]).parent
    (file,) = (pages / "episodes").glob("*.html")
    page = file.read_text("utf-8")
    assert "?</p>" in page, "the question is shown above the ranked answers"


@pytest.mark.parametrize("text", ["", "[]", '{"agent": "velma"}'])
def test_a_file_without_weights_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(
        UsageError, match=r"regression:.*mine\.json: no fitted weights in"
    ):
        RegressionModel(str(path))
    with pytest.raises(
        UsageError, match="regression:nowhere: no fitted weights in nowhere"
    ):
        RegressionModel("nowhere")
