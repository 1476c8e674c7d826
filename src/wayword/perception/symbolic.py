"""A perceiver that knows the answer: words taken from a world's own ground truth.

>>> from wayword.core.perceiver import Percept
>>> seer = SymbolicPerceiver("mine", lambda scene: {"a1b2c3": Percept((), "A bare room.")})
>>> seer.perceive("house", "a1b2c3").summary
'A bare room.'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wayword.core.errors import DataError
from wayword.core.perceiver import Percept


class SymbolicPerceiver:
    """Percepts that a generator gives. ``percepts`` maps a scene to those of its places.

    It is asked for a scene only when an agent stands there, and may itself be lazy.
    """

    def __init__(self, name: str, percepts: Callable[[str], Mapping[str, Percept]]) -> None:
        self._name, self._percepts = name, percepts

    @property
    def name(self) -> str:
        return self._name

    def perceive(self, scene: str, place: str) -> Percept:
        """What there is around ``place``. Raises ``DataError`` where there is no such place."""
        try:
            return self._percepts(scene)[place]
        except KeyError:
            raise DataError(scene, f"place {place!r}", "has no percept") from None
