"""Family: a kind of world, and what belongs to it in every layer.

    >>> Family("lift", success="sr").name
    'lift'

A family is declared once, beside its world, and its observations carry it. Its verbalizer, scorer
and map are found by its name in the parallel folders (``verbalize/indoor.py``,
``metrics/indoor.py``, ``viewer/maps/indoor.py``). A family from outside the tree brings its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from wayword.core import registry

FamilyPart = Literal["verbalizer", "scorer", "map"]


@dataclass(frozen=True, slots=True)
class Family:
    """What a kind of world is called, and which metric says that an episode was solved.

    ``success`` is the key of that metric; tables, pages, judges of trials, exports and retellings
    go by it. ``place`` is the field of a pose that names a place of the scene's graph, where there
    is one. ``goal_radius`` is how near to the goal an episode has to end, metres, as maps draw
    it; 0 where nearness is not judged that way. ``verbalizer``, ``scorer`` and ``map`` are the
    parts of a family that lies outside the tree.
    """

    name: str
    success: str = "sr"
    place: str = ""
    goal_radius: float = 0.0
    verbalizer: Any = None
    scorer: Any = None
    map: Any = None

    def part(self, kind: FamilyPart) -> Any:
        """The family's own part, else the one of its name in the tree, else None."""
        own = getattr(self, kind)
        if own is not None:
            return own
        return registry.load(kind, self.name) if self.name in registry.names(kind) else None
