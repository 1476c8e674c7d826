"""ReAct: a thought, then an action, in any world.

    wayword run react --on towns --model local:smollm2

Source: ReAct (Yao et al. 2022), as in LangSuitE (Jia et al. 2024), sections 4 and 5.
"""

from __future__ import annotations

from typing import ClassVar

from wayword.agents.strategies.strategy import Strategy


class ReAct(Strategy):
    """Thinks in words before it acts, in any world."""

    recipe: ClassVar[str] = "react"  # prompts/react.txt


agent = ReAct
