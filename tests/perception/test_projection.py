"""Views out of panoramas, checked against patterns whose every pixel is known beforehand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayword.core.errors import UsageError
from wayword.perception.networks.matching import cut
from wayword.perception.panorama import (
    FACES,
    LAYOUTS,
    direction,
    from_skybox,
    layout,
    view,
)

ROWS = 768


@cache
def waves(rows: int = ROWS) -> np.ndarray:
    """A sphere painted by direction: each channel the height of one axis (east, up, north)."""
    y, x = np.mgrid[0:rows, 0 : 2 * rows]
    longitude = ((x + 0.5) / (2 * rows) - 0.5) * 2 * np.pi
    latitude = (0.5 - (y + 0.5) / rows) * np.pi
    axes = [
        np.cos(latitude) * np.sin(longitude),
        np.sin(latitude),
        np.cos(latitude) * np.cos(longitude),
    ]
    return np.stack(axes, axis=-1)


def painted(rows: int = ROWS) -> np.ndarray:
    return np.rint((waves(rows) + 1) * 127.5).astype(np.uint8)


def expected_ray(
    row: float,
    column: float,
    heading: float,
    rise: float,
    width: float,
    size: tuple[int, int],
) -> np.ndarray:
    """Worked out by turning a pinhole's ray with two plain rotations, apart from our code."""
    focal = size[1] / 2 / np.tan(np.radians(width) / 2)
    x = column - (size[1] - 1) / 2
    y = (size[0] - 1) / 2 - row
    rise = np.radians(rise)
    heading = np.radians(heading)
    y, z = (
        y * np.cos(rise) + focal * np.sin(rise),
        focal * np.cos(rise) - y * np.sin(rise),
    )
    x, z = (
        x * np.cos(heading) + z * np.sin(heading),
        z * np.cos(heading) - x * np.sin(heading),
    )
    ray = np.array([x, y, z])
    return ray / np.linalg.norm(ray)


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_every_view_of_every_layout_shows_the_pattern_within_half_a_pixel(
    name: str,
) -> None:
    """A dot is painted where a view's pixel should look to; it must appear at that pixel."""
    chosen = layout(name)
    rng = np.random.default_rng(7)
    size = tuple(side // 2 for side in chosen.size)
    for heading, rise in chosen.views():
        row, column = (float(rng.uniform(0.2, 0.8) * side) for side in size)
        ray = expected_ray(row, column, heading, rise, chosen.width, size)
        nearness = np.clip((waves() @ ray - 1) * 4000 + 1, 0, 1)  # a soft dot of 1.3°
        panorama = np.repeat(np.rint(nearness[..., None] * 255), 3, axis=-1).astype(
            np.uint8
        )
        seen = view(panorama, heading, rise, chosen.width, size)[..., 0].astype(float)
        rows, columns = np.mgrid[0 : size[0], 0 : size[1]]
        found = (seen * rows).sum() / seen.sum(), (seen * columns).sum() / seen.sum()
        assert np.hypot(found[0] - row, found[1] - column) < 0.5, (heading, rise)


def test_colours_are_those_of_the_direction() -> None:
    size = (120, 160)
    shown = view(painted(), 200.0, -30.0, 70.0, size)
    for row, column in ((0, 0), (60, 80), (119, 159), (10, 150)):
        ray = expected_ray(row, column, 200.0, -30.0, 70.0, size)
        assert shown[row, column] == pytest.approx((ray + 1) * 127.5, abs=1.5)


def test_the_seam_and_the_poles_show_no_edge() -> None:
    behind = view(painted(256), 180.0, 0.0, 60.0, (60, 80)).astype(int)
    assert np.abs(np.diff(behind, axis=1)).max() <= 3
    up = view(painted(256), 0.0, 90.0, 60.0, (60, 60)).astype(int)
    assert up[30, 30, 1] == 255
    assert np.abs(np.diff(up, axis=0)).max() <= 4


@settings(max_examples=200, deadline=None)
@given(
    st.floats(0, 479),
    st.floats(0, 639),
    st.floats(0, 359),
    st.floats(-80, 80),
    st.floats(20, 100),
)
def test_a_pixel_looks_in_the_direction_of_its_ray(
    row: float, column: float, heading: float, rise: float, width: float
) -> None:
    size = (480, 640)
    turn, level = np.radians(direction(row, column, (heading, rise), width, size))
    ray = np.cos(level) * np.sin(turn), np.sin(level), np.cos(level) * np.cos(turn)
    assert ray == pytest.approx(
        expected_ray(row, column, heading, rise, width, size), abs=1e-9
    )


def test_a_skybox_becomes_the_panorama_it_was_cut_from() -> None:
    panorama = painted(512)
    frames = {"up": (0.0, 90.0), "down": (0.0, -90.0)}
    frames |= {name: (90.0 * number, 0.0) for number, name in enumerate(FACES[1:5])}
    faces = {
        name: view(panorama, *frame, 90.0, (512, 512)) for name, frame in frames.items()
    }
    again = from_skybox(faces, 256)
    assert np.abs(again.astype(int) - painted(256).astype(int)).max() <= 3


def test_skyboxes_and_widths_that_are_none_are_refused() -> None:
    square = np.zeros((8, 8, 3), np.uint8)
    with pytest.raises(UsageError, match="'down' is missing or not square"):
        from_skybox(dict.fromkeys(FACES[:5], square))
    with pytest.raises(UsageError, match="got 180"):
        view(square, 0.0, 0.0, 180.0)
    with pytest.raises(UsageError, match="navgpt24"):
        layout("navgpt25")


def test_velmas_views_are_cut_at_the_papers_size() -> None:
    assert cut(painted(256), 90.0).shape == (460, 800, 3)
    middle = cut(painted(256), 90.0)[230, 400].astype(int)
    assert middle == pytest.approx([255, 128, 128], abs=3)
