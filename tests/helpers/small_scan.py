"""R2R's files for a scan of five viewpoints in a row, as published: for readers of its formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

SCAN = "smallscan"
PLACES = ("s", "a", "b", "c", "d")
"""Two metres apart, from south to north."""


def write_scan(folder: Path) -> None:
    """Connectivity, annotations and NavGPT's pack under ``folder/r2r``."""
    r2r = folder / "r2r"
    _json(
        r2r / "connectivity" / f"{SCAN}_connectivity.json",
        [_place(n) for n in range(5)],
    )
    record = {
        "path_id": 7,
        "scan": SCAN,
        "heading": 0.0,
        "distance": 8.0,
        "path": list(PLACES),
    }
    texts_by_key = {
        **record,
        "instructions": ["Walk north.", "Go to the end.", "Straight on."],
    }
    for split in ("train", "val_seen"):
        _json(r2r / "annotations" / f"R2R_{split}.json", [texts_by_key])
    write_pack(r2r, "plain")


def write_pack(folder: Path, word: str) -> None:
    """Eight sentences that hold ``word``, no objects, one summary, for each viewpoint."""
    names = {
        f"observations_list_summarized/{SCAN}.json": {
            p: [f"A {word} {p}."] * 8 for p in PLACES
        },
        f"observations_summarized/{SCAN}_summarized.json": {
            p: f"{word} {p}." for p in PLACES
        },
        f"objects_list/{SCAN}.json": {p: [{}] * 8 for p in PLACES},
    }
    for name, content in names.items():
        _json(folder / name, content)


def _place(number: int) -> dict[str, Any]:
    """The camera looks east (its third column), its second axis points down."""
    pose = [0, 0, 1, 0.0, -1, 0, 0, 2.0 * number, 0, -1, 0, 1.5, 0, 0, 0, 1]
    near = [abs(other - number) == 1 for other in range(5)]
    return {
        "image_id": PLACES[number],
        "pose": pose,
        "included": True,
        "height": 1.5,
        "visible": near,
        "unobstructed": near,
    }


def write_picture(path: Path, rows: int, columns: int, hue: int) -> None:
    """A picture of one colour: ``hue`` in its red channel."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.zeros((rows, columns, 3), np.uint8)
    pixels[..., 0] = hue
    Image.fromarray(pixels).save(path)


def _json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
