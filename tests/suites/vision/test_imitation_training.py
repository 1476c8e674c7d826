"""The trainer of ``imitation`` learns a handful of generated houses by heart, stops and goes on.

Runs in an environment of its own, with torch: ``make test-vision``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from weights.imitation.network import PolicyRecipe, Sizes
from weights.imitation.trainer import Material, Trainer, gather

RECIPE = replace(
    PolicyRecipe(), houses=1, epochs=120, batch=12, rate=3e-3, word_drop=0.0, smooth=0.9
)


@pytest.fixture(scope="module")
def material() -> Material:
    return gather(None, RECIPE)


def trainer(material: Material, out: Path, epochs: int = RECIPE.epochs) -> Trainer:
    torch.set_num_threads(1)
    shape = Sizes(len(material.vocabulary), width=64, word=32, dropout=0.0)
    return Trainer(material, shape, replace(RECIPE, epochs=epochs), out)


def test_it_learns_a_house_by_heart(material: Material, tmp_path: Path) -> None:
    student = trainer(material, tmp_path)
    chosen = np.concatenate([material.parts["homes"], material.parts["dev_homes"]])
    material.parts["homes"] = chosen
    before = student.score(chosen)["sr"]
    student.run()
    assert student.score(chosen)["sr"] >= max(0.9, before)


def test_a_training_that_was_cut_goes_on_as_if_it_were_not(
    material: Material, tmp_path: Path
) -> None:
    full = trainer(material, tmp_path / "whole", 4)
    full.run()
    cut = trainer(material, tmp_path / "cut", 4)
    cut.run(until=2)
    resumed = trainer(material, tmp_path / "cut", 4)
    resumed.resume(torch.load(tmp_path / "cut" / "checkpoint.pt", weights_only=False))
    resumed.run()
    assert [row["loss"] for row in resumed.curve] == pytest.approx(
        [row["loss"] for row in full.curve], abs=1e-4
    )
