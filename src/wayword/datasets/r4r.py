"""Room-for-Room: two of R2R's routes joined to one long walk (Jain et al. 2019).

    wayword run oracle --on r4r:val_seen --data DATA

Reads ``r4r/R4R_{split}.json`` (or ``r4r/annotations/``), as the authors' generator writes it from
R2R's files, in R2R's own format. Graphs and text are those beside ``r2r/``. The reference is the
joined path; it is no shortest way, so compare nDTW, sDTW and CLS, for which the set was made.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from wayword.core.files import find, find_any
from wayword.datasets.r2r import R2R


class R4R(R2R):
    """Room-for-Room: long walks with instructions joined from two.

    Raises what R2R raises.
    """

    name: ClassVar[str] = "r4r"
    splits: ClassVar[tuple[str, ...]] = ("val_seen", "val_unseen", "train")
    max_steps: ClassVar[int] = 30

    def _annotations(self, part: str) -> Path:
        if self.settings.annotations:
            return super()._annotations(part)
        folder = self.folder.parent / "r4r"
        inside = find_any(folder / "annotations", f"R4R_{part}.json")
        return inside or find(folder, f"R4R_{part}.json")


dataset = R4R
