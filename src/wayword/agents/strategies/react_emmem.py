"""ReAct-EmMem: say where one is, which way one faces and what one holds; then plan; then act.

    wayword run react_emmem --on houses --model local:smollm2 --set own_state=start

What it states about place, heading and hands is noted at every step and compared with the truth:
the metrics ``state_place``, ``state_heading`` and ``state_holding``. With ``own_state=start`` it
is told these things only once and has to keep them in mind.

Source: LangSuitE (Jia et al. 2024), section 4.
"""

from __future__ import annotations

from typing import ClassVar

from wayword.agents.strategies.strategy import Strategy


class ReActEmMem(Strategy):
    """Puts its embodied memory in words, then plans, then acts, in any world."""

    recipe: ClassVar[str] = "react_emmem"


agent = ReActEmMem
