"""Room-across-Room: routes told in three languages, as people spoke them (Ku et al. 2020).

    wayword run navgpt --on rxr:val_seen --model openai:NAME --data DATA --set dataset.language=hi

Reads the guides' annotations as published, one JSON object a line:
``rxr/rxr_{split}_guide.jsonl`` (``.gz`` is fine). Graphs and text are those beside ``r2r/``.
Pose traces and the timing of words are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from wayword.core.dataset import Task
from wayword.core.errors import DataError
from wayword.core.files import find, read_field, read_json_lines
from wayword.datasets.r2r import R2R, R2RSettings, task_of

Language = Literal["en", "hi", "te", ""]


@dataclass(frozen=True, slots=True)
class RxRSettings(R2RSettings):
    """As R2R's; ``language``: English (of India and the USA), Hindi or Telugu, all where empty."""

    language: Language = "en"


class RxR(R2R):
    """Room-across-Room: long spoken instructions.

    An episode's id is its ``instruction_id``.
    """

    name: ClassVar[str] = "rxr"
    Settings: ClassVar[type[R2RSettings]] = RxRSettings
    splits: ClassVar[tuple[str, ...]] = (
        *("val_seen", "val_unseen", "train"),
        *("test_standard_public", "test_challenge_public"),
    )
    max_steps: ClassVar[int] = 30

    def _annotations(self, part: str) -> Path:
        if self.settings.annotations:
            return super()._annotations(part)
        return find(self.folder.parent / "rxr", f"rxr_{part}_guide.jsonl")

    def _read(self, part: str) -> Iterator[Task]:
        path = self._annotations(part)
        language = getattr(self.settings, "language", "")
        for number, record in read_json_lines(path):
            where = f"line {number}"
            told = read_field(path, where, record, "language", str)
            if language and told.partition("-")[0] != language:
                continue
            text = read_field(path, where, record, "instruction", str).strip()
            if not text:
                raise DataError(path, f"{where}, field 'instruction'", "is empty")
            name = str(read_field(path, where, record, "instruction_id", (int, str)))
            extra = {"language": told, "path_id": record.get("path_id")}
            yield task_of(path, where, record, name, text, extra)


dataset = RxR
