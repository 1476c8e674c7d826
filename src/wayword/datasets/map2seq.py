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
from typing import ClassVar

from wayword.core.episode import Extra, Json
from wayword.datasets.touchdown import StreetRoutes


class Map2seq(StreetRoutes):
    """Map2seq: routes in Manhattan, told from a map (Schumann and Riezler 2021).

    Splits and errors are those of :class:`.StreetRoutes`.
    """

    name: ClassVar[str] = "map2seq"
    id_field: ClassVar[str] = "id"

    def _extra(self, record: Mapping[str, Json]) -> Extra:
        extra: Extra = {"opening": ["forward"], **self.landmarks_of(record)}
        return extra


dataset = Map2seq
