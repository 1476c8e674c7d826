"""Picture files in, arrays out, and arrays as the encoded images that messages carry."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core.errors import DataError, UsageError
from wayword.core.model import Image
from wayword.perception.projection import Picture

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")


def read(path: Path) -> Picture:
    """The pixels of a picture file. Raises ``DataError``, ``UsageError`` without pillow."""
    pillow = _pillow()
    try:
        with pillow.open(path) as picture:
            return np.asarray(picture.convert("RGB"))
    except (OSError, ValueError, pillow.DecompressionBombError) as error:
        raise DataError(path, "", f"is not a whole picture ({error})") from error


kept = lru_cache(maxsize=16)(read)
"""``read``, the last few kept open."""


def encode(picture: Picture, quality: int = 90) -> Image:
    """A picture as JPEG bytes, for a message to a model."""
    buffer = io.BytesIO()
    _pillow().fromarray(picture).save(buffer, "JPEG", quality=quality)
    return Image(buffer.getvalue(), "image/jpeg")


def listed(folder: Path) -> dict[str, Path]:
    """Every picture in a folder, by name without suffix, in order of name.

    Raises ``UsageError`` for a folder that is not there or holds none.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    found = {
        path.stem: path for path in sorted(folder.iterdir()) if path.suffix.lower() in SUFFIXES
    }
    if not found:
        raise UsageError(f"{folder}: holds no pictures ({', '.join(SUFFIXES)})")
    return found


def outlined(picture: Picture, boxes: Sequence[tuple[str, float, float, float, float]]) -> Image:
    """The picture with labelled boxes (label, left, top, right, bottom; pixels), as JPEG."""
    pillow = _pillow()
    drawing: Any = import_module("PIL.ImageDraw")
    shown = pillow.fromarray(picture)
    pen = drawing.Draw(shown)
    for label, left, top, right, bottom in boxes:
        pen.rectangle((left, top, right, bottom), outline=(255, 80, 0), width=2)
        pen.text((left + 3, top + 2), label, fill=(255, 255, 0))
    return encode(np.asarray(shown))


def _pillow() -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError:
        raise UsageError("pictures need pillow: pip install 'wayword[images]'") from None
