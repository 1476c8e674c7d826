"""The map of a two-phase test: the listed, chosen and correct objects of each phase.

The test has no geometry. Each turn is a row: the place, then the objects listed there.
"""

from __future__ import annotations

from typing import Any

from wayword.core.action import Decision
from wayword.core.trajectory import Trajectory
from wayword.datasets.two_phase import ROOM_OBJECTS
from wayword.metrics.recorded import as_mapping
from wayword.viewer.data import Sources
from wayword.viewer.markup import Html, render
from wayword.worlds.two_phase.world import HALLWAY, TwoPhaseReference

_WIDE = 520.0  # of the drawing
_CHARACTER = 7.6  # width of a character
_BOLD = 0.9  # what a bold one is wider
_LINE = 26.0  # height of a line
_GAP = 8.0  # between two objects


def map(trajectory: Trajectory, sources: Sources) -> Html | None:
    """Return the rows of choices, or None if nothing was listed.

    Lengths are units of the drawing, ``x`` to the right and ``down`` from the top. Objects that do
    not fit next to each other continue on the next line of their row.
    """
    reference = sources.reference(trajectory.episode_id)
    room = ""
    if isinstance(reference, TwoPhaseReference):
        room = reference.room
    rows = []
    taken = set()
    # The drawing is as wide as its widest line, and at least half of ``_WIDE``.
    down = 8.0
    broad = _WIDE / 2
    for number, step in enumerate(trajectory.steps, 1):
        held = as_mapping(step.observation)
        listed = held.get("objects")
        if not isinstance(listed, list | tuple) or not listed:
            continue
        # Phase 1 is passed by the hallway, phase 2 by an object of the required room.
        right = ROOM_OBJECTS.get(room, ())
        if held.get("phase") == 1:
            right = (HALLWAY,)
        chosen = ""
        if isinstance(step.decision, Decision):
            chosen = "".join(step.decision.action.arguments[:1])
        choices = []
        x = 0.0
        y = down + 30
        for name in [str(item) for item in listed]:
            # The chosen object leads where the world said, a right one that was missed to the room.
            # The hallway is open to all rooms, so it is listed without one.
            leads: Any = ""
            if name == chosen:
                leads = step.feedback.details.get("room")
            elif name in right and name != HALLWAY:
                leads = room
            text = name
            if leads and leads != name:
                text = f"{name} → {leads}"
            wide = _CHARACTER * len(text) + 16
            if name == chosen:
                wide += _BOLD * len(text)
            if x + wide > _WIDE:  # it begins a new line
                x = 0.0
                y = y + _LINE + _GAP
            choices.append((text, x, y, wide, name in right, name == chosen))
            if name == chosen:
                taken.add(name in right)
            x += wide + _GAP
            broad = max(broad, x)
        rows.append((number, held.get("place", ""), down, choices))
        down = y + _LINE + 12
    if not rows:
        return None
    return render(
        "choices.html", rows=rows, tall=down, room=room, broad=broad, taken=taken
    )
