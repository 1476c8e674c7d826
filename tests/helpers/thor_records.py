"""A kitchen of hand-made metadata records, for tests without data."""

from __future__ import annotations

from wayword.datasets.sources.thor import ObjectRecord, Point3


def made(
    label: str,
    center: Point3,
    size: Point3,
    *flags: str,
    number: int = 1,
    heading: float = 0.0,
    parents: tuple[str, ...] = (),
) -> ObjectRecord:
    """A record whose pivot is the middle of its underside."""
    x, y, z = center
    at = (x, y, z - size[2] / 2)
    name = f"{label}|{number}", f"{label}_{number}a"
    return ObjectRecord(
        *name, label, at, heading, center, size, parents, frozenset(flags)
    )


FLOOR = made("Floor", (2, 2, -0.05), (4, 4, 0.1), "receptacle")
COUNTER = made("CounterTop", (1, 0.3, 0.9), (2, 0.6, 0.04), "receptacle")
DRAWER = made("Drawer", (0.5, 0.3, 0.75), (0.5, 0.5, 0.15), "receptacle", "openable")
BASIN = made("SinkBasin", (1.5, 0.3, 0.85), (0.4, 0.4, 0.14), "receptacle")
TAP = made("Faucet", (1.5, 0.1, 1.0), (0.1, 0.1, 0.2), "toggleable")
FRIDGE = made(
    "Fridge", (3.6, 0.4, 0.9), (0.8, 0.8, 1.8), "receptacle", "openable", "isColdSource"
)
SHELF = made("Shelf", (0.2, 3, 1.4), (0.4, 1.0, 0.3), "receptacle")
TABLE = made("DiningTable", (2.5, 3, 0.4), (1.2, 0.8, 0.8), "receptacle", "moveable")
CHAIR = made("Chair", (2.5, 2.7, 0.5), (0.5, 0.5, 1.0), "receptacle", "moveable")
HOBS = tuple(
    made(
        "StoveBurner",
        (2.5 + 0.3 * n, 0.3, 0.92),
        (0.2, 0.2, 0.02),
        "receptacle",
        number=n,
    )
    for n in (0, 1)
)
KNOBS = tuple(
    made(
        "StoveKnob",
        (2.5 + 0.3 * n, 0.0, 0.85),
        (0.05, 0.05, 0.05),
        "toggleable",
        number=n,
    )
    for n in (0, 1)
)
FURNITURE = (COUNTER, DRAWER, BASIN, TAP, FRIDGE, SHELF, TABLE, CHAIR, *HOBS, *KNOBS)


def small(
    label: str, x: float, y: float, bottom: float, *flags: str, number: int = 1
) -> ObjectRecord:
    """Something of ten centimetres that can be carried."""
    return made(
        label,
        (x, y, bottom + 0.05),
        (0.1, 0.1, 0.1),
        "pickupable",
        *flags,
        number=number,
    )
