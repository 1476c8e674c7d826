"""How the two-phase test fails: by one wrong choice."""

from __future__ import annotations

from collections.abc import Mapping

from wayword.core.action import STOP, Decision
from wayword.metrics.mistakes.facts import EpisodeFacts, Explanation
from wayword.metrics.mistakes.wording import Fact
from wayword.metrics.recorded import as_mapping
from wayword.worlds.two_phase.world import HALLWAY


def explain(evidence: EpisodeFacts, room: str) -> Explanation:
    """Describe the last choice, and the objects that lead to the room.

    ``room`` is the one to reach. In the first phase the right choice leads to the hallway, not yet
    to the room. A stop, or a step without a known place, has no further consequence.
    """
    final = evidence.trajectory.steps[-1]
    action = None
    chosen = "no action"
    if isinstance(final.decision, Decision):
        action = final.decision.action
        chosen = str(action)
        if action.arguments:
            chosen = f"the {action.arguments[0]}"

    # The objects on offer that would have been right; the choice alone if they are not known.
    held = as_mapping(final.observation)
    objects_of: Mapping[str, tuple[str, ...]] = getattr(
        evidence.dataset,
        "room_objects",
        {},
    )
    leads = objects_of.get(room, ())
    if held.get("phase") == 1:
        leads = (HALLWAY,)
    right = [f"the {name}" for name in held.get("objects", ()) if name in leads]
    end = Fact("wrong_room", chosen=chosen, room=room)
    if right:
        target = held.get("target")
        end = Fact("wrong_choice", chosen=chosen, right=right, room=room, target=target)

    # Where the choice led: by the feedback, else by the final state.
    place = final.feedback.details.get("room") or evidence.trajectory.state.get("place")
    if not place or action == STOP:
        return Explanation(end)
    to = "It stayed in" if place == held.get("place") else "This led to"
    return Explanation(end, [Fact("led_to", to=to, place=place)])
