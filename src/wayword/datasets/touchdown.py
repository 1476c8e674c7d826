"""Touchdown: instructions written while walking Street View, followed in lower Manhattan.

    >>> from wayword.datasets.touchdown import dataset as Touchdown
    >>> Touchdown.splits[0]
    'unseen_dev'

Only the navigation part of the task is read (``navigation_text``), as in VELMA; where the bear
named Touchdown hides is another task. The published start headings lie on no link and often point
the wrong way, so "turn so that …" is a part of most instructions.

Where GPT-3's landmark lists are recorded (``touchdown/landmarks/gpt3_5shot_unfiltered.json``), an
episode's is in ``episode.extra["landmarks"]``.

Sources: Chen et al. 2019 (the routes), Schumann and Riezler 2022 (the unseen scenario).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from wayword.core.episode import Extra, Json
from wayword.datasets.sources.street import StreetRoutes


class Touchdown(StreetRoutes):
    """Touchdown: routes in Manhattan, told from what is seen there (Chen et al. 2019).

    Splits and errors are those of :class:`.StreetRoutes`.
    """

    name: ClassVar[str] = "touchdown"
    id_field: ClassVar[str] = "route_id"

    def _extra(self, record: Mapping[str, Json]) -> Extra:
        return self.landmarks_of(record)


dataset = Touchdown
