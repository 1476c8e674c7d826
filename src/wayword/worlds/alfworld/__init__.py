"""ALFWorld's text games, in their own engine.

    engine    a game in a process of its own
    world     a game as a world: its commands are the actions

Source: ALFWorld (Shridhar et al. 2021).
"""

from wayword.core.world import Family

family = Family("alfworld")
