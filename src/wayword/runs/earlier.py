"""Names that earlier versions wrote into run folders, read as today's."""

from __future__ import annotations

from collections.abc import Mapping

from wayword.core import registry
from wayword.core.episode import Json

FAMILIES = {"rooms": "household", "grid": "babyai"}
TYPES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "RoomsObservation": ("HouseholdObservation", {}),
    "GridObservation": ("BabyAIObservation", {}),
    "IndoorObservation": ("IndoorObservation", {"ways": "neighbors"}),
    "StreetObservation": ("StreetObservation", {"ways": "exits"}),
}
"""Observations: type -> today's type, and today's names of its fields."""


RATIOS = frozenset({"misplaced"})
"""Metrics that were written down as rates, and may be more than one."""


def observation(seen: Json) -> Json:
    """An observation as it was written, in today's names."""
    kind, fields = TYPES.get(str(seen.get("type")), ("", {}))
    if not kind:
        return seen
    return {fields.get(key, key): value for key, value in seen.items()} | {"type": kind}


def config(written: dict[str, Json]) -> dict[str, Json]:
    """A config as it was written, its family, dataset and metrics' kinds in today's names."""
    family = written.get("family")
    if isinstance(family, str):
        written["family"] = FAMILIES.get(family, family)
    for holder, key in ((written["identity"], "dataset"), (written, "split")):
        if isinstance(on := holder.get(key), str):
            name, colon, split = on.partition(":")
            holder[key] = registry.current("dataset", name) + colon + split
    metrics = written.get("metrics")
    for one in metrics if isinstance(metrics, list) else ():
        if isinstance(one, dict) and one.get("key") in RATIOS:
            one["kind"] = "ratio"
    return written
