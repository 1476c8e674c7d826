"""Reflexion-EmMem: embodied memory in words at every step, and lessons between trials.

    wayword run reflexion_emmem --on houses --model local:smollm2 --set trials=2 --set verdict=none

ReAct-EmMem as :mod:`~wayword.agents.strategies.react_emmem` has it, with the trials of
:mod:`~wayword.agents.strategies.reflexion`.

Source: LangSuitE (Jia et al. 2024), sections 4 and 5.
"""

from __future__ import annotations

from typing import ClassVar

from wayword.agents.strategies.reflecting import ReflectingStrategy


class ReflexionEmMem(ReflectingStrategy):
    """States, plans, then acts, and learns from its failed trials, in any world."""

    recipe: ClassVar[str] = "react_emmem"


agent = ReflexionEmMem
