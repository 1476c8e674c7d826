"""Map2seq: instructions written from a map, followed in the streets of Manhattan.

    >>> from wayword.datasets.map2seq import dataset as Map2seq
    >>> Map2seq.splits[0]
    'unseen_dev'

An actor starts on the route and faces along it. Every published run begins with one forward that
no model is asked for; ``episode.extra["opening"]`` holds it, ``["forward"]``. Where the landmark
lists that GPT-3 extracted are recorded (``map2seq/landmarks/gpt3_5shot_unfiltered.json``), an
episode's is in ``episode.extra["landmarks"]``.

Sources: Schumann and Riezler 2021 (the routes), 2022 (the unseen scenario); Schumann et al. 2023
(VELMA: landmarks, the opening).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from wayword.core.episode import Json
from wayword.core.errors import DataError
from wayword.core.files import find, read_field, read_json
from wayword.datasets.sources.street import StreetRoutes

LANDMARKS = ("map2seq/landmarks", "landmarks/map2seq")
LANDMARK_FILE = "gpt3_5shot_unfiltered.json"


class Map2seq(StreetRoutes):
    """Map2seq: routes in Manhattan, told from a map (Schumann and Riezler 2021).

    Splits and errors are those of :class:`.StreetRoutes`.
    """

    name: ClassVar[str] = "map2seq"
    id_field: ClassVar[str] = "id"

    @cached_property
    def files(self) -> Mapping[str, Path]:
        listed = {"landmarks": self._landmark_file} if self._landmark_file else {}
        return {**super().files, **listed}

    @cached_property
    def _landmark_file(self) -> Path | None:
        for folder in LANDMARKS:
            try:
                return find(self.folder / folder, LANDMARK_FILE)
            except DataError:
                continue
        return None

    @cached_property
    def _landmarks(self) -> Mapping[str, list[str]]:
        """Recorded landmarks by episode id; empty where there is no record."""
        path = self._landmark_file
        if path is None:
            return {}
        instances = read_field(path, "the file", read_json(path), "instances", dict)
        return {
            name: read_field(path, f"instance {name}", instance, "unfiltered", list)
            for name, instance in instances.items()
        }

    def _extra(self, record: Mapping[str, Json]) -> Mapping[str, Json]:
        recorded = self._landmarks.get(str(record[self.id_field]))
        listed = {} if recorded is None else {"landmarks": recorded}
        return {"opening": ["forward"], **listed}


dataset = Map2seq
