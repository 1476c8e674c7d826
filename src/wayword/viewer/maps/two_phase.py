"""The map of a two-phase test: what was listed in each phase, what was chosen, what was right.

The test has no geometry. Each turn is a row: the place, then every thing that was listed there.
"""

from __future__ import annotations

from collections.abc import Sequence

from wayword.core.action import Decision
from wayword.core.trajectory import Step, Trajectory
from wayword.datasets.two_phase import COMMON
from wayword.viewer.data import Sources
from wayword.viewer.letters import box
from wayword.viewer.markup import Html, join, tag
from wayword.viewer.words import as_mapping
from wayword.worlds.two_phase.world import HALLWAY, TwoPhaseReference

_WIDE, _CHARACTER, _LINE, _GAP = 520.0, 7.0, 26.0, 8.0
"""Width of the drawing, of a character, height of a line and the gap between two things."""


def map(trajectory: Trajectory, sources: Sources) -> Html | None:
    """The rows of choices, or None where nothing was listed."""
    reference = sources.reference(trajectory.episode_id)
    room = reference.room if isinstance(reference, TwoPhaseReference) else ""
    parts: list[Html] = []
    down = 8.0
    for number, step in enumerate(trajectory.steps, 1):
        seen = as_mapping(step.observation)
        listed = seen.get("objects")
        if not isinstance(listed, list | tuple) or not listed:
            continue
        right = (HALLWAY,) if seen.get("phase") == 1 else COMMON.get(room, ())
        drawn, down = _row(number, step, [str(each) for each in listed], right, down)
        parts.append(drawn)
    if not parts:
        return None
    svg = tag(
        "svg", *parts, viewBox=f"0 0 {_WIDE:.0f} {down:.0f}", class_="map choices-map",
        role="img", aria_label="What was listed and chosen",
    )  # fmt: skip
    signs = [tag("li", tag("i", class_="k walk0"), "chosen"),
             tag("li", tag("i", class_="k meant"), f"leads to the {room or 'goal'}")]  # fmt: skip
    return join([svg, tag("ul", *signs, class_="legend")])


def _chosen(step: Step) -> str:
    action = step.decision.action if isinstance(step.decision, Decision) else None
    return action.arguments[0] if action and action.arguments else ""


def _row(
    number: int, step: Step, listed: list[str], right: Sequence[str], down: float
) -> tuple[Html, float]:
    """One turn, and where the next one begins."""
    place = str(as_mapping(step.observation).get("place", ""))
    led = str(step.feedback.details.get("room") or "")
    chosen, x, y = _chosen(step), 0.0, down + 30
    title = f"{number}: in the {place}"
    parts = [tag("text", title, x=2, y=round(down + 12, 1), class_="roomname")]
    for name in listed:
        wide = _CHARACTER * len(name) + 16
        if x + wide > _WIDE:
            x, y = 0.0, y + _LINE + _GAP
        left, top, _, _ = box(x + wide / 2, y + _LINE / 2 - 8, wide, _LINE)
        signs = {"choice": True, "leads": name in right, "taken": name == chosen}
        kind = " ".join(sign for sign, there in signs.items() if there)
        parts.append(
            tag(
                "g", tag("title", f"{name}: the {led}" if led and name == chosen else name),
                tag("rect", x=round(left, 1) + 1, y=round(top, 1), width=wide - 2, height=_LINE,
                    rx=6),
                tag("text", name, x=round(left + wide / 2, 1), y=round(top + 17, 1)), class_=kind,
            )
        )  # fmt: skip
        x += wide + _GAP
    return tag("g", *parts, class_="stop", data_steps=number, data_go=number), y + _LINE + 12
