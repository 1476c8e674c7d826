"""The two-phase test in words.

>>> around(TwoPhaseObservation("silver pen", 1, "kitchen", ("sink", "fridge", "hallway")))
'You can go to one of these, once: sink, fridge, hallway.'
"""

from __future__ import annotations

from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer
from wayword.worlds.two_phase.world import TwoPhaseObservation


def around(view: TwoPhaseObservation) -> str:
    """Return a sentence with the objects the agent can go to."""
    if not view.objects:
        return "There is nowhere left to go."
    return f"You can go to one of these, once: {', '.join(view.objects)}."


def feedback(result: Feedback) -> str:
    """Return the result of an action as a sentence."""
    if "room" not in result.details:
        return "You stopped."
    return f"You went to the {result.details['object']}."


def _state(view: TwoPhaseObservation) -> tuple[SelfState, str]:
    """Return the actor's place, with a sentence on it."""
    text = f"You are in the {view.place}."
    if view.phase == 2:
        text += " The rooms around it lie before you."
    return SelfState(view.place), text


verbalizer = Verbalizer(
    "other",
    _state,
    lambda view, _: around(view),
    feedback,
    names_arguments=True,
)
