"""ALFWorld's games in words: those of the engine.

>>> around(GameObservation("You arrive at fridge 1. The fridge 1 is closed."))
'You arrive at fridge 1. The fridge 1 is closed.'
"""

from __future__ import annotations

from typing import Any

from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer
from wayword.worlds.alfworld.world import GameObservation


def around(view: GameObservation) -> str:
    """Return the engine's last text, which has the surroundings or the result."""
    return view.text


def feedback(result: Feedback) -> str:
    """Return the sentence of an ending; other results are part of what the actor sees."""
    return "You stopped." if result.details.get("action") == "stop" else ""


def _state(view: Any) -> tuple[SelfState, str]:
    """The game keeps what the actor knows of itself: ``inventory`` tells it."""
    return SelfState(), ""


verbalizer = Verbalizer(
    "other",
    _state,
    lambda view, _: around(view),
    feedback,
    names_arguments=True,
)
