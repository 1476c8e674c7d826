"""The ways out of a junction under the town's transition function, and what each turn is called.

A way gets a name only where nobody could mean another by it: straight on within ``STRAIGHT``
degrees and clearly straighter than any other; left and right from ``ASIDE`` degrees on; where two
ways lie on a side, the inner one is the slight and the outer one the sharp turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wayword.core.angles import relative
from wayword.worlds.streetmoves import Navigator, State, Word

Turn = Literal[
    "straight", "left", "right", "slight left", "slight right", "sharp left", "sharp right"
]
WORDS: dict[Turn, tuple[Word, ...]] = {
    "straight": (),
    "left": ("left",),
    "right": ("right",),
    "slight left": ("left",),
    "slight right": ("right",),
    "sharp left": ("left", "left"),
    "sharp right": ("right", "right"),
}
"""The actions that make each turn, before the forward that leaves the junction."""

STRAIGHT, CLEARLY, ASIDE, BEHIND = 30.0, 25.0, 40.0, 160.0


@dataclass(frozen=True, slots=True)
class Exit:
    """A way out: its name, its angle (degrees, right positive), the state after leaving by it."""

    turn: Turn
    angle: float
    state: State


def exits(navigator: Navigator, state: State) -> list[Exit]:
    """The named ways out for one who has just arrived at a junction."""
    found: dict[int, tuple[tuple[Word, ...], float, State]] = {}
    trials: tuple[tuple[Word, ...], ...] = (
        (),
        ("left",),
        ("right",),
        ("left",) * 2,
        ("right",) * 2,
    )
    here = navigator.stand(state)
    for words in trials:
        after = state
        for word in (*words, "forward"):
            after = navigator.step(after, word)
        there = navigator.stand(after)
        if there.panorama not in (here.came, here.panorama, *found):
            found[there.panorama] = words, relative(there.heading, here.heading), after
    named = [
        (_name(words, angle, [other for _, other, _ in found.values()]), angle, after)
        for words, angle, after in found.values()
    ]
    return [Exit(turn, angle, after) for turn, angle, after in named if turn]


def _name(words: tuple[Word, ...], angle: float, angles: list[float]) -> Turn | None:
    size = abs(angle)
    others = [abs(other) for other in angles if other != angle]
    if not words:
        clear = size <= STRAIGHT and all(other >= size + CLEARLY for other in others)
        return "straight" if clear else None
    if not ASIDE <= size <= BEHIND or (angle < 0) != (words[0] == "left"):
        return None
    beside = [abs(other) for other in angles if (other < 0) == (angle < 0) and other != angle]
    rivals = [other for other in beside if other > STRAIGHT]
    side: Literal["left", "right"] = words[0]  # type: ignore[assignment]
    if not rivals:
        return side if len(words) == 1 else None
    (rival,) = rivals if len(rivals) == 1 else (None,)
    if rival is None or (rival > size) != (len(words) == 1):
        return None
    names: tuple[Turn, Turn] = (
        ("slight left", "sharp left") if side == "left" else ("slight right", "sharp right")
    )
    return names[len(words) - 1]
