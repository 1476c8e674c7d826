"""A tour of two painted places, walked: a run whose dataset has pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

from wayword.runs import Plan, run

COLOURS = {"hall": (200, 20, 20), "lab": (20, 20, 200)}
"""Place -> the colour of its panorama: red where the walk begins, blue where it ends."""


def walked_tour(folder: Path) -> Path:
    """The folder of a run of ``gold`` from the hall to the lab."""
    settings = {"dataset": {"folder": str(painted_tour(folder))}}
    return run(Plan("gold", "tour", settings=settings, out=folder / "run")).path


def painted_tour(folder: Path) -> Path:
    """A tour of two places with pictures and captions. Returns its folder."""
    tour = folder / "tour"
    (tour / "pictures").mkdir(parents=True)
    for name, colour in COLOURS.items():
        picture = np.full((32, 64, 3), colour, np.uint8)
        Pillow.fromarray(picture).save(tour / "pictures" / f"{name}.png")
    places = {
        name: {"x": 4 * number, "y": 0, "picture": f"{name}.png"}
        for number, name in enumerate(COLOURS)
    }
    episode = {"id": "1/a", "instruction": "Go to the lab.", "path": ["hall", "lab"]}
    made = {"places": places, "edges": [["hall", "lab"]], "episodes": [episode]}
    (tour / "tour.json").write_text(json.dumps(made))
    seen: dict[str, Any] = {
        "observations_list_summarized/tour": ["bare"] * 8,
        "observations_summarized/tour_summarized": "a bare room.",
        "objects_list/tour": [{}] * 8,
    }
    for name, text in seen.items():
        path = tour / "seen" / f"{name}.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(dict.fromkeys(places, text)))
    return tour
