"""``hf:`` with an adapter in PEFT's layout: the merged weights answer, and no pickle is run.

Runs in an environment of its own, with torch: ``make test-train``.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import peft
import pytest
import torch
import transformers as hub
from tiny_llama import base

from wayword.core.errors import UsageError
from wayword.models.hf import HfModel, HfSettings

OPTIONS = (" kitchen", " hallway", " bedroom")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A tiny network, an adapter of random weights for it as a pickle, and the two merged."""
    tiny = base(tmp_path_factory.mktemp("tiny"))
    words = hub.PreTrainedTokenizerFast.from_pretrained(tiny)
    words.eos_token = "<|endoftext|>"
    words.save_pretrained(tiny)
    adapter = tmp_path_factory.mktemp("adapter")
    merged = tmp_path_factory.mktemp("merged")
    shape = peft.LoraConfig(r=8, lora_alpha=64, target_modules=["q_proj", "v_proj"])
    network = peft.get_peft_model(hub.AutoModelForCausalLM.from_pretrained(tiny), shape)
    torch.manual_seed(1)
    for name, weights in network.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(weights, std=0.5)
    network.save_pretrained(adapter)
    tensors = peft.utils.load_peft_weights(str(adapter))
    (adapter / "adapter_model.safetensors").unlink()
    torch.save(tensors, adapter / "adapter_model.bin")
    network.merge_and_unload().save_pretrained(merged)
    words.save_pretrained(merged)
    return str(tiny), str(adapter), str(merged)


def ranked(name: str, settings: HfSettings | None = None) -> tuple[float, ...]:
    return asyncio.run(HfModel(name, settings).choose("Go to the", OPTIONS)).logprobs


def test_an_adapter_changes_answers_as_merged_weights_do(
    folders: tuple[str, str, str],
) -> None:
    tiny, adapter, merged = folders
    with_adapter = ranked(tiny, HfSettings(adapter=adapter))
    assert with_adapter == pytest.approx(ranked(merged), abs=1e-4)
    assert with_adapter != pytest.approx(ranked(tiny), abs=1e-2)
    identities = {
        HfModel(tiny, HfSettings(adapter=each)).identity for each in ("", adapter)
    }
    assert len(identities) == 2


class Harmful:
    """Pickled code that leaves a file behind where it is run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return os.mkdir, (str(self.path),)


def test_a_pickle_with_code_is_refused(
    folders: tuple[str, str, str], tmp_path: Path
) -> None:
    tiny, adapter, _ = folders
    config = Path(adapter, "adapter_config.json").read_text()
    (tmp_path / "adapter_config.json").write_text(config)
    torch.save({"weights": Harmful(tmp_path / "run")}, tmp_path / "adapter_model.bin")
    with pytest.raises(UsageError, match="the adapter cannot be read"):
        ranked(tiny, HfSettings(adapter=str(tmp_path)))
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match=r"has no adapter_config\.json"):
        HfSettings(adapter=str(tmp_path / "nowhere"))
