"""Pictograms, marks of direction and entities around an action."""

from __future__ import annotations

from wayword.agents.answers import StrategyRecipe
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection

REACT = StrategyRecipe("Thought: why\nAction: what", "react")
LISTED = (
    *(Action("goto", (name,)) for name in ("pot_1", "pan_1")),
    *(Action("forward"), Action("turn_left"), STOP),
)
HOME = ActionSpace(LISTED, accepts=lambda each: len(each.arguments) < 2)

READINGS = {
    "Action: forward 🚶": "forward",
    "Action: forward ➡️": "forward",
    "➡️ forward": "forward",
    "Action: turn left ⬅️ to face the door": "turn_left",
    "Action: goto pot_1 ✅": "goto[pot_1]",
    "Action: stop 🎉": "stop",
    "Action: forward /no_think": "forward",
    "\u202aAction: forward\u202c": "forward",
    "\ufeffAction: \u2066forward\u2069": "forward",
    "Action: goto&lpar;pot_1&rpar;": "goto[pot_1]",
    "Action: goto&lsqb;pot_1&rsqb;": "goto[pot_1]",
    "Action: goto[pot_1 🍎]": "goto[pot_1]",
    "Action: goto[🍎 pot_1]": "goto[pot_1]",
    "Action: goto[@pot_1]": "goto[pot_1]",
    "Action: goto[$pot_1]": "goto[pot_1]",
    # Two actions, or one that is taken back
    "Action: turn_left ➡️ forward": "several_actions",
    "Action: forward 🚶 forward": "several_actions",
    "Action: forward ❌": "no_action",
    "Action: goto pot_1 🚫": "no_action",
    "Action: forward ✖": "no_action",
    "Action: forward 👎": "no_action",
    "Action: goto pot_1 ❓": "no_action",
    "Action: goto[pot_1?]": "several_actions",
    "Action: goto[pot_1] twice": "several_actions",
    "Action: forward() three times": "several_actions",
}


def test_signs_around_an_action() -> None:
    wrong = {}
    for answer, reading in READINGS.items():
        outcome = REACT.decision(answer, Legal(HOME)).outcome
        if isinstance(outcome, Rejection):
            found: str = outcome.kind
        else:
            found = str(outcome.action)
        if found != reading:
            wrong[answer] = found
    assert not wrong
