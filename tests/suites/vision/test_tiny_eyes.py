"""Every kind of eye through transformers' real processor and a network of random weights.

What a random network says is noise; that it is asked rightly and read rightly is what counts, so
each answer is compared with the library's own, worked out here step by step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
import transformers as hub

from wayword.core.errors import UsageError
from wayword.perception.networks import EYES, open_eye
from wayword.perception.networks.eyes import Detr, GroundingDino, Owlv2
from wayword.perception.networks.matching import ListTagger, TransformersEncoder

rng = np.random.default_rng(0)
PICTURES = [rng.integers(0, 255, (rows, 60, 3), dtype=np.uint8) for rows in (40, 48)]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    folder = tmp_path_factory.mktemp("weights")
    made: dict[str, str] = {}

    def get(name: str) -> str:
        if name not in made:
            made[name] = getattr(tiny, name)(folder / name)
        return made[name]

    return get


def answers(work: Any) -> Any:
    return asyncio.run(work)


@pytest.mark.parametrize("network", ["yolos", "detr"])
def test_detectors_give_the_librarys_boxes(
    network: str, weights: Callable[[str], str]
) -> None:
    eye = Detr(weights(network), threshold=0.0)
    assert "boxes" in eye.capabilities
    found = answers(eye.boxes(PICTURES))
    processor = hub.AutoImageProcessor.from_pretrained(weights(network))
    model = hub.AutoModelForObjectDetection.from_pretrained(weights(network)).eval()
    with torch.no_grad():
        outputs = model(**processor(images=PICTURES, return_tensors="pt"))
    theirs = processor.post_process_object_detection(
        outputs, threshold=0.0, target_sizes=[(40, 60), (48, 60)]
    )
    for ours, expected in zip(found, theirs, strict=True):
        assert len(ours) == len(expected["scores"]) > 0
        assert {box.name for box in ours} <= {"chair", "lamp"}
        assert [box.score for box in ours] == sorted(
            (box.score for box in ours), reverse=True
        )
        best = int(expected["scores"].argmax())
        edges = ours[0].left, ours[0].top, ours[0].right, ours[0].bottom
        assert edges == pytest.approx(expected["boxes"][best].tolist(), abs=1e-4)


@pytest.mark.parametrize(
    ("cls", "network"), [(GroundingDino, "grounding_dino"), (Owlv2, "owlv2")]
)
def test_grounders_name_boxes_after_phrases(
    cls: Any,
    network: str,
    weights: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cls, "threshold", 0.0)
    eye = cls(weights(network))
    assert "find" in eye.capabilities
    found = answers(eye.find(PICTURES, ["red chair", "lamp"]))
    assert len(found) == 2
    boxes = [box for one in found for box in one]
    assert boxes
    assert {box.name for box in boxes} <= {"red chair", "lamp"}
    assert all(0.0 <= box.score <= 1.0 for box in boxes)
    monkeypatch.setattr(cls, "threshold", 1.5)
    assert answers(cls(weights(network)).find(PICTURES, ["lamp"])) == [[], []]


@pytest.mark.parametrize("eye", ["blip2", "vlm"])
def test_captioners_write_what_the_library_writes(
    eye: str, weights: Callable[[str], str]
) -> None:
    network = "llava" if eye == "vlm" else eye
    captioner = open_eye("captioner", f"{eye}:{weights(network)}")
    assert "captions" in captioner.capabilities
    both = answers(captioner.captions(PICTURES))
    assert len(both) == 2
    assert all(isinstance(text, str) for text in both)
    assert both == answers(captioner.captions(PICTURES))
    alone = [answers(captioner.captions([picture]))[0] for picture in PICTURES]
    assert both == alone  # a batch changes nothing
    assert "Describe" not in both[0]  # the prompt is not part of the answer


def test_blip2s_caption_is_the_librarys(weights: Callable[[str], str]) -> None:
    captioner = open_eye("captioner", f"blip2:{weights('blip2')}")
    processor = hub.AutoProcessor.from_pretrained(weights("blip2"))
    model = hub.Blip2ForConditionalGeneration.from_pretrained(weights("blip2")).eval()
    inputs = processor(
        images=[PICTURES[0]], text=["This is a scene of"], return_tensors="pt"
    )
    with torch.no_grad():
        tokens = model.generate(**inputs, max_new_tokens=60, do_sample=False)
    text = processor.batch_decode(tokens[:, inputs["input_ids"].shape[1] :], True)[0]
    assert answers(captioner.captions([PICTURES[0]])) == [" ".join(text.split())]


def test_depth_has_each_pictures_size(weights: Callable[[str], str]) -> None:
    eye = open_eye("depth", f"depth:{weights('depth')}")
    assert "depths" in eye.capabilities
    found = answers(eye.depths(PICTURES))
    assert [depth.shape for depth in found] == [(40, 60), (48, 60)]
    assert all(np.isfinite(depth).all() for depth in found)


def test_tags_are_the_words_of_the_best_scores(
    weights: Callable[[str], str], tmp_path: Path
) -> None:
    (tmp_path / "words.txt").write_text("chair\nlamp\ntable\nsofa\nbed\noven\n")
    tagger = open_eye("tagger", f"tags:{weights('clip')},{tmp_path / 'words.txt'}")
    assert isinstance(tagger, ListTagger)
    tags = answers(tagger.tags(PICTURES))
    encoder = TransformersEncoder(weights("clip"))
    texts = encoder.texts([f"a photo of a {word}" for word in tagger._words])
    best = (encoder.pictures(PICTURES) @ texts.T).argmax(axis=1)
    assert [one[0] for one in tags] == [tagger._words[n] for n in best]
    assert all(0 < len(one) < 6 for one in tags)
    assert (
        len(answers(open_eye("tagger", f"tags:{weights('clip')}").tags(PICTURES))) == 2
    )


# The detector of a simulated camera's colors has none, and ssd's are in its package.
WITHOUT_WEIGHTS = ("colors", "ssd")
KINDS = [
    (kind, name)
    for kind, names in EYES.items()
    for name in names
    if name not in WITHOUT_WEIGHTS
]


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_missing_weights_are_one_line(kind: Any, name: str) -> None:
    with pytest.raises(UsageError, match="add a folder of weights"):
        open_eye(kind, f"{name}:")
    with pytest.raises(UsageError, match="cannot be loaded") as error:
        open_eye(kind, f"{name}:/nowhere/at/all")
    assert "\n" not in str(error.value)
