"""Effects: what appliances do to what is in or on them."""

from __future__ import annotations

from wayword.worlds.housework.scene import TEMPERATURES
from wayword.worlds.housework.things import Things

HOT, COLD = TEMPERATURES.index("hot"), TEMPERATURES.index("cold")


def work(things: Things, i: int) -> None:
    """Let an appliance work on its contents, after it was switched on, shut or filled.

    A heater works while it is on, a cooler at all times, each only while shut where it can be
    shut; cleaners, fillers and brewers work while on; a drinker takes the water of what is put to
    it. Things of any other kind do nothing. That a thing was heated, cooled or cleaned stays on
    record, whatever becomes of it; as ALFRED has it, heated means in what shuts, not on a hob.
    """
    if i >= things.objects:
        return
    does = things.specs[i].affordances
    shut = not (things.encloses[i] and things.open[i])
    runs = bool(things.on[i])
    for k in things.family(i)[1:]:
        if "heater" in does and runs and shut:
            _heat(things, k)
            things.heated[k] |= things.encloses[i]
        if "cooler" in does and shut:
            things.mark(k, "temperature", COLD)
            things.mark(k, "cooled", True)
        if "cleaner" in does and runs:
            things.mark(k, "dirty", False)
            things.mark(k, "cleaned", True)
        if runs and things.does(k, "fillable"):
            _fill(things, k, does)
        if "drinker" in does and things.filled[k] and not things.coffee[k]:
            things.mark(i, "filled", True)
            things.mark(k, "filled", False)


def _heat(things: Things, k: int) -> None:
    """Make a thing hot; what can be cooked is, and in water it is boiled."""
    things.mark(k, "temperature", HOT)
    if things.does(k, "cookable"):
        things.mark(k, "cooked", True)
        pot = int(things.inside[k])
        if pot >= 0 and things.filled[pot] and not things.coffee[pot]:
            things.mark(k, "boiled", True)


def _fill(things: Things, k: int, does: frozenset[str]) -> None:
    """Fill a vessel with coffee, or with water; the one takes the other's place."""
    if "brewer" in does or "filler" in does:
        things.mark(k, "filled", True)
        things.mark(k, "coffee", "brewer" in does)
