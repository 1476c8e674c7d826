"""Body: what an actor is able to see, reach, carry and do.

Source: LangSuitE (Jia et al. 2024), Appendix E, Table 8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from wayword.core.episode import Json
from wayword.core.errors import UsageError, suggest
from wayword.worlds.housework.verbs import SPEECH, VERBS


@dataclass(frozen=True, slots=True)
class Body:
    """``Body(focal_length=10, view_distance=5, inventory_capacity=2)``.

    Lengths are metres. ``focal_length`` sets the width of the view, 2·atan(18 / f) (10 gives
    121.9°). ``manipulation_distance`` is measured to the nearest point of a thing's box.
    ``pan_degrees`` is how far pan_left and pan_right turn, a divisor of 90; 0 makes them side
    steps, as in the paper's Table 9. ``radius`` keeps the body off walls and furniture;
    one of radius 0 floats: walls do not stop it, and it is in nobody's way.
    ``step_limit`` counts actions (0: no limit). ``actions`` lists the verbs it knows.
    """

    focal_length: float = 10.0
    view_distance: float = 6.0
    manipulation_distance: float = 1.5
    step: float = 0.25
    pan_degrees: float = 30.0
    inventory_capacity: int = 1
    step_limit: int = 0
    radius: float = 0.2
    eye: float = 1.5
    actions: tuple[str, ...] = tuple(VERBS)

    open_verbs: tuple[str, ...] = field(init=False, repr=False)
    """Those of its verbs that take free text."""

    def __post_init__(self) -> None:
        spoken = tuple(verb for verb in (*SPEECH, "stop") if verb in self.actions)
        object.__setattr__(self, "open_verbs", spoken)
        for name in ("focal_length", "view_distance", "manipulation_distance", "step", "eye"):
            if not getattr(self, name) > 0:
                raise UsageError(f"body: {name} must be above 0, not {getattr(self, name)!r}")
        if self.pan_degrees < 0 or (self.pan_degrees and 90 % self.pan_degrees):
            raise UsageError(f"body: pan_degrees must divide 90, not {self.pan_degrees!r}")
        for verb in self.actions:
            if verb not in VERBS:
                raise UsageError(f"body: no action {verb!r}; {suggest(verb, list(VERBS))}")

    @property
    def view_angle(self) -> float:
        """The width of the view in degrees."""
        return 2 * math.degrees(math.atan(18 / self.focal_length))

    @property
    def fine_turn(self) -> float:
        """The smallest turn in degrees."""
        return self.pan_degrees or 90.0


def from_json(record: Mapping[str, Json], base: Body | None = None) -> Body:
    """A body with the given fields changed. Raises ``UsageError`` for an unknown field."""
    known = [spec.name for spec in fields(Body) if spec.init]
    for name in record:
        if name not in known:
            raise UsageError(f"body: no field {name!r}; {suggest(name, known)}")
    values = {name: getattr(base or Body(), name) for name in known} | dict(record)
    values["actions"] = tuple(values["actions"])
    return Body(**values)
