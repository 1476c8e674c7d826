"""Free descriptions of small things, unique within a home: "cat-shaped mug"."""

from __future__ import annotations

import random
from collections.abc import Iterable

from wayword.worlds.housework.scene import HouseObject

LOOKS = (
    *("cat-shaped", "striped", "olive-colored", "chipped", "polka-dot", "bright red", "tiny"),
    *("old-fashioned", "hand-painted", "sky-blue", "scratched", "glittering", "checked"),
    *("flower-patterned", "dark green", "worn-out", "golden", "star-shaped", "mustard-yellow"),
    *("half-used", "brand-new", "marbled", "engraved", "neon-pink", "dusty", "wooden"),
)
"""What tells a thing from others of its type. Any of them may be said of any type: an agent cannot
know the target by its description alone, and has to look."""


def describe(rng: random.Random, things: Iterable[HouseObject]) -> dict[str, str]:
    """Id -> description, for everything that can be carried: a look and the type, no two alike."""
    looks: dict[str, list[str]] = {}
    told: dict[str, str] = {}
    for thing in things:
        if "pickupable" not in thing.affordances:
            continue
        left = looks.setdefault(thing.type, [])
        if not left:
            left += rng.sample(LOOKS, len(LOOKS))
        told[thing.id] = f"{left.pop()} {thing.type.replace('_', ' ')}"
    return told
