"""Draw a RoboTHOR scene as it is inferred: docs/finding_floor.svg.

    python tools/floor_picture.py /path/to/data FloorPlan_Train3_1

White is unknown (looks pass, bodies do not), green is free floor, dark is wall, brown are the
published boxes, the line is a published shortest path and the ring its target.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayword.datasets.robothor import Robothor
from wayword.datasets.sources.robothor import SPACING, Floors, apartment_of, floors_of
from wayword.worlds.objectnav.world import ObjectNavReference

OUT = Path(__file__).parents[1] / "docs" / "finding_floor.svg"
SCALE = 60.0
"""Pixels a metre."""
STYLE = (
    ".free{fill:#bfe0bf}.wall{fill:#444}.box{fill:#a0622d;fill-opacity:.35;stroke:#a0622d}"
    ".way{fill:none;stroke:#06c;stroke-width:3}.goal{fill:none;stroke:#d00;stroke-width:3}"
    "text{font:13px sans-serif}"
)


def main(data: str, scene: str) -> None:
    """Draw one scene."""
    dataset = Robothor("train", Path(data))
    names, floors = floors_of(dataset.folder, apartment_of(scene))
    number = names.index(scene)
    high, wide = floors.free[number].shape
    width = wide * SPACING * SCALE
    height = high * SPACING * SCALE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="{scene} as inferred"><style>{STYLE}</style>',
        *_cells(floors.wall[number], "wall"),
        *_cells(floors.free[number], "free"),
        *_objects(dataset, scene, floors),
        *_episode(dataset, scene, floors),
        "</svg>",
    ]
    OUT.write_text("\n".join(parts) + "\n", encoding="utf-8")
    sys.stdout.write(f"{OUT}\n")


def _cells(cells: NDArray[np.bool_], kind: str) -> Iterator[str]:
    """One path of a rectangle for each run of cells in a row."""
    high = len(cells)
    size = SPACING * SCALE
    found = []
    for j in range(high):
        steps = np.diff(np.concatenate(([0], cells[j].astype(np.int8), [0])))
        starts = np.flatnonzero(steps == 1)
        ends = np.flatnonzero(steps == -1)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            top = (high - 1 - j) * size
            found.append(
                f"M{start * size:g} {top:g}h{(end - start) * size:g}v{size:g}H{start * size:g}z"
            )
    yield f'<path class="{kind}" d="{"".join(found)}"/>'


def _at(floors: Floors, x: float, y: float) -> tuple[float, float]:
    high = floors.free.shape[1]
    across = (x - floors.x) / SPACING + 0.5
    down = high - 0.5 - (y - floors.y) / SPACING
    return round(across * SPACING * SCALE, 1), round(down * SPACING * SCALE, 1)


def _objects(dataset: Robothor, scene: str, floors: Floors) -> Iterator[str]:
    for item in dataset.place(scene).scene.objects:
        x, y = _at(floors, item.x - item.width / 2, item.y + item.depth / 2)
        wide = item.width * SCALE
        deep = item.depth * SCALE
        title = item.type.replace("_", " ")
        yield (
            f'<rect class="box" x="{x}" y="{y}" width="{wide:.1f}" height="{deep:.1f}">'
            f"<title>{title}</title></rect>"
        )


def _episode(dataset: Robothor, scene: str, floors: Floors) -> Iterator[str]:
    """The longest of the scene's first published paths."""
    tasks = [task for task in dataset.tasks[:1200] if task.episode.scene == scene]
    references = [
        t.reference for t in tasks if isinstance(t.reference, ObjectNavReference)
    ]
    reference = max(references, key=lambda one: one.shortest or 0.0)
    points = " ".join(
        "{:g},{:g}".format(*_at(floors, *corner)) for corner in reference.path
    )
    yield f'<polyline class="way" points="{points}"/>'
    item = next(
        o for o in dataset.place(scene).scene.objects if o.id in reference.targets
    )
    x, y = _at(floors, item.x, item.y)
    yield f'<circle class="goal" cx="{x}" cy="{y}" r="12"/>'
    yield f'<text x="{x + 16}" y="{y + 5}">{item.type.replace("_", " ")}</text>'


if __name__ == "__main__":
    main(*sys.argv[1:3])
