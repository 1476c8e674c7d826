"""What a trajectory's task type and parameters ask for, as goal conditions on the final state.

They count as ALFRED's do: a slice is a condition of its own; being in place, being hot, cold or
clean, and both at once are three; an object in a movable one, that in its place, and both are
three; two objects in one place are two. Hot, cold and clean mean that it was ever made so.

One difference: ALFRED finds objects by a part of their name, so that there a pencil passes for a
pen and a potato for a pot. Here a type is a type.

Source: ALFRED (Shridhar et al. 2020), section 4.3, and ``env/tasks.py`` of its code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wayword.datasets.homes.goals import GoalCondition, Has, Held, Ids, Inside, Lit, Stacked, Trait

SLICED: Trait = ("sliced", True)


@dataclass(frozen=True, slots=True)
class Targets:
    """The ids a task is about: any of ``things``, any of ``receptacles`` and so on will do."""

    things: Ids
    receptacles: Ids = ()
    movables: Ids = ()
    lamps: Ids = ()
    sliced: bool = False

    @property
    def traits(self) -> tuple[Trait, ...]:
        """What a thing must be, whatever is done with it."""
        return (SLICED,) if self.sliced else ()


def goals(kind: str, targets: Targets) -> tuple[GoalCondition, ...]:
    """The conditions of a type of task. Raises ``KeyError`` for one that ALFRED does not have."""
    count = 2 if kind == "pick_two_obj_and_place" else 1
    slices = (Has(targets.things, targets.traits, count),) if targets.sliced else ()
    return (*slices, *_MAKE[kind](targets))


def _place(targets: Targets) -> tuple[GoalCondition, ...]:
    return (Inside(targets.things, targets.receptacles, targets.traits),)


def _two(targets: Targets) -> tuple[GoalCondition, ...]:
    return (Inside(targets.things, targets.receptacles, targets.traits, parts=2),)


def _light(targets: Targets) -> tuple[GoalCondition, ...]:
    return Held(targets.things), Lit(targets.lamps)


def _treated(done: str) -> Callable[[Targets], tuple[GoalCondition, ...]]:
    def make(targets: Targets) -> tuple[GoalCondition, ...]:
        things, places = targets.things, targets.receptacles
        both = (*targets.traits, (done, True))
        return (
            Inside(things, places, targets.traits),
            Has(things, both),
            Inside(things, places, both),
        )

    return make


def _stacked(targets: Targets) -> tuple[GoalCondition, ...]:
    things, movables, places = targets.things, targets.movables, targets.receptacles
    return (
        Inside(things, movables, targets.traits),
        Inside(movables, places),
        Stacked(things, movables, places, targets.traits),
    )


_MAKE: dict[str, Callable[[Targets], tuple[GoalCondition, ...]]] = {
    "pick_and_place_simple": _place,
    "pick_two_obj_and_place": _two,
    "look_at_obj_in_light": _light,
    "pick_heat_then_place_in_recep": _treated("heated"),
    "pick_cool_then_place_in_recep": _treated("cooled"),
    "pick_clean_then_place_in_recep": _treated("cleaned"),
    "pick_and_place_with_movable_recep": _stacked,
}
KINDS = tuple(_MAKE)
"""ALFRED's names for its types of tasks."""
