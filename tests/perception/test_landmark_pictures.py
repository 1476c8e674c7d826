"""Views cut from panoramas, and scores of pictures, with an encoder that knows three colours."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from wayword.core.errors import DataError, UsageError
from wayword.core.perceiver import Picture
from wayword.perception.landmarks import FRONT, Scores
from wayword.perception.networks import matching
from wayword.perception.networks.matching import (
    SIZE,
    TRAINING_HEADINGS,
    ClipScores,
    PanoramaPictures,
    TransformersEncoder,
    cut,
)

NODES = "x,90,0,0,unseen\ny,0,0,0,seen\nz,0,0,0,seen\n"


def ring(width: int = 720) -> Picture:
    """A panorama whose red channel is the column's angle from the middle, in units of 2 degrees."""
    height = width // 2
    column = ((np.arange(width) + 0.5) / width * 360.0 - 180.0) % 360.0 / 2.0
    picture = np.zeros((height, width, 3), np.uint8)
    picture[:, :, 0] = np.round(column)[None, :]
    picture[:, :, 1] = np.round(np.linspace(180, 0, height))[:, None]
    return picture


@pytest.mark.parametrize("angle", [0, 45, 90, 180, 270, 359, -45, 405])
def test_a_view_is_sixty_degrees_about_its_heading(angle: int) -> None:
    view = cut(ring(), angle)
    assert view.shape == (*SIZE, 3)
    middle = view[SIZE[0] // 2, :, 0].astype(int) * 2
    off = (middle - angle + 180) % 360 - 180
    across = (np.arange(SIZE[1]) + 0.5) / SIZE[1] * 2 - 1
    true = np.degrees(np.arctan(across * np.tan(np.radians(30))))
    mixed = abs(off - true) > 4  # the ring's own seam, where 359 stands beside 0
    assert mixed.sum() <= 20
    off = np.where(mixed, true, off)
    assert abs(off[SIZE[1] // 2]) <= 3
    assert abs(off[0] + 30) <= 3
    assert abs(off[-1] - 30) <= 3
    assert (np.diff(off) >= -4).all(), "left is left"


def test_a_view_is_level_and_as_high_as_its_width_allows() -> None:
    rows = cut(ring(), 0)[:, SIZE[1] // 2, 1].astype(int)
    up = np.degrees(np.arctan(SIZE[0] / SIZE[1] * np.tan(np.radians(30))))
    assert rows[0] - 90 == pytest.approx(up, abs=1.5)
    assert rows[-1] - 90 == pytest.approx(-up, abs=1.5)
    assert (np.diff(rows) <= 0).all()


class Colours:
    """Pictures to their mean colour, texts to the colour they name: cosine is similarity."""

    name = "colours"

    def __init__(self) -> None:
        self.pictured = 0

    def pictures(self, views: Sequence[Picture]) -> Scores:
        self.pictured += len(views)
        mean = np.array(
            [view.reshape(-1, 3).mean(axis=0) for view in views], np.float64
        )
        return mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-9)

    def texts(self, captions: Sequence[str]) -> Scores:
        names = ("red", "green", "vehicle")
        return np.array(
            [[float(name in caption) for name in names] for caption in captions]
        )


class Painted(PanoramaPictures):
    """Panoramas that are red to the east and green elsewhere, without files."""

    missing = frozenset({"gone"})

    def _path(self, panorama: str) -> Path | None:
        return None if panorama in self.missing else Path(panorama)

    def view(self, panorama: str, heading: float) -> Picture | None:
        if panorama in self.missing:
            return None
        red = 45 <= (heading - self.yaws.get(panorama, 0.0)) % 360 <= 135
        colour = (255, 10, 0) if red else (10, 255, 0)
        return np.full((4, 4, 3), colour, np.uint8)


@pytest.fixture
def painted(tmp_path: Path) -> Painted:
    (tmp_path / "nodes.txt").write_text(NODES)
    return Painted(tmp_path, tmp_path / "nodes.txt")


def test_pictures_are_scored_and_standardised_on_the_seen_area(
    painted: Painted, tmp_path: Path
) -> None:
    encoder = Colours()
    scorer = ClipScores(encoder, painted, tmp_path / "cache")
    scores = scorer.score("", "x", [90, 180], ["a red bus", "a green door"])
    assert scorer.name == "neural:colours"
    assert encoder.pictured == len(painted.training) * len(TRAINING_HEADINGS) + 2
    assert painted.training == ["y", "z"]
    assert scores[0, 1] > 1.0 > 0.0 > scores[0, 0], (
        "red lies at 180, the picture's yaw is 90"
    )
    assert scores[1, 0] > scores[1, 1]
    assert scorer.flow("", "x", 0) in ("with", "against")
    before = encoder.pictured
    again = ClipScores(encoder, painted, tmp_path / "cache")
    assert again.score("", "x", [180], ["a red bus"])[0, 0] == pytest.approx(
        scores[0, 1], abs=1e-4
    )
    assert encoder.pictured == before + 1, "the training area was not looked at again"


@pytest.mark.parametrize("changed", ["picture", "yaw", "size"])
def test_changed_views_of_the_training_area_are_embedded_again(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = tmp_path / "nodes.txt"
    nodes.write_text(NODES)
    for name, color in (("y", "red"), ("z", "green")):
        Image.new("RGB", (64, 32), color).save(tmp_path / f"{name}.png")

    def embedded() -> int:
        encoder = Colours()
        pictures = PanoramaPictures(tmp_path, nodes)
        ClipScores(encoder, pictures, tmp_path / "cache").standards(["a red bus"])
        return encoder.pictured

    assert embedded() == 2 * len(TRAINING_HEADINGS)
    assert embedded() == 0
    if changed == "picture":
        Image.new("RGB", (64, 32), "blue").save(tmp_path / "z.png")
    elif changed == "yaw":
        nodes.write_text(NODES.replace("y,", "y,1", 1))
    else:
        monkeypatch.setattr(matching, "SIZE", (20, 40))
    assert embedded() == 2 * len(TRAINING_HEADINGS)
    assert embedded() == 0


def test_a_damaged_cache_of_views_is_made_again(
    painted: Painted, tmp_path: Path
) -> None:
    ClipScores(Colours(), painted, tmp_path / "cache").standards(["a red bus"])
    (file,) = (tmp_path / "cache").iterdir()
    file.write_bytes(b"\x93NUMPY broken")
    encoder = Colours()
    assert ClipScores(encoder, painted, tmp_path / "cache").standards(["a red bus"])
    assert encoder.pictured > 0


def test_a_panorama_without_a_picture_shows_nothing(painted: Painted) -> None:
    scores = ClipScores(Colours(), painted, None)
    assert np.isnan(scores.raw_scores("", "gone", [0, 90], ["a red bus", FRONT])).all()


def test_captions_are_the_papers_and_the_traffic_is_requested_as_it_is(
    painted: Painted,
) -> None:
    requests: list[str] = []

    class Listening(Colours):
        def texts(self, captions: Sequence[str]) -> Scores:
            requests.extend(captions)
            return super().texts(captions)

    scores = ClipScores(Listening(), painted, None)
    scores.raw_scores("", "x", [0], ["a red bus", FRONT, "a red bus"])
    scores.raw_scores("", "x", [0], ["a red bus"])
    assert requests == ["picture of a red bus", "the front view of a vehicle"]


def test_files_that_are_missing_or_bad_end_in_one_line(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.txt"
    nodes.write_text("x,east,0,0\n")
    with pytest.raises(
        DataError, match=r"nodes\.txt: line 1: must be 'panorama,yaw,lat,lng,area'"
    ):
        PanoramaPictures(tmp_path, nodes).training  # noqa: B018 - read when asked
    with pytest.raises(UsageError, match="no such folder"):
        PanoramaPictures(tmp_path / "none", nodes)
    nodes.write_text(NODES)
    pictures = PanoramaPictures(tmp_path, nodes)
    assert pictures.training == []
    assert pictures.view("../../etc/passwd", 0) is None


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_without_the_packages_the_way_out_is_named(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    real = importlib.import_module

    def without(name: str) -> Any:
        if name == missing:
            raise ModuleNotFoundError(name)
        return object() if name in ("torch", "transformers") else real(name)

    monkeypatch.setattr("wayword.perception.networks.eyes.import_module", without)
    with pytest.raises(UsageError, match=r"extra-vision"):
        TransformersEncoder("any")
