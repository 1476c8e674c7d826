"""Levels of BabyAI, as the package ``minigrid`` has them.

    level     one level: the package's rules, steps and verdict; what is in view, by name
    world     the rules: low-level actions and high-level skills
    expert    the package's bot; plans of skills

Squares are the unit of length. x grows to the east and y to the south, as in the package; headings
are degrees clockwise from north, so that up on its pictures is north.
"""

from wayword.core.world import Family

family = Family("babyai")
