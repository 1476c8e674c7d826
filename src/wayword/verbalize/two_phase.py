"""The two-phase test in words.

>>> around(TwoPhaseObservation("silver pen", 1, "kitchen", ("sink", "fridge", "hallway")))
'You can go to one of these, once: sink, fridge, hallway.'
"""

from __future__ import annotations

from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer
from wayword.worlds.two_phase.world import TwoPhaseObservation


def around(seen: TwoPhaseObservation) -> str:
    """What there is to go to."""
    if not seen.objects:
        return "There is nowhere left to go."
    return f"You can go to one of these, once: {', '.join(seen.objects)}."


def feedback(told: Feedback) -> str:
    """What came of an action."""
    if "room" not in told.details:
        return "You stopped."
    return f"You went to the {told.details['thing']}."


def _own(seen: TwoPhaseObservation) -> tuple[SelfState, str]:
    beyond = " The rooms around it lie before you." if seen.phase == 2 else ""
    return SelfState(seen.place), f"You are in the {seen.place}.{beyond}"


verbalizer = Verbalizer("other", _own, lambda seen, _: around(seen), feedback)
