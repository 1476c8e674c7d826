"""Names: ``type_n`` in the order in which things are first seen."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """The names one actor (or a group that shares them) has for things.

    The first apple seen is ``apple_1``, whichever apple of the house it is. Actors go by their own
    names.
    """

    def __init__(self, types: list[str], actors: Iterable[str]) -> None:
        self._types = types
        self._counts: dict[str, int] = {}
        self.order: list[int] = []
        """Things in the order in which they were named."""
        self.of: list[str] = [""] * len(types) + list(actors)
        """Thing -> its name, empty where it has none yet."""
        self.thing: dict[str, int] = {name: i for i, name in enumerate(self.of) if name}
        """Name -> thing."""

    def learn(self, seen: Iterable[int]) -> None:
        """Name whatever has no name yet, in the given order."""
        for i in seen:
            if not self.of[i]:
                kind = self._types[i]
                number = self._counts[kind] = self._counts.get(kind, 0) + 1
                self.of[i] = f"{kind}_{number}"
                self.thing[self.of[i]] = i
                self.order.append(i)

    def forget(self, length: int) -> None:
        """Back to when ``length`` things had names."""
        for i in self.order[length:]:
            del self.thing[self.of[i]]
            self.of[i] = ""
            self._counts[self._types[i]] -= 1
        del self.order[length:]
