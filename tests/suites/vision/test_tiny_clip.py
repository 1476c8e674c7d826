"""The neural landmark scorer through transformers' real processor and a tiny random CLIP.

Runs in an environment of its own, with torch: ``make test-vision``.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as hub

from wayword.core.errors import UsageError
from wayword.perception.networks.matching import TransformersEncoder

SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
SIZE |= {"num_attention_heads": 4}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CLIP of random weights whose tokens are letters, stored as the hub stores one."""
    folder = tmp_path_factory.mktemp("clip")
    letters = [chr(code) for code in range(33, 127)]
    words = [*letters, *(f"{letter}</w>" for letter in letters)]
    words += ["<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(
        json.dumps({word: i for i, word in enumerate(words)})
    )
    (folder / "merges.txt").write_text("#version: 0.2\n")
    torch.manual_seed(0)
    ends = {"eos_token_id": len(words) - 1, "bos_token_id": len(words) - 2}
    text = {**SIZE, **ends, "vocab_size": len(words), "max_position_embeddings": 64}
    vision = {**SIZE, "image_size": 32, "patch_size": 8}
    config = hub.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    hub.CLIPModel(config).save_pretrained(folder)
    tokenizer = hub.CLIPTokenizerFast.from_pretrained(folder)
    pictures = hub.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    hub.CLIPProcessor(pictures, tokenizer).save_pretrained(folder)
    return folder


def test_similarities_are_the_models_own(weights: Path) -> None:
    rng = np.random.default_rng(0)
    views = [rng.integers(0, 255, (460, 800, 3), dtype=np.uint8) for _ in range(3)]
    captions = ["picture of a bank", "picture of Corner Bagels"]
    encoder = TransformersEncoder(str(weights))
    ours = encoder.pictures(views) @ encoder.texts(captions).T
    model = hub.CLIPModel.from_pretrained(weights).eval()
    given = hub.CLIPProcessor.from_pretrained(weights)(
        text=captions, images=views, return_tensors="pt", padding=True
    )
    with torch.no_grad():
        theirs = (model(**given).logits_per_image / model.logit_scale.exp()).numpy()
    assert ours == pytest.approx(theirs, abs=1e-5)


def test_a_text_longer_than_the_model_reads_is_cut(weights: Path) -> None:
    long = TransformersEncoder(str(weights)).texts(
        ["picture of a very long landmark " * 9]
    )
    assert np.linalg.norm(long, axis=1) == pytest.approx([1.0], abs=1e-5)


def test_missing_weights_are_one_line() -> None:
    with pytest.raises(UsageError, match=r"clip:/none: cannot be loaded: "):
        TransformersEncoder("/none")
