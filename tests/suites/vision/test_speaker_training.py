"""The speaker of ``imitation_preexplored`` learns the instructions of one generated house.

Runs in an environment of its own, with torch: ``make test-vision``.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from weights.imitation.network import Policy, PolicyRecipe, Sizes
from weights.imitation.speaker import SpeakerTrainer, export, lay_out
from weights.imitation.trainer import Material, gather


@pytest.fixture(scope="module")
def material() -> Material:
    return gather(None, PolicyRecipe(houses=1))


def trainer(material: Material, out: Path, epochs: int) -> SpeakerTrainer:
    torch.set_num_threads(1)
    sizes = Sizes(len(material.vocabulary), width=32, word=16, dropout=0.1)
    given = Namespace(
        seed=0,
        rate=3e-3,
        epochs=epochs,
        batch=12,
        houses_drawn=36,
        out=out / "speaker.pt",
    )
    torch.manual_seed(0)
    return SpeakerTrainer(material, Policy(sizes), given)


def test_it_learns_the_instructions_of_a_house(
    material: Material, tmp_path: Path
) -> None:
    student = trainer(material, tmp_path, 60)
    chosen = material.parts["homes"]
    before = student.score(chosen)
    student.run()
    assert student.score(chosen) < 0.6 * before


def test_a_training_that_was_cut_resumes(material: Material, tmp_path: Path) -> None:
    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    full = trainer(material, tmp_path / "whole", 4)
    full.run()
    trainer(material, tmp_path / "cut", 4).run(until=2)
    resumed = trainer(material, tmp_path / "cut", 4)
    resumed.resume()
    resumed.run()
    pairs = zip(full.mean.parameters(), resumed.mean.parameters(), strict=True)
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in pairs)


def test_the_exported_speaker_agrees_with_the_trained_one(
    material: Material, tmp_path: Path
) -> None:
    student = trainer(material, tmp_path, 3)
    student.run()
    export(student.mean, material.vocabulary, tmp_path / "speaker.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "speaker.onnx"))
    for number in material.parts["homes"][:5].tolist():
        batch = np.array([number])
        with torch.no_grad():
            logs, lengths = student.log_probabilities(student.mean, batch)
        paths = [student.gold[number]]
        place, rows, geometry, _ = lay_out(
            material.scenes, material.episodes.facing[batch], paths
        )
        texts = {
            kind: table[place[0]].numpy() for kind, table in material.texts.items()
        }
        words = material.told[batch, : int(lengths) - 1]
        given = {"words": words, **texts, "rows": rows[0], "geometry": geometry[0]}
        assert session.run(None, given)[0][0] == pytest.approx(
            float(logs.sum()), abs=0.05
        )
