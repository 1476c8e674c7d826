"""The map of a two-phase test: the listed, chosen and correct objects of each phase.

The test has no geometry. Each turn is a row: the place, then the objects listed there.
"""

from __future__ import annotations

from wayword.core.action import Decision
from wayword.core.trajectory import Trajectory
from wayword.datasets.two_phase import ROOM_OBJECTS
from wayword.metrics.recorded import as_mapping
from wayword.viewer.data import Sources
from wayword.viewer.markup import Html, render
from wayword.worlds.two_phase.world import HALLWAY, TwoPhaseReference

_WIDE, _CHARACTER, _LINE, _GAP = 520.0, 7.6, 26.0, 8.0
"""Width of the drawing, of a character, height of a line and the gap between two objects."""


def map(trajectory: Trajectory, sources: Sources) -> Html | None:
    """Return the rows of choices, or None if nothing was listed."""
    reference = sources.reference(trajectory.episode_id)
    room = reference.room if isinstance(reference, TwoPhaseReference) else ""
    rows = []
    down = 8.0
    broad = _WIDE / 2
    for number, step in enumerate(trajectory.steps, 1):
        held = as_mapping(step.observation)
        listed = held.get("objects")
        if not isinstance(listed, list | tuple) or not listed:
            continue
        right = (HALLWAY,) if held.get("phase") == 1 else ROOM_OBJECTS.get(room, ())
        action = step.decision.action if isinstance(step.decision, Decision) else None
        chosen = "".join(action.arguments[:1]) if action else ""
        led = step.feedback.details
        choices = []
        x = 0.0
        y = down + 30
        for name in [str(each) for each in listed]:
            to = led.get("room") if name == chosen else room if name in right else ""
            text = f"{name} → {to}" if to else name
            wide = _CHARACTER * len(text) + 16
            if x + wide > _WIDE:
                x = 0.0
                y = y + _LINE + _GAP
            choices.append((text, x, y, wide, name in right, name == chosen))
            x += wide + _GAP
            broad = max(broad, x)
        rows.append((number, held.get("place", ""), down, choices))
        down = y + _LINE + 12
    taken = {leads for *_, choices in rows for *_, leads, chose in choices if chose}
    words = {"rows": rows, "tall": down, "room": room, "broad": broad, "taken": taken}
    return render("choices.html", **words) if rows else None
