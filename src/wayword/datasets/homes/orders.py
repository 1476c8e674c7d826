"""Orders: sub-tasks on particular things, in the order in which they are done.

Where a task says what is to be done and in which order (TEACh's), its reference carries the plan;
the expert carries it out, and who tells others what to do reads it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wayword.datasets.homes.errands import Doing, Errands
from wayword.datasets.homes.goals import RoomsReference

Deed = Literal["bring", "slice", "on", "off", "open", "close"]


@dataclass(frozen=True, slots=True)
class Order:
    """``Order("bring", "mug|1", "sink_basin|1")``: ids of the scene.

    ``other`` is where a thing is brought, or the knife that it is sliced with.
    """

    deed: Deed
    thing: str
    other: str = ""


@dataclass(frozen=True, slots=True)
class PlannedReference(RoomsReference):
    """Goals, and orders that bring them about; ``worker`` is the actor who does it all, and
    ``helpers`` those that it may share the work with. Their actions count for path-weighted
    metrics."""

    plan: tuple[Order, ...] = ()
    worker: str = "agent"
    helpers: tuple[str, ...] = ()


def carry_out(errands: Errands, plan: Sequence[Order]) -> Doing:
    """Every low-level action of a plan. Raises ``Stuck``."""
    for order in plan:
        if order.deed == "bring":
            yield from errands.put(order.thing, order.other)
        elif order.deed == "slice":
            yield from errands.slice(order.thing, order.other)
        elif order.deed in ("on", "off"):
            yield from errands.turn(order.thing, order.deed == "on")
        else:
            yield from errands.swing(order.thing, order.deed == "open")
