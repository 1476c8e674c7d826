"""CLIP features as VELMA's authors publish them: a folder of four files, no pictures.

    landmarks.pickle            "picture of a park" -> its text's feature, (D,)
    landmarks_mean_std.pickle   "picture of a park" -> mean and deviation over the training area
    images_60_460_800.pickle    "PANORAMA_HEADING" -> features of the views at heading - 90, - 45,
                                0, + 45, + 90, (5, D)
    meta_60_460_800.json        how the views were cut (not read)

    wayword run velma --on map2seq:unseen_dev --model … --set scores=recorded \\
        --set scores_file=features/openai/clip-vit-large-patch14

Features have length one; a score is their product times ``exp(2.6592)``, which the means and
deviations are in. Files are unpickled with arrays and tensors alone: nothing in them is run.
Tensors need torch (extra ``[vision]``). Source: released code of VELMA (Schumann et al. 2024).
"""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core.errors import DataError, UsageError
from wayword.perception.landmarks import CAPTION, Scores, Standard, StandardisedScorer

TEXTS, STANDARDS = "landmarks.pickle", "landmarks_mean_std.pickle"
VIEWS = 5
SCALE = math.exp(2.6592)
"""CLIP's logit scale as the authors set it."""
_ARRAYS = {
    ("collections", "OrderedDict"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"numpy.{core}.multiarray", "scalar") for core in ("core", "_core")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("torch._utils", "_rebuild_tensor_v2"),
}
"""All that a file of arrays and tensors needs; anything else is refused."""


class FeatureArchive(StandardisedScorer):
    """Landmark scores from published features. A view that is not among them shows nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name = f"features:{folder.name}"
        super().__init__(None)

    @property
    def identity(self) -> str:
        return str(self._folder.resolve())

    def raw_scores(
        self, scene: str, place: str, headings: Sequence[int], phrases: Sequence[str]
    ) -> Scores:
        views = self._images.get(f"{place}_{headings[len(headings) // 2] % 360}")
        found = np.full((len(phrases), len(headings)), np.nan)
        if views is None:
            return found
        seen = _array(views).reshape(VIEWS, -1)
        seen = seen if len(headings) == VIEWS else seen[VIEWS // 2][None]
        for row, phrase in enumerate(phrases):
            text = self._texts.get(CAPTION.format(phrase), self._texts.get(phrase))
            if text is not None:
                found[row] = SCALE * (seen @ _array(text))
        return found

    def standards(self, landmarks: Sequence[str]) -> Mapping[str, Standard]:
        known = {name: self._standards.get(CAPTION.format(name)) for name in landmarks}
        return {name: (float(p[0]), float(p[1])) for name, p in known.items() if p is not None}

    @cached_property
    def _texts(self) -> Mapping[str, Any]:
        return _load(self._folder / TEXTS)

    @cached_property
    def _standards(self) -> Mapping[str, Any]:
        return _load(self._folder / STANDARDS)

    @cached_property
    def _images(self) -> Mapping[str, Any]:
        files = sorted(self._folder.glob("images_*.pickle"))
        if len(files) != 1:
            problem = f"holds {len(files)} files images_*.pickle, and needs one"
            raise DataError(self._folder, "", problem, "give the folder of one network's features")
        return _load(files[0])


def _array(value: Any) -> Scores:
    """An array, or a tensor on any device, as numbers."""
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value, np.float64)


class _Arrays(pickle.Unpickler):
    """Reads arrays and tensors, and refuses everything else that a pickle may hold."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("torch"):
            try:
                torch = import_module("torch")
            except ImportError:
                raise UsageError("tensors need torch: pip install 'wayword[vision]'") from None
            if (module, name) == ("torch.storage", "_load_from_bytes"):
                return lambda raw: torch.load(io.BytesIO(raw), weights_only=True)
        if (module, name) in _ARRAYS:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is neither an array nor a tensor")


def _load(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            read = _Arrays(file).load()
    except OSError as error:
        raise DataError(path, "", f"cannot be read ({error.strerror})") from error
    except (pickle.UnpicklingError, EOFError, ValueError, AttributeError) as error:
        raise DataError(path, "", f"is no archive of features ({error})") from error
    if not isinstance(read, dict):
        raise DataError(path, "", "holds no dictionary of features")
    return read
