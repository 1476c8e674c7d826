"""Reflexion: ReAct that writes down what went wrong in a failed trial, and tries again.

    wayword run reflexion --on houses --model local:smollm2 --set trials=2 --set verdict=self

The number of trials is part of the result, and so is who says that one has failed: with
``verdict=told`` it is a judge who knows the answer, and the table counts how often it was told.

Source: Reflexion (Shinn et al. 2023), as in LangSuitE (Jia et al. 2024), sections 4 and 5.
"""

from __future__ import annotations

from typing import ClassVar

from wayword.agents.strategies.reflecting import ReflectingStrategy


class Reflexion(ReflectingStrategy):
    """Thinks before it acts, and learns from its failed trials, in any world."""

    recipe: ClassVar[str] = "react"


agent = Reflexion
