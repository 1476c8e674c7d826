"""Act: one action at a time, with no word of why (LangSuitE's plainest strategy).

    wayword run act --on houses --model local:smollm2

Source: LangSuitE (Jia et al. 2024), sections 4 and 5.
"""

from __future__ import annotations

from typing import ClassVar

from wayword.agents.parts.strategy import Strategy


class Act(Strategy):
    """Answers with an action alone, in any world."""

    recipe: ClassVar[str] = "act"


agent = Act
