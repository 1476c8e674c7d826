"""Which of several things to go for: the cheapest chain of stops, by steps on foot."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wayword.worlds.housework.lattice import field
from wayword.worlds.housework.route import Trip, true_box
from wayword.worlds.rooms import RoomsWorld


def cheapest(world: RoomsWorld, actor: str, stops: Sequence[Sequence[str]]) -> list[str] | None:
    """One thing of each stop, so that visiting them in order takes the fewest steps.

    Shut doors count as open, and no thing is visited twice. None where a stop offers nothing that
    can be reached.
    """
    trip = Trip(world.house, world.house.actors[actor], open_doors=True)
    chains: list[tuple[float, list[str], NDArray[np.int32]]] = [(0.0, [], trip.steps)]
    for stop in stops:
        best: list[tuple[float, list[str], NDArray[np.int32]]] = []
        for thing in stop:
            places = _places(world, actor, trip, thing)
            options = [
                (cost + steps, [*chain, thing], place)
                for cost, chain, walked in chains
                if thing not in chain
                for steps, place in [_nearest(walked, places)]
                if math.isfinite(steps)
            ]
            if options:
                cost, chain, place = min(options, key=lambda option: option[0])
                last = stop is stops[-1] or place < 0
                best.append((cost, chain, trip.steps if last else field(trip.ways, place)))
        chains = best
    return min(chains, key=lambda chain: chain[0])[1] if chains else None


def _places(world: RoomsWorld, actor: str, trip: Trip, thing: str) -> NDArray[np.intp] | None:
    """The places of the lattice within reach of a thing; None where it is in one's hands."""
    house, me = world.house, world.house.actors[actor]
    i = world.layout.index[thing]
    if house.holder(i) == me.number:
        return None
    west, south, east, north = true_box(house, i)
    dx = np.maximum(np.maximum(west - trip.grid.x, trip.grid.x - east), 0.0)
    dy = np.maximum(np.maximum(south - trip.grid.y, trip.grid.y - north), 0.0)
    return np.flatnonzero(dx * dx + dy * dy <= me.body.manipulation_distance**2)


def _nearest(walked: NDArray[np.int32], places: NDArray[np.intp] | None) -> tuple[float, int]:
    """Steps to the nearest of some places, and which it is."""
    if places is None:
        return 0.0, int(np.flatnonzero(walked == 0)[0])
    there = places[walked[places] >= 0]
    if not len(there):
        return math.inf, -1
    place = int(there[np.argmin(walked[there])])
    return float(walked[place]), place
