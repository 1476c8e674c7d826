"""Files of cameras and editors, whose pixels are not what a viewer shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wayword.core.errors import DataError
from wayword.perception.panorama import read

pillow = pytest.importorskip("PIL.Image")
ORIENTATION = 0x0112  # the tag of EXIF


def test_a_camera_that_was_held_on_its_side(tmp_path: Path) -> None:
    path = tmp_path / "photo.png"
    picture = pillow.new("RGB", (6, 4), "blue")
    picture.putpixel((0, 0), (255, 0, 0))
    exif = picture.getexif()
    exif[ORIENTATION] = 6  # to be turned by 90 degrees to the right
    picture.save(path, exif=exif)
    found = read(path)
    assert found.shape == (6, 4, 3)
    assert found[0, 3].tolist() == [255, 0, 0]


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "cut.png"
    picture = pillow.new("RGBA", (4, 2), (10, 10, 10, 0))
    picture.putpixel((1, 1), (30, 30, 30, 255))
    picture.convert(mode).save(path)
    found = read(path)
    assert found[0, 0].tolist() == [255, 255, 255]
    assert max(found[1, 1].tolist()) < 40


def test_gray_of_16_bits_is_scaled(tmp_path: Path) -> None:
    path = tmp_path / "depth.png"
    ramp = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
    pillow.fromarray(ramp).save(path)
    found = read(path)
    assert len(np.unique(found)) == 256
    assert found[0, 0].tolist() == [0, 0, 0]


def test_another_kind_of_file_ends_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "photo.heic"
    path.write_bytes(b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + bytes(64))
    with pytest.raises(DataError, match=r"photo\.heic.*convert it to JPEG or PNG"):
        read(path)
