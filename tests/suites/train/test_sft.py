"""Fine-tuning by TRL at toy size: it learns the labels, resumes, and refuses another plan.

Runs in an environment of its own, with torch: ``make test-train``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import transformers as hub
from tiny_llama import base
from weights.sft.finetuning import FineTuning, finetune

from wayword.core.errors import UsageError


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> FineTuning:
    folder = base(tmp_path_factory.mktemp("tiny"))
    words = hub.PreTrainedTokenizerFast.from_pretrained(folder)
    words.eos_token = "<|endoftext|>"
    words.save_pretrained(folder)
    return FineTuning(
        "walker", ("houses:train",), base=str(folder), limit=3,
        rank=0, rate=3e-3, epochs=12, batch=1, length=4096,
    )  # fmt: skip


def test_the_loss_on_decisions_falls_and_the_weights_can_be_loaded(
    plan: FineTuning, tmp_path: Path
) -> None:
    losses: list[float] = []

    def track(values: Mapping[str, float], step: int) -> None:
        losses.extend(v for k, v in values.items() if k == "loss")

    model = finetune(plan, tmp_path / "run", None, lambda line: None, track)
    assert losses[-1] < losses[0] / 2
    assert (model / "model.safetensors").is_file()
    before = len(losses)
    finetune(plan, tmp_path / "run", None, lambda line: None, track)
    assert len(losses) == before  # resumed at its end: no step is repeated


def test_adapters_are_merged(plan: FineTuning, tmp_path: Path) -> None:
    model = finetune(
        replace(plan, rank=4, epochs=1), tmp_path / "run", None, lambda line: None
    )
    assert not (model / "adapter_config.json").exists()
    assert (model / "model.safetensors").is_file()


def test_another_plan_in_the_same_folder_is_refused(
    plan: FineTuning, tmp_path: Path
) -> None:
    finetune(replace(plan, epochs=1), tmp_path / "run", None, lambda line: None)
    with pytest.raises(UsageError, match="other settings; name another folder"):
        finetune(replace(plan, epochs=2), tmp_path / "run", None, lambda line: None)
