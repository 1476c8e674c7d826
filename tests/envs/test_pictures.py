"""Pictures reach the policy, and a perturbation of words changes them too."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

from helpers.tours import COLOURS, painted_tour
from wayword.datasets.perturbed import Perturbations
from wayword.envs import make
from wayword.perception.panorama import GRAY
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan

JPEG = 12  # levels of 255 by which a compressed plain picture may be off


def middle_color(data: bytes) -> tuple[int, ...]:
    picture = np.asarray(Pillow.open(io.BytesIO(data)).convert("RGB"))
    return tuple(map(int, picture[picture.shape[0] // 2, picture.shape[1] // 2]))


def is_close(color: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    return bool(np.abs(np.subtract(color, expected)).max() <= JPEG)


def pictures_of(observation: Any) -> list[bytes]:
    """The pictures of a chat observation, decoded from its ``image_url`` parts."""
    decoded = []
    for message in observation:
        if isinstance(message["content"], str):
            continue
        for part in message["content"]:
            if part["type"] == "image_url":
                _, _, encoded = part["image_url"]["url"].partition(";base64,")
                decoded.append(base64.b64decode(encoded))
    return decoded


def test_an_observation_holds_the_pictures_that_its_text_mentions(
    tmp_path: Path,
) -> None:
    settings = {"folder": str(painted_tour(tmp_path))}
    with make("tour", view="mapgpt", settings=settings) as env:
        observation, _ = env.reset()
    (picture,) = pictures_of(observation)
    text = str(observation)
    assert "The images show" in text
    assert is_close(middle_color(picture), COLOURS["hall"])


def test_missing_captions_take_the_pictures_of_their_directions_away(
    tmp_path: Path,
) -> None:
    settings = {"dataset": {"folder": str(painted_tour(tmp_path))}}
    dataset = open_dataset(Plan("gold", "tour", settings=settings))
    clean: Any = dataset.perceiver()
    settings["perturb"] = {"captions_missing": 1.0}
    dataset = open_dataset(Plan("gold", "tour", settings=settings))
    blanked: Any = dataset.perceiver()
    before = clean.picture("tour", "hall", 90.0, 60.0)
    after = blanked.picture("tour", "hall", 90.0, 60.0)
    assert is_close(middle_color(before.data), COLOURS["hall"])
    assert is_close(middle_color(after.data), (GRAY, GRAY, GRAY))


def test_wrong_captions_come_with_the_picture_of_the_opposite_direction(
    tmp_path: Path,
) -> None:
    folder = painted_tour(tmp_path)
    # East (columns 32 + 16) is painted green, the rest of the hall stays red.
    hall = np.full((32, 64, 3), COLOURS["hall"], np.uint8)
    hall[:, 40:56] = (20, 200, 20)
    Pillow.fromarray(hall).save(folder / "pictures" / "hall.png")
    settings: dict[str, Any] = {"dataset": {"folder": str(folder)}}
    settings["perturb"] = {"captions_wrong": 1.0}
    dataset = open_dataset(Plan("gold", "tour", settings=settings))
    perceiver: Any = dataset.perceiver()
    west = perceiver.picture("tour", "hall", 270.0, 30.0)
    assert is_close(middle_color(west.data), (20, 200, 20))


def test_a_dataset_without_pictures_gains_none_by_perturbation() -> None:
    assert Perturbations(captions_missing=1.0).active() == {"captions_missing": 1.0}
    settings: dict[str, Any] = {"perturb": {"captions_missing": 1.0}}
    dataset = open_dataset(Plan("gold", "houses", settings=settings))
    assert "picture" not in dataset.perceiver().capabilities
