"""Pictures: the same bytes everywhere, the right objects in the right places, and fast."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from helpers.golden import check_golden
from helpers.sampling import LONG
from wayword.core.sight import Frame, pixel_hash, png
from wayword.datasets.procedural.houses.house import build_house
from wayword.datasets.procedural.houses.scene import EYE_ELEVATION, house_mesh
from wayword.datasets.procedural.tables import Table, expand_sets
from wayword.render.parts import MeshBuilder, checksum, kind_of, paint_of
from wayword.render.raster import Mesh, PinholeCamera, draw
from worlds.household.test_home_pictures import hashes as homes

GOLDEN = Path(__file__).parent.parent / "golden" / "pictures_houses.json"
SCENE = "test-s0-r9-0003"
EYE = (0.0, 0.0, 1.5)


def six_poses() -> list[Frame]:
    """Pictures of a house from six viewpoints, in different directions."""
    house = build_house(SCENE)
    mesh = house_mesh(house).mesh
    frames = []
    for number, place in enumerate(house.places[:30:5]):
        eye = (place.x, place.y, 1.5)
        frames.append(draw(mesh, PinholeCamera(eye, 65.0 * number, EYE_ELEVATION)))
    return frames


def hashes() -> list[str]:
    return [pixel_hash(frame.color) for frame in six_poses()]


def one_box(center: tuple[float, float]) -> Mesh:
    """A cabinet 0.45 m wide that faces south; its front is ``center``."""
    builder = MeshBuilder()
    x, y = center
    name = "filing cabinet"
    builder.add_object(name, name, (x, y + 0.55), (0.0, -1.0))
    return builder.mesh()


def test_six_poses_of_a_house_have_the_golden_pixels() -> None:
    text = json.dumps({"parts": checksum(), SCENE: hashes()}, indent=1) + "\n"
    check_golden(GOLDEN, text)


def test_the_number_of_threads_changes_no_pixel() -> None:
    code = (
        "from render.test_raster import hashes\n"
        "from worlds.household.test_home_pictures import hashes as homes\n"
        "print(*hashes(), *homes(2))"
    )
    printed = []
    for threads in ("1", "2"):
        environment = {
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "PYTHONPATH": str(Path(__file__).parent.parent),
        }
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        printed.append(done.stdout.split())
    assert printed[0] == printed[1] == [*hashes(), *homes(2)]


def test_an_object_is_drawn_where_it_stands_and_as_far_as_it_is() -> None:
    mesh = one_box((0.0, 4.0))
    ahead = draw(mesh, PinholeCamera(EYE, 0.0))
    rows, columns = np.nonzero(ahead.ids)
    assert abs(columns.mean() - 239.5) < 1.0
    # The nearest parts are handles, some centimetres in front of the front.
    assert 3.9 < ahead.depth[ahead.ids == 1].min() < 4.05
    # 0.45 m wide at 4 m, and 480 columns for 90°: 240 pixels a radian's tangent.
    assert abs((columns.max() - columns.min()) - 0.45 / 4 * 240) < 3
    # Its underside is on the floor, 1.5 m below the eye.
    assert abs(rows.max() - (180 + 1.5 / 4 * 240)) < 3
    assert not draw(mesh, PinholeCamera(EYE, 180.0)).ids.any()


def test_turning_right_moves_the_picture_left() -> None:
    mesh = one_box((0.0, 4.0))
    turned = draw(mesh, PinholeCamera(EYE, 20.0))
    columns = np.nonzero(turned.ids)[1]
    expected = 239.5 - math.tan(math.radians(20.0)) * 240
    assert abs(columns.mean() - expected) < 4


def test_looking_down_moves_the_picture_up() -> None:
    mesh = one_box((0.0, 4.0))
    level = np.nonzero(draw(mesh, PinholeCamera(EYE, 0.0)).ids)[0].mean()
    down = np.nonzero(draw(mesh, PinholeCamera(EYE, 0.0, -20.0)).ids)[0].mean()
    assert down < level - 50


def test_a_nearer_object_hides_a_farther_one() -> None:
    builder = MeshBuilder()
    near = builder.add_object("wardrobe", "wardrobe", (0.0, 3.0), (0.0, -1.0))
    far = builder.add_object("nightstand", "nightstand", (0.0, 5.0), (0.0, -1.0))
    frame = draw(builder.mesh(), PinholeCamera(EYE, 0.0))
    assert (frame.ids == near).sum() > 1000
    assert not (frame.ids == far).any()


def test_the_left_of_an_object_is_at_the_left_of_who_faces_it() -> None:
    builder = MeshBuilder()
    builder.add_object("fridge", "fridge", (0.0, 3.0), (0.0, -1.0))
    frame = draw(builder.mesh(), PinholeCamera((0.0, 0.0, 1.2), 0.0))
    handle = np.array(paint_of("black")[0][0])
    shown = frame.color[frame.ids == 1].astype(float)
    share = shown @ handle / (handle @ handle)
    is_handle = np.abs(shown - share[:, None] * handle).max(axis=1) < 4
    columns = np.nonzero(frame.ids == 1)[1]
    # Its handles are on the left, and nothing else of it is that dark.
    dark = columns[is_handle & (shown.max(axis=1) < 60)]
    assert len(dark) > 50
    assert dark.mean() < columns.mean() - 10


def test_a_camera_inside_an_object_draws_it_without_an_error() -> None:
    mesh = one_box((0.0, 0.3))
    frame = draw(mesh, PinholeCamera((0.0, 0.4, 0.5), 0.0))
    assert frame.color.shape == (360, 480, 3)


def test_pixels_are_painted_in_the_paint_that_the_name_states() -> None:
    for look in ("red", "blue", "green"):
        builder = MeshBuilder()
        number = builder.add_object(f"{look} sofa", "sofa", (0.0, 3.0), (0.0, -1.0))
        frame = draw(builder.mesh(), PinholeCamera(EYE, 0.0, -20.0))
        mean = frame.color[frame.ids == number].mean(axis=0)
        channel = ["red", "green", "blue"].index(look)
        assert mean.argmax() == channel, look


def test_every_kind_and_look_of_the_houses_is_in_the_table() -> None:
    sets = Table[tuple[str, ...]]("looks", "sets")
    looks = Table[tuple[str, ...]]("looks", "looks")
    plain = kind_of("nothing", "nothing")
    for kind, names in looks.items():
        alike = set()
        for look in expand_sets(names, sets):
            drawn = kind_of(f"{look} {kind}", kind)
            assert drawn.shape != plain.shape, kind
            alike.add(drawn)
        # No two looks of a kind are drawn alike.
        assert len(alike) == len(expand_sets(names, sets)), kind


def test_a_png_file_holds_the_pixels() -> None:
    pillow = pytest.importorskip("PIL.Image")
    import io

    color = six_poses()[0].color
    read = np.asarray(pillow.open(io.BytesIO(png(color))).convert("RGB"))
    assert np.array_equal(read, color)


@pytest.mark.skipif(not LONG, reason="timed: on idle cores, in the long form")
def test_a_picture_of_a_house_takes_at_most_30_ms() -> None:
    house = build_house(SCENE)
    mesh = house_mesh(house).mesh
    best = math.inf
    # The best of several rounds, as the cores may be shared with other processes.
    for _ in range(12):
        if best <= 0.030:
            break
        began = time.process_time()
        for number, place in enumerate(house.places[:10]):
            eye = (place.x, place.y, 1.5)
            draw(mesh, PinholeCamera(eye, 70.0 * number, EYE_ELEVATION))
        best = min(best, (time.process_time() - began) / 10)
    assert best <= 0.030


def test_walls_and_floors_leave_no_cracks() -> None:
    house = build_house(SCENE)
    mesh = house_mesh(house).mesh
    for place in house.places[:20]:
        for heading in (0.0, 131.0):
            eye = (place.x, place.y, 1.5)
            frame = draw(mesh, PinholeCamera(eye, heading, EYE_ELEVATION))
            assert np.isfinite(frame.depth).all(), (place.id, heading)
