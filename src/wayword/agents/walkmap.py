"""A map in words: the places visited and seen so far, and what joins them, growing with the walk.

    >>> known = WalkMap()
    >>> known.arrive("hall", ["lobby", "stairs"])
    >>> known.arrive("lobby", ["hall", "lab"])
    >>> print(known.text())
    Walked so far: hall, lobby
    hall (visited) leads to: lobby, stairs
    lobby (here) leads to: hall, lab
    Seen but not visited: stairs, lab

Source: the topological map of MapGPT (Chen et al. 2024), section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable


class WalkMap:
    """The part of a graph that one walk has seen: nothing that was not offered as a way."""

    def __init__(self) -> None:
        self._ways: dict[str, tuple[str, ...]] = {}
        self._walk: list[str] = []

    def arrive(self, place: str, ways: Iterable[str]) -> None:
        """Stand at a place and see its ways. Standing still adds nothing."""
        if not self._walk or self._walk[-1] != place:
            self._walk.append(place)
        self._ways[place] = tuple(ways)

    def text(self) -> str:
        """The map, a line a visited place, in the order in which they were first visited."""
        if not self._walk:
            return "Nothing is known of the building yet."
        here = self._walk[-1]
        lines = [f"Walked so far: {', '.join(self._walk)}"]
        lines += [
            f"{place} ({'here' if place == here else 'visited'}) leads to: {', '.join(ways)}"
            for place, ways in self._ways.items()
        ]
        seen = dict.fromkeys(way for ways in self._ways.values() for way in ways)
        left = [place for place in seen if place not in self._ways]
        return "\n".join([*lines, f"Seen but not visited: {', '.join(left) or 'none'}"])
