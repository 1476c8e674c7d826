"""BabyAI levels from the package ``minigrid``.

    level     one level: the package's rules, steps and success; the objects in view, with names
    world     low-level actions and high-level skills
    expert    the package's bot; plans made of skills

The unit of length is one square. x points east and y south, as in the package; headings are
degrees clockwise from north, so north is up in its pictures.
"""

from wayword.core.world import Family

family = Family("babyai")
