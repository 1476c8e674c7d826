"""An action under other labels is the action."""

from __future__ import annotations

import pytest

from wayword.agents.answers import StrategyRecipe
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection

GOTO = Action("goto", ("pot_1",))
LEGAL = Legal(ActionSpace((GOTO, Action("goto", ("pan_1",)), STOP)))
RECIPE = StrategyRecipe("Thought: why\nAction: what", "labels")
ANSWERS = (
    "Action #1: goto[pot_1]",
    "Action (1/1): goto[pot_1]",
    "Action (final): goto[pot_1]",
    "Chosen action: goto[pot_1]",
    "Recommended Action: goto[pot_1]",
    "[Action]: goto[pot_1]",
    "[ACTION] goto[pot_1] [/ACTION]",
    "【行动】goto[pot_1]",
    "Thought | near\nAction | goto[pot_1]",
    "| Action | goto[pot_1] |",
    "| Action | Reason |\n| --- | --- |\n| goto[pot_1] | near |",
    "Answer: goto[pot_1]",
    "Gedanke: nah.\nHandlung: goto[pot_1]",
    "विचार: पास है।\nकार्य: goto[pot_1]",
    "الفكرة: قريب.\nالإجراء: goto[pot_1]",
    "Suy nghĩ: gần.\nHành động: goto[pot_1]",
    "Düşünce: yakın.\nEylem: goto[pot_1]",
    "思考：近。\n操作：goto[pot_1]",
    "我的选择是 goto[pot_1]。",
    "最终答案：goto《pot_1》",
    '<Action type="move">goto[pot_1]</Action>',
    "<action><![CDATA[goto[pot_1]]]></action>",
    "<action>\n<verb>goto</verb>\n<object>pot_1</object>\n</action>",
    "```yaml\naction:\n  name: goto\n  object: pot_1\n```",
    '{"answer": "goto[pot_1]"}',
    '{"next_action": "goto[pot_1]"}',
    '{"actions": ["goto[pot_1]"]}',
    '{"action_type": "goto", "object": "pot_1"}',
)


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_action_is_read(answer: str) -> None:
    outcome = RECIPE.decision(answer, LEGAL).outcome
    assert not isinstance(outcome, Rejection), outcome
    assert outcome.action == GOTO


@pytest.mark.parametrize(
    "answer",
    [
        "Thought: I tried action 1: goto[pan_1] before.",
        "Observation: goto[pan_1] failed",
    ],
)
def test_a_thought_is_no_action(answer: str) -> None:
    assert isinstance(RECIPE.decision(answer, LEGAL).outcome, Rejection)
