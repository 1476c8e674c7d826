"""The regression in examples/training: it learns when a leg is done, and answers as a model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from runpy import run_path

import pytest
from recipes.language.config import Source

from wayword.core.errors import UsageError
from wayword.training.examples import ExampleMaker

EXAMPLE = Path(__file__).parents[2] / "examples" / "training" / "street_regression.py"


def test_it_learns_when_a_leg_of_a_town_is_done(tmp_path: Path) -> None:
    told = run_path(str(EXAMPLE))
    source = Source("towns:train", {"seed": 20, "towns": 4, "episodes": 24})
    dataset, tasks = source.open(None)
    player = ExampleMaker("velma", told["SETTINGS"], source.data, dataset, near=True)
    walks = [asyncio.run(player.example(task, None, "ft")) for task in tasks]
    weights = told["Regression"].fit(walks[:18]).weights
    (tmp_path / "street.json").write_text(json.dumps(weights))
    model, right, asked = told["model"](str(tmp_path / "street.json")), 0, 0
    for walk in walks[18:]:
        for choice in walk.choices:
            if walk.text[: choice.at].endswith("Done?"):
                best = asyncio.run(model.choose(walk.text[: choice.at], ["no", "yes"])).best
                right, asked = right + (best == choice.label.strip()), asked + 1
    assert asked > 30
    assert right / asked > 0.8
    with pytest.raises(UsageError, match="follow=true"):
        asyncio.run(model.choose("Is it done?", ["no", "yes"]))
